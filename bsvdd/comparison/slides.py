r"""The data generator of the slides (Kim 2024).

.. math::
    x \sim (1 - \pi) N(\mu_0, \Sigma) + \pi N(\mu_1, \Sigma), \qquad
    \eta = \beta_0 + \sum_{j=1}^4 \beta_j x_j, \qquad
    y \sim \mathrm{Ber}(1/(1 + e^{-\eta}))

with mu_0 = (7,7,7,7,0,...), mu_1 = (10,10,10,10,0,...), Sigma = diag(2,2,2,2,1,...),
beta_0 = -31 and beta_j ~ N(b_j, v), b = (.96, .8, 1, .8), drawn for each row. y = 1 is
the minority.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from .datasets import Dataset, Pair

NEAR_MEAN = 7.0
FAR_MEAN = 10.0
INTERCEPT = -31.0
COEFFICIENTS = np.array([0.96, 0.8, 1.0, 0.8])
SIGNAL = len(COEFFICIENTS)
WITH_SIGNAL = "the features that carry signal"
MOST_BLOCKS = 2000  # of n rows, drawn before a share is given up
# a standard normal, as 400 equally probable values
NORMAL_VALUES = ndtri((np.arange(400) + 0.5) / 400)


@dataclass(frozen=True)
class Slides:
    r"""Pairs of data sets drawn as in the slides.

    Slide 29 defines the imbalance ratio, 1/10, as abnormal/all. Slide 47 has beta_j ~
    N(b_j, v). It does not say whether by row or by data set, nor how x is drawn so that
    this ratio holds. Slide 47 draws x_0 from N(mu_0, Sigma) before y and calls y = 0
    major, and slide 4 has x_0 as the rows with y = 0: the training rows are a
    component, or a class. Drawn for each row, with the variance v, the class shares
    agree with the published table, and so does how little they vary; with v = 0 the
    share is .116.

    Parameters
    ----------
    v : float, default=5
        Variance of the coefficients; 0 fixes them at b.
    n_train, n_test, p : int, default=1000, 10000, 50
    far : float, default=0.1
        pi, the share of rows from the far component.
    share : float, optional
        Share of minority rows in both sets: rows are drawn until each class has its
        number, that is from x given y. By default the classes are as the model draws
        them.
    df : float, default=inf
        Degrees of freedom of a multivariate t that replaces each normal component, with
        the same mean and covariance: x = mu + z sqrt((df - 2)/w), z ~ N(0, Sigma), w ~
        chi2(df).

    Raises
    ------
    ValueError
        A number is out of its range, or a share is not met.

    References
    ----------
    Kim (2024), A comparative study on Bayesian SVDD models, slides.

    Examples
    --------
    >>> from bsvdd.comparison.slides import Slides
    >>> pair = Slides(v=0, n_train=100, n_test=50, p=10).pair(seed=1)
    >>> pair.train.X.shape, pair.test.X.shape
    ((100, 10), (50, 10))
    """

    v: float = 5.0
    n_train: int = 1000
    n_test: int = 10_000
    p: int = 50
    far: float = 0.1
    share: float | None = None
    df: float = math.inf

    def __post_init__(self) -> None:
        known_share = self.share is None or 0 < self.share < 1
        for field, valid, expected in (
            ("v", 0 <= self.v < math.inf, "at least 0 and finite"),
            ("p", self.p >= SIGNAL, f"at least {SIGNAL}, {WITH_SIGNAL}"),
            ("share", known_share, "in (0, 1), or None"),
            ("df", self.df > 2, "above 2, for a covariance"),
        ):
            if not valid:
                value = vars(self)[field]
                raise ValueError(f"{field} must be {expected}, got {value!r}")

    @property
    def name(self) -> str:
        """Name in tables: v, and what else is not the default."""
        values = vars(self)
        changed = [
            f"{field.removesuffix('_train')}={round(values[field], 4)}"
            for field in ("n_train", "p", "far", "share", "df")
            if values[field] != vars(Slides)[field]
        ]
        return ", ".join([f"slides v={self.v:g}", *changed])

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
        sets = list(map(self._of_share, streams, (self.n_train, self.n_test)))
        train, test = (Dataset(self.name, X, y) for X, y, _ in sets)
        truth = None if self.share is not None else probability(test.X, self.v)
        return Pair(train, test, truth, (sets[0][2], sets[1][2]))

    def _of_share(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        """Return n rows, their class, and which are of the far component."""
        if self.share is None:
            return self._drawn(rng, n)
        n1 = round(self.share * n)
        blocks: list[tuple[np.ndarray, ...]] = []
        minority = 0
        while minority < n1 or len(blocks) * n - minority < n - n1:
            if len(blocks) == MOST_BLOCKS:
                raise ValueError(
                    f"{self.name}: the share was not met in {MOST_BLOCKS * n} draws; "
                    "one class hardly occurs"
                )
            blocks.append(self._drawn(rng, n))
            minority += blocks[-1][1].sum()
        X, y, far = map(np.concatenate, zip(*blocks, strict=True))
        rows = np.append(np.flatnonzero(~y)[: n - n1], np.flatnonzero(y)[:n1])
        rows = rows[rng.permutation(n)]
        return X[rows], y[rows], far[rows]

    def _drawn(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
        far = rng.random(n) < self.far
        X = rng.normal(size=(n, self.p))
        X[:, :SIGNAL] *= math.sqrt(2.0)
        if math.isfinite(self.df):
            X *= np.sqrt((self.df - 2) / rng.chisquare(self.df, size=(n, 1)))
        X[:, :SIGNAL] += np.where(far, FAR_MEAN, NEAR_MEAN)[:, None]
        mean, sd = predictor(X, self.v)
        return X, rng.random(n) < expit(mean + sd * rng.normal(size=n)), far


def predictor(X: np.ndarray, v: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Return mean and standard deviation of eta given x, each (n,).

    .. math:: \beta_0 + b^\top x_{1:4}, \qquad \sqrt v\, \|x_{1:4}\|

    Parameters
    ----------
    X : ndarray of shape (n, p)
    v : float

    Returns
    -------
    tuple of two ndarray of shape (n,)
    """
    signal = X[:, :SIGNAL]
    sd = math.sqrt(v) * np.linalg.norm(signal, axis=1)
    return INTERCEPT + signal @ COEFFICIENTS, sd


def probability(X: np.ndarray, v: float) -> np.ndarray:
    r"""Return P(y = 1 | x) = E[1 / (1 + exp(-eta))], the coefficients integrated out.

    The integral is a mean over 400 quantiles, with an error below .002.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    v : float

    Returns
    -------
    ndarray of shape (n,)
    """
    blocks = zip(*(np.array_split(each, 10) for each in predictor(X, v)), strict=True)
    eta = (mean[:, None] + sd[:, None] * NORMAL_VALUES for mean, sd in blocks)
    return np.concatenate([expit(each).mean(axis=1) for each in eta])
