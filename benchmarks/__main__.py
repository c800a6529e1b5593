"""All measurements: ``uv run python -m benchmarks [NAME ...] [--data-dir FOLDER]``.

Each writes its tables to docs/evidence/NAME.json, and docs/measurements.md shows them
with command, commit and date. Each finished cell has a file in ``--cells``, in a folder
of the commit: a run that was stopped goes on from there. ``--data-dir`` has the
development sets, .npz of train, test and test_labels. ``--few N`` computes about N
cells of each kind and stores nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import (
    clean,
    false_alarms,
    models,
    one_table,
    page,
    probability,
    promise,
    psense,
    published,
    rows,
    size,
    whom,
)
from .measure import Run, revision, store

MEASUREMENTS = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        clean,
        one_table,
        false_alarms,
        probability,
        promise,
        psense,
        rows,
        models,
        published,
        size,
        whom,
    )
}


def main(arguments: list[str] | None = None) -> None:
    """Measure, store, write the page."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument(
        "name", nargs="*", help=f"of {', '.join(MEASUREMENTS)}; default: all"
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the development sets")
    parser.add_argument(
        "--cells", type=Path, default=Path(".benchmarks"), help="folder of cells"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--few", type=int, default=0, metavar="N")
    chosen = parser.parse_args(arguments)
    if unknown := sorted(set(chosen.name) - set(MEASUREMENTS)):
        parser.error(
            f"no measurement {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}"
        )
    for name in chosen.name or MEASUREMENTS:
        folder = chosen.cells / revision() / name
        run = Run(name, folder, chosen.data_dir, chosen.jobs, chosen.few)
        tables = MEASUREMENTS[name].measure(run)
        for title, table in tables.items():
            print(f"\n{name}: {title}\n{table.to_string(index=False)}")
        if not chosen.few:
            store(name, tables)
            page.write()


if __name__ == "__main__":
    main()
