"""The studies: their designs of scenarios, their candidates and protocols.

``slides`` reproduces the published table, ``settings`` varies one factor at a time in generated
data, and ``real`` takes data sets. The last two also compare priors and bandwidths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...models.kernels import RBF, Tabular
from ..scenarios.datasets import Dataset, require_known
from ..scenarios.generators import SHAPES, Shape
from ..scenarios.scenario import Real, Scenario
from ..scenarios.slides import Slides
from .protocol import FAIR, PRIORS, PROTOCOLS, Candidate, Protocol, candidates, published
from .runner import Study, read

Levels = dict[str, list[Scenario]]
Design = dict[str, Levels]  # factor: level: scenarios
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
QUICK = ["SVDD", "BDD", "BSVDD", "BSVDD-M", "OCSVM", "SVM"]
BANDWIDTHS = ("likelihood", "modified_mean", "mean", "median", "scale")
BANDWIDTH_MODELS = ("SVDD", "BSVDD", "BSVDD-M")
# some priors are of log weights, others of the weights themselves
PRIOR_OF = {"inverse row sum": ("BSVDD", "BSVDD-M"), "equal weights": ("BDD", "BDD-M")}
DEFAULTS = Protocol()  # compares priors and bandwidths: nothing is tuned
# factors of the generated data over which they are compared: all have at most 300 training rows
SMALL = ("features", "boundary", "tails", "mislabelled minority")


@dataclass(frozen=True)
class Plan:
    """The studies that one command runs.

    Attributes
    ----------
    main, priors, bandwidths : Study
        The comparisons of models, of priors and of bandwidths.
    design : dict
        The scenarios of each level of each factor.
    """

    main: Study
    priors: Study
    bandwidths: Study
    design: Design

    @property
    def studies(self) -> list[Study]:
        """The studies in the order in which they run."""
        return [self.main, self.priors, self.bandwidths]

    def read(self, folder: Path) -> dict[str, pd.DataFrame]:
        """Return the results of each study by name, from the files that the command wrote."""
        return {study.name: read(study.file(folder, "results.csv")) for study in self.studies}


def slides(quick: bool = False, protocol: str = "published", seed: int = 0) -> Study:
    """Return the study of the slides: four models, v = 5, 10, 20, 10 pairs of data sets.

    ``quick`` takes 3 pairs with a fifth of the rows. ``protocol`` is "published" (the published
    priors; F1 of left-out rows, each left out by rescaling the other weights, is our choice, as the
    slides name neither a criterion nor folds) or "fair".
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    models = ("SVDD", "BDD", "BSVDD", "BSVDD-M")
    chosen = published() if protocol == "published" else select_candidates(models)
    base = Slides(n_train=200, n_test=2000) if quick else Slides()
    scenarios: list[Scenario] = [replace(base, v=v) for v in (5.0, 10.0, 20.0)]
    return Study("slides", scenarios, chosen, PROTOCOLS[protocol], 3 if quick else 10, seed)


def settings(quick: bool = False, seed: int = 0) -> Plan:
    """Return the study of generated data, one factor at a time from a base."""
    design = generated_design(quick)
    return _plan("settings", design, {factor: design[factor] for factor in SMALL}, quick, seed)


def real(data: list[Dataset], quick: bool = False, seed: int = 0, rows: int = ROWS) -> Plan:
    """Return the study of random halves of data sets; at most ``rows`` rows of a half train."""
    design = real_design(data, rows)
    return _plan("real", design, design, quick, seed)


def one_class(data: list[Dataset], quick: bool = False, seed: int = 0, rows: int = ROWS) -> Study:
    """Return the study of one-class models and yardsticks, trained by majority rows alone.

    Half of the majority rows of a data set train, at most ``rows``; the other half and all minority
    rows test. Nothing is tuned: all have their defaults, on standardised columns.
    """
    scenarios: list[Scenario] = [Real(each, rows, labelled=False) for each in data]
    models = [c for c in candidates() if not c.needs_minority]
    return Study("one_class", scenarios, models, DEFAULTS, 2 if quick else 5, seed)


def select_candidates(names: tuple[str, ...] | list[str]) -> list[Candidate]:
    """Return the candidates of the named models."""
    by_name = {c.name: c for c in candidates()}
    for name in names:
        require_known("model", name, by_name)
    return [by_name[name] for name in names]


def _varied(base: Candidate, choice: str, **parameters: Any) -> Candidate:
    given = base.parameters | parameters
    return Candidate(f"{base.name}, {choice}", base.model, given, choice=choice)


def prior_candidates() -> list[Candidate]:
    """Return each Bayesian model with each prior of the majority's weights."""
    return [
        _varied(c, label, prior=prior)
        for c in candidates()
        if not c.is_yardstick and c.record.bayesian
        for label, prior in PRIORS.items()
        if c.model in PRIOR_OF.get(label, (c.model,))
    ]


def bandwidth_candidates() -> list[Candidate]:
    """Return some models with each criterion of the bandwidth."""
    chosen = select_candidates(BANDWIDTH_MODELS)
    return [_varied(c, b, kernel=Tabular(RBF(b))) for c in chosen for b in BANDWIDTHS]


def _plan(name: str, design: Design, small: Design, quick: bool, seed: int) -> Plan:
    """Return the plan over ``design``; priors and bandwidths are compared over ``small``."""
    models, replicates = (select_candidates(QUICK), 2) if quick else (candidates(), 5)
    main = Study(name, scenarios_of(design), models, FAIR, replicates, seed)
    labelled = [s for s in scenarios_of(small) if s.labelled]
    compared = labelled[:3] if quick else labelled

    def defaults(topic: str, choices: list[Candidate]) -> Study:
        return Study(f"{name}: {topic}", compared, choices, DEFAULTS, 1 if quick else 3, seed)

    return Plan(
        main,
        defaults("priors", prior_candidates()),
        defaults("bandwidths", bandwidth_candidates()),
        design,
    )


# which scenarios stand for which level of which factor


def generated_design(quick: bool) -> Design:
    """Return the design of generated data: one factor at a time is varied from a base.

    The base is the generator of the slides with v = 0. The next steps of the slides are in it: more
    features, also with v = 5, where the classes nearly coincide; minority shares above 1/10 and
    below it; and non-linear boundaries. ``quick`` has fewer rows and fewer levels.
    """
    base = Slides(v=0.0, n_train=200 if quick else 300, n_test=1000 if quick else 4000)
    rows = 200 if quick else 600  # so that a share of 1/100 leaves 6 minority rows
    shapes = {kind: Shape(kind, n_test=base.n_test) for kind in SHAPES}
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
    scenarios: list[Scenario] = [Real(each, rows) for each in data]

    def levels(values: Sequence[float], bounds: list[float], *names: str) -> Levels:
        of = np.array(names)[np.searchsorted(bounds, values)]
        groups = {n: [s for s, k in zip(scenarios, of, strict=True) if k == n] for n in names}
        return {name: members for name, members in groups.items() if members}

    sizes, widths, shares = zip(*((*d.X.shape, d.base_rate) for d in data), strict=True)
    return {
        "rows of the data set": levels(
            sizes, [500, 1500], "up to 500", "501 to 1500", "above 1500"
        ),
        "features": levels(widths, [10, 40], "up to 10", "11 to 40", "above 40"),
        "minority share": levels(shares, [0.05, 0.15], "up to 5%", "5% to 15%", "above 15%"),
        "data set": {scenario.name: [scenario] for scenario in scenarios},
    }


def scenarios_of(design: Design) -> list[Scenario]:
    """Return the scenarios of a design, each once."""
    members = [s for levels in design.values() for group in levels.values() for s in group]
    return list({s.name: s for s in members}.values())
