"""A fit is a value: training data, what was learned from them, and the cutoff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from ..inference import diagnostics, left_out, threads
from ..inference.center import Boundary, Center, level_quantile
from ..inference.cutoff import Cutoff
from ..inference.decision import LeftOut
from ..inference.density import Density, prior_draws
from ..inference.draws import Draws
from ..inference.learned import Learned, Learner, Posterior
from ..inference.leave import Leaving
from ..models import repeats
from ..models.odd_rows import OddRows, Tail
from . import known
from .known import Rows
from .labels import minority_of
from .near_cutoff import NearCutoff
from .rows.gaps import Imputations
from .training import TrainingData

MOST_ALONE = 30  # different rows, each of which leaves alone in place of folds
Which = np.ndarray | slice  # numbers of training rows
TINY = np.finfo(float).tiny
LISTED = 0.1  # share of the rows of the list that are expected to be normal


@dataclass(frozen=True, eq=False)
class Spec:
    """What was asked for: the class of the estimator, and its parameters at the time of the fit."""

    estimator: type[Any]
    parameters: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.estimator.__name__

    def changed(self, **parameters: Any) -> Spec:
        """Return what was asked for with other parameters."""
        return Spec(self.estimator, {**self.parameters, **parameters})


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a cutoff chose.

    Attributes
    ----------
    boundary : Boundary
    distance : float
        D_opt.
    left_out : ndarray of shape (n,) or None
        Scores of the training rows when they are left out, from which it was chosen; NaN if a row
        cannot be left out. None if the cutoff needs none.
    """

    boundary: Boundary
    distance: float
    left_out: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Fit:
    """A fit; it never changes.

    Attributes
    ----------
    spec : Spec
    learner : Learner
        The model, with its numbers.
    data : TrainingData
        Rows, classes and Gram statistics.
    learned : Learned
    diagnostics : dict of float
        See :func:`bsvdd.inference.diagnostics.diagnose`.
    cutoff : Cutoff
        The rule that chose the cutoff.
    chosen : Chosen
    """

    spec: Spec
    learner: Learner
    data: TrainingData
    learned: Learned
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    cutoff: Cutoff = Cutoff()
    chosen: Chosen = field(default_factory=lambda: Chosen(Boundary.at(), np.nan))

    def __repr__(self) -> str:
        sizes = f"{len(self.data.rows)} rows"
        if self.data.core is not None:
            sizes += f", {int(self.data.core.rows.sum())} in the core"
        sizes += f", {self.score.gram.n_points} points"
        return f"Fit({sizes}, {self.score.n_draws} draws, distance={self.distance:.6g})"

    @cached_property
    def score(self) -> Center:
        """The centre with its boundary, which scores rows."""
        return self.learned.score.with_boundary(self.chosen.boundary)

    @property
    def distance(self) -> float:
        """D_opt."""
        return self.chosen.distance

    @property
    def level(self) -> float:
        """A row is normal if its score at this level is at least 0."""
        return self.cutoff.level

    @property
    def bayesian(self) -> Posterior:
        """The learner of a fit with a PyMC model."""
        assert isinstance(self.learner, Posterior)
        return self.learner

    @property
    def draws(self) -> Draws:
        """The draws of the weights, or the one estimate of them."""
        return self.learned.draws

    @property
    def density(self) -> Density | None:
        """The density of the posterior; None without one, and for draws of the user."""
        return self.learned.density

    @property
    def attrs(self) -> dict[str, Any]:
        """What a DataTree says of the model beside its draws; draws of the user have no prior."""
        attrs = self.learner.attrs
        own = self.learned.is_own
        return {name: v for name, v in attrs.items() if not (own and name.endswith("prior"))}

    @cached_property
    def prior(self) -> Draws | None:
        """Draws of the prior; None if it is improper, or there is none."""
        return None if self.density is None else prior_draws(self.density, seed=self.data.seed)

    @cached_property
    def surprises(self) -> np.ndarray:
        """The surprise t of each row, left out; see :mod:`bsvdd.models.odd_rows`; shape (n,)."""
        return surprises(self.learned.score, left_out_values(self, Cutoff()).values)

    @cached_property
    def log_nearest(self) -> np.ndarray:
        """Log of the largest kernel value of each row with another majority row, shape (1, n).

        Minus infinity where nothing is unseen.
        """
        data = self.data
        if not data.kernel.normalized:
            return np.full((1, len(data.rows)), -np.inf)
        return data.leaving().log_nearest[None]

    def tail_of(self, surprises: np.ndarray) -> Tail:
        """Return the tail of the surprises of one table; a ValueError for a fit to normal rows."""
        if self.data.core is None:
            raise ValueError(
                "the fit counts all training rows as normal, so it cannot say which of them are "
                "odd; use est.fit_predict(X), or core=0.8"
            )
        is_sphere = self.learned.own is not None
        return Tail.of(surprises, self.data.core.share if is_sphere else None)

    @property
    def tail(self) -> Tail:
        """The tail of the surprises of the rows of the fit."""
        return self.tail_of(self.surprises)

    @cached_property
    def odd(self) -> OddRows:
        """Which of the rows are odd, of a fit to the core of one table."""
        return OddRows.of(self.tail)

    @property
    def lists(self) -> bool:
        """Whether the list of odd rows decides on the training rows, and not the cutoff."""
        return self.data.core is not None and self.cutoff.choose is None

    @cached_property
    def left_out(self) -> np.ndarray:
        """Scores that the training rows would have as new rows, shape (n,); NaN for none."""
        found = self.chosen.left_out
        if found is None or self.cutoff.cv not in ("auto", "loo"):
            found = self.held_out().scores(self.score, self.level)
        found = found.view()
        found.setflags(write=False)
        return found

    @cached_property
    def _refits(self) -> LeftOut:
        """The values of all training rows by folds."""
        return left_out_values(self, self._leaving_rule, imputed=leaves_rows(self.cutoff))

    @property
    def _leaving_rule(self) -> Cutoff:
        """How a training row is left out, whatever chose the cutoff."""
        return Cutoff(level=self.level, uncertain=self.cutoff.uncertain)

    def held_out(self, which: Which = slice(None)) -> LeftOut:
        """Return the values of training rows, all by default, each left out."""
        rule = self._leaving_rule
        cv = left_out.choose_cv(rule, self.data.minority, self.data.all_rows, auto_cv(self))
        if isinstance(cv, int):
            return self._refits.part(which)
        return left_out_values(self, rule, which, leaves_rows(self.cutoff))

    @cached_property
    def training_scores(self) -> np.ndarray:
        """Scores of the training rows (n,), each left out, or as new if it cannot leave."""
        found, stay = self.left_out.copy(), np.isnan(self.left_out)
        if stay.any():
            found[stay] = self.score.scores(self.data.rows[stay], self.level)
        return found

    def training_decision(self, prob: float = 0.9, which: Which = slice(None)) -> np.ndarray:
        """Return what ``score.decision`` has, (4, q), of training rows, left out if they can be."""
        found = self.held_out(which).decision(self.score, self.level, prob)
        stay = np.isnan(found[0])
        if stay.any():
            found[:, stay] = self.score.decision(self.data.rows[which][stay], self.level, prob)
        found[0] = self.training_scores[which]
        return found

    # new rows

    @cached_property
    def _known(self) -> np.ndarray:
        """The hashes of the training rows."""
        return known.single(self.data.rows)

    def asked(self, table: np.ndarray, imputations: Imputations | None = None) -> Rows:
        """Return new rows as they are answered."""
        return Rows(table, imputations if leaves_rows(self.cutoff) else None)

    def warn_of_training(self, rows: Rows) -> None:
        """Say how many rows are training rows.

        The printed rule and the training distances are about training rows: nothing is said there.
        """
        if leaves_rows(self.cutoff) and not self.data.kernel.pairwise:
            known.warn_of_training(self._known, rows.table)

    def of_ways(self, ways: Imputations) -> LeftOut:
        """Return the values of new rows with gaps."""
        return of_ways(self.score, ways)

    def scores(self, rows: Rows) -> np.ndarray:
        """Return the scores of rows, shape (m,)."""
        score, level = self.score, self.level
        return rows.answered(
            partial(score.scores, level=level),
            lambda ways: self.of_ways(ways).scores(score, level),
        )

    def decision(self, rows: Rows, prob: float = 0.9) -> np.ndarray:
        """Return what ``score.decision`` has of rows, shape (4, m)."""
        score, level = self.score, self.level
        return rows.answered(
            partial(score.decision, level=level, prob=prob),
            lambda ways: self.of_ways(ways).decision(score, level, prob),
        )

    def probability_normal(self, rows: Rows) -> np.ndarray:
        """Return P(normal) of rows, shape (m,)."""
        return rows.answered(
            self.score.probability_normal,
            lambda ways: self.of_ways(ways).decision(self.score, self.level)[1],
        )

    def is_normal(self, rows: Rows) -> np.ndarray:
        """Return which rows are normal, shape (m,)."""
        score, level = self.score, self.level
        return rows.answered(
            partial(score.is_normal, level=level),
            lambda ways: self.of_ways(ways).scores(score, level) >= 0.0,
        )

    # margins and similarities in each draw, for questions

    def margins_of_rows(self, rows: Rows) -> np.ndarray:
        """Return the margins of new rows on the scale of the score, shape (draws, m)."""
        return rows.answered(
            self.score.margins,
            lambda ways: self._scale(self.of_ways(ways)),
        )

    def margins_of_training(self) -> np.ndarray:
        """Return the margins of training rows, left out if they can be, shape (draws, n)."""
        values = self.held_out()
        margins, known = self._scale(values), values.known
        found = np.empty((len(margins), len(known)))
        found[:, known] = margins
        if not known.all():
            found[:, ~known] = self.score.margins(self.data.rows[~known])
        return found

    def _scale(self, values: LeftOut) -> np.ndarray:
        return self.score.margins_of(values.values_of(self.score), values.unseen(self.score))

    def log_similarity_of_rows(self, rows: Rows) -> np.ndarray:
        """Return log s of new rows in each draw, shape (draws, m)."""
        return rows.answered(
            lambda new: self._logarithm(self.score.values_of_draws(new)),
            lambda ways: self._logarithm(self.of_ways(ways).values),
        )

    def log_similarity_of_training(self) -> np.ndarray:
        """Return log s of training rows, left out if they can be, shape (draws, n)."""
        found = left_out_values(self, Cutoff()).values
        if (stay := np.isnan(found).any(axis=0)).any():
            found[:, stay] = self.score.values_of_draws(self.data.rows[stay])
        return self._logarithm(found)

    def _logarithm(self, values: np.ndarray) -> np.ndarray:
        center = self.score
        if center.logarithmic:
            return values
        if not center.gram.kernel.normalized:
            squared = center.squared_norm[np.arange(len(values)) % len(center.squared_norm), None]
            values = 1.0 / np.maximum(squared - 2.0 * values, TINY)
        found: np.ndarray = np.log(np.maximum(values, TINY))
        return found

    @cached_property
    def near_cutoff(self) -> NearCutoff:
        """The training rows near the cutoff, each left out."""
        leave = self.learned.leave
        return NearCutoff.of(self.data, self.draws.weights, leave is not None and leave.to_one)

    def minority_of(self, y: Any, n_rows: int) -> np.ndarray:
        """Return which of new rows with labels y are minority, by the labels of the fit."""
        return minority_of(self.data.labels, self.spec.parameters["minor_label"], y, n_rows)


class Fitted(Protocol):
    """An estimator with a fit."""

    @property
    def fit_(self) -> Fit:
        """The fit."""


def leaves_rows(policy: Cutoff) -> bool:
    """Return whether training rows are answered without themselves, and gaps in several ways.

    The printed rule and the training distances themselves do neither.
    """
    return policy.uncertain and policy.of_rows and policy.cv != "train"


def auto_cv(fit: Fit) -> str | int:
    """Return what ``Cutoff(cv="auto")`` stands for: "loo", or the most folds."""
    return "loo" if fit.learned.closed_form else fit.learner.folds


# rows that are left out


def left_out_values(
    fit: Fit, cutoff: Cutoff, which: Which = slice(None), imputed: bool | None = None
) -> LeftOut:
    """Return the values of training rows, all by default, when they are left out.

    ``imputed`` is whether draws fill the gaps of a row in several ways, by default for a cutoff
    that leaves rows out.
    """
    imputed = leaves_rows(cutoff) if imputed is None else imputed
    cv = left_out.choose_cv(cutoff, fit.data.minority, fit.data.all_rows, auto_cv(fit))
    of_distances = isinstance(cv, int) and not cutoff.uncertain
    data, score, nearest = fit.data, fit.learned.score, fit.log_nearest[:, which]
    ways = data.imputations if imputed else None
    with threads.one():
        if isinstance(cv, int):
            values = _of_folds(fit, cutoff, cv, of_distances, ways)[:, which]
        else:
            values = _of_closed_form(fit, cv, which)
        if ways is None:
            return LeftOut(values, nearest, of_distances)
        numbers = np.arange(len(data.rows))[which]
        some, nearest = ways.among(numbers), np.repeat(nearest, len(ways.rows), axis=0)
        own = numbers[some.which]
        found = of_ways(score, some, lambda rows: data.leaving_filled(rows, own))
        nearest[:, some.which] = found.log_nearest
        if not isinstance(cv, int):
            stays = np.isnan(values[0, some.which])
            values = _with_gaps(values, some, np.where(stays, np.nan, found.values))
        return LeftOut(values, nearest, of_distances)


def of_ways(
    score: Center, ways: Imputations, leaving: Callable[[np.ndarray], Leaving] | None = None
) -> LeftOut:
    """Return the values of rows with gaps; draw t has the way t mod 10 to fill them.

    ``leaving`` takes training rows, filled in one way, and says how they leave the centre; None
    for new rows.
    """
    nearest = np.full(ways.rows.shape[:2], -np.inf)

    def of_way(some: Center, way: int) -> np.ndarray:
        rows, normalized = ways.rows[way], score.gram.kernel.normalized
        if leaving is None:
            nearest[way] = score.log_nearest(rows) if normalized else -np.inf
            return some.values_of_draws(rows)
        left = leaving(rows)
        nearest[way] = left.log_nearest if normalized else -np.inf
        return some.values_without(left.similarity(some.weights), left)

    return LeftOut(score.over_ways(len(nearest), of_way), nearest)


def _with_gaps(values: np.ndarray, ways: Imputations, found: np.ndarray) -> np.ndarray:
    """Return values (draws, n) of rows, with those found (draws, g) for the rows with gaps."""
    values = np.repeat(values, len(found) // len(values), axis=0)
    values[:, ways.which] = found
    return values


def _of_folds(
    fit: Fit, cutoff: Cutoff, cv: int, of_distances: bool, ways: Imputations | None
) -> np.ndarray:
    """Return the values of all training rows, each by a fit to other folds."""
    data, learned = fit.data, fit.learned
    score, minority = learned.score, data.minority

    def of_fold(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        other = fit.learner.learn(data.fold(train))
        found = other.score.values_left_out(data.rows[test], minority[test])
        if ways is not None:
            some = ways.among(test)
            found = _with_gaps(found, some, of_ways(other.score, some).values)
        if of_distances:
            return at_same_distance(found, other.score, score)
        if learned.own is None or other.own is None:
            return found
        return left_out.aligned(found, other.score, other.own, learned.own)

    require_learner(fit)
    number = repeats.sets_of_equal(data.rows, minority)
    repeat = number.max() < len(number) - 1
    folds = left_out.folds(minority, cv, data.seed)
    if repeat and cutoff.cv == "auto" and learned.own is not None and number.max() < MOST_ALONE:
        folds = left_out.one_by_one(number)
    values = left_out.refitted_values(folds, of_fold)
    if repeat and score.n_draws == 1:
        most = score.values_of_draws(data.rows) - learned.tolerance
        if of_distances:
            most = at_same_distance(most, score, score)
        values = left_out.of_equal(values, most, number, minority)
    return values


def _of_closed_form(fit: Fit, cv: str, which: Which) -> np.ndarray:
    """Return the values of training rows that leave in closed form, or stay for ``cv="train"``."""
    data, learned = fit.data, fit.learned
    score, leave = learned.score, learned.leave
    if cv == "train":
        return score.values_of_draws(data.rows[which])
    leaving = data.leaving(which)
    if leave is None:  # folds cannot be refitted to a sample of the rows
        values = score.values_left_out(leaving.rows, leaving.minority)
        values[:, leaving.member >= 0] = np.nan
        return values
    return score.values_without(leave.similarity(score.weights, leaving), leaving)


def at_same_distance(values: np.ndarray, fold: Center, score: Center) -> np.ndarray:
    """Return the similarities that rows have to a centre whose distance is that to the fold's.

    ``values`` (draws, rows) are of the fold's score. A fold's distance has the fold's own norm.
    """
    similarity = np.exp(values) if fold.logarithmic else values
    return similarity + (score.squared_norm - fold.squared_norm)[:, None] / 2.0


def surprises(score: Center, left_out: np.ndarray) -> np.ndarray:
    """Return t of rows, shape (n,), from their deciding values in each draw (draws, n).

    It is -log s, and the squared distance for kernels whose k(x, x) varies.
    """
    values = level_quantile(left_out)
    if score.logarithmic:
        return -values
    if not score.gram.kernel.normalized:
        return np.maximum(score.median_norm - 2.0 * values, 0.0)
    positive = values[values > 0.0]
    return -np.log(np.maximum(values, positive.min() if len(positive) else 1.0))


def require_learner(fit: Fit) -> None:
    """Raise a ValueError if nothing can be learned as the draws of a fit were made."""
    if fit.learned.is_own:
        raise ValueError(
            "the draws are your own, so nothing can be fitted to a part of the rows; use what "
            "leaves rows out by rescaling, such as Cutoff(cv='auto')"
        )


def is_calibrated(fit: Fit) -> bool:
    """Return whether lambda is calibrated."""
    return isinstance(fit.learner, Posterior) and fit.learner.model.is_calibrated


def prior_support(fit: Fit) -> float:
    """Return the prior median of the effective number of support points, NaN if it has none."""
    if fit.prior is None:
        return np.nan
    return float(
        np.median(diagnostics.effective_support(fit.prior.weights, fit.data.gram.points.sizes))
    )


def support_ratio(fit: Fit) -> float:
    """Return the effective support of the posterior over that of the prior."""
    return fit.diagnostics["effective_support"] / prior_support(fit)
