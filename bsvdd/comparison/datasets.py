"""Data sets: embedded sets, the user's own table, random halves, and shapes.

The sources and licences of the embedded sets are in data/sets.json. Nothing heavy is
imported before a file is read, so that the command line can list the sets at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..base.messages import did_you_mean, naming, printable

if TYPE_CHECKING:
    import pandas as pd

    from ..tables.files import Layout

DATA = files(__package__) / "data"
DEFAULT = ["breast_original", "wine_cultivar3", "abalone_9v18"]
# half of which train
FEWEST_MINORITY = 2
FEWEST_MAJORITY = 6
MODES = 5  # of a shape


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and their classes.

    Attributes
    ----------
    name : str
    X : ndarray or pandas.DataFrame of shape (n, p)
    minority : ndarray of bool, shape (n,)
        Whether a row belongs to the minority class.
    of_rows : dict of ndarray of shape (n,)
        ``sample_weight`` and ``groups`` of ``fit``, if they are known: a group is in
        one half, and rows of weight 0 test nothing.
    """

    name: str
    X: np.ndarray | pd.DataFrame
    minority: np.ndarray
    of_rows: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def counts(self) -> np.ndarray:
        """Which rows (n,) have a weight."""
        return self.of_rows.get("sample_weight", np.ones(len(self.minority))) > 0.0

    @property
    def base_rate(self) -> float:
        """Share of minority rows, of those with a weight."""
        return float(self.minority[self.counts].mean())

    def take(self, rows: np.ndarray) -> Dataset:
        """Return the data set of some rows.

        Parameters
        ----------
        rows : ndarray of int
            Their positions.

        Returns
        -------
        Dataset
        """
        X = self.X[rows] if isinstance(self.X, np.ndarray) else self.X.iloc[rows]
        of_rows = {name: values[rows] for name, values in self.of_rows.items()}
        return Dataset(self.name, X, self.minority[rows], of_rows)

    @cached_property
    def digest(self) -> str:
        """Hash of the contents."""
        import pandas as pd

        hashes = pd.util.hash_pandas_object(pd.DataFrame(self.X)).to_numpy()
        names = [] if isinstance(self.X, np.ndarray) else list(self.X.columns)
        content = hashes.tobytes() + np.packbits(self.minority).tobytes()
        content += repr(names).encode()
        for name, values in self.of_rows.items():
            content += name.encode() + pd.util.hash_array(values).tobytes()
        return hashlib.sha256(content).hexdigest()

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.digest})"


@dataclass(frozen=True, eq=False)
class Pair:
    """A training and a test set.

    Attributes
    ----------
    train, test : Dataset
    truth : ndarray of shape (n_test,), optional
        P(abnormal | x) of the test rows, if the generator knows it.
    far : tuple of two ndarray of bool, optional
        Which training and test rows are of the far component, if the generator has
        components.
    """

    train: Dataset
    test: Dataset
    truth: np.ndarray | None = None
    far: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class Halves:
    """Random halves of a data set: half of each class trains, the other half tests.

    Groups stay whole; then classes and halves are about equal.

    Parameters
    ----------
    data : Dataset
    rows : int, optional
        Training rows at most. Of a larger half so many are drawn, each class with its
        share; the test half stays whole.

    Raises
    ------
    ValueError
        There are fewer than 2 minority or 6 other rows, or the rows to draw are too
        few.

    Examples
    --------
    >>> from bsvdd.comparison import datasets
    >>> pair = datasets.Halves(datasets.embedded("wine_cultivar3")).pair(seed=1)
    >>> len(pair.train.X), int(pair.train.minority.sum())
    (89, 24)
    """

    data: Dataset
    rows: int | None = None

    def __post_init__(self) -> None:
        n1 = int(self.data.minority.sum())
        n = len(self.data.X)
        if n1 < FEWEST_MINORITY or n - n1 < FEWEST_MAJORITY:
            raise ValueError(
                f"{self.data.name}: a comparison needs at least {FEWEST_MINORITY} "
                f"minority rows and {FEWEST_MAJORITY} others, half of which train; got "
                f"{n1} and {n - n1}"
            )
        if self.thinned and not 0 < round(self.thinned * n1 / n) <= self.thinned - 3:
            raise ValueError(
                f"{self.data.name}: {self.rows} training rows are too few for {n1} "
                f"minority rows of {n}; draw more rows"
            )

    @property
    def thinned(self) -> int | None:
        """Number of training rows, if it is smaller than half of the rows."""
        return self.rows if self.rows and self.rows < len(self.data.X) // 2 else None

    @property
    def name(self) -> str:
        """Name in tables."""
        some = f", {self.thinned} training rows" if self.thinned else ""
        return f"{self.data.name}{some}"

    def pair(self, seed: int) -> Pair:
        """Return the training and the test half of ``seed``.

        Parameters
        ----------
        seed : int

        Returns
        -------
        Pair
        """
        from sklearn.model_selection import StratifiedGroupKFold, train_test_split

        groups = self.data.of_rows.get("groups")
        y = self.data.minority
        if groups is None:
            train, test = train_test_split(
                np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y
            )
        else:
            halves = StratifiedGroupKFold(2, shuffle=True, random_state=seed)
            train, test = next(halves.split(y, y, groups))
        if self.thinned:
            train, _ = train_test_split(
                train, train_size=self.thinned, random_state=seed, stratify=y[train]
            )
        return Pair(self.data.take(train), self.data.take(test[self.data.counts[test]]))


def records() -> dict[str, dict[str, str]]:
    """Return the record of each embedded set, by name.

    A record has the origin and its ``url``, the ``licence``, where the ``copy`` was
    taken from, and the ``conversion``: what was changed in the original, and which
    class is the minority.

    Returns
    -------
    dict of str: dict
    """
    found = json.loads((DATA / "sets.json").read_text(encoding="utf-8"))
    return dict(sorted(found.items()))


def names() -> list[str]:
    """Return the names of the embedded sets.

    Returns
    -------
    list of str
    """
    return list(records())


def require_known(what: str, name: str, names: Iterable[str]) -> None:
    """Check that ``name`` is one of the names.

    Parameters
    ----------
    what : str
        What the name is of, such as "model".
    name : str
    names : list of str

    Raises
    ------
    ValueError
        The name is unknown; the message lists the names.
    """
    if name not in (known := list(names)):
        raise ValueError(
            f"unknown {what} {name!r}{did_you_mean(name, known)}; expected one of "
            f"{', '.join(map(repr, known))}"
        )


def embedded(name: str) -> Dataset:
    """Return the embedded data set ``name``.

    Parameters
    ----------
    name : str

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        There is no data set of that name; the message lists the names.

    Examples
    --------
    >>> from bsvdd.comparison import datasets
    >>> data = datasets.embedded("wine_cultivar3")
    >>> data.X.shape, int(data.minority.sum())
    ((178, 13), 48)
    """
    require_known("data set", name, names())
    with as_file(DATA / f"{name}.npz") as path, np.load(path) as arrays:
        return Dataset(name, arrays["X"], arrays["y"] == 1)


def moon(n0: int = 150, n1: int = 15, seed: int = 0) -> Dataset:
    """Return two noisy half moons for pictures: one is the majority.

    Parameters
    ----------
    n0, n1 : int
        Numbers of majority and of minority rows.
    seed : int

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from bsvdd.comparison import datasets
    >>> round(datasets.moon().base_rate, 3)
    0.091
    """
    from sklearn.datasets import make_moons

    X, y = make_moons((n0, n1), noise=0.15, random_state=seed)
    return Dataset("moon", X, y == 1)


def read_dataset(path: str | Path, layout: Layout, minor: str | None = None) -> Dataset:
    """Return the data set in the file ``path``, with the columns of the file.

    Parameters
    ----------
    path : str or path
        A table that :func:`bsvdd.read_table` reads.
    layout : Layout
        Its label is the column of the classes.
    minor : str, optional
        Value of the minority class; not needed for 0/1 and -1/+1.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        The table cannot be read, or the labels are ambiguous; the message names the
        file.

    Warns
    -----
    DataWarning
        How columns are read, and which have missing cells.
    """
    from ..tables import files
    from ..tables.training import warn_of_missing

    X, minority = files.read_features(path, layout, minor)
    with naming(path):
        floats = layout.table.fit(X).floats(X)
    if np.isnan(floats).any():
        warn_of_missing(floats, list(map(str, X.columns)))
    return Dataset(printable(Path(path).stem), X, np.asarray(minority))


# generated shapes in the plane


def _ring(rng: np.random.Generator, n0: int, n1: int, noise: float) -> np.ndarray:
    """Return n0 rows on the ring, then n1 rows inside and outside it."""
    outside = n1 // 2
    inside = rng.normal(scale=0.35, size=(n1 - outside, 2))
    return np.concatenate(
        [_circle(rng, n0, 1.0, noise), inside, _circle(rng, outside, 1.8, noise)]
    )


def _circle(
    rng: np.random.Generator, n: int, radius: float, noise: float
) -> np.ndarray:
    angles = rng.uniform(0, 2 * np.pi, n)
    r = rng.normal(radius, noise, n)
    return r[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def _moons(rng: np.random.Generator, n0: int, n1: int, noise: float) -> np.ndarray:
    """Return n0 rows on one half circle, then n1 rows on the facing one."""
    from sklearn.datasets import make_moons

    seed = int(rng.integers(2**31))
    X, _ = make_moons((n0, n1), shuffle=False, noise=noise, random_state=seed)
    return np.asarray(X)


def _modes(rng: np.random.Generator, n0: int, n1: int, noise: float) -> np.ndarray:
    """Return n0 rows in five clusters, then n1 rows uniform on the square."""
    angles = 2 * np.pi * rng.integers(MODES, size=n0) / MODES
    centers = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    background = rng.uniform(-3.0, 3.0, size=(n1, 2))
    return np.concatenate([centers + noise * rng.normal(size=(n0, 2)), background])


Draw = Callable[[np.random.Generator, int, int, float], np.ndarray]
SHAPES: dict[str, Draw] = {"ring": _ring, "moons": _moons, "modes": _modes}


@dataclass(frozen=True)
class Shape:
    r"""Pairs of two-dimensional data sets; the boundary is no line and no circle.

    - ``ring``: the majority is :math:`x = r (\cos t, \sin t)` with t uniform and r ~
      N(1, noise^2). Half of the minority lies inside, N(0, 0.35^2 I), and half outside,
      at r ~ N(1.8, noise^2).
    - ``moons``: two facing half circles, the majority on one and the minority on the
      other, plus N(0, noise^2 I).
    - ``modes``: the majority is
      :math:`x \sim \frac15 \sum_k N(c_k, \mathrm{noise}^2 I)` with five points c_k on
      the circle of radius 2; the minority is uniform on the square [-3, 3]^2.

    Parameters
    ----------
    kind : {"ring", "moons", "modes"}
    n_train, n_test : int, default=300, 2000
    share : float, default=0.1
        Share of minority rows in both sets, rounded to whole rows.
    noise : float, default=0.15

    Raises
    ------
    ValueError
        The shape is unknown, or the share leaves a set without minority rows.

    Examples
    --------
    >>> from bsvdd.comparison.datasets import Shape
    >>> Shape("ring").pair(seed=1).train.base_rate
    0.1
    """

    kind: str
    n_train: int = 300
    n_test: int = 2000
    share: float = 0.1
    noise: float = 0.15

    def __post_init__(self) -> None:
        if self.kind not in SHAPES:
            raise ValueError(
                f"kind must be one of {', '.join(SHAPES)}, got {self.kind!r}"
            )
        few = round(self.share * min(self.n_train, self.n_test))
        if not (0 < self.share < 1 and few >= 1):
            raise ValueError(
                f"share must be in (0, 1) and give one row or more, got {self.share!r}"
            )

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.kind} n={self.n_train} share={self.share:g} noise={self.noise:g}"

    def pair(self, seed: int) -> Pair:
        """Return the training and the test set of ``seed``.

        Parameters
        ----------
        seed : int

        Returns
        -------
        Pair
        """
        streams = np.random.default_rng(seed).spawn(2)
        train, test = map(self._drawn, streams, (self.n_train, self.n_test))
        return Pair(train, test)

    def _drawn(self, rng: np.random.Generator, n: int) -> Dataset:
        n1 = round(self.share * n)
        X = SHAPES[self.kind](rng, n - n1, n1, self.noise)
        order = rng.permutation(n)
        return Dataset(self.name, X[order], (np.arange(n) >= n - n1)[order])
