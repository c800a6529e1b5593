"""Similarities of rows to the atoms of a dictionary, when something left with a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .kernels import Kernel

BLOCK_SIZE = 2**21  # numbers at once
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Similarities:
    """Similarities of rows (m,) to what stays of the atoms.

    Attributes
    ----------
    k, L : ndarray of shape (m, M) and (m,)
        e^L k are the kernel values with the atoms.
    diag : ndarray of shape (m,)
        k(z, z).
    nearest : ndarray of shape (m,)
        Log of the largest k with a majority row.
    sums, others : ndarray of shape (m,)
        Sums of k and of 1 over the majority that stays, by weight.
    gone : sparse array of shape (m, M)
        The share of each atom that leaves with the row; 0 if the row is new.
    """

    k: np.ndarray
    L: np.ndarray
    diag: np.ndarray
    nearest: np.ndarray
    sums: np.ndarray
    others: np.ndarray
    gone: sparse.csr_array

    def __getitem__(self, rows: np.ndarray) -> Similarities:
        return Similarities(*(value[rows] for value in vars(self).values()))

    @classmethod
    def joined(cls, parts: Iterable[tuple[np.ndarray, Similarities]]) -> Similarities:
        """Return the rows of parts (places, rows), each in its place."""
        places, found = zip(*parts, strict=True)
        names = vars(found[0])
        columns = {name: [vars(part)[name] for part in found] for name in names}
        gone = sparse.vstack(columns.pop("gone"), format="csr")
        whole = {name: np.concatenate(each) for name, each in columns.items()}
        return cls(**whole, gone=gone)[np.argsort(np.concatenate(places))]


def scaled_kernel(
    kernel: Kernel, Z: np.ndarray, Y: np.ndarray, hidden: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return e^-L k (m, R) and L (m,), with k = 0 at the hidden places.

    For a normalised kernel the largest value of a row is 1; else L is 0.
    """
    if not kernel.normalized:
        k = kernel(Z, Y)
        k[hidden] = 0.0
        return k, np.zeros(len(k))
    k = kernel.log(Z, Y)
    k[hidden] = -np.inf
    L = k.max(axis=1)
    L[np.isneginf(L)] = 0.0
    k -= L[:, None]
    return np.exp(k, out=k), L


def blocks(n: int, width: int) -> Iterator[np.ndarray]:
    """Yield the numbers 0, ..., n - 1 in blocks, one empty block for n = 0."""
    step = max(1, BLOCK_SIZE // max(1, width))
    for start in range(0, max(1, n), step):
        yield np.arange(start, min(start + step, n))


def concatenated(parts: list[Arrays]) -> Arrays:
    """Return the arrays of blocks as whole arrays."""
    if len(parts) == 1:
        return parts[0]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))
