"""The report of one fitted model, as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ...inference.threads import steps
from ...inference.warning import collected
from ...models.kernels import Tabular, as_kernel
from ...models.kernels.distance import DistanceKernel
from ...models.kernels.standardized import Wrapper
from ...models.priors.foreign import describe
from .. import new_rows, plots
from ..inputs import row_names
from ..labels import minority_rows
from ..plots.common import Fitted
from ..questions import p_values
from ..questions.copies import are_training_rows
from ..questions.explanation import Explanation
from ..questions.views import ViewsExplanation
from . import pages, words
from .pages import Figures

LISTED, EXPLAINED = 10, 3  # abnormal rows in the table, and those with a picture
COLUMNS = 3  # of each row in the table
MOST_COLUMNS = 40  # in the table of columns
Step = Callable[[str], None]


@dataclass
class Page:
    """The rows that a report shows, its figures, and for each that is left out the reason.

    Attributes
    ----------
    est : fitted estimator
    X, y : object
        As the user gave them; None for the training rows.
    names : ndarray of shape (n,)
    minority : ndarray of bool, shape (n,), or None
        None if the classes are not known.
    score, probability, low, high : ndarray of shape (n,)
        The scores, P(normal), and the interval of the surprise; of training rows, left out.
    p_value : ndarray of shape (n,)
    known : int
        How many new rows equal a training row.
    figures, omitted : dict
        Figures with their captions, and reasons, by name.
    prior_check : list
        The rows of the table of prior and posterior.
    worth : list of str
        What the posterior is worth, in sentences.
    abnormal : list of dict
        The most abnormal rows with the reasons.
    """

    est: Fitted
    X: Any
    y: Any
    names: np.ndarray
    minority: np.ndarray | None
    score: np.ndarray
    probability: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    known: int = 0
    figures: Figures = field(default_factory=dict)
    omitted: dict[str, str] = field(default_factory=dict)
    prior_check: list[tuple[str, list[str]]] = field(default_factory=list)
    worth: list[str] = field(default_factory=list)
    abnormal: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, est: Fitted, X: Any, y: Any) -> Self:
        """Return the page of these rows, without figures yet."""
        fit = est.fit_
        if X is None:
            found = est.training_decision()
            surprise = found["surprise"]
            ends = [found.get(f"surprise_{end}", surprise) for end in ("low", "high")]
            columns = [-surprise, found["probability_normal"], *ends, found["p_value"]]
            values = [column.to_numpy() for column in columns]
            return cls(est, X, y, fit.data.row_names, fit.data.minority, *values)
        rows = new_rows.table(est, X)
        score, probability, low, high = fit.center.decision(rows, fit.level)
        p = p_values.p_values(score, p_values.normal_left_out(est))
        minority = None if y is None else minority_rows(y, len(rows), est.minor_label)
        known = int(are_training_rows(est, rows).sum())
        names = row_names(X, len(rows))
        return cls(est, X, y, names, minority, score, probability, low, high, p, known)

    def explain(self, numbers: np.ndarray) -> Explanation | ViewsExplanation:
        """Return the explanation of some of the rows."""
        if self.X is None:
            return self.est.explain(rows=numbers)
        return self.est.explain(self.rows(numbers))

    def rows(self, numbers: Any) -> Any:
        """Return some of the new rows, as ``est.explain`` takes them."""
        X = self.X
        return X.iloc[numbers] if isinstance(X, pd.DataFrame) else np.asarray(X)[numbers]


def write(est: Fitted, path: Path, X: Any, y: Any, calibration: bool) -> Path:
    """Write the report of ``est`` to ``path``; see ``est.report``."""
    if X is None and y is not None:
        raise ValueError("y has the labels of X, but X is not given: est.report(path, X, y)")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist; make it")
    with steps("report") as step:
        step("decision of the rows")
        page = Page.of(est, X, y)
        try:
            content = _content(page, calibration, step)
        finally:  # an error in one picture leaves no other open; other threads have their own
            for figure, _ in page.figures.values():
                plt.close(figure)
    pages.save(path, content)
    return path


def _content(page: Page, calibration: bool, step: Step) -> bytes:
    est, fit = page.est, page.est.fit_
    sections = {"bandwidths": _bandwidths, "prior and posterior": _prior_check}
    sections |= {"distances": _distances, "ROC": _roc}
    sections |= {"calibration": partial(_calibration, wanted=calibration, step=step)}
    for name, section in (sections | {"explanations": _abnormal}).items():
        step(name)
        section(page)
    step("drawing of the figures")
    record, parameters = words.record_of(est), sorted(est.get_params(deep=False).items())
    return pages.render(
        "model.html",
        pages.embedded(page.figures),
        __package__,
        name=type(est).__name__ if record is None else record.name,
        record=record,
        page=page,
        omitted=page.omitted,
        est=est,
        data=fit.data,
        gram=fit.data.gram,
        columns=[] if fit.data.kernel.pairwise else _columns(est),
        priors={name: describe(v) for name, v in parameters[::-1] if name.endswith("prior")},
        has_posterior=fit.draws.is_posterior,
        convergence=[*words.convergence(est), *page.worth],
        cutoff=words.cutoff(est),
        counts=_counts(page),
        code=words.code(est),
        known=page.known,
        rerun=words.rerun(est),
    )


def _columns(est: Fitted) -> list[tuple[str, list[str]]]:
    """Return name, mean, sd, smallest and largest value of the majority in the first columns.

    A column of categories has their number instead.
    """
    rows = est.fit_.data.majority_rows[:, :MOST_COLUMNS]
    names = getattr(est, "feature_names_in_", np.arange(est.fit_.data.rows.shape[1]))
    numbers = np.array([rows.mean(axis=0), rows.std(axis=0), rows.min(axis=0), rows.max(axis=0)])
    table = [
        (str(name), [f"{value:.4g}" for value in of_column])
        for name, of_column in zip(names, numbers.T, strict=False)
    ]
    for i in est.kernel_.categorical_columns:
        if i < len(table):
            table[i] = table[i][0], [f"{len(np.unique(rows[:, i]))} categories", "", "", ""]
    return table


def _bandwidths(page: Page) -> None:
    rows, kernel = page.est.fit_.data.majority_rows, page.est.kernel_
    dimensions = kernel.dimensions if isinstance(kernel, Tabular) else None
    while isinstance(kernel, Wrapper):
        rows, kernel = kernel.columns(rows), as_kernel(kernel.kernel)
    if not isinstance(kernel, DistanceKernel):
        page.omitted["bandwidths"] = "This kernel has no bandwidth to show."
        return
    try:
        figure = plots.plot_bandwidths(rows, float(kernel.bandwidth), dimensions)
    except ValueError as error:  # criteria that these rows do not have
        page.omitted["bandwidths"] = f"The bandwidth criteria cannot be compared: {error}"
        return
    page.figures["bandwidths"] = (
        figure,
        "The bandwidth of this fit (broken line) beside what other criteria give for the same "
        "majority rows, on the distances of pairs of rows. A bandwidth far below all distances "
        "makes every row its own neighbour; far above them, all rows look alike.",
    )


def _prior_check(page: Page) -> None:
    if not page.est.fit_.draws.is_posterior:
        return
    table = page.est.summary()
    page.worth = words.worth(page.est, table["posterior"])
    for name, row in table[table["low"].notna()].iterrows():
        of_prior = "" if np.isnan(row["prior"]) else f"{row['prior']:.3g}"
        cells = [of_prior, "{posterior:.3g} [{low:.3g}, {high:.3g}]".format(**row)]
        page.prior_check.append((plots.weights.LABELS[str(name)], cells))
    try:
        figure = plots.plot_prior_check(page.est)
    except ValueError as error:  # an improper prior has no draws
        page.omitted["prior"] = f"The prior cannot stand beside the posterior: {error}"
        return
    page.figures["prior"] = (
        figure,
        "What the prior says before any row, and the posterior. Where the two agree, the data say "
        "nothing about the quantity.",
    )


def _distances(page: Page) -> None:
    est = page.est
    if not est.fit_.has_center:
        page.omitted["distances"] = f"{type(est).__name__} has no distance from a centre."
        return
    page.figures["distances"] = (
        plots.plot_distances(est, page.X, page.y),
        "Surprise of each row with its 90 % interval: 0 is the cutoff, .69 is a row that is half "
        "as similar to the training rows, and normal rows are below 0. Training rows are left out, "
        "each judged by the others.",
    )


def _roc(page: Page) -> None:
    if page.minority is None or page.minority.all() or not page.minority.any():
        page.omitted["roc"] = (
            "ROC and precision-recall need labelled rows of both classes: est.report(path, X, y)."
        )
        return
    rows = "Training rows, each by its left-out score"
    if page.X is not None:
        rows = "New rows with their labels"
    figure = plots.plot_roc(page.est, page.X, page.y)
    page.figures["roc"] = figure, f"{rows}; positive means minority, abnormal."


def _calibration(page: Page, wanted: bool, step: Step) -> None:
    if not wanted:
        page.omitted["calibration"] = "It was not asked for (calibration=False)."
        return
    try:
        with collected() as warnings:  # of fits to four fifths of the rows
            figure = plots.plot_calibration(
                page.est, on_fit=lambda i, n: step(f"calibration, fit {i} of {n}")
            )
    except ValueError as error:
        page.omitted["calibration"] = f"It cannot be shown: {error}."
        return
    noted = f" These five fits gave {len(warnings)} warnings." if warnings else ""
    page.figures["calibration"] = (
        figure,
        "The model is fitted five times, each time without a fifth of the rows, and gives these "
        "rows p-values. The line is the share of majority rows that a cutoff at each asked rate "
        "calls abnormal. Within the band it keeps what it promises, as far as these rows can "
        f"tell.{noted}",
    )


def _counts(page: Page) -> list[tuple[str, int, int]]:
    """Return the numbers of normal and abnormal rows of each class."""
    normal = page.score >= 0.0
    classes = {"rows": np.ones(len(normal), dtype=bool)}
    if page.minority is not None:
        classes = {"majority": ~page.minority, "minority": page.minority}
    return [
        (name, int(normal[members].sum()), int((~normal[members]).sum()))
        for name, members in classes.items()
        if members.any()
    ]


def _abnormal(page: Page) -> None:
    """Add the most abnormal rows with the reasons, and pictures of the first."""
    est, table = page.est, page.abnormal
    order = np.argsort(page.score, kind="stable")[:LISTED]
    listed = order[page.score[order] < 0.0]
    for j in listed:
        row = {"name": str(page.names[j]), "probability": f"{page.probability[j]:.3f}", "class": ""}
        row["p_value"] = f"{page.p_value[j]:.3g}"
        if page.minority is not None:
            row["class"] = "minority" if page.minority[j] else "majority"
        row["surprise"] = f"{-page.score[j]:.2f}"
        if est.fit_.center.uncertain:
            row["surprise"] += f" [{page.low[j]:.2f}, {page.high[j]:.2f}]"
        table.append(row)
    if not table:
        page.omitted["explanation"] = "No row is abnormal."
        return
    try:
        why = page.explain(listed)
    except ValueError as error:  # no centre, or no columns
        page.omitted["explanation"] = str(error)
        return
    if isinstance(why, ViewsExplanation):
        page.omitted["changes"] = "No smallest change is searched for under several views."
        for i, (j, row) in enumerate(zip(listed, table, strict=True)):
            row["columns"] = why.reason(i)
            view = why.rows["view"].iloc[i]
            if i < EXPLAINED and view in why.parts:
                _picture(page, j, est.views_[view], f"Under the view {view!r}. {row['columns']}.")
        return
    what = "which training rows make it abnormal."
    if why.columns is None:
        page.omitted["columns"] = f"Columns have no shares: {why.without_columns}."
    else:
        what = f"which columns and {what} The tick is what normal rows have."
        for row, values in zip(table, why.top_columns(COLUMNS).to_numpy(), strict=True):
            row["columns"] = ", ".join(
                f"{name} {share:.0%}" for name, share in values.reshape(-1, 2)
            )
    if why.changes is None:
        page.omitted["changes"] = (
            "No smallest change is searched for, because there is no step between two categories."
        )
    else:
        if why.columns is not None:
            what += " The arrow is the smallest change that makes it normal."
        for i, row in enumerate(table):
            row["change"] = _change(why.changes.isel(obs=i))
    for j in listed[:EXPLAINED]:
        _picture(page, j, est, what)


def _picture(page: Page, j: int, est: Fitted, what: str) -> None:
    """Add the picture of row number j."""
    x = {"row": j} if page.X is None else {"x": page.rows([j])}
    page.figures[f"row_{j}"] = plots.plot_explanation(est, **x), f"Row {page.names[j]}: {what}"


def _change(changes: Any) -> str:
    """Return the smallest change of a row in words, the largest parts first."""
    size = np.abs(changes["standardized"].values)
    if np.isnan(size).any():
        return "none found"
    shown = [f for f in np.argsort(-size, kind="stable") if size[f] > plots.explanation.SHOWN]
    parts = [
        f"{changes['column'].values[f]} → {changes['value'].values[f]:.4g}" for f in shown[:COLUMNS]
    ]
    more = len(shown) - len(parts)
    return ", ".join(parts) + (f", and {more} more" if more > 0 else "")
