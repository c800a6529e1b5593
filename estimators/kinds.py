"""Three answers: the probabilities of "normal", of each labelled kind, and of "unknown"."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inference.kinds import Kinds
from ..inference.warning import DataWarning, warn
from .training import TrainingData

NORMAL, UNKNOWN = "normal", "unknown"
DESCRIBED = 1000  # rows of a class that describe it, at most


def rule_of(data: TrainingData, scores: np.ndarray) -> Kinds:
    """Return the rule for a fit to ``data``, whose left-out rows have ``scores`` (NaN: none)."""
    if data.kernel.pairwise:
        raise ValueError(
            "kinds describes the rows of each class, and a precomputed kernel has no rows; fit "
            "with a kernel of rows such as kernels.RBF"
        )
    rng = np.random.default_rng(data.seed)
    inputs, usable = data.kernel.inputs(data.rows), ~np.isnan(scores)
    classes = [_some(inputs[data.kind == k], rng) for k in range(len(data.kind_labels) + 1)]
    _warn_of_copies(classes, data.kind_labels)
    return Kinds.of(classes[0], classes[1:], scores[usable], data.minority[usable], rng)


def columns(data: TrainingData) -> list[Any]:
    """Return the names of the answers; a ValueError if two of them are the same."""
    taken = [label for label in data.kind_labels if str(label) in (NORMAL, UNKNOWN)]
    if taken:
        raise ValueError(
            f"a labelled kind has the name {taken[0]!r}, which is that of another answer; name it "
            "otherwise in y and minor_label"
        )
    return [NORMAL, *data.kind_labels, UNKNOWN]


def _some(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= DESCRIBED else rng.choice(rows, DESCRIBED, replace=False)


def _warn_of_copies(classes: list[np.ndarray], labels: tuple[Any, ...]) -> None:
    """Warn of kinds of which every row is a majority row too."""
    majority = {row.tobytes() for row in classes[0]}
    for rows, label in zip(classes[1:], labels, strict=True):
        if all(row.tobytes() in majority for row in rows):
            warn(
                f"all rows of the kind {label!r} are rows of the majority too, so nothing tells "
                "it from normal rows; look at the labels",
                DataWarning,
            )
