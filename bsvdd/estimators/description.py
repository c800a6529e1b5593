"""The base of all descriptions: they fit rows, and decide by a score and a cutoff."""

from __future__ import annotations

import os
import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, override

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..base import threads
from ..base.messages import check_rate
from ..base.warning import DataWarning, DiagnosticWarning, collected, warn
from ..inference.cutoffs import AnyCutoff, Printed, resolved
from ..inference.draws import Draws
from ..inference.fit import Fit
from ..models.dictionary import Dictionary
from ..models.kernels import Kernel, Tabular, as_kernel
from ..models.rows import CompleteRows
from ..tables import inputs
from ..tables.group_centres import group_texts
from ..tables.labels import LABELS_OF_PREDICT
from ..tables.table import Table
from ..tables.training import TrainingRows, warn_of_training
from ..tables.unlike import warn_of_unlike
from . import decisions
from .fit_warnings import fit_warnings
from .of_rows import Constraints, OfRows, OutlierMixin, clone
from .unnamed_groups import unnamed_groups

if TYPE_CHECKING:
    import xarray as xr
    from sklearn.utils import Tags

LARGEST = float(np.finfo(float).max)
LARGEST_SEED = 2**31 - 1
PACKAGE = __name__.partition(".")[0]
# by name, as it stands above the descriptions
ONE_TABLE = "outliers.stand_out:stand_out"
EVERY = "all"  # each distinct row is an atom


@dataclass(kw_only=True, eq=False, repr=False)
class Description(OutlierMixin, OfRows[Fit]):
    """A centre in kernel space, and a cutoff that left-out rows choose.

    A subclass draws the weights in ``_draws``; the rest of this class is the same for
    all models. What a fitted estimator answers depends on ``fit_`` alone, and not on
    parameters that are set afterwards. Questions beside those of its methods are
    functions of :mod:`bsvdd`, such as ``bsvdd.p_value(est, X)`` and
    ``bsvdd.explain(est, X)``.

    Attributes
    ----------
    fit_ : Fit
        Rows, Gram statistics, draws, boundary; it never changes.
    kernel_ : Kernel
        With its bandwidth as a number, and the criterion that gave it.
    gram_ : Dictionary
        The Gram statistics of the training rows.
    cutoff_, offset_ : float
        D_opt; and the score of the cutoff, 0.
    labels_ : tuple
        The labels of y in ``fit``, those of the minority first; empty without y.
    idata_ : xarray.DataTree
        See :mod:`bsvdd.estimators.tree`.
    """

    kernel: Kernel | Callable[..., np.ndarray] = Tabular()
    cutoff: AnyCutoff | None = None
    minor_label: object = None
    table: Table | None = None
    dictionary: str | int = "auto"

    _default_atoms: ClassVar[int] = 600  # distinct rows that are atoms by themselves
    _parameter_constraints: ClassVar[Constraints] = {
        "dictionary": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto", EVERY}),
        ],
        "random_state": ["random_state"],
    }

    def _draws(self, dictionary: Dictionary, seed: int) -> Draws:
        """Return draws of the weights."""
        raise NotImplementedError

    # the fit

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model and choose the cutoff.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            Training rows; with ``kernels.Precomputed``, their kernel matrix (n, n).
            Columns of text are numbers, dates or categories, see :class:`bsvdd.Table`.
        y : array-like of shape (n,), or name of a column, optional
            Labels. The minority is -1 in {-1, 1}, 1 in {0, 1}, True in booleans, and
            ``minor_label`` otherwise. Without y, all rows are majority. One-class
            models learn from the majority rows; minority rows only tune their cutoff.
        sample_weight : array-like of shape (n,), or name of a column, optional
            What rows count beside each other; only ratios count. A row of weight 0
            does not count, and is answered.
        groups : array-like of shape (n,), or name of a column, optional
            Rows of one label leave together, so that scores and cutoff are for rows of
            a new group. By default each row leaves alone.

            Columns that y, ``sample_weight`` and ``groups`` name are no features, and
            new rows need not have them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Infinite or masked values, NaN under a kernel that is not for tables, too
            few rows, ambiguous labels, rows without a label, one class only if a model
            or a cutoff needs two, weights or groups that cannot be, an invalid kernel,
            or a parameter out of its range. The message says what to do.
        TypeError
            X is no table of rows and columns, or a parameter has the wrong type.

        Warns
        -----
        DataWarning
            Equal rows, columns that the kernel compares badly (constant ones, very
            different scales), more rows than are described.
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, or weights that have
            collapsed on a few rows.
        """
        self._validate_params()
        own = clone(self)  # whose parameters nobody else can change
        seed = seed_of(own)
        rows = TrainingRows.read(
            own, X, y, sample_weight=sample_weight, groups=groups, seed=seed
        )
        self._require_rows(rows.minority & (rows.weight > 0.0), y is not None)
        with threads.one():
            fit = own._fit(rows, seed)
            if message := unnamed_groups(fit):
                warn(message, DataWarning)
        for message in fit_warnings(fit):
            warn(message, DiagnosticWarning)
        self.fit_ = fit  # last: a fit that fails leaves this estimator unchanged
        return self

    def _fit(self, rows: TrainingRows, seed: int) -> Fit:
        """Return the fit to training rows."""
        start = time.process_time()
        chosen = not (isinstance(self.cutoff, Printed) and self.cutoff.is_number)
        i = rows.majority
        inputs.warn_of_columns(rows.kernel, rows.X[i], chosen)
        minority = self._learns_from_minority
        most = self._most_atoms(rows.n_groups)
        dictionary = Dictionary.of(rows.kernel, rows, minority, most)
        draws = self._draws(dictionary, seed)
        seconds = time.process_time() - start
        return Fit.of(draws, self.cutoff, estimator=self, seed=seed, seconds=seconds)

    def _most_atoms(self, n: int) -> int:
        """Return how many atoms there are at most, of n groups."""
        if isinstance(self.dictionary, str):
            return max(n, 1) if self.dictionary == EVERY else self._default_atoms
        return int(self.dictionary)

    @override
    def _require_rows(self, minority: np.ndarray, labelled: bool) -> None:
        super()._require_rows(minority, labelled)
        resolved(self.cutoff, int(minority.sum()))

    def fit_predict(
        self, X: ArrayLike, y: ArrayLike | None = None, **fit_params: Any
    ) -> np.ndarray:
        """Fit, and return +1 (normal) or -1 (abnormal) for each row of X, left out.

        With y the cutoff decides. Without y, X is one table that may have odd rows: -1
        is for the rows that :func:`bsvdd.stand_out` lists, often none. New rows are
        then described by all rows of X, each with the weight 1 - P(odd).

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
        y : array-like of shape (n,), or name of a column, optional
        **fit_params : optional
            Other arguments of ``fit``, with y.

        Returns
        -------
        ndarray of shape (n,)
        """
        if y is not None:
            normal = self.fit(X, y, **fit_params).decision()["normal"]
            return np.where(normal, 1, -1)
        if fit_params:
            raise TypeError(
                f"fit_predict without y takes no {', '.join(fit_params)}; use "
                "stand_out(est, X, sample_weight=..., groups=...)"
            )
        found = pkgutil.resolve_name(f"{PACKAGE}.{ONE_TABLE}")(self, X)
        unknown = np.isnan(found.probability)
        odd = np.where(unknown, 1.0 - found.weight, found.probability)
        with collected():  # stand_out warned of these rows
            own = clone(found.estimator).fit(X, sample_weight=1.0 - odd)
        self.fit_ = own.fit_
        return np.where(found.listed, -1, 1)

    def with_cutoff(self, cutoff: AnyCutoff | None) -> Self:
        """Return this estimator with another cutoff; the model is not fitted again.

        Parameters
        ----------
        cutoff : object of bsvdd.cutoffs or None
            As in the constructor.

        Returns
        -------
        estimator
            Fitted.

        Raises
        ------
        ValueError
            The cutoff needs minority rows and the fit has none.

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
        own = self._of_fit(cutoff=cutoff)
        own._validate_params()
        with threads.one():
            return self._with(self.fit_.changed(cutoff=cutoff, estimator=own))

    def _of_fit(self, **changes: Any) -> Self:
        """Return an unfitted estimator with the parameters of the fit, and changes."""
        known = self.fit_.estimator.get_params(deep=False)
        return clone(type(self)(**known | changes))  # nobody else can change it

    def _with(self, fit: Fit) -> Self:
        """Return the estimator of a fit, with the parameters of the fit."""
        new = clone(cast("Self", fit.estimator))
        known = set(fit_warnings(self.fit_))
        for message in fit_warnings(fit):
            if message not in known:
                warn(message, DiagnosticWarning)
        new.fit_ = fit
        return new

    # what was fitted

    @property
    def gram_(self) -> Dictionary:
        """The Gram statistics of the training rows."""
        return self.fit_.dictionary

    @property
    def cutoff_(self) -> float:
        """The cutoff D_opt."""
        return self.fit_.D_opt

    @property
    def offset_(self) -> float:
        """The score of the cutoff, 0."""
        return 0.0

    @property
    def idata_(self) -> xr.DataTree:
        """The fit as an xarray.DataTree, made when it is first asked for."""
        from . import tree

        check_is_fitted(self)
        return tree.tree_of(self.fit_)

    @idata_.setter
    def idata_(self, value: object) -> None:
        raise AttributeError(
            "idata_ cannot be set; est.with_draws(draws) takes your own draws"
        )

    # answers

    def _rows(
        self,
        X: ArrayLike | None,
        warned: bool = True,
        groups: ArrayLike | None = None,
    ) -> CompleteRows | None:
        """Return new rows X; None stands for the training rows, each left out.

        A warning says how many of the new rows are training rows, if ``warned``.
        """
        check_is_fitted(self)
        if X is None and groups is not None:
            raise ValueError(
                "groups= is for new rows; training rows are answered by their own "
                "groups, each left out"
            )
        return None if X is None else self._new_rows(X, warned, groups)

    def _new_rows(
        self, X: ArrayLike, warned: bool = True, groups: ArrayLike | None = None
    ) -> CompleteRows:
        """Return new rows X, as the kernel takes them."""
        check_is_fitted(self)
        if X is None:
            raise ValueError(
                "X is None, expected rows; est.decision() answers the training rows"
            )
        rows = self._training
        group = rows.groups_of(X, groups)
        floats = rows.floats(X, groups)
        if warned and not rows.kernel.pairwise:
            warn_of_training(rows.hashes, floats)
        return rows.of_floats(floats, group)

    def decision(
        self,
        X: ArrayLike | None = None,
        prob: float = 0.9,
        groups: ArrayLike | None = None,
    ) -> decisions.DecisionTable:
        r"""Return the decision on each row, with its p-value, P(normal) and surprise.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            By default the training rows, each left out.
        prob : float, default=0.9
            Probability of the interval of the surprise.
        groups : array-like of shape (n,), or name of a column of X, optional
            Of a fit with ``group_centres``: each row is answered for its own group. A
            label that the fit has not is a new group. By default the column of the
            fit, if X has it.

        Returns
        -------
        pandas.DataFrame
            With the index of X if X is a data frame, or the names of the training rows,
            whole numbers or texts:

            - ``p_value`` of new rows, as :func:`bsvdd.p_value`: among the rows of its
              own table the rank of a row is no evidence;
            - ``probability_normal``, as :meth:`probability_normal`;
            - ``surprise``, log(outside / inside) in nats, minus :meth:`score_samples`:
              0 at the cutoff, about .69 for a row that is half as similar to the
              training rows, negative for normal rows;
            - ``low``, ``high``, the ends of its interval;
            - ``normal``, as ``predict``;
            - ``distance``, the posterior median of d_z, which tells odd rows apart
              worse than the surprise does.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, infinite values, or NaN
            under a kernel that is not for tables; prob does not lie between 0 and 1.
        sklearn.exceptions.NotFittedError

        Warns
        -----
        DataWarning
            X has many training rows, which are answered as new ones; or a category that
            no training row has; or most rows lie beyond all training rows in a column.

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
        check_rate("prob", prob)
        rows = self._rows(X, groups=groups)
        if rows is not None and X is not None:
            known = self._training  # a residual is no value of a column
            raw = rows.X if known.centres is None else known.floats(X, groups)
            warn_of_unlike(known, raw)
        with threads.one():
            index = X.index if isinstance(X, pd.DataFrame) else None
            return decisions.decision_table(self.fit_, rows, index, prob)

    def probability_normal(
        self, X: ArrayLike, groups: ArrayLike | None = None
    ) -> np.ndarray:
        r"""Return P(normal) of each row: it lies within the cutoff, given the data.

        It is :math:`P(\mathrm{inside} \ge \mathrm{outside} \mid \mathrm{data})`, see
        :meth:`score_samples`, with a cutoff in each draw; with ``cutoffs.Printed`` it
        is :math:`P(d_z \le D_{\mathrm{opt}} \mid \mathrm{data})`.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            As in ``fit``; columns of a data frame are taken by their names. If the
            labels of the fit were a column of a data frame, this column is ignored.
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of shape (n,)
            The share of the draws in which the row is normal, in [0, 1]. It counts what
            is uncertain: the weights of the centre, or one estimate of the centre by a
            bootstrap; the cutoff; and rows that the sample has not shown, see
            :mod:`bsvdd.inference.boundary`. Of a fit with ``group_centres`` it
            counts the centre of the row's group too.

        Raises
        ------
        ValueError
            As :meth:`decision`.
        sklearn.exceptions.NotFittedError

        Warns
        -----
        DataWarning
            As :meth:`decision`.
        """
        rows = self._new_rows(X, groups=groups)
        with threads.one():
            return self.fit_.probability_normal(rows)

    @override
    def predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> np.ndarray:
        """Return +1 (normal) where the score is at least 0, else -1.

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.where(self.score_samples(X, groups) >= 0.0, 1, -1)

    @override
    def decision_function(
        self, X: ArrayLike, groups: ArrayLike | None = None
    ) -> np.ndarray:
        """Return ``score_samples(X, groups)``.

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.score_samples(X, groups)

    @override
    def score_samples(
        self, X: ArrayLike, groups: ArrayLike | None = None
    ) -> np.ndarray:
        r"""Return the score of each row; it is at least 0 for normal rows.

        The score is the posterior median of log(inside / outside), minus the surprise
        of the row (Hyndman 2026). With :math:`s_A` the similarity to the majority's
        part of the centre, :math:`s_B \ge 0` the similarity to the minority's part,
        and :math:`\theta` the cutoff,

        .. math:: \mathrm{inside} = s_A + \mathrm{unseen}, \qquad
            \mathrm{outside} = \theta + s_B.

        For kernels that are no similarity in [0, 1] it is :math:`\log(D^2 / d_z^2)`.

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of shape (m,)

        Raises
        ------
        ValueError
            As :meth:`decision`.

        References
        ----------
        Hyndman, R. J. (2026). arXiv:2603.09318.
        """
        rows = self._new_rows(X, groups=groups)
        with threads.one():
            return self.fit_.scores(rows)

    @property
    def surprise_(self) -> np.ndarray:
        """The surprise of the training rows (n,), each left out."""
        check_is_fitted(self)
        with threads.one():
            return 0.0 - self.fit_.left_out[1]

    def known_groups(
        self, X: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> np.ndarray | None:
        """Return the group (m,) by whose centre each row is answered.

        Parameters
        ----------
        X : array-like of shape (m, p), optional
            By default the training rows.
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of str, shape (m,), optional
            Empty for a group that the fit has not. None of a fit without
            ``group_centres``.
        """
        check_is_fitted(self)
        training = self._training
        if X is None:
            given = training.group_labels
            return group_texts(given) if training.centres is not None else None
        code = training.groups_of(X, groups)
        if training.centres is None:
            return None
        return np.append(training.centres.labels.to_numpy(), "")[code]

    def margins(
        self, X: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> np.ndarray:
        r"""Return log(inside / outside) of each row in each draw.

        A row is normal in a draw if its margin is at least 0; P(normal) is the share of
        such draws, and the score their median.

        Parameters
        ----------
        X : array-like of shape (m, p), optional
            By default the training rows, each left out.
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of shape (draws, m)
        """
        rows = self._rows(X, warned=False, groups=groups)
        with threads.one():
            return self.fit_.margins(rows)

    def log_similarity(
        self, X: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> np.ndarray:
        r"""Return :math:`\log s_A` of each row in each draw; no cutoff counts.

        :math:`s_A = \sum_g w_g k(u_g, z)` is a sum over the atoms of the majority. The
        smallest positive number takes the place of a sum that is not positive. For
        kernels that are no similarity in [0, 1] it is :math:`-\log(d_z^2 / 2)`.

        Parameters
        ----------
        X : array-like of shape (m, p), optional
            By default the training rows, each left out.
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        ndarray of shape (draws, m)

        Warns
        -----
        DataWarning
            X has many training rows, which are answered as new ones.
        """
        rows = self._rows(X, groups=groups)
        with threads.one():
            return self.fit_.log_similarity(rows)

    def distance(self, X: ArrayLike, groups: ArrayLike | None = None) -> xr.DataArray:
        r"""Return the draws of d_z for each row of X.

        .. math:: d_z^2 = k(z, z) - 2 \sum_g w_g k(u_g, z) + \|a\|^2
            - \sum_g w_g^2 \kappa_g

        The last sum takes away that groups are similar to themselves
        (:attr:`bsvdd.models.dictionary.Dictionary.of_themselves`): the noise of the
        sample and that of the posterior each add to :math:`\|a\|^2`. It is 0 for
        SVDD's sphere, for kernels whose k(z, z) is not constant, and with
        ``cutoffs.Printed``, as the sources print it.

        Parameters
        ----------
        X : array-like of shape (n, p)
            A missing cell has the middle one of its imputed values.
        groups : array-like, or name of a column of X, optional
            As in :meth:`decision`.

        Returns
        -------
        xarray.DataArray of dims (chain, draw, obs)
            d_z is a norm in kernel space, so it does not have the units of X. For a
            kernel with values in [0, 1], k(z, z) = 1 and weights on the simplex, it
            lies between 0 and the square root of 2.

        Raises
        ------
        ValueError
            As :meth:`decision`.
        """
        from .tree import by_draw

        rows = self._new_rows(X, warned=False, groups=groups)
        with threads.one():
            d = self.fit_.distances(rows.X)
        return by_draw(self.fit_.draws, d, "obs")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one safetensors file; see :func:`bsvdd.load`.

        Parameters
        ----------
        path : str or path
            The file is complete or absent: it is written under another name and then
            renamed.

        Raises
        ------
        TypeError
            A parameter is an object that JSON cannot store.
        """
        from .files import save

        check_is_fitted(self)
        save(self, path)

    # scikit-learn

    @override
    def set_params(self, **params: object) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : object
            Also parameters of the kernel, as in ``kernel__kernel__bandwidth=0.5``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            There is no parameter of that name.

        Examples
        --------
        >>> from bsvdd import SVDD
        >>> SVDD().set_params(kernel__kernel__bandwidth=0.5, kernel__rho=0.1).kernel
        Tabular(RBF(bandwidth=0.5), rho=0.1)
        """
        prefix = "kernel__"
        of_kernel = {
            name.removeprefix(prefix): params.pop(name)
            for name in list(params)
            if name.startswith(prefix)
        }
        inner = {name.partition("__")[0] for name in params if "__" in name}
        for name in inner & set(self.get_params(deep=False)):
            raise ValueError(
                f"{name} is a value, whose fields cannot be set: give another, such "
                f"as {name}={getattr(self, name)!r}"
            )
        super().set_params(**params)
        if of_kernel:
            self.kernel = as_kernel(self.kernel).with_params(**of_kernel)
        return self

    @override
    def _validate_params(self) -> None:
        if not isinstance(self.cutoff, AnyCutoff | None):
            raise TypeError(
                "cutoff must be None or one of bsvdd.cutoffs, such as FalseAlarm(0.1), "
                f"got {self.cutoff!r:.80}; a distance is Printed(0.8)"
            )
        for name, value in self.get_params(deep=False).items():
            is_large = isinstance(value, int) and abs(value) > LARGEST
            if is_large and name != "minor_label":
                raise ValueError(
                    f"{name} is a whole number that is too large for any float"
                )
        super()._validate_params()

    def __str__(self) -> str:
        """Return what the fit is and what to ask it; before a fit, the parameters."""
        if not self.__sklearn_is_fitted__():
            return repr(self)
        from . import facts, sentences  # a fit needs no sentences

        return sentences.fit_text(facts.facts(self))

    @override
    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._learns_from_minority:
            # scikit-learn's outlier detectors must fit without labels
            tags.estimator_type = None
        if self.__sklearn_is_fitted__() and self.labels_ not in LABELS_OF_PREDICT:
            # so scikit-learn's scorers ask for classes_
            tags.estimator_type = "classifier"
        return tags


def seed_of(est: Description) -> int:
    """Return the seed; ``random_state`` becomes a number with the same seed."""
    state = est.get_params(deep=False).get("random_state", 0)
    if not isinstance(state, Integral):
        state = int(check_random_state(state).randint(LARGEST_SEED))
        est.set_params(random_state=state)
    return int(check_random_state(state).randint(LARGEST_SEED))
