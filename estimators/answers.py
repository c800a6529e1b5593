"""Some numbers that follow from all parts of a fit, by which a saved file is checked."""

from __future__ import annotations

import numpy as np

from ..inference.center import Center
from ..inference.decision import LeftOut
from ..inference.draws import monitored_rows
from .fit import Fit

PRECISION = 1e-3  # draws in a file are in single precision


def answers(fit: Fit) -> dict[str, np.ndarray]:
    """Return what a fit says of up to 20 of its rows, its cutoff, and the prior density of a draw.

    Probabilities and ranks are not among them: they jump with the last digit of a draw.
    """
    score, rows = fit.score, monitored_rows(len(fit.data.rows))
    score_of_rows, _, low, high = score.decision(fit.data.rows[rows], fit.level)
    found = {
        "score": score_of_rows,
        "ends": np.stack([low, high]),
        "distance": score.distance_of(score_of_rows),
        "cutoff": np.array([fit.distance]),
    }
    found |= {name: np.array([value], dtype=float) for name, value in fit.diagnostics.items()}
    if fit.chosen.left_out is not None:
        found["of_cutoff"] = np.sort(fit.chosen.left_out)[rows]
    if fit.learned.leave is not None and isinstance(score, Center):
        leaving = fit.data.leaving(rows)
        similarity = fit.learned.leave.similarity(score.weights, leaving)
        none_unseen = np.full((1, len(rows)), -np.inf)
        values = LeftOut(score.values_without(similarity, leaving), none_unseen)
        found["left_out"] = values.scores(score, fit.level)
    if fit.learned.density is not None:
        model = fit.bayesian.model
        draw = {name: fit.draws.flat(name)[:1] for name in fit.draws.variables}
        variables = model.variables(fit.data.gram) or {}
        found |= {name: v.log_prior(draw) for name, v in variables.items() if name in draw}
        found["scale"] = np.array([model.scale])
    return found


def differing(stored: dict[str, np.ndarray], fit: Fit) -> str:
    """Return the name of the first answer that is not the stored one; empty if all are."""
    found = answers(fit)
    for name in {**stored, **found}:
        if name not in stored or name not in found or stored[name].shape != found[name].shape:
            return name
        ours, theirs = stored[name], found[name]
        size = np.abs(ours[np.isfinite(ours)]).max(initial=0.0)
        if not np.allclose(theirs, ours, PRECISION, PRECISION * size, equal_nan=True):
            return name
    return ""
