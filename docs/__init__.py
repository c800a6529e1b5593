"""The documentation; not in the wheel."""
