"""The three studies: which settings, which candidates, by which protocol.

``slides`` is the published table; ``settings`` varies one thing at a time in generated data;
``real`` takes data sets. The last two also compare the defaults: priors and bandwidths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from ..models.kernels import RBF, Standardized
from ..models.registry import REGISTRY
from .datasets import Dataset
from .protocol import FAIR, PRIORS, PROTOCOLS, Candidate, Protocol, candidates, published
from .runner import Study, read
from .setting import Contaminated, Real, Setting, Thinned, Unlabelled
from .shapes import SHAPES, Shape
from .slides import Slides

Design = dict[str, dict[str, list[Setting]]]  # factor: level: settings
QUICK = ["SVDD", "BDD", "BSVDD", "BSVDD-M", "OCSVM", "SVM"]
BANDWIDTHS = ("modified_mean", "mean", "median", "scale")
BANDWIDTH_MODELS = ("SVDD", "BSVDD", "BSVDD-M")
ROWS = 1000  # that train, of a data set: a fit of some models grows with their cube
DEFAULTS = Protocol()  # of which priors and bandwidths are compared: nothing is tuned
# the factors over which they are, of generated settings: those of at most 300 rows
SMALL = ("features", "boundary", "tails", "mislabelled minority")


@dataclass(frozen=True)
class Plan:
    """What a command runs: the models, and where there are any, priors and bandwidths.

    Attributes
    ----------
    main, priors, bandwidths : Study
    design : dict
        Which settings stand for which level of which factor.
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
        """Return the results of each study by its name, from what the command left in a folder."""
        return {each.name: read(each.file(folder, "results.csv")) for each in self.studies}


def slides(quick: bool = False, protocol: str = "published", seed: int = 0) -> Study:
    """Return the study of the slides: four models, v = 5, 10, 20, 10 pairs of data sets.

    ``quick`` takes 3 pairs with a fifth of the rows. ``protocol`` is "published" (F1 by 5 folds,
    priors of the papers) or "fair".
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    models = ("SVDD", "BDD", "BSVDD", "BSVDD-M")
    chosen = published() if protocol == "published" else of_models(models)
    base = Slides(n_train=200, n_test=2000) if quick else Slides()
    settings: list[Setting] = [replace(base, v=v) for v in (5.0, 10.0, 20.0)]
    return Study("slides", settings, chosen, PROTOCOLS[protocol], 3 if quick else 10, seed)


def settings(quick: bool = False, seed: int = 0) -> Plan:
    """Return the study of generated settings, one factor at a time from a base."""
    design = generated(quick)
    return _plan("settings", design, {factor: design[factor] for factor in SMALL}, quick, seed)


def real(data: list[Dataset], quick: bool = False, seed: int = 0, rows: int = ROWS) -> Plan:
    """Return the study of data sets, on random halves, of which at most ``rows`` rows train."""
    design = of_data(data, rows)
    return _plan("real", design, design, quick, seed)


def generated(quick: bool) -> Design:
    """Return the design of :func:`settings`; ``quick`` has fewer rows and fewer levels."""
    base = Slides(v=0.0, n_train=200 if quick else 300, n_test=1000 if quick else 4000)

    def levels(of: dict[str, Setting], keep: list[str]) -> dict[str, list[Setting]]:
        return {level: [s] for level, s in of.items() if not quick or level in keep}

    rows = 200 if quick else 600  # so that 1/100 leaves 6 minority rows
    shapes: dict[str, Setting] = {kind: Shape(kind, n_test=base.n_test) for kind in SHAPES}
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
        "minority share": levels(
            {f"1/{n}": replace(base, n_train=rows, share=1 / n) for n in (10, 20, 50, 100)},
            ["1/10", "1/20"],
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


def of_data(data: list[Dataset], rows: int = ROWS) -> Design:
    """Return the levels of n, p and base rate of data sets; at most ``rows`` rows of each train."""
    every: list[Setting] = [
        Real(each) if len(each.X) // 2 <= rows else Thinned(each, rows) for each in data
    ]

    def split(of: list[float], bounds: list[float], names: list[str]) -> dict[str, list[Setting]]:
        level = [sum(value > b for b in bounds) for value in of]
        groups = {
            name: [s for s, at in zip(every, level, strict=True) if at == i]
            for i, name in enumerate(names)
        }
        return {name: members for name, members in groups.items() if members}

    return {
        "rows of the data set": split(
            [len(d.X) for d in data], [500, 1500], ["up to 500", "501 to 1500", "above 1500"]
        ),
        "features": split(
            [d.X.shape[1] for d in data], [10, 40], ["up to 10", "11 to 40", "above 40"]
        ),
        "minority share": split(
            [d.base_rate for d in data], [0.05, 0.15], ["up to 5%", "5% to 15%", "above 15%"]
        ),
        "data set": {s.name: [s] for s in every},
    }


def of_models(names: tuple[str, ...] | list[str]) -> list[Candidate]:
    """Return the candidates of these models."""
    known = {c.name: c for c in candidates()}
    for name in names:
        if name not in known:
            raise ValueError(f"unknown model {name!r}; expected one of {', '.join(known)}")
    return [known[name] for name in names]


def with_priors() -> list[Candidate]:
    """Return each Bayesian model with each prior of the majority's weights.

    With a Gaussian process BSVDD and BSVDD-M need minutes of NUTS where Laplace's approximation is
    not safe, so they take its draws everywhere; the results say where chains disagree.
    """
    return [
        Candidate(
            f"{c.name}, {label}",
            c.model,
            {**c.parameters, "prior": prior, **_sampler(c.model, label)},
        )
        for c in candidates()
        if REGISTRY[c.model].bayesian
        for label, prior in PRIORS.items()
    ]


def _sampler(model: str, prior: str) -> dict[str, str]:
    slow = prior == "Gaussian process" and model in ("BSVDD", "BSVDD-M")
    return {"sampler": "laplace"} if slow else {}


def with_bandwidths() -> list[Candidate]:
    """Return some models with each criterion of the bandwidth."""
    return [
        Candidate(f"{c.name}, {name}", c.model, {**c.parameters, "kernel": Standardized(RBF(name))})
        for c in of_models(BANDWIDTH_MODELS)
        for name in BANDWIDTHS
    ]


def _plan(name: str, design: Design, small: Design, quick: bool, seed: int) -> Plan:
    """Return the plan over ``design``, whose priors and bandwidths are compared over ``small``."""
    unique = _settings(design)
    models, replicates = (of_models(QUICK), 2) if quick else (candidates(), 5)
    main = Study(name, unique, models, FAIR, replicates, seed)
    labelled = [s for s in _settings(small) if s.labelled]
    some = labelled[:3] if quick else labelled

    def defaults(what: str, chosen: list[Candidate]) -> Study:
        return Study(f"{name}: {what}", some, chosen, DEFAULTS, 1 if quick else 3, seed)

    return Plan(
        main, defaults("priors", with_priors()), defaults("bandwidths", with_bandwidths()), design
    )


def _settings(design: Design) -> list[Setting]:
    """Return the settings of a design, each once."""
    every = [s for levels in design.values() for members in levels.values() for s in members]
    return list({s.name: s for s in every}.values())
