"""Tokens, cost and the limits on them."""
