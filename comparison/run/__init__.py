"""Runs of a study: protocol, cells, workers and the store of results."""
