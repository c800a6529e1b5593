r"""The data generator of the slides (Kim 2024); each possible reading of them is an option.

.. math::
    x \sim (1 - \pi) N(\mu_0, \Sigma) + \pi N(\mu_1, \Sigma), \qquad
    \eta = \beta_0 + \sum_{j=1}^4 \beta_j x_j, \qquad y \sim \mathrm{Ber}(1/(1 + e^{-\eta}))

with mu_0 = (7,7,7,7,0,...), mu_1 = (10,10,10,10,0,...), Sigma = diag(2,2,2,2,1,...),
beta_0 = -31 and beta_j ~ N(b_j, v), b = (.96, .8, 1, .8). y = 1 is the minority.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, override

import numpy as np
from scipy.special import expit, ndtr

from .datasets import Dataset
from .scenario import Pair, Scenario, two_generators

NEAR, FAR = 7.0, 10.0
INTERCEPT, COEFFICIENTS = -31.0, np.array([0.96, 0.8, 1.0, 0.8])
SIGNAL = len(COEFFICIENTS)  # features that carry signal
MOST_DRAWS = 2000  # blocks of n rows drawn before a requested share is given up


@dataclass(frozen=True)
class Slides(Scenario):
    r"""Pairs of data sets drawn as in the slides.

    Slide 29 defines the imbalance ratio, 1/10, as abnormal/all. Slide 47 has beta_j ~ N(b_j, v),
    and neither whether by row or by data set, nor how x is drawn so that this ratio holds. Slide 47
    draws x_0 from N(mu_0, Sigma) before y and calls y = 0 major, and slide 4 has x_0 as the rows
    with y = 0: the rows that train are those of a component, or of a class. The defaults are the
    reading whose class shares agree with those that the published table implies; with v = 0 its
    ratio is .116.

    Parameters
    ----------
    v : float, default=5
        Spread of the coefficients; 0 fixes them at b.
    n_train, n_test, p : int, default=1000, 10000, 50
    far : float, default=0.1
        pi, the share of rows from the far component.
    share : float, optional
        Share of minority rows in both sets: rows are drawn until each class has its number, that
        is from x given y. By default the classes are as the model draws them.
    coefficients : {"observation", "data set"}, default="observation"
        Whether beta is drawn for each row, or once for a pair of data sets.
    spread : {"variance", "sd"}, default="variance"
        Whether v is the variance or the standard deviation of each coefficient.
    df : float, default=inf
        Degrees of freedom of a multivariate t that replaces each normal component, with the same
        mean and covariance: x = mu + z sqrt((df - 2)/w), z ~ N(0, Sigma), w ~ chi2(df).

    References
    ----------
    Kim (2024), A comparative study on Bayesian SVDD models, slides.

    Examples
    --------
    >>> from bsvdd.comparison.scenarios.slides import Slides
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
    coefficients: Literal["observation", "data set"] = "observation"
    spread: Literal["variance", "sd"] = "variance"
    df: float = math.inf

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        readings = ("observation", "data set")
        for field, valid, expected in (
            ("v", 0 <= self.v < math.inf, "at least 0 and finite"),
            ("n_train", self.n_train >= 2, "at least 2"),
            ("n_test", self.n_test >= 2, "at least 2"),
            ("p", self.p >= SIGNAL, f"at least {SIGNAL}, the features that carry signal"),
            ("far", 0 <= self.far <= 1, "in [0, 1]"),
            ("share", self.share is None or 0 < self.share < 1, "in (0, 1), or None"),
            ("coefficients", self.coefficients in readings, "'observation' or 'data set'"),
            ("spread", self.spread in ("variance", "sd"), "'variance' or 'sd'"),
            ("df", self.df > 2, "above 2, for a covariance"),
        ):
            self.require(field, valid, expected)

    @property
    @override
    def base_name(self) -> str:
        options = {
            "n": (self.n_train, 1000),
            "p": (self.p, 50),
            "far": (self.far, 0.1),
            "share": (self.share and round(self.share, 4), None),
            "df": (self.df, math.inf),
            "coefficients by": (self.coefficients, "observation"),
            "v as": (self.spread, "variance"),
        }
        changed = [
            f"{key}={value}" for key, (value, default) in options.items() if value != default
        ]
        return ", ".join([f"slides v={self.v:g}", *changed])

    @property
    def sd(self) -> float:
        """Standard deviation of each coefficient."""
        return math.sqrt(self.v) if self.spread == "variance" else float(self.v)

    @override
    def drawn(self, seed: int) -> Pair:
        rng_train, rng_test = two_generators(seed)
        beta = None
        if self.coefficients == "data set":
            beta = COEFFICIENTS + self.sd * rng_train.normal(size=SIGNAL)
        train, _, far_train = self._draw(rng_train, self.n_train, beta)
        test, truth, far_test = self._draw(rng_test, self.n_test, beta)
        known = None if self.share is not None else truth
        return Pair(train, test, known, (far_train, far_test))

    def _draw(
        self, rng: np.random.Generator, n: int, beta: np.ndarray | None
    ) -> tuple[Dataset, np.ndarray, np.ndarray]:
        """Return n rows with their class, P(y = 1 | x), and which are of the far component."""
        if self.share is None:
            return self._draw_unconditionally(rng, n, beta)
        n1 = round(self.share * n)
        blocks: list[tuple[Dataset, np.ndarray, np.ndarray]] = []
        drawn = 0  # minority rows
        while len(blocks) < MOST_DRAWS and (drawn < n1 or n * len(blocks) - drawn < n - n1):
            blocks.append(self._draw_unconditionally(rng, n, beta))
            drawn += int(blocks[-1][0].minority.sum())
        minority = np.concatenate([block.minority for block, _, _ in blocks])
        rows = [np.flatnonzero(minority == y)[:m] for y, m in ((False, n - n1), (True, n1))]
        order = np.concatenate(rows)
        if len(order) < n:
            raise ValueError(
                f"{self.base_name}: a share of {self.share} minority rows was not met in "
                f"{MOST_DRAWS * n} draws; one class hardly occurs with these coefficients"
            )
        order = order[rng.permutation(n)]
        X = np.concatenate([block.X for block, _, _ in blocks])[order]
        far = np.concatenate([each for _, _, each in blocks])[order]
        return Dataset(self.base_name, X, minority[order]), np.empty(0), far

    def _draw_unconditionally(
        self, rng: np.random.Generator, n: int, beta: np.ndarray | None
    ) -> tuple[Dataset, np.ndarray, np.ndarray]:
        far = rng.random(n) < self.far
        sd = np.ones(self.p)
        sd[:SIGNAL] = math.sqrt(2.0)
        X = sd * rng.normal(size=(n, self.p))
        if math.isfinite(self.df):
            X *= np.sqrt((self.df - 2) / rng.chisquare(self.df, size=(n, 1)))
        X[:, :SIGNAL] += np.where(far, FAR, NEAR)[:, None]
        P = probability(X, self.sd) if beta is None else expit(INTERCEPT + X[:, :SIGNAL] @ beta)
        # Ber(E[logistic(eta)]) is the class of a row after its own beta is integrated out
        return Dataset(self.base_name, X, rng.random(n) < P), P, far


def probability(X: np.ndarray, sd: float) -> np.ndarray:
    r"""Return P(y = 1 | x), (n,), with the coefficients of each row integrated out.

    .. math:: E\left[\frac{1}{1 + e^{-(m + s z)}}\right] = \int \Phi\left(\frac{m - l}{s}\right)
        f(l)\,dl, \qquad m = \beta_0 + b^\top x, \quad s = \mathrm{sd}\,\|x_{1:4}\|

    where z is standard normal and f is the logistic density.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    sd : float
        Standard deviation of each coefficient.
    """
    signal = X[:, :SIGNAL]
    m, s = INTERCEPT + signal @ COEFFICIENTS, sd * np.linalg.norm(signal, axis=1)
    return logistic_normal(m, s)


def logistic_normal(m: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return E[logistic(m + s z)] for standard normal z, elementwise, with an error below 1e-9.

    The trapezoid rule is applied to the narrower of the normal and the logistic density, so that
    its error falls exponentially (Trefethen and Weideman 2014).
    """
    out = np.empty(np.shape(m))
    narrow = s < 1
    z = np.linspace(-9, 9, 73)
    weights = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    out[narrow] = expit(m[narrow, None] + s[narrow, None] * z) @ weights
    wide = ~narrow
    logit = np.linspace(-40, 40, 161)
    weights = expit(logit) * expit(-logit) * (logit[1] - logit[0])
    out[wide] = ndtr((m[wide, None] - logit) / s[wide, None]) @ weights
    return out
