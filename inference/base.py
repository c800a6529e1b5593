"""What all estimators share: from rows to a centre, from a centre to a decision."""

from __future__ import annotations

import copy
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import pymc as pm
import xarray as xr
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..models.gram import Gram
from ..models.kernels import as_kernel
from . import diagnostics
from .cutoff import Cutoff, as_cutoff
from .decision import decisive_distance, probability_normal
from .distance import Center, leave_one_out
from .labels import minority_rows
from .sampling import sample


class DataWarning(UserWarning):
    """Something in the rows that a fit can live with, but its reader should know."""


class Description(OutlierMixin, BaseEstimator):
    """Description of the majority by a weighted centre in kernel space.

    A subclass says how the weights are found, in ``_draw``; the statistics before them and
    the distance, the cutoff and the decision after them are the same for all.
    """

    _learns_from_minority = False
    _sum_to_one = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "random_state": ["random_state"],
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the description.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Training rows; with ``kernels.Precomputed`` their kernel matrix (n, n).
        y : array-like of shape (n,), optional
            Which rows are minority: -1 in {-1, 1}, 1 in {0, 1} and booleans, else
            ``minor_label``. Without y all rows are majority. One-class models fit on the
            majority rows, and minority rows only tune the cutoff.
        """
        self._validate_params()
        X = self._validated(X, reset=True)
        minority = minority_rows(y, len(X), self.minor_label)
        if self._learns_from_minority and not minority.any():
            raise ValueError(
                f"{type(self).__name__} learns from minority rows, but there is none (n1 = 0); "
                "give y with at least one minority row, or use a one-class model such as BSVDD"
            )
        kernel = as_kernel(self.kernel)
        self._rows, self._minority = kernel.training_rows(X), minority
        if not kernel.pairwise:
            _warn_of_constant_columns(X[~minority])
        self.kernel_ = kernel.resolve(self._rows[~minority])
        self._infer()
        self._decide()
        return self

    # From rows to draws of the centre

    def _infer(self) -> None:
        """Draw the weights, and take the distances of the training rows."""
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.gram_ = self._statistics(self._rows, self._minority)
        tree = self._draw(self.gram_)
        center = self._center(tree, self._rows, self._minority, self.gram_)
        d = center.distance(self._rows)
        chains, draws = tree["posterior"].sizes["chain"], tree["posterior"].sizes["draw"]
        d = d.reshape(chains, draws, -1)
        obs = np.arange(len(self._rows))
        dims = ("chain", "draw", "obs")
        tree["distance"] = xr.Dataset({"d": (dims, d)}, {"obs": obs})
        majority = ~self._minority
        tree["log_likelihood"] = xr.Dataset(
            {"kernel": (dims, -self._likelihood_scale / 2 * d[..., majority] ** 2)},
            {"obs": obs[majority]},
        )
        tree["constant_data"] = xr.Dataset(
            {"X": (("obs", "feature"), self._rows), "minority": ("obs", self._minority)},
            {"obs": obs},
        )
        tree["diagnostics"] = diagnostics.diagnose(tree)
        self.idata_ = tree

    @property
    def _likelihood_scale(self) -> float:
        return 1.0

    def _statistics(self, rows: np.ndarray, minority: np.ndarray) -> Gram:
        learnt = rows[minority] if self._learns_from_minority else None
        return Gram.from_rows(self.kernel_, rows[~minority], learnt)

    def _center(
        self, tree: xr.DataTree, rows: np.ndarray, minority: np.ndarray, gram: Gram
    ) -> Center:
        w = tree["posterior"]["w"].values
        points = rows[~minority]
        if self._learns_from_minority:
            points = np.concatenate([points, rows[minority]])
        return Center.of(w.reshape(-1, w.shape[-1]), gram.K, points, self.kernel_)

    def _draw(self, gram: Gram) -> xr.DataTree:
        """Return a DataTree whose group ``posterior`` holds w (chain, draw, point)."""
        raise NotImplementedError

    # From draws to a decision

    def _decide(self) -> None:
        """Choose the cutoff, and decide the training rows by it."""
        policy = as_cutoff(self.cutoff)
        self._restore_center()
        if isinstance(policy, Cutoff):
            self.level_ = policy.level
            if policy.criterion == "radius":
                self.cutoff_ = self._radius()
            else:
                self.cutoff_ = policy.choose(self._left_out(policy), self._minority)
        else:
            self.level_, self.cutoff_ = 0.5, policy
        self.offset_ = -self.cutoff_
        d = self._training_distances()
        self.idata_["decision"] = xr.Dataset(
            {
                "probability_normal": ("obs", probability_normal(d, self.cutoff_)),
                "normal": ("obs", decisive_distance(d, self.level_) <= self.cutoff_),
                "cutoff": self.cutoff_,
                "level": self.level_,
            },
            {"obs": np.arange(len(self._rows))},
        )

    def _restore_center(self) -> None:
        self._fitted_center = self._center(self.idata_, self._rows, self._minority, self.gram_)

    def _restore(self) -> None:
        """Take the decision from ``idata_`` as it stands there; for :func:`bsvdd.load`."""
        self._restore_center()
        decision = self.idata_["decision"]
        self.cutoff_, self.level_ = float(decision["cutoff"]), float(decision["level"])
        self.offset_ = -self.cutoff_

    def _radius(self) -> float:
        raise ValueError(
            f"cutoff: criterion='radius' is for SVDD; {type(self).__name__} has no radius"
        )

    def _training_distances(self) -> np.ndarray:
        d = self.idata_["distance"]["d"].values
        return d.reshape(-1, d.shape[-1])

    def _left_out(self, policy: Cutoff) -> np.ndarray:
        """Return the decisive distance of each training row, left out as ``policy.cv`` says."""
        if isinstance(policy.cv, int):
            return self._left_out_by_refits(policy.cv, policy.level)
        d = self._training_distances()
        if policy.cv is None:
            return decisive_distance(d, policy.level)
        # majority rows are the first points of the dictionary, minority rows the last
        known = (
            [~self._minority, self._minority] if self._learns_from_minority else [~self._minority]
        )
        place = np.concatenate([np.flatnonzero(rows) for rows in known])
        d = d.copy()
        d[:, place] = leave_one_out(
            d[:, place], self._fitted_center.weights, self.gram_.K, self._sum_to_one
        )
        return decisive_distance(d, policy.level)

    def _left_out_by_refits(self, folds: int, level: float) -> np.ndarray:
        n0, n1 = int((~self._minority).sum()), int(self._minority.sum())
        for name, n in (("majority", n0), ("minority", n1)):
            if 0 < n < folds:
                raise ValueError(
                    f"cutoff: cv={folds} folds need at least {folds} {name} rows, got {n}; use "
                    "fewer folds or cv='loo'"
                )
        split = (StratifiedKFold if n1 else KFold)(folds, shuffle=True, random_state=self._seed)
        left_out = np.empty(len(self._rows))
        for train, test in split.split(self._rows, self._minority):
            rows, minority = self._rows[train], self._minority[train]
            gram = self._statistics(rows, minority)
            center = self._center(self._draw(gram), rows, minority, gram)
            left_out[test] = decisive_distance(center.distance(self._rows[test]), level)
        return left_out

    def with_cutoff(self, cutoff: Any) -> Self:
        """Return this fitted estimator with another cutoff; nothing is fitted again.

        Parameters
        ----------
        cutoff : Cutoff, str, float or None
            As in the constructor. Only ``Cutoff(cv=K)`` refits, one fit for each fold.
        """
        check_is_fitted(self)
        new = copy.copy(self)
        new.cutoff = cutoff
        new.idata_ = self.idata_.copy()
        new._decide()
        return new

    # Scoring

    def distance(self, X: Any) -> xr.DataArray:
        """Return the draws of d_z for each row of X, dims (chain, draw, obs)."""
        rows = self._new_rows(X)
        sizes = self.idata_["posterior"].sizes
        d = self._fitted_center.distance(rows)
        return xr.DataArray(
            d.reshape(sizes["chain"], sizes["draw"], len(rows)),
            dims=("chain", "draw", "obs"),
            coords={
                "chain": self.idata_["posterior"]["chain"].values,
                "draw": self.idata_["posterior"]["draw"].values,
                "obs": np.arange(len(rows)),
            },
            name="d",
        )

    def probability_normal(self, X: Any) -> np.ndarray:
        """Return P(d_z <= cutoff_ | data) for each row of X, shape (n,)."""
        rows = self._new_rows(X)
        p = np.empty(len(rows))
        for place, d in self._fitted_center.blocks(rows):
            p[place] = probability_normal(d, self.cutoff_)
        return p

    def score_samples(self, X: Any) -> np.ndarray:
        """Return minus the decisive distance (at level 0.5: the posterior median of d_z).

        Larger is more normal. The row is normal exactly when it is at least ``-cutoff_``.
        """
        rows = self._new_rows(X)
        score = np.empty(len(rows))
        for place, d in self._fitted_center.blocks(rows):
            score[place] = -decisive_distance(d, self.level_)
        return score

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X) - offset_``: at least 0 for normal rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where P(d_z <= cutoff_ | data) > level_, else -1 (abnormal)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    # Input

    def _new_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.kernel_.new_rows(self._validated(X, reset=False), len(self._rows))

    def _validated(self, X: Any, reset: bool) -> np.ndarray:
        how: dict[str, Any] = dict(dtype=np.float64, ensure_all_finite=False)
        if not reset and self.kernel_.pairwise:  # k(z, z) is one more column than in training
            X = check_array(X, **how)
        else:
            X = validate_data(self, X, reset=reset, ensure_min_samples=2 if reset else 1, **how)
        bad = ~np.isfinite(X)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"X contains NaN or infinity: X[{row}, {column}] is {X[row, column]} "
                f"({int(bad.any(axis=1).sum())} such rows); drop or impute these rows"
            )
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cutoff_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self.kernel, "pairwise", False)
        if self._learns_from_minority:  # labels are needed, so by scikit-learn's book it is not
            tags.estimator_type = None  # an outlier detector, which fits without any
            tags.target_tags.required = True
        return tags

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one NetCDF file; see :func:`bsvdd.load`."""
        from .storage import save

        save(self, path)


class BayesianDescription(Description):
    """A description whose weights have a posterior: a PyMC model and a sampler."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Description._parameter_constraints,
        "likelihood_scale": [Interval(Real, 0, None, closed="neither")],
        "sampler": [StrOptions({"nuts", "metropolis"})],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "tune": [Interval(Integral, 0, None, closed="left")],
        "chains": [Interval(Integral, 1, None, closed="left")],
        "progressbar": ["boolean"],
    }

    def _build(self, gram: Gram) -> pm.Model:
        raise NotImplementedError

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of the fit, built from ``gram_`` and the priors."""
        check_is_fitted(self)
        return self._build(self.gram_)

    @property
    def _likelihood_scale(self) -> float:
        return float(self.likelihood_scale)

    def _draw(self, gram: Gram) -> xr.DataTree:
        return self._sample(self._build(gram))

    def _sample(self, model: pm.Model) -> xr.DataTree:
        return sample(
            model,
            self.sampler,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            seed=self._seed,
            progressbar=self.progressbar,
        )

    def _infer(self) -> None:
        super()._infer()
        found = self.idata_["diagnostics"].to_dataset()
        found["prior_effective_support"] = diagnostics.prior_effective_support(
            self._build(self.gram_), self._seed
        )
        self.idata_["diagnostics"] = found
        diagnostics.warn(found, self.idata_["posterior"].sizes["chain"], self.gram_.n_points)

    def with_prior(self, prior: Any = None, minority_prior: Any = None) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        Kernel and Gram statistics stay; where only numbers change, so does the compiled model.

        Parameters
        ----------
        prior : prior, optional
            Of the majority's weights; the present one when left out.
        minority_prior : prior, optional
            Of the minority's weights, for models that have one.
        """
        check_is_fitted(self)
        new = copy.copy(self)
        changes = {"prior": prior, "minority_prior": minority_prior}
        new.set_params(**{name: p for name, p in changes.items() if p is not None})
        new._infer()
        new._decide()
        return new


def _warn_of_constant_columns(X: np.ndarray) -> None:
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if len(constant):
        shown = ", ".join(map(str, constant[:5])) + (", ..." if len(constant) > 5 else "")
        warnings.warn(
            f"{len(constant)} column(s) of X are constant over the majority rows ({shown}): they "
            "say nothing about the majority, but a new row that differs there will look abnormal",
            DataWarning,
            stacklevel=3,
        )
