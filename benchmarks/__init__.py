"""The evidence: one command measures it, and writes the tables of the documentation."""
