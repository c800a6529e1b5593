"""The evidence: one command measures all of it, and writes the tables of docs/measurements.md."""
