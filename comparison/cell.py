"""A cell of a study: one model on one pair of sets, independent of all other cells."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..inference.warning import DataWarning, DiagnosticWarning
from .measures import measure
from .protocol import Candidate, Protocol
from .setting import Pair, Setting
from .store import Row

FLAG_ALL, FLAG_NONE, BAYES = "flag all", "flag none", "Bayes rule"
TRIVIAL = (FLAG_ALL, FLAG_NONE, BAYES)


@dataclass(frozen=True)
class Cell:
    """One candidate on one replicate of a setting: the unit of work.

    Its random numbers follow from ``seed`` and ``replicate``, and it computes with one thread of
    BLAS, so its result does not depend on what else runs.
    """

    setting: Setting
    candidate: Candidate
    protocol: Protocol
    replicate: int
    seed: int

    def run(self) -> Row:
        """Fit, score, and return one row of results; a fit that fails is a row with its error."""
        try:
            with threadpool_limits(1, user_api="blas"):
                found = self._run()
        except Exception as error:  # whatever it is, it is this cell's: it is told in its row
            found = {"error": f"{type(error).__name__}: {error}"}
        return self._said() | {name: _plain(value) for name, value in found.items()}

    def _said(self) -> Row:
        return {
            "data": self.setting.name,
            "model": self.candidate.name,
            "replicate": self.replicate,
        }

    def _run(self) -> dict[str, Any]:
        seed = replicate_seed(self.replicate, self.seed)
        pair = self.setting.pair(seed)
        train, test = pair.train, pair.test
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            est, chosen = self.protocol.fit(self.candidate, train.X, train.minority, seed)
            fitted = time.perf_counter()
            decision = est.decision(test.X)
            scored = time.perf_counter()
        ours = (DataWarning, DiagnosticWarning)
        for other in caught:
            if not issubclass(other.category, ours):
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        notes = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, ours))
        diagnostics = est.idata_.children["diagnostics"].dataset
        return {
            **measure(
                test.minority,
                ~decision["normal"].to_numpy(),
                decision["distance"].to_numpy(),
                1.0 - decision["probability_normal"].to_numpy(),
            ),
            "base_rate": test.base_rate,
            "n": len(train.X),
            "p": train.X.shape[1],
            "n1": train.minority.sum(),
            "cutoff": est.cutoff_,
            "chosen": ", ".join(f"{name}={value}" for name, value in chosen.items()),
            "fit_seconds": fitted - start,
            "score_seconds": scored - fitted,
            **{str(name): float(value) for name, value in diagnostics.items()},
            "notes": "\n".join(notes),
        }


def _plain(value: Any) -> str | float | None:
    """Return ``value`` as JSON has it, so that a fresh row equals the one that is read."""
    if isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def trivial_rules(setting: Setting, replicate: int, seed: int) -> Iterator[Row]:
    """Yield the rows of results of flagging everything, of flagging nothing, and of Bayes' rule.

    The last, which flags where P(abnormal | x) > 1/2, where the generator knows that.
    """
    pair = setting.pair(replicate_seed(replicate, seed))
    for name, probability in rules(pair):
        flagged = probability > 0.5
        yield {
            "data": setting.name,
            "model": name,
            "replicate": replicate,
            **{
                key: _plain(value)
                for key, value in measure(
                    pair.test.minority, flagged, probability, probability
                ).items()
            },
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
    """Return the seed of one replicate; another one for every pair (replicate, seed)."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1)[0] >> 1)
