"""Pages for statisticians, as text and as executed notebooks."""
