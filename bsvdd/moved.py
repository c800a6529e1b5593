"""Public modules at their former places, and by their short names.

Most of the package was once in ``bsvdd.inference``. An import from such a place still works: it
gives the names of today, and a DeprecationWarning says where they are.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]

# old module: where its names are now, the first that has the name
MODULES: dict[str, tuple[str, ...]] = {
    "comparison.advice": ("comparison.report.guidelines_page",),
    "comparison.cell": ("comparison.run.cell",),
    "comparison.generators": ("comparison.scenarios.generators",),
    "comparison.guidelines": (
        "comparison.report.guidelines",
        "comparison.report.findings",
        "comparison.report.situations",
        "comparison.report.defaults",
    ),
    "comparison.measures": ("comparison.run.measures",),
    "comparison.pages": ("comparison.report.pages",),
    "comparison.paired": ("comparison.report.paired",),
    "comparison.protocol": ("comparison.run.protocol",),
    "comparison.published": ("comparison.report.published",),
    "comparison.reproduction": (
        "comparison.report.reproduction",
        "comparison.report.reproduction_page",
    ),
    "comparison.setting": ("comparison.scenarios.scenario",),
    "comparison.shapes": ("comparison.scenarios.shapes",),
    "comparison.slides": ("comparison.scenarios.slides",),
    "comparison.store": ("comparison.run.store",),
    "comparison.studies": ("comparison.run.studies", "comparison.scenarios.designs"),
    "comparison.workers": ("comparison.run.workers",),
    "inference.approximation": ("estimators.approximation",),
    "inference.bayesian": ("estimators.bayesian",),
    "inference.cluster": ("estimators.rows.dask",),
    "inference.compilation": ("inference.log_density", "inference.compiled"),
    "inference.description": ("estimators.description",),
    "inference.detector": ("estimators.base",),
    "inference.distance": ("inference.scoring", "inference.leave_one_out"),
    "inference.estimators": ("estimators.svdd", "estimators.bdd", "estimators.bsvdd"),
    "inference.explorer": ("explorer.explorer",),
    "inference.files": ("estimators.storage.atomic",),
    "inference.health": ("inference.weight_summaries",),
    "inference.labels": ("estimators.labels",),
    "inference.laplace": ("inference.samplers.laplace",),
    "inference.left_out": ("inference.cross_validation",),
    "inference.machines": ("estimators.svm",),
    "inference.plots": ("estimators.plots",),
    "inference.rows": ("estimators.rows.blocks", "estimators.rows.files", "estimators.rows.source"),
    "inference.sealing": ("estimators.storage.container",),
    "inference.setting": ("explorer.state", "explorer.call", "explorer.ranges"),
    "inference.storage": ("estimators.storage.saving", "estimators.storage.loading"),
    "models.registry": ("estimators.registry",),
    "models.variable": ("models.priors.foreign",),
}

# modules by the names that the documentation gives them; these are no former places
PUBLIC = {
    "comparison.datasets": "comparison.scenarios.datasets",
    "comparison.runner": "comparison.run.runner",
    "comparison.table": "comparison.report.table",
    "kernels": "models.kernels",
    "plots": "estimators.plots",
    "scorers": "estimators.scorers",
    "priors": "models.priors",
}

# old module: names that are others today
NAMES: dict[str, dict[str, str]] = {
    "comparison.guidelines": {
        "fitted": "model_rows",
        "health": "reliability",
        "with_labels": "labelled_rows",
    },
    "comparison.paired": {"by_setting": "scenario_means"},
    "comparison.setting": {"Setting": "Scenario", "part": "subset"},
    "comparison.store": {"usable": "ensure_writable"},
    "comparison.studies": {
        "generated": "generated_design",
        "of_data": "real_design",
        "of_models": "select_candidates",
        "with_bandwidths": "bandwidth_candidates",
        "with_priors": "prior_candidates",
    },
    "inference.bayesian": {"BayesianDescription": "BayesianDataDescription"},
    "inference.cluster": {"score": "by_block"},
    "inference.compilation": {"Density": "LogDensity"},
    "inference.description": {"Description": "DataDescription"},
    "inference.detector": {"Detector": "BaseDetector"},
    "inference.distance": {"Center": "CenterDraws", "Expansion": "ScoringRule"},
    "inference.laplace": {"Judgement": "ProposalDiagnostics"},
    "inference.left_out": {"by_refits": "refitted_scores"},
    "inference.machines": {"Machine": "HyperplaneDetector"},
    "inference.setting": {
        "Setting": "ExplorerState",
        "bandwidths": "bandwidth_range",
        "logarithms": "log10_limits",
        "significant": "round_significant",
    },
}


class _MovedModule(ModuleType):
    """An old module, whose names come from the modules of today."""

    def __getattr__(self, name: str) -> Any:
        old = self.__name__.removeprefix(f"{PACKAGE}.")
        new_name = NAMES.get(old, {}).get(name, name)
        for place in MODULES[old]:
            module = importlib.import_module(f"{PACKAGE}.{place}")
            if hasattr(module, new_name):
                if not name.startswith("__"):
                    warnings.warn(
                        f"{self.__name__}.{name} is now {module.__name__}.{new_name}",
                        DeprecationWarning,
                        stacklevel=2,
                    )
                return getattr(module, new_name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _Finder(MetaPathFinder, Loader):
    """Finds the old modules, after all other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, old = name.partition(".")
        known = package == PACKAGE and (old in MODULES or old in PUBLIC)
        return ModuleSpec(name, self) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name.removeprefix(f"{PACKAGE}.") in PUBLIC:
            return None  # any module: exec_module puts the module itself in its place
        return _MovedModule(spec.name, "Moved; see bsvdd.moved.")

    def exec_module(self, module: ModuleType) -> None:
        place = PUBLIC.get(module.__name__.removeprefix(f"{PACKAGE}."))
        if place is not None:  # the module itself, under a second name
            sys.modules[module.__name__] = importlib.import_module(f"{PACKAGE}.{place}")


def install() -> None:
    """Let old modules be imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
