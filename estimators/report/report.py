"""The report of one fitted model, as one HTML page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from .. import plots
from ..atomic import write
from ..detector import Detector
<<<<<<< HEAD
from ..plots.common import boxes_for_letters
from ..questions import facts
from ..questions.methods import methods
=======
from ..fit import Fit
from ..plots.common import figure_of, short
>>>>>>> ee3e49bb (Pictures: callers take the figure of the axes, tests are tables)
from ..questions.why import explain
from ..rows.frames import as_frame

LISTED, EXPLAINED = 10, 3  # oddest rows in the table, and those with a picture
LEFT_AWAY = ["distance", "cutoff", "level", "left_out"]  # columns of a decision


def report(est: Detector, path: Any, X: Any = None, y: Any = None) -> Path:
    """Write a report of this fit as one HTML file, which needs no network.

    It has what the fit is worth (:func:`bsvdd.facts`), the paragraph for a paper
    (:func:`bsvdd.methods`), the oddest rows with the reasons, pictures of the rows, ROC where
    there are labels, and the code that fits the model again.

    Parameters
    ----------
    est : fitted estimator
    path : str or path
        The file is complete or absent. Its folder must exist.
    X : array-like of shape (m, p), optional
        New rows to report. By default the training rows are reported, each left out.
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
    found, path = facts.facts(est), Path(path)
    if X is None and y is not None:
        raise ValueError("y has the labels of X, but X is not given: report(est, path, X, y)")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.absolute().parent} does not exist; make it")
    X = None if X is None else pd.DataFrame(as_frame(X))
    decided = est.decision(X)
    order = np.argsort(-decided["surprise"].to_numpy(), kind="stable")[:LISTED]
    odd, why_none = decided.iloc[order].drop(columns=LEFT_AWAY, errors="ignore"), ""
    try:
        why = explain(est, rows=order) if X is None else explain(est, X.iloc[order])
        odd = odd.assign(reasons=[why.reason(i) for i in range(len(odd))])
    except ValueError as error:  # a kernel matrix has no columns
        why_none = f"There are no reasons: {error}."
    page = {"odd": odd, "why_none": why_none, "new": X is not None, "lines": facts.lines(found)}
    page |= {"size": len(decided), "normal": int(decided["normal"].sum()), "methods": methods(est)}
    page["summary"] = facts.summary(found) if "quantities" in found else None
    drawn = _pictures(est, found, X, y, order[:EXPLAINED], explained=not why_none)
    pictures = {name: image(name, picture) for name, picture in drawn}
    write(path, render("page.html", __package__, found=found, pictures=pictures, **page))
    return path


<<<<<<< HEAD
def _pictures(
    est: Detector, found: dict[str, Any], X: Any, y: Any, odd: np.ndarray, explained: bool
) -> Iterator[tuple[str, Any]]:
    """Yield the pictures of a page with their names."""
    if hasattr(est, "distance"):
        yield "distances", plots.plot_distances(est, X, y)
    if "list_rate" in found and X is None:
        yield "outliers", plots.plot_outliers(est)
    elif found["uncertain"]:
        given = {"rows": odd} if X is None else {"X": X.iloc[odd]}
        yield "margins", plots.plot_margin(est, **given)
    if (0 < found["minority"] < found["rows"]) if X is None else len(np.unique(y)) > 1:
        yield "roc", plots.plot_roc(est, X, y)
    for j in odd if explained and hasattr(est, "distance") else ():
        row = {"row": j} if X is None else {"x": X.iloc[[j]]}
        yield f"row {j}", plots.plot_explanation(est, **row)
=======
def _content(page: Page, step: Step) -> bytes:
    est, fit = page.est, page.est.fit_
    table = None
    if fit.learned.posterior is not None:
        step("prior and posterior")
        table = summary.table(fit)
    step("distances")
    if fit.has_center:
        page.figures["distances"] = figure_of(plots.plot_distances(est, page.X, page.y))
    step("ROC")
    if page.minority is not None and page.minority.any() and not page.minority.all():
        page.figures["roc"] = figure_of(plots.plot_roc(est, page.X, page.y))
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
>>>>>>> ee3e49bb (Pictures: callers take the figure of the axes, tests are tables)


# pages, of this and other packages


def render(template: str, package: str, **values: Any) -> bytes:
    """Return a page as bytes; all texts are escaped.

    ``package`` is the one with the template, which may extend ``page.html`` of this one.
    """
    loader = ChoiceLoader([PackageLoader(each, "") for each in (package, __package__)])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    own = {"version": version("bsvdd"), "date": date.today().isoformat()}
    return environment.get_template(template).render(own | values).encode()


def image(name: str, picture: Any, caption: str = "") -> dict[str, str]:
    """Return a picture, its figure or axes or a PNG, as texts for the macro ``figure``."""
    content = picture if isinstance(picture, bytes) else png(picture.figure)
    return {"name": name, "image": base64.b64encode(content).decode(), "caption": caption}


<<<<<<< HEAD
def png(figure: Figure) -> bytes:
    """Return ``figure`` as PNG and close it."""
    buffer = io.BytesIO()
    with boxes_for_letters():
        figure.savefig(buffer, format="png", dpi=120)
    plt.close(figure)
    return buffer.getvalue()
=======
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
        page.figures["margins"] = figure_of(plots.plot_margin(est, names=names, **rows))
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
>>>>>>> ee3e49bb (Pictures: callers take the figure of the axes, tests are tables)
