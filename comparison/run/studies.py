"""The studies: their scenarios, candidates and protocols.

``slides`` reproduces the published table, ``settings`` varies one factor at a time in generated
data, and ``real`` takes data sets. The last two also compare priors and bandwidths. ``kinds`` has
abnormal rows of kinds that training has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...estimators.registry import MODELS
from ...models.kernels import RBF, Standardized, Tabular
from ..scenarios.collection import Dataset, require_known
from ..scenarios.designs import (
    ROWS,
    Design,
    generated_design,
    kinds_design,
    real_design,
    scenarios_of,
)
from ..scenarios.kinds import KindSet
from ..scenarios.scenario import Real, Scenario
from ..scenarios.slides import Slides
from .protocol import FAIR, PRIORS, PROTOCOLS, Candidate, Protocol, candidates, published
from .runner import Study, read

KIND_MODELS = ("BSVDD", "OCSVM", "SVDD-M", "BSVDD-M", "SVM", "LS-SVM")
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
    priors; F1 by 5 folds is our choice, as the slides name no criterion) or "fair".
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


def kinds(data: list[KindSet], quick: bool = False, seed: int = 0) -> Study:
    """Return the study of kinds that training has not seen, beside those that are labelled.

    Nothing is tuned. LS-SVM is there with a wide bandwidth too, which is best for kinds that are
    labelled, and BSVDD-M with a narrow one.
    """
    models = select_candidates(KIND_MODELS)
    wide, narrow = Standardized(RBF("scale")), Standardized(RBF("likelihood"))
    models += [
        Candidate("LS-SVM, scale", "LS-SVM", {"kernel": wide}, choice="scale"),
        Candidate("BSVDD-M, likelihood", "BSVDD-M", {"kernel": narrow}, choice="likelihood"),
    ]
    scenarios = scenarios_of(kinds_design(quick, data))
    return Study("kinds", scenarios, models, DEFAULTS, 1 if quick else 3, seed)


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
        if MODELS[c.model].bayesian
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
