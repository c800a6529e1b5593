r"""Scenarios with several kinds of abnormal rows, of which training has labels of some only.

Real: :class:`LabelledKind` labels one kind of a data set of several classes; the rows of all other
kinds are in the test set alone. The data sets are embedded with their classes (:func:`embedded`).

Generated: :class:`Clusters`. Normal rows are N(0, I). Kind k is N(3 c_k, 0.36 I), with the c_k
uniform on the unit sphere and different for each seed. Two of four kinds are labelled. In the test
set, a given share of the abnormal rows is of the other two, and the means of the labelled kinds
have drifted by a given length in random directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file
from typing import override

import numpy as np

from .collection import DATA, Dataset, records, require_known
from .collection import embedded as embedded_set
from .scenario import Pair, Scenario, two_generators

FOLDER = DATA / "kinds"
LABELLED = 0.1  # labelled rows of a kind, at most, as a share of the normal training rows
LEAST = 8  # rows of a kind that is labelled
DISTANCE, SPREAD = 3.0, 0.6  # of a generated kind


@dataclass(frozen=True, eq=False)
class KindSet:
    """Rows of several classes.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, p)
    label : ndarray of str, shape (n,)
        The class of each row.
    """

    name: str
    X: np.ndarray
    label: np.ndarray

    @property
    def _sizes(self) -> dict[str, int]:
        """The number of rows of each class, the largest first."""
        names, counts = np.unique(self.label, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return dict(zip(names[order].tolist(), counts[order].tolist(), strict=True))

    @property
    def normal(self) -> tuple[str, ...]:
        """The normal classes: the fewest largest ones with more than half of the rows."""
        above = np.cumsum(list(self._sizes.values())) > len(self.label) / 2.0
        return tuple(self._sizes)[: int(above.argmax()) + 1]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The other classes with at least 8 rows, the largest first."""
        sizes, normal = self._sizes, self.normal
        return tuple(name for name, n in sizes.items() if n >= LEAST and name not in normal)


def names() -> list[str]:
    """Return the names of the embedded sets of several classes."""
    return list(records(FOLDER))


def embedded(name: str) -> KindSet:
    """Return the embedded set of several classes ``name``.

    Raises
    ------
    ValueError
        There is no set of that name; the message lists the names.

    Examples
    --------
    >>> from bsvdd.comparison.scenarios import kinds
    >>> data = kinds.embedded("thyroid")
    >>> data.X.shape, data.normal, data.kinds
    ((215, 5), ('normal',), ('hyper', 'hypo'))
    """
    require_known("set of several classes", name, names())
    record = records(FOLDER)[name]
    with as_file(FOLDER / f"{name}.npz") as path, np.load(path) as arrays:
        label = np.array(record["kinds"])[arrays["kind"]]
        X = arrays["X"] if record["rows_of"] is None else embedded_set(record["rows_of"]).X
    return KindSet(name, X, label)


def pair_of(name: str, *sets: tuple[np.ndarray, np.ndarray]) -> Pair:
    """Return the pair of two sets of rows and kinds."""
    train, test = (Dataset(name, X, kind != "") for X, kind in sets)
    return Pair(train, test, kinds=(sets[0][1], sets[1][1]))


@dataclass(frozen=True)
class LabelledKind(Scenario):
    """Half of the normal rows train, with some labelled rows of one kind.

    The labelled rows are half of those of the kind, at most a tenth as many as the normal ones. All
    other rows test, at most ``most`` of the normal class, of the labelled kind and of the others.

    Parameters
    ----------
    data : KindSet
    kind : str
    rows : int, default=300
        Normal training rows at most.
    most : int, default=500
    labels : int, optional
        Labelled rows at most, to see what each further label is worth.
    """

    data: KindSet
    kind: str
    rows: int = 300
    most: int = 500
    labels: int | None = None

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        require_known(f"kind of abnormal rows of {self.data.name}", self.kind, self.data.kinds)

    @property
    @override
    def base_name(self) -> str:
        limit = "" if self.labels is None else f" by {self.labels} rows"
        return f"{self.data.name}, {self.kind} labelled{limit}"

    @property
    def _sizes(self) -> tuple[int, int]:
        label = self.data.label
        n0 = min(int(np.isin(label, self.data.normal).sum()) // 2, self.rows)
        n1 = max(1, min(int((label == self.kind).sum()) // 2, round(LABELLED * n0)))
        return n0, n1 if self.labels is None else min(n1, self.labels)

    @property
    @override
    def base_minority(self) -> int:
        return self._sizes[1]

    @override
    def drawn(self, seed: int) -> Pair:
        rng, label = np.random.default_rng(seed), self.data.label
        is_normal = np.isin(label, self.data.normal)
        kind = np.where(is_normal, "", label)
        n0, n1 = self._sizes
        normal, own, others = (
            rng.permutation(np.flatnonzero(members))
            for members in (is_normal, label == self.kind, ~is_normal & (label != self.kind))
        )
        train = np.concatenate([normal[:n0], own[:n1]])
        test = [normal[n0:], own[n1:], others]
        new = np.concatenate([rows[: self.most] for rows in test])
        X = self.data.X
        return pair_of(self.base_name, (X[train], kind[train]), (X[new], kind[new]))


@dataclass(frozen=True)
class Clusters(Scenario):
    """Four clusters of abnormal rows around the normal ones, two of them labelled.

    Parameters
    ----------
    unseen : float
        Share of the abnormal test rows that are of the kinds without labels.
    drift : float, default=0
        Length by which the means of the labelled kinds differ in the test set.
    p, n_train, n_test : int, default=4, 300, 2000
    share : float, default=0.1
        Share of abnormal rows in both sets.
    """

    unseen: float
    drift: float = 0.0
    p: int = 4
    n_train: int = 300
    n_test: int = 2000
    share: float = 0.1

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        few = round(self.share * min(self.n_train, self.n_test))
        self.require("unseen", 0 <= self.unseen <= 1, "in [0, 1]")
        self.require("share", 0 < self.share < 1 and few >= 2, "in (0, 1) and two rows or more")

    @property
    @override
    def base_name(self) -> str:
        moved = f", drift {self.drift:g}" if self.drift else ""
        return f"clusters, {self.unseen:.0%} unseen{moved}"

    @property
    @override
    def base_minority(self) -> int:
        return round(self.share * self.n_train)

    @override
    def drawn(self, seed: int) -> Pair:
        first, second = two_generators(seed)
        centers, moves = (first.normal(size=(4, self.p)) for _ in range(2))
        centers *= DISTANCE / np.linalg.norm(centers, axis=1, keepdims=True)
        moves *= self.drift / np.linalg.norm(moves, axis=1, keepdims=True)
        moves[2:] = 0.0
        train = self._draw(first, centers, self.n_train, 0.0)
        return pair_of(
            self.base_name, train, self._draw(second, centers + moves, self.n_test, self.unseen)
        )

    def _draw(
        self, rng: np.random.Generator, centers: np.ndarray, n: int, unseen: float
    ) -> tuple[np.ndarray, np.ndarray]:
        n1 = round(self.share * n)
        n_unseen = round(unseen * n1)
        which = np.append(rng.integers(2, size=n1 - n_unseen), 2 + rng.integers(2, size=n_unseen))
        abnormal = centers[which] + SPREAD * rng.normal(size=(n1, self.p))
        X = np.concatenate([rng.normal(size=(n - n1, self.p)), abnormal])
        kind = np.append(
            np.full(n - n1, "", dtype="<U6"),
            np.array(["kind A", "kind B", "kind C", "kind D"])[which],
        )
        order = rng.permutation(n)
        return X[order], kind[order]
