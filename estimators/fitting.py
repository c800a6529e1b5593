"""How a fit is made: learned, judged, decided; with another cutoff or another prior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..inference import diagnostics, left_out
from ..inference.center import Boundary
from ..inference.cutoff import Cutoff
from ..inference.cutoffs import Best, FalseAlarm, Own
from ..inference.decision import LeftOut
from ..inference.draws import monitored_rows
from ..inference.learned import Learned, Learner, Posterior
from ..inference.warning import DataWarning, DiagnosticWarning, warn
from ..models.kernels.base import is_number
from .fit import (
    Chosen,
    Fit,
    Spec,
    auto_cv,
    is_calibrated,
    leaves_rows,
    left_out_values,
    prior_support,
    support_ratio,
    surprises,
)
from .training import GivenPoints, TrainingData

CACHED = "prior", "near_cutoff", "surprises", "odd", "log_nearest"  # of a fit, whatever its cutoff
FEW_DIGITS = 1e-4  # rounding error, relative to a squared distance, that leaves few digits


def fitted(spec: Spec, learner: Learner, data: TrainingData, cutoff: Cutoff) -> Fit:
    """Return the fit of a model to training data; see :func:`judged`."""
    return judged(spec, learner, data, learner.learn(data), cutoff)


def judged(
    spec: Spec, learner: Learner, data: TrainingData, learned: Learned, cutoff: Cutoff
) -> Fit:
    """Return the fit with what was learned, with its diagnostics and their warnings."""
    monitored = learned.score.similarity(data.rows[monitored_rows(len(data.rows))])
    found = dict(learned.diagnostics)
    found |= diagnostics.diagnose(learned.draws, monitored, data.gram.points.sizes)
    if isinstance(data.dictionary, GivenPoints):
        found |= data.dictionary.diagnostics(data)
    fit = Fit(spec=spec, learner=learner, data=data, learned=learned, diagnostics=found)
    warn_of(fit)
    return decided(fit, cutoff)


def decided(fit: Fit, cutoff: Cutoff, chosen: Chosen | None = None) -> Fit:
    """Return a fit with another cutoff; ``chosen`` is what it chose, if that is known."""
    if chosen is not None:
        return _changed(fit, cutoff=cutoff, chosen=chosen)
    values = left_out_values(fit, cutoff) if cutoff.of_rows else None
    fit = _with_surprises(fit, cutoff, values)
    fit = _changed(fit, cutoff=cutoff, chosen=_chosen(fit, cutoff, values))
    return _warned_of_cutoff(fit)


def _with_surprises(fit: Fit, cutoff: Cutoff, values: LeftOut | None) -> Fit:
    """Return a fit that knows the surprises of its rows, if a cutoff leaves them out as these do.

    The values of left-out rows are then computed once, for both.
    """
    same = values is not None and cutoff.cv in ("auto", "loo") and leaves_rows(cutoff)
    if fit.data.core is None or not same or "surprises" in vars(fit):
        return fit
    assert values is not None
    return _changed(fit, {"surprises": surprises(fit.score, values.values)})


def _chosen(fit: Fit, cutoff: Cutoff, values: LeftOut | None) -> Chosen:
    """Return what a cutoff chooses; ``values`` are those of left-out rows, if it needs them."""
    score, data, own = fit.learned.score, fit.data, fit.learned.own
    if isinstance(cutoff.choose, Own):
        assert own is not None  # by check_cutoff
        boundary = Boundary.at(own, score.unit)
        return Chosen(boundary, score.with_boundary(boundary).distance_at_cutoff)
    if values is None:
        number: Any = cutoff.choose
        distance = float(number)
        return Chosen(score.boundary_at(distance), distance)
    weight = np.ones(len(data.rows))
    if data.core is not None:
        normal = 1.0 - fit.odd.probability
        if isinstance(cutoff.chooser(data.minority), FalseAlarm) and not np.isnan(normal).any():
            weight = normal
    boundary, distance = values.boundary(
        cutoff, score, data.rows, data.minority, data.member_of_row, weight, data.seed
    )
    left = values.scores(score.with_boundary(boundary), cutoff.level)
    return Chosen(boundary, distance, left)


def check_cutoff(name: str, learner: Learner, cutoff: Cutoff) -> None:
    """Raise a ValueError for a cutoff that a model cannot have for any rows."""
    if isinstance(cutoff.choose, Own) and not learner.has_own:
        raise ValueError(
            "cutoff: Own() is for models with a boundary of their own, such as SVDD; "
            f"{name} has none: use another of bsvdd.cutoffs"
        )
    if cutoff.cv == "loo" and not learner.closed_form:
        raise ValueError(
            f"cutoff: {name} has no leave-one-out in closed form; use cv='auto' or a number "
            "of folds"
        )
    number: Any = cutoff.choose
    if is_number(number) and number < 0:
        raise ValueError(f"cutoff: a distance is at least 0, got {number!r}")


def with_cutoff(fit: Fit, cutoff: Cutoff, asked: Any) -> Fit:
    """Return a fit with another cutoff, after its checks; the model is not fitted again.

    ``asked`` is the parameter that the cutoff was given as.
    """
    check_cutoff(fit.spec.name, fit.learner, cutoff)
    left_out.check(cutoff, fit.data.minority, fit.data.all_rows, auto_cv(fit))
    return decided(_changed(fit, spec=fit.spec.changed(cutoff=asked)), cutoff)


def _changed(fit: Fit, found: Mapping[str, Any] | None = None, **changes: Any) -> Fit:
    """Return a fit with another cutoff, on which draws of the prior do not depend.

    It knows what the fit has computed, and what is ``found`` now, by the names in CACHED.
    """
    other, known = replace(fit, **changes), {**vars(fit), **(found or {})}
    vars(other).update({k: known[k] for k in CACHED if k in known})
    return other


# what makes a fit unreliable: it warns of each when it is made, and facts(est) has them all


def warn_of(fit: Fit) -> None:
    """Warn if numbers of a fit are unreliable."""
    for doubt in doubts(fit):
        warn(doubt, DiagnosticWarning)
    fit.learner.warn_of(fit.learned)
    _warn_of_rounding(fit)


def doubts(fit: Fit) -> Iterator[str]:
    """Yield why the posterior of a fit is unreliable, and what to do.

    Without minority rows a root chose lambda, so the spread is that of the samples. With them a
    posterior that is its prior is no doubt: a large lambda would switch the labels off.
    """
    gram, posterior = fit.data.gram, fit.learned.posterior
    if posterior is not None:
        yield from diagnostics.doubts_of_draws(fit.diagnostics, *posterior.shape, gram.n1)
    if isinstance(fit.learner, Posterior):
        support = partial(prior_support, fit)
        yield from diagnostics.doubts_of_collapse(fit.diagnostics, gram.n0 + gram.n1, support)
    if posterior is None:
        return
    if not gram.n1 and fit.prior is not None:
        ratio = fit.near_cutoff.variance_ratio(posterior.weights, fit.prior.weights)
        yield from diagnostics.doubts_of_prior(ratio, support_ratio(fit), is_calibrated(fit))
    if gram.n1 or fit.learned.is_own:
        spread, _ = fit.near_cutoff.against_samples(posterior.weights)
        yield from diagnostics.doubts_of_spread(spread)


def _warned_of_cutoff(fit: Fit) -> Fit:
    for doubt in doubts_of_cutoff(fit):
        warn(doubt, DiagnosticWarning)
    return fit


def _warn_of_rounding(fit: Fit) -> None:
    """Warn if kernel values are so large that distances have few digits."""
    gram, rows = fit.data.gram, fit.data.majority_rows
    if not np.ptp(rows, axis=0).any():
        return  # equal rows, whose distances are all 0
    typical = float(np.median(fit.learned.score.distances(rows[monitored_rows(len(rows))])))
    if gram.rounding >= FEW_DIGITS * typical**2:
        warn(
            f"kernel values of up to {gram.largest:.3g} leave few digits to distances of "
            f"{typical:.3g}; centre the columns of X, for instance by "
            "kernels.Standardized(kernel)",
            DataWarning,
        )


def doubts_of_cutoff(fit: Fit) -> Iterator[str]:
    """Yield why the cutoff of a fit is unreliable, and what to do."""
    if fit.cutoff.of_rows:
        yield from _far_rows(fit)
        yield from _limit(fit)


def _far_rows(fit: Fit) -> Iterator[str]:
    """Yield that rows that resemble no training row are normal."""
    center = fit.score
    if not fit.data.kernel.normalized:
        return
    if (center.boundary.threshold <= center.far).mean() > fit.level:
        why = (
            "too many training rows resemble no other; use a larger bandwidth"
            if center.logarithmic
            else "negative weights make some normal rows more remote; use a larger bandwidth, or a "
            "larger likelihood_scale"
        )
        yield (
            f"the cutoff, {fit.distance:.6g}, exceeds the distance of rows far from all training "
            f"rows, so these are called normal: {why}"
        )


def _limit(fit: Fit) -> Iterator[str]:
    """Yield that no cutoff within the limit of false alarms flags a left-out minority row."""
    choose, left_out = fit.cutoff.chooser(fit.data.minority), fit.chosen.left_out
    if not isinstance(choose, Best) or left_out is None:
        return
    known = ~np.isnan(left_out)
    if not choose.finds_some(left_out[known], fit.data.minority[known]):
        yield (
            "no minority row is among the oddest majority rows that max_fpr="
            f"{choose.max_fpr:g} lets the cutoff flag, each left out, so the cutoff has a "
            "false-alarm rate of .1 instead: this model hardly tells the classes apart; use one "
            "that learns from minority rows, such as BSVDDM, or another kernel"
        )
