"""The one class of all estimators: they fit rows, and decide by a score and a cutoff."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from numbers import Number
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..inference import threads
from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.cutoffs import Chooser
from ..inference.learned import Learner
from ..models import odd_rows
from ..models.gram import Gram
from ..models.kernels import Kernel, as_kernel
from ..models.kernels.base import LARGEST
from . import decisions, fitting, inputs
from .fit import LISTED, Fit, Spec
from .known import Rows
from .labels import LABELS_OF_PREDICT, classes_of_predict
from .one_table import Table
from .reading import Asked, read
from .saved_file import save
from .table import TrainingTable
from .training import AllRows, Dictionary, TrainingData

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

    # scikit-learn has no types, and a base of unknown type takes any keyword argument

    class BaseEstimator:
        """The part of scikit-learn's that is used."""

        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: Any) -> Self: ...  # noqa: D102
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

    class OutlierMixin:
        """It has fit_predict only, which Detector overrides."""

else:
    from sklearn.base import BaseEstimator, OutlierMixin


@dataclass(kw_only=True, eq=False, repr=False)
class Detector(OutlierMixin, BaseEstimator):
    """A detector that learns a score of rows, and a cutoff from left-out rows.

    A subclass says in ``_learner`` what learns; the rest of this class is the same for all models.
    What a fitted detector answers depends on ``fit_`` alone, and not on parameters that are set
    afterwards. Questions beside those of its methods are functions of :mod:`bsvdd`, such as
    ``bsvdd.p_value(est, X)`` and ``bsvdd.explain(est, X)``.

    Attributes
    ----------
    fit_ : Fit
        Rows, Gram statistics, draws, score, cutoff; it never changes.
    kernel_ : Kernel
        With its bandwidth as a number, and the criterion that gave it.
    gram_ : Gram
        The Gram statistics of the training rows.
    cutoff_, offset_ : float
        D_opt; and the score of the cutoff, 0.
    labels_ : tuple
        The labels of y in ``fit``, those of the minority first; empty without y.
    idata_ : xarray.DataTree
        See :mod:`bsvdd.estimators.tree`.
    """

    cutoff: Cutoff | Chooser | float | None = None
    minor_label: Any = None
    random_state: Any = 0

    _learns_from_minority: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"random_state": ["random_state"]}

    # what a model says of itself

    def _learner(self) -> Learner:
        """Return what learns: the model of these parameters, a frozen value."""
        raise NotImplementedError

    def _dictionary(self, n_points: int) -> Dictionary:
        """Return the dictionary, which chooses the points of the centre.

        ``n_points`` is their number if all rows that the model learns from are points.
        """
        return AllRows(self._learns_from_minority)

    # the fit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model and choose the cutoff.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            Training rows; with ``kernels.Precomputed``, their kernel matrix (n, n). Columns of text
            are numbers, dates or categories, see ``bsvdd.estimators.rows.columns``.
        y : array-like of shape (n,), or name of a column of the data frame, optional
            Labels. The minority is -1 in {-1, 1}, 1 in {0, 1}, True in booleans, and
            ``minor_label`` otherwise. Without y, all rows are majority. One-class models learn
            from the majority rows; minority rows only tune their cutoff.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Rows with NaN, infinity or masked values, too few or too many rows, ambiguous labels,
            rows without a label, one class only if a model or a cutoff
            needs two, an invalid kernel, or a parameter out of its range. The message says what to
            do.
        TypeError
            X is not a table of numbers, or a parameter has the wrong type.

        Warns
        -----
        DataWarning
            Equal rows, columns that the kernel compares badly (constant ones, very different
            scales), or kernel values so large that distances have few digits.
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, or weights that have collapsed
            on a few rows.
        """
        return self._fit(X, y, one_table=False)

    def _fit(self, X: Any, y: Any, one_table: bool) -> Self:
        """Fit; with ``one_table`` odd rows are among the rows, if ``core`` says nothing else."""
        own = self._owned()
        asked = own._asked()
        fit = _fit_of(own, asked, read(asked, X, y, one_table))
        self.fit_ = fit  # last: a fit that fails leaves this estimator unchanged
        return self

    def _owned(self) -> Self:
        """Return this estimator, unfitted, with copies of its parameters: callers may change them.

        A RandomState stays the caller's, who shares its stream on purpose; a plain function is
        its own copy.
        """
        parameters = self.get_params(deep=False).items()
        return type(self)(**{k: v if k == "random_state" else owned(v) for k, v in parameters})

    def _asked(self) -> Asked:
        """Return what these parameters ask of training data, after their checks."""
        self._validate_params()
        learner, cutoff = self._learner(), as_cutoff(self.cutoff)
        fitting.check_cutoff(type(self).__name__, learner, cutoff)
        return Asked(
            name=type(self).__name__,
            kernel=as_kernel(self.get_params(deep=False)["kernel"]),
            learner=learner,
            cutoff=cutoff,
            dictionary=self._dictionary,
            with_minority=self._learns_from_minority,
            minor_label=self.minor_label,
            random_state=self.random_state,
            core=self.get_params(deep=False).get("core", 1.0),
        )

    def _with_fit(self, fit: Fit) -> Self:
        """Return the estimator of a fit, with the parameters of the fit."""
        new = type(self)(**{name: owned(v) for name, v in fit.spec.parameters.items()})
        new.fit_ = fit
        return new

    def with_cutoff(self, cutoff: Any) -> Self:
        """Return this fitted estimator with another cutoff; the model is not fitted again.

        Parameters
        ----------
        cutoff : Cutoff, object of bsvdd.cutoffs, float or None
            As in the constructor. Only ``Cutoff(cv=K)`` refits, once per fold.

        Raises
        ------
        ValueError
            The cutoff needs minority rows and the fit has none, or the folds need more rows.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import SVDD, cutoffs
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> est = SVDD().fit(X)
        >>> strict = est.with_cutoff(cutoffs.FalseAlarm(0.2))
        >>> bool(strict.cutoff_ < est.cutoff_)
        True
        """
        check_is_fitted(self)
        return self._with_fit(fitting.with_cutoff(self.fit_, as_cutoff(cutoff), cutoff))

    # what was fitted

    @property
    def kernel_(self) -> Kernel:
        """The kernel, with its bandwidth as a number."""
        return self.fit_.data.kernel

    @property
    def gram_(self) -> Gram:
        """The Gram statistics of the training rows."""
        return self.fit_.data.gram

    @property
    def cutoff_(self) -> float:
        """The cutoff D_opt."""
        return self.fit_.distance

    @property
    def offset_(self) -> float:
        """The score of the cutoff, 0."""
        return 0.0

    @property
    def labels_(self) -> tuple[Any, ...]:
        """The labels of y in ``fit``, those of the minority first; empty without y."""
        return self.fit_.data.labels

    @property
    def n_features_in_(self) -> int:
        """The number of columns in ``fit``."""
        return self.fit_.data.columns.n

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns in ``fit``, if they have names."""
        return self.fit_.data.columns.given

    @property
    def table_(self) -> TrainingTable:
        """The training rows as they were given, and what each column is."""
        check_is_fitted(self)
        return TrainingTable.of(self.fit_.data)

    @property
    def tail_model_(self) -> pm.Model:
        """The PyMC model of the surprises of one table, see :mod:`bsvdd.models.odd_rows`.

        It is built anew at each access.

        Raises
        ------
        AttributeError
            The fit counts all rows as normal, or there are too few different rows for a tail.
        """
        check_is_fitted(self)
        if self.fit_.data.core is None:
            raise AttributeError("tail_model_ exists for a core fit: est.fit_predict(X), core=0.8")
        tail = self.fit_.tail
        if not tail.is_known:
            raise AttributeError(f"the surprises have no model of their tail: {odd_rows.TOO_FEW}")
        model: pm.Model = odd_rows.build(tail)
        return model

    @property
    def idata_(self) -> xr.DataTree:
        """The fit as an xarray.DataTree, made when it is first asked for."""
        from . import tree

        check_is_fitted(self)
        return tree.of_fit(self.fit_)

    @idata_.setter
    def idata_(self, value: Any) -> None:
        raise AttributeError("idata_ cannot be set; est.with_draws(draws) takes your own draws")

    # scores and decisions of new rows

    def probability_normal(self, X: Any) -> np.ndarray:
        r"""Return :math:`P(d_z \le D_{\mathrm{opt}} \mid \mathrm{data})` for each row of X.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            As in ``fit``; columns of a data frame are taken by their names. If the labels of the
            fit were a column of a data frame, this column is ignored.

        Returns
        -------
        ndarray of shape (n,)
            The share of the draws in which the row is normal, in [0, 1]. It counts what is
            uncertain: the weights of the centre, the cutoff, and rows that the sample has not
            shown, see :mod:`bsvdd.inference.decision`. A model with one estimate of the weights
            has the last two. With ``Cutoff(uncertain=False)``, or a number as the cutoff, it is
            ``(est.distance(X) <= est.cutoff_).mean()``. It is 0 or 1 with the
            cutoff ``Own()`` of a model with one estimate.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        sklearn.exceptions.NotFittedError

        Warns
        -----
        DataWarning
            X has many training rows, which are answered as new ones here; ``est.decision()``
            leaves each out.
        """
        return self._by_row(X, Fit.probability_normal)

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Return the score of each row, shape (n,); larger is more normal, at least 0 is normal.

        It is minus the surprise of the row (Hyndman 2026),

        .. math:: \log \frac{s_z}{s_{\mathrm{cut}}}, \qquad s_z = \sum_j w_j k(u_j, z), \qquad
            d_z^2 = k(z, z) - 2 s_z + \|a\|^2,

        its quantile over the draws at the level of the cutoff (at level 0.5, the posterior median),
        with the similarity :math:`s_{\mathrm{cut}}` of the cutoff in each draw. It has all its
        digits where d_z, which tends to the distance of a row that resembles no training row, has
        none left. Where weights or kernel values may be negative it is the difference
        :math:`s_z - s_{\mathrm{cut}}`, and where k(z, z) differs between rows,
        :math:`s_z - k(z, z) / 2` takes the place of s_z.

        A row is normal exactly if its score is at least ``offset_``, which is 0. X and errors
        are those of :meth:`probability_normal`.

        References
        ----------
        Hyndman, R. J. (2026). arXiv:2603.09318.
        """
        return self._by_row(X, Fit.scores)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X)``, shape (n,): at least 0 for normal rows."""
        return self.score_samples(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where P(normal) exceeds the level of the cutoff, else -1.

        Shape (n,). X and errors are those of :meth:`probability_normal`.
        """
        return self._by_row(X, Fit.is_normal) * 2 - 1

    def _by_row(self, X: Any, of_rows: Callable[..., np.ndarray]) -> np.ndarray:
        check_is_fitted(self)
        fit = self.fit_
        rows = fit.asked(*inputs.completed(fit.data, X))
        fit.warn_of_training(rows)
        return of_rows(fit, rows)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return +1 (normal) or -1 (abnormal) for each row of X, left out.

        Without y, odd rows are among those of X: one-class descriptions then rest on the core of
        the rows, ``core=0.8`` if it is "auto", and -1 are the rows of the list of
        :func:`bsvdd.stand_out`, often none. With a ``cutoff`` that says what chooses it, with
        labels or ``core=1``, the cutoff decides. ``predict`` answers for new rows.
        Of many rows a sample is described, and the others are answered as new rows.
        """
        table = Table.of(self._fit(X, y, one_table=True), X, y)
        fit = table.fit
        if fit.lists:
            return np.where(table.odd.listed(LISTED), -1, 1)
        return np.where(table.scores >= 0.0, 1, -1)

    def decision(
        self,
        X: Any = None,
        prob: float = 0.9,
    ) -> pd.DataFrame:
        r"""Return the decision on each row, with its p-value, P(normal) and surprise.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            By default the training rows, each left out.
        prob : float, default=0.9
            Probability of the interval of the surprise.

        Returns
        -------
        pandas.DataFrame
            With the index of X if X is a data frame, or the names of the training rows:

            - ``p_value``, as :func:`bsvdd.p_value`; of a training row, among the other rows. The
              training rows of one table with odd rows inside have none, but ``probability_odd``
              and ``listed``, of :func:`bsvdd.stand_out`;
            - ``probability_normal``, as :meth:`probability_normal`;
            - ``surprise``, :math:`\log(s_{\mathrm{cut}} / s_z)` in nats: 0 at the cutoff, .69 for a
              row that is half as similar to the training rows, negative for normal rows. It is
              minus :meth:`score_samples`, and a difference of similarities where these may
              be negative;
            - ``surprise_low``, ``surprise_high``, the ends of its interval. The lower end
              counts a whole row beside z that the sample has not shown;
            - ``normal``, as :meth:`predict`, or :meth:`fit_predict`;
            - ``distance``, the distance of the surprise, and ``cutoff``, D_opt, which tell rows
              apart worse than the surprise does; and ``level``;
            - ``left_out``, without X: whether the training row can be left out.

            With ``Cutoff(undecided=(low, high))`` also ``probability_error``, the Monte Carlo
            standard error of P(normal), and ``decision``: "normal", "abnormal" or "undecided", see
            :func:`bsvdd.inference.decision.three_way`. A training row that cannot be left out has
            the decision of the fit.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity;
            prob does not lie between 0 and 1.
        sklearn.exceptions.NotFittedError

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> BDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])["normal"].tolist()
        [True, False]
        >>> X[7] = 9.0
        >>> bool(BDD().fit(X).decision()["normal"][7])  # of a training row, left out
        False
        """
        check_is_fitted(self)
        if X is None:
            return decisions.of_training(self.fit_, prob)
        return decisions.of_rows(self.fit_, X, prob)

    def margins(self, X: Any = None) -> np.ndarray:
        r"""Return by how much each row lies within the cutoff in each draw, shape (draws, m).

        A row is normal in a draw if its margin is at least 0; P(normal) is the share of such draws,
        and the score their quantile at the level of the cutoff. With kernel values and weights of
        at least 0 it is :math:`\log(s_z / s_{\mathrm{cut}})` of the draw.

        Parameters
        ----------
        X : array-like of shape (m, p), optional
            By default the training rows, each left out.
        """
        check_is_fitted(self)
        if X is None:
            return self.fit_.margins_of_training()
        return self.fit_.margins_of_rows(self._rows(X))

    def log_similarity(self, X: Any = None) -> np.ndarray:
        r"""Return :math:`\log s_z` in each draw, shape (draws, m), whatever the cutoff is.

        With :math:`s_z = \sum_j w_j k(u_j, z)`, and the smallest positive number in place of
        a sum that is not positive. For kernels whose k(z, z) differs between rows it is
        :math:`-\log d_z^2`.

        Parameters
        ----------
        X : array-like of shape (m, p), optional
            By default the training rows, each left out.
        """
        check_is_fitted(self)
        if X is None:
            return self.fit_.log_similarity_of_training()
        return self.fit_.log_similarity_of_rows(self._rows(X))

    def _rows(self, X: Any) -> Rows:
        return self.fit_.asked(*inputs.completed(self.fit_.data, X))

    def distance(self, X: Any) -> xr.DataArray:
        r"""Return the draws of d_z for each row of X.

        .. math:: d_z^2 = k(z, z) - 2 \sum_j w_j k(u_j, z) + \|a\|^2

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        xarray.DataArray of dims (chain, draw, obs)
            d_z is a norm in kernel space, so it does not have the units of X. For a kernel with
            values in [0, 1], k(z, z) = 1 and weights on the simplex, it lies between 0 and the
            square root of 2.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        """
        check_is_fitted(self)
        d = self.fit_.score.distances(inputs.table(self.fit_.data, X))
        return self.fit_.draws.of_rows(d)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one safetensors file; see :func:`bsvdd.load`.

        What was added to ``idata_`` is not saved; ``est.idata_.to_netcdf(path)`` writes it.

        Parameters
        ----------
        path : str or path
            The file is complete or absent: it is written under another name and then renamed.

        Raises
        ------
        TypeError
            A parameter is an object that JSON cannot store.
        ValueError
            Names of rows are too long to be stored.
        """
        check_is_fitted(self)
        save(self.fit_, path)

    # scikit-learn

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of the kernel too, as in ``kernel__kernel__bandwidth``.

        Raises
        ------
        ValueError
            There is no parameter of that name.

        Examples
        --------
        >>> from bsvdd import SVDD
        >>> SVDD().set_params(kernel__kernel__bandwidth=0.5, kernel__rho=0.1).kernel
        Tabular(RBF(bandwidth=0.5, gamma=2), rho=0.1)
        """
        nested = {name: v for name, v in params.items() if name.startswith("kernel__")}
        super().set_params(**{name: v for name, v in params.items() if name not in nested})
        if nested:
            of_kernel = {name.removeprefix("kernel__"): v for name, v in nested.items()}
            kernel = as_kernel(self.get_params(deep=False)["kernel"])
            super().set_params(kernel=kernel.with_params(**of_kernel))
        return self

    def _validate_params(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, int) and abs(value) > LARGEST and name != "minor_label":
                raise ValueError(f"{name} is a whole number that is too large for any float")
        super()._validate_params()

    @property
    def classes_(self) -> np.ndarray:
        """The values of ``predict``, [-1, 1], for scikit-learn's scorers and calibration.

        Raises
        ------
        AttributeError
            y had other labels in ``fit``; scikit-learn's tools would read scores and decisions the
            wrong way round.
        """
        check_is_fitted(self)
        return classes_of_predict(self.labels_)

    def minority_of(self, y: Any, n: int) -> np.ndarray:
        """Return which of n rows with labels y are minority, by the labels of the fit."""
        return self.fit_.minority_of(y, n)

    def __str__(self) -> str:
        """Return what the fit is and what to ask it; before the fit, its parameters as ``repr``."""
        if not self.__sklearn_is_fitted__():
            return repr(self)
        from .questions import facts  # a fit needs no sentences

        return facts.described(facts.of_fit(self.fit_))

    def __sklearn_is_fitted__(self) -> bool:
        return "fit_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.get_params(deep=False)["kernel"]
        tags.input_tags.pairwise = getattr(kernel, "pairwise", False)
        tags.input_tags.allow_nan = getattr(kernel, "fills_gaps", False)
        if self._learns_from_minority:
            tags.estimator_type = None  # scikit-learn's outlier detectors must fit without labels
            tags.target_tags.required = True
        if self.__sklearn_is_fitted__() and self.labels_ not in LABELS_OF_PREDICT:
            tags.estimator_type = "classifier"  # so scikit-learn's scorers ask for classes_
        return tags


def _fit_of(own: Detector, asked: Asked, data: TrainingData) -> Fit:
    """Return the fit of an estimator, whose parameters nobody else can change, to read data."""
    spec = Spec(type(own), own.get_params(deep=False))
    with threads.one():
        return fitting.fitted(spec, own._learner().resolved(data), data, asked.cutoff)


def owned(value: Any) -> Any:
    """Return a copy of a parameter, or the value itself if nothing in it can be changed."""
    return copy.deepcopy(value) if _can_change(value) else value


def _can_change(value: Any) -> bool:
    kind: Any = type(value)
    if isinstance(value, type):
        return False
    if is_dataclass(value) and kind.__dataclass_params__.frozen:
        return any(_can_change(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, tuple):
        return any(map(_can_change, value))
    return not (value is None or isinstance(value, str | Number | FunctionType))
