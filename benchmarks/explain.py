"""Row on explanations: their time beside that of P(normal)."""

from __future__ import annotations

from bsvdd import BSVDD

from .baselines import rows
from .measure import Row, in_turn

COLUMNS, N0 = 10, 900


def explain(quick: bool) -> Row:
    """Measure ``explain`` of new rows, about a tenth of them abnormal, with all its parts."""
    n = 1000 if quick else 10_000
    est = BSVDD().fit(rows(N0, COLUMNS))
    Z = rows(n, COLUMNS, seed=1)
    sides = {
        "explain": lambda: est.explain(Z),
        "explain without the smallest changes": lambda: est.explain(Z, changes=False),
        "probability_normal": lambda: est.probability_normal(Z),
    }
    seconds = in_turn(sides, 5)
    details = seconds | {
        "draws of the intervals": est.explain(Z[:1]).draws,
        "draws of P(normal)": len(est.fit_.draws.weights),
        "abnormal rows": int((est.predict(Z) == -1).sum()),
    }
    value = seconds["explain"] / seconds["probability_normal"]
    what = f"explain of {n:,} x {COLUMNS}, n0 = {N0}, intervals from 50 draws"
    return Row(what, "probability_normal", value, 3.0, "", details)


ROWS = [explain]
