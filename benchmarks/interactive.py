"""The time that a user of the explorer waits. Each function measures one row of the table."""

from __future__ import annotations

import time

import numpy as np

import bsvdd

from .baselines import rows
from .measure import Row

CHANGES = [
    *(("sd", v) for v in (0.7, 0.8, 0.9, 1.1, 1.2)),
    *(("likelihood_scale", v) for v in (0.5, 0.7, 1.5, 2.0, 1.0)),
    *(("bandwidth", v) for v in (1.1, 1.2, 1.3, 1.4)),
    *(("level", v) for v in (0.4, 0.6, 0.5)),
    *(("row", v) for v in (10, 200, 310)),
]


def explorer(quick: bool) -> Row:
    """Measure the time from the change of a slider to the new picture and numbers."""
    n0 = 100 if quick else 300
    X = np.concatenate([rows(n0, 10), rows(n0 // 10, 10, seed=1) + 1.5])
    shown = bsvdd.explore(X, np.repeat([0, 1], [n0, n0 // 10]))
    seconds: dict[str, list[float]] = {}
    for name, value in CHANGES:
        value = min(value, n0) if name == "row" else value
        start = time.perf_counter()
        shown.controls[name].value = value
        shown.wait()
        seconds.setdefault(name, []).append(time.perf_counter() - start)
        assert getattr(shown.setting, name) == value, shown._messages.value
    together = np.concatenate(list(seconds.values()))
    details = {name: float(np.median(s)) for name, s in seconds.items()}
    what = f"slider to refreshed picture, n0 = {n0}, median of {len(together)} changes"
    return Row(what, "", float(np.median(together)), 1.0, "s", details)


ROWS = [explorer]
