"""From a function's signature and docstring to the schema a model is sent and the validator of its arguments."""
