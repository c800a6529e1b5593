"""What an estimator holds of a fit. It never changes, and what follows from it is computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..base.warning import DataWarning, warn
from ..inference import sampling
from ..inference.centre import Centre
from ..inference.fit import Fit, Learned
from ..inference.learners import Ball, Posterior, centre_of
from ..inference.worth import Chains, Near, effective_support
from ..models.gram import Gram
from ..tables.training import Training

PRIOR_DRAWS = 1000
# of fewer new rows, or of a smaller share, that are training rows nothing is said
FEWEST_KNOWN = 10
SHARE = 0.25
TYPICAL = 200  # rows, whose median distance is the typical one


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted(Fit):
    """The fit of an estimator.

    Attributes
    ----------
    estimator : estimator
        Not fitted, with the parameters of the fit.
    training : Training
    learner : Posterior or Ball
    seed : int
    seconds : float
        Processor time of learning.
    """

    estimator: Any
    training: Training
    learner: Posterior | Ball
    seed: int
    seconds: float = np.nan

    @property
    def gram(self) -> Gram:
        """The Gram statistics."""
        return self.data.gram

    @property
    def has_draws(self) -> bool:
        """Whether there are draws of the weights."""
        return bool(self.learned.sampler)

    def of_parameters(self, **parameters: Any) -> Self:
        """Return this fit, as of an estimator with other parameters."""
        own = self.estimator.get_params(deep=False) | parameters
        estimator = clone(
            type(self.estimator)(**own)
        )  # nobody else can change its parameters
        return replace(self, estimator=estimator, learner=estimator._learner(self.seed))

    def sampled(self) -> Self:
        """Return the fit that its learner makes; lambda stays."""
        return self.changed(learned=self.learner.learn(self.data, self.learned.scale))

    # what follows from it

    @cached_property
    def hashes(self) -> np.ndarray:
        """The hashes of the training rows."""
        return single(self.training.observed)

    @cached_property
    def near(self) -> Near:
        """Left-out rows near the cutoff."""
        return Near.of(self.data)

    @cached_property
    def chains(self) -> Chains:
        """Whether the chains agree."""
        return (
            Chains.of_points(self.learned.by_chain, self.gram.K)
            if self.has_draws
            else Chains()
        )

    @property
    def divergences(self) -> int:
        """The number of divergent transitions."""
        return int(np.sum(self.learned.stats.get("diverging", 0)))

    @property
    def model(self) -> Any:
        """The model of the weights; an AttributeError if there is none."""
        if not isinstance(self.learner, Posterior) or self.learned.scale is None:
            raise AttributeError(
                f"{type(self.estimator).__name__} has no model with a posterior"
            )
        return self.learner.model(self.data, self.learned.scale.scale)

    @cached_property
    def prior(self) -> Centre | None:
        """Draws of the centre from the prior; None without a proper prior."""
        if not self.has_draws or self.learned.sampler == "own":
            return None
        try:
            return centre_of(
                self.data, sampling.of_prior(self.model, PRIOR_DRAWS, self.seed)
            )
        except sampling.ImproperPriorError:
            return None

    def support(self, centre: Centre) -> np.ndarray:
        """Return the effective number of rows that the weights of each draw rest on, (S,)."""
        return effective_support(centre.w, self.gram.sizes)

    @cached_property
    def quantities(self) -> dict[str, dict[str, np.ndarray]]:
        """Numbers of each draw of "posterior" and "prior", (S,) each, by name."""
        found = {"posterior": self._quantities(self.learned.centre)}
        return (
            found
            if self.prior is None
            else found | {"prior": self._quantities(self.prior)}
        )

    def _quantities(self, centre: Centre) -> dict[str, np.ndarray]:
        w = centre.w
        gram = self.gram
        values = {
            "effective_support": self.support(centre),
            "largest_weight": np.abs(w / gram.sizes).max(axis=1),
        }
        if gram.n1:
            values["minority_total"] = -w[:, gram.m :].sum(axis=1)
        values["squared_norm"] = gram.squared_norm(w)
        i = self.data.units.majority
        rows = self.data.units.X[i[:: max(1, len(i) // TYPICAL)]]
        d = Fit(self.data, Learned(centre), self.rule).distances(rows)
        return values | {"typical_distance": np.median(d, axis=1)}


def require_one_fit(est: Any, answer: str) -> None:
    """Raise an error as :func:`require_description`, and if an estimator joins several fits."""
    require_description(est, answer)
    if not hasattr(est, "fit_"):
        raise TypeError(
            f"{type(est).__name__} joins several fits, so there is no {answer} of all; "
            "ask each of est.views_"
        )


def require_description(est: Any, answer: str) -> None:
    """Raise an error if an estimator is not fitted, or has neither draws nor left-out rows."""
    check_is_fitted(est)
    if not hasattr(est, "margins"):
        raise TypeError(
            f"{type(est).__name__} has neither draws nor left-out rows, so there is no "
            f"{answer}; use a description such as BSVDD, BDD or SVDD"
        )


def training_minority(est: Any) -> np.ndarray:
    """Return which of the training rows of a description are minority."""
    pairwise = get_tags(est).input_tags.pairwise  # a kernel matrix is no table
    return np.asarray(
        (est.idata_["constant_data"] if pairwise else est.table_).minority
    )


# new rows that are training rows


def hashes(rows: np.ndarray) -> np.ndarray:
    """Return a number of 64 bits for each row (n, p), equal for equal rows."""
    frame = pd.DataFrame(rows + 0.0)  # -0.0 is 0.0
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def single(rows: np.ndarray) -> np.ndarray:
    """Return the hashes of rows (n, p) that equal no other: new rows equal the others by chance."""
    found, count = np.unique(hashes(rows), return_counts=True)
    return found[count == 1]


def warn_of_training(known: np.ndarray, rows: np.ndarray) -> None:
    """Say how many rows (m, p) have known hashes, if these are more than a few."""
    equal = int(np.isin(hashes(rows), known).sum()) if len(rows) >= FEWEST_KNOWN else 0
    if equal > SHARE * len(rows):
        warn(
            f"{equal} of {len(rows)} rows are training rows; decision() answers them "
            "left out",
            DataWarning,
        )
