"""What the measurements share: rows, real sets, cells in processes, one command, whole files."""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from bsvdd.comparison import datasets
from bsvdd.estimators.atomic import atomic
from bsvdd.inference.metrics import evaluate
from bsvdd.inference.warning import DataWarning, DiagnosticWarning
from joblib import Parallel, delayed
from PIL import Image
from rich.progress import track
from scipy.stats import betabinom
from sklearn.metrics import average_precision_score

DOCS = Path(__file__).parents[1] / "docs"
COLOURS = 200  # of the palette of a picture: a third of the bytes, and no difference to see
MOST_TRAINING, MOST_TEST = 800, 2000  # rows of a real set
RealSet = tuple[str, np.ndarray, np.ndarray, np.ndarray]


class quietly(ContextDecorator):  # a class, so that processes can be sent what it decorates
    """Leave out our own warnings, which are about small samples; a decorator too."""

    def __enter__(self) -> None:
        self.caught = warnings.catch_warnings(action="ignore", category=DiagnosticWarning)
        self.caught.__enter__()
        warnings.simplefilter("ignore", DataWarning)

    def __exit__(self, *raised: Any) -> None:
        self.caught.__exit__(*raised)


def in_turn(sides: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, float]:
    """Return the median seconds of each side, called in turn after one call to warm up.

    What else the machine does then falls on all sides alike.
    """
    for side in sides.values():
        side()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(s)) for name, s in seconds.items()}


def ratio(sides: dict[str, Callable[[], Any]], repeats: int = 5) -> tuple[float, dict[str, float]]:
    """Return the seconds of the first side over those of the last, and those of all."""
    seconds = in_turn(sides, repeats)
    first, *_, last = seconds.values()
    return first / last, seconds


# real sets


def real_sets(folder: Path | None) -> list[RealSet]:
    """Return name, training rows, test rows and test labels of the real sets, thinned."""
    return [_thinned(*each) for each in raw_sets(folder)]


def raw_sets(folder: Path | None) -> list[RealSet]:
    """Return the embedded sets and those of ``folder``: half of the normal rows train.

    Files of a folder are .npz of train, test and test_labels.
    """
    sets = []
    for name in datasets.names():
        data = datasets.embedded(name)
        order = np.random.default_rng(0).permutation(np.flatnonzero(~data.minority))
        train, test = order[: len(order) // 2], order[len(order) // 2 :]
        test = np.concatenate([test, np.flatnonzero(data.minority)])
        sets.append((name, data.X[train], data.X[test], data.minority[test]))
    for number, path in enumerate(sorted(folder.glob("*.npz")) if folder else [], 1):
        with np.load(path) as file:
            if "test_labels" in file:
                name = f"other {number}"  # the results name no set of others
                rows = np.nan_to_num(file["train"]), np.nan_to_num(file["test"])
                sets.append((name, *rows, file["test_labels"] > 0))
    return sets


def _thinned(name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> RealSet:
    rng = np.random.default_rng(0)
    if len(X) > MOST_TRAINING:
        X = X[rng.choice(len(X), MOST_TRAINING, replace=False)]
    if len(Z) > MOST_TEST:
        share = MOST_TEST / len(Z)
        kept = [
            rng.choice(np.flatnonzero(y == c), int(share * (y == c).sum()), False) for c in (0, 1)
        ]
        Z, y = Z[np.concatenate(kept)], y[np.concatenate(kept)]
    return name, X, Z, y


def found(est: Any, Z: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return how a fit ranks and decides test rows, of which those with y are abnormal."""
    flagged, score = est.predict(Z) == -1, -est.score_samples(Z)
    metrics = evaluate(y, flagged, score)
    return {
        **{"auc": metrics["auc"], "ap": float(average_precision_score(y, score))},
        **{"false_alarms": metrics["fpr"], "found": 1.0 - metrics["fnr"]},
        "g_mean": metrics["g_mean"],
    }


def band(n: int, m: int, rate: float, levels: list[float]) -> np.ndarray:
    """Return quantiles of the share of m new rows beyond an order statistic of n rows."""
    above = int(rate * (n + 1) + 1e-9)
    quantiles: np.ndarray = betabinom.ppf(levels, m, above, n + 1 - above) / m
    return quantiles


# cells, commands, files


def computed(
    function: Callable[..., Any], cells: Iterable[tuple[Any, ...]], jobs: int, what: str = "cells"
) -> list[Any]:
    """Return ``function(*cell)`` of each cell, in their order, by ``jobs`` processes."""
    waiting = list(cells)
    results = Parallel(jobs, return_as="generator")(delayed(function)(*c) for c in waiting)
    return list(track(results, what, total=len(waiting)))


def options(
    name: str,
    doc: str | None,
    arguments: list[str] | None = None,
    parts: Iterable[str] = (),
    **numbers: float,
) -> argparse.Namespace:
    """Return the options of a measurement: jobs, data-dir, out, and ``numbers`` of its own."""
    parser = argparse.ArgumentParser(f"python -m benchmarks.{name}", description=doc)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data-dir", type=Path, help="folder of further sets, .npz")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of the files (docs)")
    for option, default in numbers.items():
        parser.add_argument(f"--{option}", type=type(default), default=default)
    if parts:
        parser.add_argument("--part", action="append", choices=list(parts), help="default: all")
    return parser.parse_args(arguments)


def by_part(
    name: str,
    doc: str | None,
    parts: Iterable[Callable[[argparse.Namespace], Any]],
    arguments: list[str] | None = None,
    **numbers: float,
) -> tuple[argparse.Namespace, dict[str, Any]]:
    """Compute the parts that are asked for, all by default, and store each when it is done.

    Parameters
    ----------
    name, doc : str
        Of the measurement; the file is docs/``name``.json.
    parts : iterable of callable
        Each takes the options and returns what is stored under its name; None, as of a picture, is
        not stored.
    arguments : list of str, optional
    numbers
        Options of its own, with their defaults.
    """
    named = {part.__name__: part for part in parts}
    chosen = options(name, doc, arguments, named, **numbers)
    path = chosen.out / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for part in chosen.part or named:
        found = named[part](chosen)
        if found is not None:
            stored[part] = found
            write(path, stored, indent=None, part=part)
    return chosen, stored


def write(path: Path, content: Any, indent: int | None = 1, part: str = "all") -> None:
    """Write JSON, a text or a figure to ``path``, all or nothing.

    Of JSON in docs, evidence.csv there gets the command, the commit and the date of the part.
    """
    if path.resolve().parent == DOCS and path.suffix == ".json":
        record(path.name, part, f"python -m benchmarks.{path.stem}")
    with atomic(path) as temporary:
        if isinstance(content, plt.Figure):
            stream = io.BytesIO()
            content.savefig(stream, dpi=110, metadata={"Software": None})
            plt.close(content)
            image = Image.open(stream).convert("RGB")
            image = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=0)
            image.save(temporary, format="PNG", optimize=True)
        else:
            text = content if isinstance(content, str) else json.dumps(content, indent=indent)
            temporary.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


@cache  # what is stored makes a clean tree dirty
def revision() -> str:
    """Return the commit of the code, with a + if something is changed beside it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(
        command, cwd=DOCS, capture_output=True, text=True, check=True
    ).stdout.strip()


def record(file: str, part: str, command: str) -> None:
    """Write into docs/evidence.csv by which command, at which commit and when a part was made."""
    path = DOCS / "evidence.csv"
    rows = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as stored:
            rows = {(row["file"], row["part"]): row for row in csv.DictReader(stored)}
    if part == "all":  # of which no part is older
        rows = {key: row for key, row in rows.items() if key[0] != file}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    row = {"file": file, "part": part, "command": command, "commit": revision(), "date": today}
    rows[file, part] = row
    text = io.StringIO()
    writer = csv.DictWriter(text, list(row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[key] for key in sorted(rows))
    write(path, text.getvalue())
