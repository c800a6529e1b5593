"""Swap a prior and see at once what it changes: in Jupyter, or as ``bsvdd explore``."""
