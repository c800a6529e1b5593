"""A cell of a study: one model on one pair of data sets, independent of all other cells."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ...estimators.detector import Detector
from ...inference.warning import DataWarning, DiagnosticWarning
from ..scenarios.scenario import Pair, Scenario
from .measures import measure, measure_kinds, scores_of_answers
from .protocol import Candidate, Protocol
from .store import Row

FLAG_ALL, FLAG_NONE, BAYES = "flag all", "flag none", "Bayes rule"
TRIVIAL = (FLAG_ALL, FLAG_NONE, BAYES)


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

    def run(self) -> Row:
        """Fit, score, and return one row of results; if the fit fails, the row has its error.

        Warnings are notes of the row, those of other packages with their category.
        """
        try:
            with threadpool_limits(1, user_api="blas"):
                results = self._fit_and_score()
        except Exception as error:  # whatever it is, it belongs to this cell
            results = {"error": f"{type(error).__name__}: {error}"}
        return {
            "data": self.scenario.name,
            "model": self.candidate.name,
            "replicate": self.replicate,
            **{name: _json_value(value) for name, value in results.items()},
        }

    def _fit_and_score(self) -> dict[str, Any]:
        pair = replicate_pair(self.scenario, self.replicate, self.seed)
        train, test = pair.train, pair.test
        whole = test is train  # then each row is judged by the others, as bsvdd outliers does
        seed = self.seed if whole else replicate_seed(self.replicate, self.seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.process_time()  # processor time: what else runs does not count
            protocol = self.protocol.for_data(train)
            est, chosen = protocol.fit(self.candidate, train.X, train.minority, seed)
            fitted = time.process_time()
            decision = decided(est, test.X) if whole else est.decision(test.X)
            scored = time.process_time()
        notes = dict.fromkeys(map(_note, caught))
        flagged, score = ~decision["normal"].to_numpy(), decision["surprise"].to_numpy()
        if whole:
            results: dict[str, Any] = {
                "p_values": " ".join(f"{p:.6g}" for p in decision["p_value"]),
                "odd": "".join("1" if each else "0" for each in flagged),
            }
        else:
            abnormal = 1.0 - decision["probability_normal"].to_numpy()
            results = measure(test.minority, flagged, score, abnormal)
        if pair.unseen is not None:
            results |= measure_kinds(test.minority, pair.unseen, flagged, score)
            results |= _of_answers(est, pair.unseen, pair)
        return {
            **results,
            "base_rate": test.base_rate,
            "n": len(train.X),
            "p": train.X.shape[1],
            "n1": train.minority.sum(),
            "cutoff": est.cutoff_,
            "chosen": ", ".join(f"{name}={value}" for name, value in chosen.items()),
            "fit_seconds": fitted - start,
            "score_seconds": scored - fitted,
            **est.fit_.diagnostics,
            "notes": "\n".join(notes),
        }


def decided(est: Detector, X: Any) -> pd.DataFrame:
    """Return the decision on each row of X, to which ``est`` was fitted, left out.

    A fit with landmarks holds a sample of many rows; it decides the others as new rows.

    Parameters
    ----------
    est : fitted estimator
    X : ndarray or data frame of shape (n, p)
        The rows of the fit; a data frame has their numbers as its index.
    """
    found: pd.DataFrame = est.training_decision().drop(columns="left_out")
    others = np.setdiff1d(np.arange(len(X)), found.index)
    if not len(others):
        return found
    rows = X.iloc[others] if isinstance(X, pd.DataFrame) else X[others]
    as_new = est.decision(rows)[list(found)].set_axis(others)
    return pd.concat([found, as_new]).sort_index()


def _note(caught: warnings.WarningMessage) -> str:
    ours = issubclass(caught.category, (DataWarning, DiagnosticWarning))
    return f"{'' if ours else f'{caught.category.__name__}: '}{caught.message}"


def _of_answers(est: Detector, unseen: np.ndarray, pair: Pair) -> dict[str, float]:
    """Return proper scores of the answers normal, known and unknown, and the AUC by P(normal).

    The names of those without a background, which are Platt's, begin with "platt_".
    """
    minority, X = pair.test.minority, pair.test.X
    values: dict[str, float] = {}
    base_rate = float(pair.train.minority.mean())
    answers = est.kinds(X).to_numpy()
    for prefix, P in (("", answers), ("platt_", est.kinds(X, background=0).to_numpy())):
        values |= scores_of_answers(P, minority, unseen, base_rate, prefix)
    found = measure_kinds(minority, unseen, answers[:, 0] < 0.5, 1.0 - answers[:, 0])
    return values | {f"answers_auc_{each}": found[f"auc_{each}"] for each in ("seen", "unseen")}


def _json_value(value: Any) -> str | float | None:
    """Return ``value`` as JSON stores it, so that a new row equals a stored one."""
    if isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def trivial_rules(scenario: Scenario, replicate: int, seed: int) -> Iterator[Row]:
    """Yield the rows of results of flagging all rows, of flagging none, and of Bayes' rule.

    Bayes' rule flags where P(abnormal | x) > 1/2. It is there if the generator knows P.
    """
    pair = replicate_pair(scenario, replicate, seed)
    if pair.test is pair.train:  # there are no classes
        return
    n = len(pair.test.X)
    for name, probability in zip(TRIVIAL, (np.ones(n), np.zeros(n), pair.truth), strict=True):
        if probability is None:
            continue
        metrics = measure(pair.test.minority, probability > 0.5, probability, probability)
        yield {
            "data": scenario.name,
            "model": name,
            "replicate": replicate,
            **{metric: _json_value(value) for metric, value in metrics.items()},
            "base_rate": pair.test.base_rate,
        }


def replicate_seed(replicate: int, seed: int) -> int:
    """Return the seed of a replicate; each pair (replicate, seed) has its own."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1)[0] >> 1)


@lru_cache(maxsize=1)
def replicate_pair(scenario: Scenario, replicate: int, seed: int) -> Pair:
    """Return the data sets of a replicate.

    The last pair is kept, as a process computes the cells of one replicate after another.
    """
    return scenario.pair(replicate_seed(replicate, seed))
