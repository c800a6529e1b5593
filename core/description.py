"""The six descriptions, as estimators of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .data import Data
from .decision import TIE, median
from .fit import Fit, Learned
from .kernels import Tabular, as_kernel
from .learners import CALIBRATED, Ball, Posterior, mode_on_simplex, of_draws
from .models.bdd import BDD as BDDModel
from .models.bdd_m import BDDM as BDDMModel
from .models.bsvdd import BSVDD as BSVDDModel
from .models.bsvdd_m import BSVDDM as BSVDDMModel
from .points import Arrays
from .priors import Beta, EqualWeights, Flat, TruncatedNormal
from .sampling import Draws
from .units import Units


def of_decision(margins: np.ndarray) -> Arrays:
    """Return the score and P(normal) of rows, from margins (draws, rows)."""
    return median(margins), (margins >= 0.0).mean(axis=0)


@dataclass(kw_only=True, eq=False, repr=False)
class Description(OutlierMixin, BaseEstimator):
    """A centre in kernel space, with a cutoff of the similarity to it."""

    kernel: Any = Tabular()
    cutoff: Any = None
    minor_label: Any = None
    dictionary: str | int = "auto"

    learns_from_minority: ClassVar[bool] = False
    most_points: ClassVar[int] = 600

    def _learn(self, data: Data) -> Learned:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit."""
        X = check_array(X, dtype=float)
        minority = minority_of(y, len(X), self.minor_label)
        kernel = as_kernel(self.kernel)
        if hasattr(kernel, "training_rows"):
            X = kernel.training_rows(X)
        units = Units.of(X, minority, sample_weight, groups)
        most = self.most_points if self.dictionary == "auto" else self.dictionary
        with threadpool_limits(1):
            data = Data.of(
                kernel, units, self.learns_from_minority, len(X) if most == "all" else int(most)
            )
            self.fit_ = Fit.of(data, self._learn(data), self.cutoff)
        return self

    def _with(self, fit: Fit) -> Self:
        new = type(self)(**self.get_params(deep=False))
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(new, name, value)
        new.fit_ = fit
        return new

    def with_cutoff(self, cutoff: Any) -> Self:
        """Return this fit with another cutoff."""
        with threadpool_limits(1):
            return self._with(self.fit_.with_rule(cutoff)).set_params(cutoff=cutoff)

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if X is None:
            return None
        X = check_array(X, dtype=float)
        kernel = self.fit_.data.kernel
        if hasattr(kernel, "new_rows"):
            return kernel.new_rows(X, len(self.fit_.data.units.X))
        return X

    def margins(self, X: Any = None) -> np.ndarray:
        """Return log(inside / outside) (draws, rows)."""
        with threadpool_limits(1):
            return self.fit_.margins(self._rows(X))

    def decision(self, X: Any = None) -> pd.DataFrame:
        """Return surprise, P(normal), normal, and the p-value of new rows."""
        with threadpool_limits(1):
            score, P = self.fit_.answers(of_decision, self._rows(X))
            found = {"surprise": -score, "probability_normal": P, "normal": score >= -TIE}
            if X is not None:
                found["p_value"] = self.fit_.p_values(score)
        return pd.DataFrame(found, index=getattr(X, "index", None))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return scores (m,)."""
        return -self.decision(X)["surprise"].to_numpy()

    decision_function = score_samples

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 or -1 (m,)."""
        return np.where(self.decision(X)["normal"], 1, -1)

    def probability_normal(self, X: Any) -> np.ndarray:
        """Return P(normal) (m,)."""
        return self.decision(X)["probability_normal"].to_numpy()


@dataclass(kw_only=True, eq=False, repr=False)
class Bayesian(Description):
    """A description with a posterior of the weights."""

    prior: Any = None
    likelihood_scale: Any = CALIBRATED
    sampler: str = "auto"
    draws: int = 500
    tune: int | None = None
    chains: int = 4
    random_state: int = 0

    Model: ClassVar[Any]
    defaults: ClassVar[tuple[Any, ...]]

    @property
    def _posterior(self) -> Posterior:
        given = (self.prior, getattr(self, "minority_prior", None))
        priors = tuple(
            default if own is None else own
            for default, own in zip(self.defaults, given, strict=False)
        )
        how = {
            "sampler": self.sampler,
            "draws": self.draws,
            "tune": self.tune,
            "chains": self.chains,
            "seed": self.random_state,
        }
        return Posterior(self.Model, priors, self.likelihood_scale, how)

    def _learn(self, data: Data) -> Learned:
        self.likelihood_scale_ = self._posterior.scale(data).scale
        return self._sampled(data)

    def _sampled(self, data: Data) -> Learned:
        return self._posterior.learn(data, self.likelihood_scale_)

    @property
    def model_(self) -> Any:
        """The PyMC model."""
        return self._posterior.model(self.fit_.data, self.likelihood_scale_).build()

    def with_prior(self, prior: Any = None, **priors: Any) -> Self:
        """Return the fit with another prior."""
        new = self._with(self.fit_).set_params(prior=prior or self.prior, **priors)
        with threadpool_limits(1):
            new.fit_ = self.fit_.with_learned(new._sampled(self.fit_.data))
        return new

    def with_draws(self, w: Any) -> Self:
        """Return the fit with draws from elsewhere."""
        w = np.asarray(w, dtype=float)
        learned = of_draws(self.fit_.data, Draws(w if w.ndim == 3 else w[None], {}))
        with threadpool_limits(1):
            return self._with(self.fit_.with_learned(learned))


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDD(Bayesian):
    """w = softmax(beta)."""

    Model = BSVDDModel
    defaults = (Flat(1.5),)


@dataclass(kw_only=True, eq=False, repr=False)
class BDD(Bayesian):
    """w = alpha0."""

    simplex: bool = False

    Model = BDDModel
    defaults = (EqualWeights(),)
    most_points = 1000

    def _sampled(self, data: Data) -> Learned:
        if self.simplex:
            return mode_on_simplex(data, self._posterior.priors[0], self.likelihood_scale_)
        return super()._sampled(data)


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDDM(Bayesian):
    """w = [(1 + sum alpha1) softmax(tau), -alpha1]."""

    minority_prior: Any = None
    likelihood_scale: Any = 1.0

    Model = BSVDDMModel
    defaults = (Flat(0.83), Beta())
    learns_from_minority = True


@dataclass(kw_only=True, eq=False, repr=False)
class BDDM(Bayesian):
    """w = [alpha0, -alpha1] of sum one."""

    minority_prior: Any = None
    likelihood_scale: Any = 1.0

    Model = BDDMModel
    defaults = (EqualWeights(), TruncatedNormal())
    learns_from_minority = True
    most_points = 1000


@dataclass(kw_only=True, eq=False, repr=False)
class SVDD(Description):
    """The smallest ball."""

    C: float | None = None
    outlier_fraction: float = 0.1

    def _learn(self, data: Data) -> Learned:
        return Ball(self.C, self.outlier_fraction).learn(data)


@dataclass(kw_only=True, eq=False, repr=False)
class SVDDM(SVDD):
    """The smallest ball around the majority and beside the minority."""

    C2: float | None = None
    minority_fraction: float = 0.1

    learns_from_minority = True

    def _learn(self, data: Data) -> Learned:
        fractions = self.outlier_fraction, self.C2, self.minority_fraction
        return Ball(self.C, *fractions).learn(data)


def minority_of(y: Any, n: int, minor_label: Any) -> np.ndarray:
    """Return which rows (n,) are minority."""
    if y is None:
        return np.zeros(n, dtype=bool)
    y = np.asarray(y)
    return y == (1 if minor_label is None else minor_label)
