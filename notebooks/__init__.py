"""Six pages for statisticians, as text and as executed notebooks."""
