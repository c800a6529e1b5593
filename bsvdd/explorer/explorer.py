"""``bsvdd.explore``: the settings that were tried, and the page that shows them."""

from __future__ import annotations

import time
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from ..estimators.bayesian import BSVDD, BSVDDM, Bayesian
from . import page
from .controls import Values
from .settings import Settings, said_by

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

HERE = Path(__file__).parent


def explore(
    X: ArrayLike,
    y: ArrayLike | None = None,
    est: Bayesian | None = None,
    *,
    own: bool = True,
    **of_rows: ArrayLike | None,
) -> Explorer:
    """Show how prior, kernel and cutoff change posterior and decisions.

    A change of the prior samples anew, and a change of the cutoff samples nothing.
    Moves of one control within two seconds are one move, so that the setting before
    stays. ``bsvdd explore data.csv`` shows the same page without Jupyter.

    Parameters
    ----------
    X : array-like of shape (n, p), or data frame
        Training rows; the index of a data frame names them.
    y : array-like of shape (n,), optional
        Labels, read as ``fit`` reads them.
    est : estimator with a posterior, optional
        Default: ``BSVDD()``, with labels ``BSVDDM()``.
    own : bool, default=True
        Whether a prior can be typed as Python code, which is run. Switch it off where
        others open the page.
    **of_rows : array-like of shape (n,), or name of a column
        ``sample_weight`` and ``groups``, as in ``fit``.

    Returns
    -------
    Explorer
        Shown as the last line of a cell, with the extra ``jupyter``. ``est`` is the
        fitted estimator of the setting now, and ``before`` that of the setting before.

    Raises
    ------
    ValueError, TypeError
        The errors of ``fit``; an estimator without a posterior.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> explorer = bsvdd.explore(X, est=bsvdd.BDD())
    >>> explorer.set(**{"false alarms": 0.2})
    >>> explorer.est.cutoff, explorer.before.cutoff
    (FalseAlarm(rate=0.2), None)
    """
    est = (BSVDD() if y is None else BSVDDM()) if est is None else est
    if not isinstance(est, Bayesian):
        raise TypeError(
            f"explore shows a posterior, which {type(est).__name__} has not; use "
            "BSVDD, BDD, BSVDDM or BDDM"
        )

    def fitted(est: Bayesian) -> Bayesian:
        return clone(est).fit(X, y, **of_rows)

    return Explorer(fitted, est, own)


class Explorer(Settings):
    """The page of :func:`bsvdd.explore`, which makes it.

    Parameters
    ----------
    fitted : callable
        Fits an estimator to the rows.
    est : estimator with a posterior
        Not fitted.
    own : bool
        Whether a prior can be typed as Python code.
    """

    def answer(self, asked: Values) -> dict[str, Any]:
        """Return what the page shows after a move: the quick panels, or the others.

        An error is said, and changes nothing.

        Parameters
        ----------
        asked : dict
            As ``set`` takes them; ``number``, which the answer has too; and ``more``,
            which asks for the panels with pictures.

        Returns
        -------
        dict
            ``panels``, HTML by name, ``more`` if others follow, what is ``said``, and
            the time that it ``took``.
        """
        asked = dict(asked)
        number = asked.pop("number", 0)
        if asked.pop("more", False):
            try:
                return {"number": number, "panels": page.pictures(self)}
            except Exception as error:  # of a user's own prior or kernel
                return {"number": number, "said": f"{type(error).__name__}: {error}"}
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.set(**asked)
            except Exception as error:  # of the user's own prior, whatever it is
                self.said = f"{type(error).__name__}: {error}"
            else:
                self.said = said_by(caught) if asked else self.said
            panels = page.quick(self)
        if asked:
            self.took = f"done in {time.perf_counter() - start:.2f} s"
        return {
            "number": number,
            "panels": panels,
            "more": True,
            "said": self.said,
            "took": self.took,
        }

    @cached_property
    def widget(self) -> Any:
        """The page as a widget of Jupyter."""
        import anywidget
        import traitlets

        class Page(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
            _esm = HERE / "page.js"
            _css = HERE / "page.css"
            asked = traitlets.Dict().tag(sync=True)
            state = traitlets.Dict().tag(sync=True)

        made = Page(state=self.answer({}))
        made.observe(self._asked, "asked")
        return made

    def _asked(self, change: dict[str, Any]) -> None:
        self.widget.state = self.answer(change["new"])

    def _repr_mimebundle_(self, **how: object) -> Any:
        return self.widget._repr_mimebundle_(**how)
