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
            start = time.perf_counter()
            protocol = self.protocol.for_data(train)
            est, chosen = protocol.fit(self.candidate, train.X, train.minority, seed)
            fitted = time.perf_counter()
            decision = decided(est, test.X) if whole else est.decision(test.X)
            scored = time.perf_counter()
        notes = dict.fromkeys(map(_note, caught))
        return {
            **(_of_rows(decision) if whole else _measured(test.minority, decision)),
            **({} if pair.unseen is None else _of_kinds(est, pair.unseen, pair, decision)),
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


def _measured(minority: np.ndarray, decision: pd.DataFrame) -> dict[str, float]:
    flagged, score = ~decision["normal"].to_numpy(), decision["surprise"].to_numpy()
    return measure(minority, flagged, score, 1.0 - decision["probability_normal"].to_numpy())


def _of_rows(decision: pd.DataFrame) -> dict[str, str]:
    """Return the decision on each row as two texts: p-values, and 1 for each abnormal row."""
    return {
        "p_values": " ".join(f"{p:.6g}" for p in decision["p_value"]),
        "odd": "".join("0" if normal else "1" for normal in decision["normal"]),
    }


def _note(caught: warnings.WarningMessage) -> str:
    ours = issubclass(caught.category, (DataWarning, DiagnosticWarning))
    return f"{'' if ours else f'{caught.category.__name__}: '}{caught.message}"


def _of_kinds(
    est: Detector, unseen: np.ndarray, pair: Pair, decision: pd.DataFrame
) -> dict[str, float]:
    """Return the metrics of seen and of unseen kinds, and proper scores of the probabilities.

    The names of those without a background, which are Platt's, begin with "platt_".
    """
    minority, X = pair.test.minority, pair.test.X
    flagged, score = ~decision["normal"].to_numpy(), decision["surprise"].to_numpy()
    values = measure_kinds(minority, unseen, flagged, score)
    base_rate = float(pair.train.minority.mean())
    answers = est.kinds(X).to_numpy()
    for prefix, P in (("", answers), ("platt_", est.kinds(X, background=0).to_numpy())):
        values |= scores_of_answers(P, minority, unseen, base_rate, prefix)
    by_answers = measure_kinds(minority, unseen, flagged, 1.0 - answers[:, 0])
    values |= {f"answers_auc_{each}": by_answers[f"auc_{each}"] for each in ("seen", "unseen")}
    return values


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
    for name, probability in rules(pair):
        metrics = measure(pair.test.minority, probability > 0.5, probability, probability)
        yield {
            "data": scenario.name,
            "model": name,
            "replicate": replicate,
            **{metric: _json_value(value) for metric, value in metrics.items()},
            "base_rate": pair.test.base_rate,
        }


def rules(pair: Pair) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and P(abnormal) of each rule that needs no fit."""
    n = len(pair.test.X)
    yield FLAG_ALL, np.ones(n)
    yield FLAG_NONE, np.zeros(n)
    if pair.truth is not None:
        yield BAYES, pair.truth


def replicate_seed(replicate: int, seed: int) -> int:
    """Return the seed of a replicate; each pair (replicate, seed) has its own."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1)[0] >> 1)


def replicate_pair(scenario: Scenario, replicate: int, seed: int) -> Pair:
    """Return the data sets of a replicate.

    The last pair is kept, as a process computes the cells of one replicate after another.
    """
    return _cached_pair(scenario, replicate_seed(replicate, seed))


def forget_pair() -> None:
    """Release the pair that :func:`replicate_pair` keeps."""
    _cached_pair.cache_clear()


@lru_cache(maxsize=1)
def _cached_pair(scenario: Scenario, seed: int) -> Pair:
    return scenario.pair(seed)
