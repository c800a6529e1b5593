"""Designs: which scenarios stand for which level of which factor of a study."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from .datasets import Dataset
from .generators import SHAPES, Shape
from .kinds import Clusters, KindSet, LabelledKind
from .scenario import Real, Scenario
from .slides import Slides

Design = dict[str, dict[str, list[Scenario]]]  # factor: level: scenarios
MOST_KINDS = 3  # of a data set that are labelled in turn
FEW_LABELS = (2, 5)
ROWS = 1000  # training rows at most, as the cost of some models grows with their cube
QUICK_LEVELS = {
    "rows in training": ("100", "200"),
    "features": ("50", "200"),
    "features with v = 5": ("200",),
    "minority share": ("1/3", "1/10", "1/20"),
    "boundary": ("linear", "ring", "moons"),
    "tails": ("normal",),
    "mislabelled minority": ("none", "30%"),
    "labelled minority": ("all of it", "none"),
}


def generated_design(quick: bool) -> Design:
    """Return the design of generated data: one factor at a time is varied from a base.

    The base is the generator of the slides with v = 0. The next steps of the slides are in it: more
    features, also with v = 5, where the classes nearly coincide; minority shares above 1/10 and
    below it; and non-linear boundaries. ``quick`` has fewer rows and fewer levels.
    """
    base = Slides(v=0.0, n_train=200 if quick else 300, n_test=1000 if quick else 4000)
    rows = 200 if quick else 600  # so that a share of 1/100 leaves 6 minority rows
    shapes = {kind: Shape(kind, n_test=base.n_test) for kind in SHAPES if kind != "paw"}
    moons, ring = shapes["moons"], shapes["ring"]
    widths, wrong = (50, 100, 200), (0.1, 0.3)
    design: dict[str, dict[str, list[Scenario]]] = {
        "rows in training": {str(n): [replace(base, n_train=n)] for n in (100, base.n_train, 1000)},
        "features": {str(p): [replace(base, p=p)] for p in widths},
        "features with v = 5": {str(p): [replace(base, v=5.0, p=p)] for p in widths},
        "minority share": {
            f"1/{n}": [replace(base, n_train=rows, share=1 / n)] for n in (3, 5, 10, 20, 50, 100)
        },
        "boundary": {"linear": [base], **{kind: [shape] for kind, shape in shapes.items()}},
        "tails": {"normal": [base], "t, 3 degrees of freedom": [replace(base, df=3.0)]},
        "mislabelled minority": {
            "none": [base],
            **{f"{share:.0%}": [replace(base, mislabelled=share)] for share in wrong},
            **{f"{share:.0%}, ring": [replace(ring, mislabelled=share)] for share in wrong},
        },
        "labelled minority": {
            "all of it": [base, moons],
            "none": [replace(base, labelled=False), replace(moons, labelled=False)],
        },
    }
    if quick:
        design = {f: {k: design[f][k] for k in levels} for f, levels in QUICK_LEVELS.items()}
    return design


def real_design(data: list[Dataset], rows: int = ROWS) -> Design:
    """Return the design of data sets, by their n, p and base rate.

    At most ``rows`` rows of each data set train.
    """
    scenarios = [Real(each, rows) for each in data]

    def levels(
        values: Sequence[float], bounds: list[float], names: list[str]
    ) -> dict[str, list[Scenario]]:
        found: dict[str, list[Scenario]] = {name: [] for name in names}
        for scenario, value in zip(scenarios, values, strict=True):
            found[names[bisect_left(bounds, value)]].append(scenario)
        return {name: members for name, members in found.items() if members}

    sizes, widths, shares = zip(*((*d.X.shape, d.base_rate) for d in data), strict=True)
    n = levels(sizes, [500, 1500], ["up to 500", "501 to 1500", "above 1500"])
    p = levels(widths, [10, 40], ["up to 10", "11 to 40", "above 40"])
    share = levels(shares, [0.05, 0.15], ["up to 5%", "5% to 15%", "above 15%"])
    return {
        "rows of the data set": n,
        "features": p,
        "minority share": share,
        "data set": {scenario.name: [scenario] for scenario in scenarios},
    }


def kinds_design(quick: bool, data: list[KindSet]) -> Design:
    """Return the design of kinds of abnormal rows, of which some are not in training.

    In generated data the share of the abnormal test rows that is of kinds without labels goes from
    0 to 1, and the labelled kinds drift. In real data the largest kinds of a data set, at most
    three, are labelled in turn, and the largest one by few rows too. ``quick`` has one kind of each
    data set.
    """
    shares, drifts = (0.0, 0.5) if quick else (0.0, 0.25, 0.5, 1.0), (0.0, 1.0, 2.0)
    most, few = (1, ()) if quick else (MOST_KINDS, FEW_LABELS)
    return {
        "unseen kinds": {f"{share:.0%}": [Clusters(share)] for share in shares},
        "drift of labelled kinds": {
            f"{drift:g}": [Clusters(0.25, drift)] for drift in drifts[: 1 if quick else 3]
        },
        "labelled kind": {d.name: [LabelledKind(d, k) for k in d.kinds[:most]] for d in data},
        "labelled rows": {
            str(n): [LabelledKind(each, each.kinds[0], labels=n) for each in data] for n in few
        },
    }


def scenarios_of(design: Design) -> list[Scenario]:
    """Return the scenarios of a design, each once."""
    members = [s for levels in design.values() for group in levels.values() for s in group]
    return list({s.name: s for s in members}.values())
