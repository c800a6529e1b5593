"""Designs: which scenarios stand for which level of which factor of a study."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from .datasets import Dataset
from .kinds import Clusters, KindSet, LabelledKind
from .scenario import Contaminated, Real, Scenario, Thinned, Unlabelled
from .shapes import SHAPES, Shape
from .slides import Slides

Design = dict[str, dict[str, list[Scenario]]]  # factor: level: scenarios
MOST_KINDS = 3  # of a data set that are labelled in turn
FEW_LABELS = (2, 5)
ROWS = 1000  # training rows at most, as the cost of some models grows with their cube


def generated_design(quick: bool) -> Design:
    """Return the design of generated data: one factor at a time is varied from a base.

    The base is the generator of the slides with v = 0. The next steps of the slides are in it: more
    features, also with v = 5, where the classes nearly coincide; minority shares above 1/10 and
    below it; and non-linear boundaries. ``quick`` has fewer rows and fewer levels.
    """
    base = Slides(v=0.0, n_train=200 if quick else 300, n_test=1000 if quick else 4000)

    def levels(
        scenarios: dict[str, Scenario], quick_levels: list[str]
    ) -> dict[str, list[Scenario]]:
        return {
            level: [scenario]
            for level, scenario in scenarios.items()
            if not quick or level in quick_levels
        }

    rows = 200 if quick else 600  # so that a share of 1/100 leaves 6 minority rows
    shapes: dict[str, Scenario] = {kind: Shape(kind, n_test=base.n_test) for kind in SHAPES}
    return {
        "rows in training": levels(
            {
                "100": replace(base, n_train=100),
                str(base.n_train): base,
                "1000": replace(base, n_train=1000),
            },
            ["100", str(base.n_train)],
        ),
        "features": levels({str(p): replace(base, p=p) for p in (50, 100, 200)}, ["50", "200"]),
        "features with v = 5": levels(
            {str(p): replace(base, v=5.0, p=p) for p in (50, 100, 200)}, ["200"]
        ),
        "minority share": levels(
            {f"1/{n}": replace(base, n_train=rows, share=1 / n) for n in (3, 5, 10, 20, 50, 100)},
            ["1/3", "1/10", "1/20"],
        ),
        "boundary": levels({"linear": base, **shapes}, ["linear", "ring", "moons"]),
        "tails": levels(
            {"normal": base, "t, 3 degrees of freedom": replace(base, df=3.0)}, ["normal"]
        ),
        "mislabelled minority": levels(
            {
                "none": base,
                **{f"{share:.0%}": Contaminated(base, share) for share in (0.1, 0.3)},
                **{
                    f"{share:.0%}, ring": Contaminated(shapes["ring"], share)
                    for share in (0.1, 0.3)
                },
            },
            ["none", "30%"],
        ),
        "labelled minority": {
            "all of it": [base, shapes["moons"]],
            "none": [Unlabelled(base), Unlabelled(shapes["moons"])],
        },
    }


def real_design(data: list[Dataset], rows: int = ROWS) -> Design:
    """Return the design of data sets, by their n, p and base rate.

    At most ``rows`` rows of each data set train.
    """
    scenarios: list[Scenario] = [
        Real(each) if len(each.X) // 2 <= rows else Thinned(each, rows) for each in data
    ]

    def levels(
        values: list[float], bounds: list[float], names: list[str]
    ) -> dict[str, list[Scenario]]:
        groups: dict[str, list[Scenario]] = {name: [] for name in names}
        for scenario, value in zip(scenarios, values, strict=True):
            groups[names[bisect_left(bounds, value)]].append(scenario)
        return {name: members for name, members in groups.items() if members}

    return {
        "rows of the data set": levels(
            [len(d.X) for d in data], [500, 1500], ["up to 500", "501 to 1500", "above 1500"]
        ),
        "features": levels(
            [d.X.shape[1] for d in data], [10, 40], ["up to 10", "11 to 40", "above 40"]
        ),
        "minority share": levels(
            [d.base_rate for d in data], [0.05, 0.15], ["up to 5%", "5% to 15%", "above 15%"]
        ),
        "data set": {scenario.name: [scenario] for scenario in scenarios},
    }


def kinds_design(quick: bool, data: list[KindSet]) -> Design:
    """Return the design of kinds of abnormal rows, of which some are not in training.

    In generated data the share of the abnormal test rows that is of kinds without labels goes from
    0 to 1, and the labelled kinds drift. In real data the largest kinds of a data set, at most
    three, are labelled in turn, and the largest one by few rows too. ``quick`` has one kind of each
    data set.
    """
    shares = (0.0, 0.5) if quick else (0.0, 0.25, 0.5, 1.0)
    return {
        "unseen kinds": {f"{share:.0%}": [Clusters(share)] for share in shares},
        "drift of labelled kinds": {
            f"{drift:g}": [Clusters(0.25, drift)]
            for drift in ((0.0,) if quick else (0.0, 1.0, 2.0))
        },
        "labelled kind": {
            each.name: [
                LabelledKind(each, kind) for kind in each.kinds[: 1 if quick else MOST_KINDS]
            ]
            for each in data
        },
        "labelled rows": {
            str(n): [LabelledKind(each, each.kinds[0], labels=n) for each in data]
            for n in (() if quick else FEW_LABELS)
        },
    }


def scenarios_of(design: Design) -> list[Scenario]:
    """Return the scenarios of a design, each once."""
    members = [s for levels in design.values() for group in levels.values() for s in group]
    return list({s.name: s for s in members}.values())
