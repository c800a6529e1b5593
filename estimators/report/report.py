"""The report of one fitted model, as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.utils.validation import check_is_fitted

from ...inference.threads import steps
from .. import plots, summary, words
from ..detector import Detector
from ..fit import Fit
from ..plots.common import short
from ..questions.why import explain
from ..registry import find
from ..rows.frames import as_frame
from . import pages

LISTED, EXPLAINED = 10, 3  # abnormal rows in the table, and those with a picture
MOST_COLUMNS = 40  # in the table of columns
LABELS = {
    "effective_support": "effective number of support points",
    "largest_weight": "largest weight",
    "minority_total": "total of the minority weights",
    "squared_norm": "squared norm of the centre",
    "typical_distance": "median distance of the majority",
}
Step = Callable[[str], None]


@dataclass
class Page:
    """The rows that a report shows, and its figures; the template has the sentences.

    Attributes
    ----------
    est : fitted estimator
    X, y : object
        As the user gave them; None for the training rows.
    found : pandas.DataFrame
        The decision on the rows, with their names; training rows are left out.
    minority : ndarray of bool, shape (n,), or None
        None if the classes are not known.
    figures, omitted : dict
        Figures, and the reasons for those that are left out, by name.
    abnormal : list of dict
        The most abnormal rows with the reasons.
    explained : dict of str
        Captions of the figures of abnormal rows, by the names of the figures.
    """

    est: Detector
    X: Any
    y: Any
    found: pd.DataFrame
    minority: np.ndarray | None
    figures: dict[str, Figure] = field(default_factory=dict)
    omitted: dict[str, str] = field(default_factory=dict)
    abnormal: list[dict[str, str]] = field(default_factory=list)
    explained: dict[str, str] = field(default_factory=dict)

    def rows(self, numbers: Any) -> Any:
        """Return some of the new rows, as :func:`bsvdd.explain` takes them."""
        X = self.X
        return X.iloc[numbers] if isinstance(X, pd.DataFrame) else np.asarray(X)[numbers]


def report(est: Detector, path: Any, X: Any = None, y: Any = None) -> Path:
    """Write a report of this fit as one HTML file, which needs no network.

    It says what was learnt from, and shows the kernel, prior beside posterior, convergence
    in words, the cutoff with its realised false alarms, the distances of the rows, ROC and
    precision-recall where there are labels, the most abnormal rows with their explanation, and how
    to cite and to rerun.

    Parameters
    ----------
    est : Detector
        Fitted.
    path : str or path
        The file is complete or absent. Its folder must exist.
    X : array-like of shape (m, p), optional
        New rows to report. By default the training rows are reported: their ROC and their
        false alarms are those of left-out rows.
    y : array-like of shape (m,), optional
        Labels of X, with the rules of ``fit``. They are only compared with the decisions.

    Returns
    -------
    path

    Raises
    ------
    ValueError
        y is given without X; X and y as in ``est.decision`` and ``fit``.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bsvdd import SVDD, report
    >>> est = SVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(est, Path(folder) / "model.html")
    ...     "What P(normal) is" in page.read_text(encoding="utf-8")
    True
    """
    check_is_fitted(est)
    path = Path(path)
    X = as_frame(X)
    if X is None and y is not None:
        raise ValueError("y has the labels of X, but X is not given: report(est, path, X, y)")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist; make it")
    with steps("report") as step:
        step("decision of the rows")
        if X is None:
            page = Page(est, X, y, est.decision(), est.fit_.data.minority)
        else:
            found = est.decision(X)
            minority = None if y is None else est.fit_.minority_of(y, len(found))
            page = Page(est, X, y, found, minority)
        try:
            content = _content(page, step)
        finally:  # an error in one picture leaves no other open; other threads have their own
            for figure in page.figures.values():
                plt.close(figure)
    pages.save(path, content)
    return path


def _content(page: Page, step: Step) -> bytes:
    est, fit = page.est, page.est.fit_
    table = None
    if fit.learned.posterior is not None:
        step("prior and posterior")
        table = summary.table(fit)
    step("distances")
    if fit.has_center:
        page.figures["distances"] = plots.plot_distances(est, page.X, page.y)
    step("ROC")
    if page.minority is not None and page.minority.any() and not page.minority.all():
        page.figures["roc"] = plots.plot_roc(est, page.X, page.y)
    step("explanations")
    _abnormal(page)
    step("drawing of the figures")
    record = find(fit.spec.name)
    worth = [] if table is None else words.worth(fit, table["posterior"])
    return pages.render(
        "model.html",
        {name: pages.image(name, pages.png(f), "") for name, f in page.figures.items()},
        __package__,
        name=type(est).__name__ if record is None else record.name,
        record=record,
        page=page,
        omitted=page.omitted,
        est=est,
        data=fit.data,
        gram=fit.data.gram,
        columns=[] if fit.data.kernel.pairwise else _columns(fit),
        priors={name: value for name, value in fit.attrs.items() if name.endswith("prior")},
        prior_check=[] if table is None else _prior_check(table),
        has_posterior=fit.learned.posterior is not None,
        convergence=[*words.convergence(fit), *worth],
        cutoff=words.cutoff(fit),
        counts=_counts(page),
        code=words.code(fit),
        rerun=words.rerun(fit),
    )


def _columns(fit: Fit) -> list[tuple[str, list[str]]]:
    """Return name, mean, sd, smallest and largest value of the majority in the first columns.

    A column of categories has their number instead.
    """
    rows, names = fit.data.majority_rows[:, :MOST_COLUMNS], fit.data.columns.labels
    numbers = np.array([rows.mean(axis=0), rows.std(axis=0), rows.min(axis=0), rows.max(axis=0)])
    table = [
        (str(name), [f"{value:.4g}" for value in of_column])
        for name, of_column in zip(names, numbers.T, strict=False)
    ]
    for i in fit.data.kernel.categorical_columns:
        if i < len(table):
            table[i] = table[i][0], [f"{len(np.unique(rows[:, i]))} categories", "", "", ""]
    return table


def _prior_check(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return name, prior and posterior of each quantity, in words."""
    return [
        (
            LABELS[str(name)],
            "" if np.isnan(row["prior"]) else f"{row['prior']:.3g}",
            "{posterior:.3g} [{low:.3g}, {high:.3g}]".format(**row),
        )
        for name, row in table[table["low"].notna()].iterrows()
    ]


def _counts(page: Page) -> list[tuple[str, int, int]]:
    """Return the numbers of normal and abnormal rows of each class."""
    normal = page.found["normal"].to_numpy()
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
    est, found = page.est, page.found
    order = np.argsort(-found["surprise"].to_numpy(), kind="stable")[:LISTED]
    listed = order[~found["normal"].to_numpy()[order]]
    for j in listed:
        row = found.iloc[j]
        surprise = f"{row['surprise']:.2f}"
        if "surprise_low" in row:
            surprise += f" [{row['surprise_low']:.2f}, {row['surprise_high']:.2f}]"
        of_class = (
            ("majority", "minority")[int(page.minority[j])] if page.minority is not None else ""
        )
        page.abnormal.append(
            {
                "name": str(found.index[j]),
                "class": of_class,
                "p_value": f"{row['p_value']:.3g}" if "p_value" in row else "",
                "surprise": surprise,
                "probability": f"{row['probability_normal']:.3f}",
            }
        )
    if not len(listed):
        page.omitted["explanation"] = "No row is abnormal."
        return
    if est.fit_.score.uncertain:
        few = listed[:EXPLAINED]
        rows = {"rows": few} if page.X is None else {"X": page.rows(few)}
        names = [f"row {short(found.index[j])}" for j in few]
        page.figures["margins"] = plots.plot_margin(est, names=names, **rows)
        page.explained["margins"] = (
            "By how much the first of these rows lie within the cutoff, in each draw: the area "
            "right of 0 is P(normal)."
        )
    try:
        why = explain(est, rows=listed) if page.X is None else explain(est, page.rows(listed))
    except ValueError as error:  # no columns
        page.omitted["explanation"] = str(error)
        return
    for i, row in enumerate(page.abnormal):
        row["columns"], row["change"] = why.reason(i), why.normal_with(i) or "none found"
    for j in listed[:EXPLAINED]:
        _picture(page, j)


def _picture(page: Page, j: int) -> None:
    """Add the picture of row number j."""
    how: Any = {"row": j} if page.X is None else {"z": page.rows([j])}
    figure: Any = plots.plot_explanation(page.est, **how).figure
    page.figures[f"row_{j}"] = figure
    page.explained[f"row_{j}"] = f"Row {page.found.index[j]}: which columns make it abnormal."
