"""A fit by way of another one, with no more work than has changed between them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

from .bayesian import BayesianDescription
from .warning import DataWarning, Heard, collected

SAME_STATISTICS = {"prior", "minority_prior", "likelihood_scale", "cutoff"}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator, and the warnings of its fit."""

    est: BayesianDescription
    heard: Heard

    @classmethod
    def of(cls, new: BayesianDescription, known: Fitted | None, X: Any, y: Any) -> Self:
        """Fit ``new`` to X and y, by way of what is ``known`` and no more than has changed."""
        before = {} if known is None else known.est.get_params(deep=False)
        after = new.get_params(deep=False)
        same_model = known is not None and type(known.est) is type(new)
        changed = {name for name, value in after.items() if not same_model or before[name] != value}
        with collected() as heard:
            if known is None or changed - SAME_STATISTICS:
                return cls(new.fit(X, y), heard)
            if changed == {"cutoff"}:
                return cls(known.est.with_cutoff(new.cutoff), known.heard)
            if not changed:
                return cls(known.est, known.heard)
            est = copy.copy(known.est).set_params(
                likelihood_scale=new.likelihood_scale, cutoff=new.cutoff
            )
            asked = {name: after[name] for name in ("prior", "minority_prior") if name in after}
            est = est.with_prior(**asked)
        of_the_rows = [(m, category) for m, category in known.heard if category is DataWarning]
        return cls(est, of_the_rows + heard)

    @property
    def notes(self) -> list[str]:
        """The warnings, each once."""
        return list(dict.fromkeys(message for message, _ in self.heard))
