"""All timings as one table: ``uv run python -m benchmarks``; the rows are in stopwatch.py."""

from .stopwatch import main

if __name__ == "__main__":
    main()
