"""All measurements as one table: ``uv run python -m benchmarks``.

Each row is a ratio of two sides measured in the same run, in turn (medians of at least 5), or a
number, beside the most it is to be. With names only those rows are measured, and replace theirs
in the file.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from bsvdd.estimators.atomic import atomic
from rich.console import Console
from rich.table import Table

from . import commands, explain, interactive, sampling, scale, speed, study
from .measure import threads

ROWS = {
    row.__name__: row
    for rows_of in (speed, explain, commands, sampling, scale, interactive, study)
    for row in rows_of.ROWS
}
DOCS = Path(__file__).parents[1] / "docs"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rows: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes; saves nothing")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of the files (docs)")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - set(ROWS)
    if unknown:
        parser.error(f"no rows {sorted(unknown)}; there are {', '.join(ROWS)}")
    console = Console()
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / "benchmarks.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
    measured = {}
    for name in chosen.names or ROWS:
        with console.status(name):
            row = ROWS[name](chosen.quick)
        measured[name] = asdict(row) | {
            "date": date.today().isoformat(),
            "processor": processor(),
            "threads": threads(),
        }
        console.print(f"{name}: {shown(row.value, row.unit)}", highlight=False)
        if not chosen.quick:
            together = kept | measured
            save(path, {name: together[name] for name in ROWS if name in together})
    print_table(console, measured)


def print_table(console: Console, rows: dict[str, dict[str, Any]]) -> None:
    """Print the rows, and below them the threads that they were measured with."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("row", "what", "against", "value", "target"):
        table.add_column(title, justify="right" if title in ("value", "target") else "left")
    for name, row in rows.items():
        value, target = shown(row["value"], row["unit"]), shown(row["target"], row["unit"])
        missed = row["value"] > row["target"]
        table.add_row(name, row["what"], row["against"], value, f"≤ {target}", style="red" * missed)
    console.print(table)
    pools = threads()
    console.print(f"{processor()}; threads: {', '.join(f'{k} {v}' for k, v in pools.items())}")


def save(path: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Write the rows as JSON to ``path`` and as a figure beside it."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    figure = picture(rows)
    with atomic(path.with_suffix(".png")) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    plt.close(figure)


def picture(rows: dict[str, dict[str, Any]]) -> plt.Figure:
    """Show each value as a share of its target."""
    figure, ax = plt.subplots(figsize=(9, 0.8 + 0.42 * len(rows)), layout="constrained")
    labels = [
        r["what"] + (f"\nagainst {r['against']}" if r["against"] else "") for r in rows.values()
    ]
    share = [row["value"] / row["target"] for row in rows.values()]
    color = ["#0072B2" if s <= 1 else "#D55E00" for s in share]
    bars = ax.barh(range(len(rows)), share, color=color, height=0.6)
    texts = [
        f"{shown(row['value'], row['unit'])}  (≤ {shown(row['target'], row['unit'])})"
        for row in rows.values()
    ]
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # over the line, not under it
    ax.bar_label(bars, texts, padding=4, fontsize=8, bbox=box)
    ax.axvline(1, color="#333333", linestyle="--", linewidth=1, zorder=1.5)
    ax.margins(y=0.01)
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.45 * max(1.0, *share))
    ax.set(xlabel="value / target; the dashed line is the target")
    return figure


def shown(value: float, unit: str) -> str:
    """Return a number with its unit; a ratio as a multiple."""
    number = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{number} {unit}".rstrip()


def processor() -> str:
    """Return the kind of processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
