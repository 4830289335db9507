"""From a bound agent to a submitted run: plan, preflight, bundle, export, submission."""
