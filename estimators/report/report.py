"""The report of one fitted model, as one HTML file."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ...inference.heartbeat import steps
from ...inference.warning import collected
from ...models.kernels import Mixed, Standardized
from ...models.kernels.distance import DistanceKernel
from ...models.priors.foreign import describe
from .. import plots
from ..inputs import row_names
from ..labels import minority_rows
from ..plots.common import Fitted, with_feature_names
from . import pages, words
from .pages import Figures

LISTED, EXPLAINED = 10, 3  # abnormal rows in the table, and those with a picture
COLUMNS = 3  # of each row in the table
MOST_COLUMNS = 40  # in the table of columns


@dataclass(frozen=True)
class Rows:
    """The rows that a report shows.

    Attributes
    ----------
    X, y : object
        As the user gave them; None for the training rows.
    names : ndarray of shape (n,)
    minority : ndarray of bool, shape (n,), or None
        None if the classes are not known.
    frame : DataFrame, array or None
        The rows as ``est.explain`` takes them; None for a precomputed kernel.
    decision : pandas.DataFrame
        ``probability_normal``, ``distance``, ``score`` and ``normal``.
    """

    X: Any
    y: Any
    names: np.ndarray
    minority: np.ndarray | None
    frame: Any
    decision: pd.DataFrame


@dataclass
class Contents:
    """The figures of a page, and for each that is left out the reason."""

    figures: Figures = field(default_factory=dict)
    omitted: dict[str, str] = field(default_factory=dict)


def write(est: Fitted, path: Path, X: Any, y: Any, calibration: bool) -> Path:
    """Write the report of ``est`` to ``path``; see ``est.report``."""
    if X is None and y is not None:
        raise ValueError("y has the labels of X, but X is not given: est.report(path, X, y)")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist; make it")
    contents = Contents()
    try:
        with steps("report") as step:
            step("decision of the rows")
            content = _page(est, _rows(est, X, y), calibration, contents, step)
    finally:  # an error in one picture leaves no other open; other threads have their own
        for figure, _ in contents.figures.values():
            plt.close(figure)
    pages.save(path, content)
    return path


def _rows(est: Fitted, X: Any, y: Any) -> Rows:
    data = est._fit.data
    if X is not None:
        decision = est.decision(X)
        minority = None if y is None else minority_rows(y, len(decision), est.minor_label)
        frame = None if est.kernel_.pairwise else X
        return Rows(X, y, row_names(X, len(decision)), minority, frame, decision)
    score, probability = est._fit.rule.decision(data.rows, est._limit)
    decision = pd.DataFrame(
        {
            "probability_normal": probability,
            "distance": est._fit.rule.value_of(score),
            "score": score,
            "normal": score >= est.offset_,
        }
    )
    frame = None
    if not est.kernel_.pairwise:
        frame = with_feature_names(est, data.rows)
    return Rows(None, None, data.row_names, data.minority, frame, decision)


def _page(
    est: Fitted,
    rows: Rows,
    calibration: bool,
    contents: Contents,
    step: Callable[[str], None],
) -> bytes:
    record, data = words.record_of(est), est._fit.data
    step("bandwidths")
    _kernel(est, contents)
    step("prior and posterior")
    health = _health(est, contents)
    step("distances")
    _distances(est, rows, contents)
    step("ROC")
    _roc(est, rows, contents)
    step("calibration")
    _calibration(est, calibration, contents, step)
    step("explanations")
    abnormal = _abnormal(est, rows, contents)
    step("drawing of the figures")
    priors: dict[str, Any] = est._priors() if hasattr(est, "_priors") else {}
    return pages.render(
        "model.html",
        pages.embedded(contents.figures),
        __package__,
        name=type(est).__name__ if record is None else record.name,
        record=record,
        n0=int((~data.minority).sum()),
        n1=int(data.minority.sum()),
        n_unlabelled=0 if est._unlabelled is None else len(est._unlabelled),
        all_rows=data.all_rows,
        learns_from_minority=getattr(est, "_learns_from_minority", False),
        n_points=est.gram_.n_points,
        n_columns=0 if est.kernel_.pairwise else data.rows.shape[1],
        columns=[] if est.kernel_.pairwise else _columns(est),
        kernel=repr(est.kernel_),
        scale=getattr(est, "likelihood_scale_", None),
        priors={name: describe(prior) for name, prior in priors.items()},
        has_posterior=bool(priors) and est._fit.draws.is_posterior,
        health=health,
        convergence=words.convergence(est),
        cutoff=words.cutoff(est),
        counts=_counts(rows),
        new=rows.X is not None,
        omitted=contents.omitted,
        abnormal=abnormal,
        surprise_at_cutoff=f"{math.log(2.0) - est.offset_:.1f}" if _has_surprise(est) else "",
        code=words.code(est),
        rerun=words.rerun(est),
    )


def _columns(est: Fitted) -> list[tuple[str, list[str]]]:
    """Return name, mean, sd, smallest and largest value of the majority in the first columns.

    A column of categories has their number instead.
    """
    rows = est._fit.data.majority_rows[:, :MOST_COLUMNS]
    names = getattr(est, "feature_names_in_", np.arange(est._fit.data.rows.shape[1]))
    numbers = np.array([rows.mean(axis=0), rows.std(axis=0), rows.min(axis=0), rows.max(axis=0)])
    table = [
        (str(name), [f"{value:.4g}" for value in of_column])
        for name, of_column in zip(names, numbers.T, strict=False)
    ]
    for i in est.kernel_.categorical_columns:
        if i < len(table):
            table[i] = table[i][0], [f"{len(np.unique(rows[:, i]))} categories", "", "", ""]
    return table


def _kernel(est: Fitted, contents: Contents) -> None:
    kernel: Any = est.kernel_
    rows = est._fit.data.majority_rows
    if isinstance(kernel, Mixed):  # the bandwidth is that of the columns of numbers
        rows, kernel = np.delete(rows, kernel.categorical_columns, axis=1), kernel.kernel
    inner = kernel.kernel if isinstance(kernel, Standardized) else kernel
    if not isinstance(inner, DistanceKernel):
        contents.omitted["bandwidths"] = "This kernel has no bandwidth to show."
        return
    try:
        figure = plots.plot_bandwidths(kernel.inputs(rows), float(inner.bandwidth))
    except ValueError as error:  # criteria that these rows do not have
        contents.omitted["bandwidths"] = f"The bandwidth criteria cannot be compared: {error}"
        return
    contents.figures["bandwidths"] = (
        figure,
        "The bandwidth of this fit (broken line) beside what other criteria give for the same "
        "majority rows, on the distances of pairs of rows. A bandwidth far below all distances "
        "makes every row its own neighbour; far above them, all rows look alike.",
    )


def _health(est: Fitted, contents: Contents) -> list[tuple[str, list[str]]]:
    """Return the rows of the table of prior and posterior, and add its picture."""
    bayesian: Any = est
    if not (hasattr(est, "prior_health") and est._fit.draws.is_posterior):
        contents.omitted["prior"] = "The model has no prior and no posterior of its weights."
        return []
    try:
        table = bayesian.prior_health()
    except ValueError as error:  # an improper prior has no draws
        contents.omitted["prior"] = f"The prior cannot stand beside the posterior: {error}"
        return []
    contents.figures["prior"] = (
        plots.plot_prior_health(bayesian),
        "What the prior says before any row, and the posterior. Where the two agree, the data say "
        "nothing about the quantity.",
    )
    rows = []
    for name, row in table.iterrows():
        cells = [
            "{:.3g} [{:.3g}, {:.3g}]".format(*(row[group, q] for q in ("median", "5%", "95%")))
            for group in ("prior", "posterior")
        ]
        rows.append((plots.prior_health.LABELS.get(str(name), str(name)), cells))
    return rows


def _distances(est: Any, rows: Rows, contents: Contents) -> None:
    if not hasattr(est, "distance"):
        contents.omitted["distances"] = f"{type(est).__name__} has no distance from a centre."
        return
    interval = ", median and 90 % interval" if est._fit.draws.is_posterior else ""
    what = "Distance of each row from the centre"
    if _has_surprise(est):
        what = "Surprise of each row, which rises with its distance from the centre"
    contents.figures["distances"] = (
        plots.plot_distances(est, rows.X, rows.y),
        f"{what}{interval}, and the cutoff. Training rows pull the centre towards themselves, so "
        "the cutoff is chosen on left-out distances, which are larger.",
    )


def _has_surprise(est: Any) -> bool:
    """Return whether the distances of remote rows agree in all digits that the page shows."""
    return hasattr(est, "distance") and plots.distances.saturated(est)


def _roc(est: Fitted, rows: Rows, contents: Contents) -> None:
    if rows.minority is None or rows.minority.all() or not rows.minority.any():
        contents.omitted["roc"] = (
            "ROC and precision-recall need labelled rows of both classes: est.report(path, X, y)."
        )
        return
    contents.figures["roc"] = (
        plots.plot_roc(est, rows.X, rows.y),
        "New rows with their labels; positive means minority, abnormal."
        if rows.X is not None
        else "Training rows, each by its left-out score; positive means minority, abnormal.",
    )


def _calibration(
    est: Fitted, wanted: bool, contents: Contents, step: Callable[[str], None]
) -> None:
    if not wanted:
        contents.omitted["calibration"] = "It was not asked for (calibration=False)."
        return
    try:
        with collected() as warnings:  # of fits to four fifths of the rows
            figure = plots.plot_calibration(
                est, on_fit=lambda i, n: step(f"calibration, fit {i} of {n}")
            )
    except ValueError as error:
        contents.omitted["calibration"] = f"It cannot be shown: {error}."
        return
    noted = f" These five fits gave {len(warnings)} warnings." if warnings else ""
    contents.figures["calibration"] = (
        figure,
        "The model is fitted five times, each time without a fifth of the rows, and gives these "
        "rows p-values. The line is the share of majority rows that a cutoff at each asked rate "
        "calls abnormal. Within the band it keeps what it promises, as far as these rows can "
        f"tell.{noted}",
    )


def _counts(rows: Rows) -> list[tuple[str, int, int]]:
    """Return the numbers of normal and abnormal rows of each class."""
    normal = rows.decision["normal"].to_numpy()
    if rows.minority is None:
        return [("rows", int(normal.sum()), int((~normal).sum()))]
    classes = [("majority", ~rows.minority), ("minority", rows.minority)]
    return [
        (name, int((normal & members).sum()), int((~normal & members).sum()))
        for name, members in classes
        if members.any()
    ]


def _abnormal(est: Fitted, rows: Rows, contents: Contents) -> list[dict[str, Any]]:
    """Return the most abnormal rows with the reasons, and add pictures of the first."""
    order = np.argsort(rows.decision["score"].to_numpy(), kind="stable")
    flagged = ~rows.decision["normal"].to_numpy()[order]
    listed = order[:LISTED][flagged[:LISTED]]
    table: list[dict[str, Any]] = []
    for j in listed:
        of_row = rows.decision.iloc[j]
        table.append(
            {
                "name": str(rows.names[j]),
                "class": ""
                if rows.minority is None
                else ("minority" if rows.minority[j] else "majority"),
                "value": f"{math.log(2.0) - of_row['score']:.1f}"
                if _has_surprise(est)
                else f"{of_row['distance']:.4g}",
                "probability": f"{of_row['probability_normal']:.3f}",
                "columns": "",
                "change": "",
            }
        )
    if not len(listed):
        contents.omitted["explanation"] = "No row is abnormal."
        return table
    if rows.frame is None:
        contents.omitted["explanation"] = (
            "A precomputed kernel has no columns to explain a row by; only kernel values are known."
        )
        return table
    chosen = rows.frame.iloc[listed] if isinstance(rows.frame, pd.DataFrame) else rows.frame[listed]
    try:
        why = est.explain(chosen)
    except ValueError as error:  # a model without a centre
        contents.omitted["explanation"] = str(error)
        return table
    if why.columns is None:
        contents.omitted["columns"] = f"Columns have no shares: {why.without_columns}."
    else:
        top = why.top_columns(COLUMNS)
        for of_row, values in zip(table, top.to_numpy(), strict=True):
            of_row["columns"] = ", ".join(
                f"{values[2 * i]} {values[2 * i + 1]:.0%}" for i in range(len(values) // 2)
            )
    if why.changes is None:
        contents.omitted["changes"] = (
            "No smallest change is searched for, because there is no step between two categories."
        )
    else:
        for i, of_row in enumerate(table):
            of_row["change"] = _change(why.changes.isel(obs=i))
    explained: Any = est
    what = "which training rows make it abnormal."
    if why.columns is not None:
        what = (
            "which columns and which training rows make it abnormal. The tick is what normal rows "
            "have."
        )
        if why.changes is not None:
            what += " The arrow is the smallest change that makes it normal."
    for j in listed[:EXPLAINED]:
        row = rows.frame.iloc[[j]] if isinstance(rows.frame, pd.DataFrame) else rows.frame[[j]]
        contents.figures[f"row_{j}"] = (
            plots.plot_explanation(explained, row),
            f"Row {rows.names[j]}: {what}",
        )
    return table


def _change(changes: Any) -> str:
    """Return the smallest change of a row in words, the largest parts first."""
    size = np.abs(changes["standardized"].values)
    if np.isnan(size).any():
        return "none found"
    parts = [
        f"{changes['column'].values[f]} → {changes['value'].values[f]:.4g}"
        for f in np.argsort(-size, kind="stable")[:COLUMNS]
        if size[f] > plots.explanation.SHOWN
    ]
    more = int((size > plots.explanation.SHOWN).sum()) - len(parts)
    return ", ".join(parts) + (f", and {more} more" if more > 0 else "")
