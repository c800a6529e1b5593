"""A cell of a study: one model on one pair of data sets, independent of all other cells."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ...estimators.description import Description
from ...estimators.machines import Machine
from ...estimators.questions.facts import facts
from ...inference.metrics import evaluate
from ...inference.warning import DataWarning, DiagnosticWarning
from ..scenarios.datasets import Dataset
from ..scenarios.scenario import Pair, Scenario
from .protocol import Candidate, Protocol
from .store import Row
from .yardsticks import Yardstick

FLAG_ALL, FLAG_NONE, BAYES = "flag all", "flag none", "Bayes rule"
TRIVIAL = (FLAG_ALL, FLAG_NONE, BAYES)
NUMBER = re.compile(r"[\d.]+(e[-+]\d+)?")
DIAGNOSTICS = ("r_hat", "ess", "divergences", "effective_support")
BINS = 10


@dataclass(frozen=True)
class Cell:
    """One candidate on one replicate of a scenario: the unit of work.

    Its random numbers follow from ``seed`` and ``replicate``, and it uses one BLAS thread, so its
    result does not depend on what else is running.
    """

    scenario: Scenario
    candidate: Candidate
    protocol: Protocol
    replicate: int
    seed: int

    def __str__(self) -> str:
        return f"{self.scenario.name}, {self.candidate.name}, replicate {self.replicate}"

    def run(self) -> Row:
        """Fit, score, and return one row of results; if the fit fails, the row has its error.

        Warnings are notes of the row, those of other packages with their category.
        """
        try:
            with threadpool_limits(1, user_api="blas"):
                results = self._fit_and_score()
        except Exception as error:  # whatever it is, it belongs to this cell
            results = {"error": f"{type(error).__name__}: {error}"}
        return _row(self.scenario, self.candidate.name, self.replicate, results)

    def _fit_and_score(self) -> dict[str, Any]:
        pair = replicate_pair(self.scenario, self.replicate, self.seed)
        train, test = pair.train, pair.test
        seed = replicate_seed(self.replicate, self.seed)
        protocol = self.protocol.for_data(train)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.process_time()  # processor time: what else runs does not count
            est, chosen = protocol.fit(self.candidate, train.X, train.minority, seed)
            fitted = time.process_time()
            results = measured(est, test)
            scored = time.process_time()
        notes: dict[str, str] = {}
        for note, ours in map(_note, caught):  # of those of another package one of a kind
            notes.setdefault(note if ours else kind_of(note), note)
        found = {} if isinstance(est, Yardstick | Machine) else facts(est)
        return {
            **results,
            "base_rate": test.base_rate,
            "n": len(train.X),
            "p": train.X.shape[1],
            "n1": train.minority.sum(),
            "cutoff": 0.0 if isinstance(est, Machine) else est.cutoff_,
            "chosen": ", ".join(f"{name}={value}" for name, value in chosen.items()),
            "fit_seconds": fitted - start,
            "score_seconds": scored - fitted,
            **{name: found[name] for name in DIAGNOSTICS if name in found},
            "notes": "\n".join(notes.values()),
        }


def measured(est: Description | Yardstick | Machine, test: Dataset) -> Row:
    """Return the metrics of the decisions on the test rows."""
    if isinstance(est, Yardstick | Machine):
        score, flagged = -est.score_samples(test.X), est.predict(test.X) == -1
        return {**measure(test.minority, flagged, score, flagged.astype(float))}
    decision = est.decision(test.X)
    flagged, score = ~decision["normal"].to_numpy(), decision["surprise"].to_numpy()
    abnormal = 1.0 - decision["probability_normal"].to_numpy()
    return {**measure(test.minority, flagged, score, abnormal)}


def kind_of(note: str) -> str:
    """Return a note without its numbers, in which notes of one kind differ."""
    return NUMBER.sub("#", note)


def _note(caught: warnings.WarningMessage) -> tuple[str, bool]:
    """Return a warning as text, and whether it is of this package."""
    ours = issubclass(caught.category, (DataWarning, DiagnosticWarning))
    return f"{'' if ours else f'{caught.category.__name__}: '}{caught.message}", ours


def _row(scenario: Scenario, model: str, replicate: int, results: dict[str, Any]) -> Row:
    """Return a row of results, with values as JSON stores them: a new one equals a stored one."""

    def stored(value: Any) -> str | float | None:
        if isinstance(value, str):
            return value
        return float(value) if math.isfinite(value) else None

    key: Row = {"data": scenario.name, "model": model, "replicate": replicate}
    return key | {name: stored(value) for name, value in results.items()}


def trivial_rules(scenario: Scenario, replicate: int, seed: int) -> Iterator[Row]:
    """Yield the rows of results of flagging all rows, of flagging none, and of Bayes' rule.

    Bayes' rule flags where P(abnormal | x) > 1/2. It is there if the generator knows P.
    """
    pair = replicate_pair(scenario, replicate, seed)
    n = len(pair.test.X)
    for name, probability in zip(TRIVIAL, (np.ones(n), np.zeros(n), pair.truth), strict=True):
        if probability is not None:
            found = measure(pair.test.minority, probability > 0.5, probability, probability)
            yield _row(scenario, name, replicate, found | {"base_rate": pair.test.base_rate})


def replicate_seed(replicate: int, seed: int) -> int:
    """Return the seed of a replicate; each pair (replicate, seed) has its own."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1)[0] >> 1)


@lru_cache(maxsize=1)
def replicate_pair(scenario: Scenario, replicate: int, seed: int) -> Pair:
    """Return the data sets of a replicate.

    The last pair is kept, as a process computes the cells of one replicate after another.
    """
    return scenario.pair(replicate_seed(replicate, seed))


# metrics


def measure(
    minority: np.ndarray, flagged: np.ndarray, score: np.ndarray, probability: np.ndarray
) -> dict[str, float]:
    """Return the metrics of a decision, of a ranking and of P(abnormal).

    Parameters
    ----------
    minority, flagged : ndarray of bool, shape (n,)
        The true classes, and the rows that the rule calls abnormal.
    score : ndarray of shape (n,)
        Larger is more abnormal.
    probability : ndarray of shape (n,)
        P(abnormal); 0 or 1 for separating machines.

    Returns
    -------
    dict
        The metrics of :func:`bsvdd.inference.metrics.evaluate`, ``average_precision`` (of the
        minority; the base rate for a constant score), ``brier`` and ``calibration_error``.
    """
    from sklearn.metrics import average_precision_score, brier_score_loss

    both = minority.any() and not minority.all()
    return {
        **evaluate(minority, flagged, score),
        "average_precision": float(average_precision_score(minority, score)) if both else np.nan,
        "brier": float(brier_score_loss(minority.astype(int), probability, pos_label=1)),
        "calibration_error": calibration_error(minority, probability),
    }


def calibration_error(minority: np.ndarray, probability: np.ndarray) -> float:
    r"""Return the expected calibration error (Naeini et al. 2015), 0 at best.

    .. math:: \sum_b \frac{n_b}{n} \left|\bar p_b - \bar y_b\right|

    over 10 bins of equal width, [0, .1), ..., [.9, 1].
    """
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    excess = np.bincount(bins, probability - minority, minlength=BINS)
    return float(np.abs(excess).sum() / len(minority))
