"""Measurements, each run by ``uv run python -m benchmarks.NAME``."""
