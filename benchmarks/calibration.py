"""Whether the posteriors are calibrated: ranks of the truth among posterior draws.

``uv run python -m benchmarks.calibration`` draws docs/calibration.png.

With a linear kernel and a dictionary [U; V] that is fixed beforehand the quasi-likelihood is one:
with phi(x) = x and a = sum_j w_j u_j,

    x_i | w ~ N(a, I / lambda),    log p = const - lambda/2 sum_i ||x_i - a||^2.

So w drawn from its prior, n0 rows drawn given w, and S draws of the posterior given the rows make
S + 1 draws that are exchangeable, and the rank of the truth among them is uniform, of any quantity
(Talts et al. 2018). The prior must not depend on the rows: normal with a fixed mean and a fixed
covariance, no row sums. Rows enter through r, over V too, T and n0.

Talts, S., Betancourt, M., Simpson, D., Vehtari, A. and Gelman, A. (2018). Validating Bayesian
inference algorithms with simulation-based calibration. arXiv:1804.06788.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import matplotlib.pyplot as plt
import numpy as np
from arviz_stats.ecdf_utils import ecdf_pit
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m
from bsvdd.models.model import Model
from scipy import stats

from bsvdd import kernels, priors

from .shared import computed, options, quietly, write

MAJORITY = np.array([[0.0, 0.0], [2.0, 0.5], [-0.5, 1.8]])  # U
MINORITY = np.array([[1.5, 1.7], [-1.0, -0.8]])  # V
Z = np.array([[0.4, 0.3], [1.6, -0.7]])  # whose distances are ranked
N0 = 6
SCALE = 2.0  # lambda
MEAN = (0.5, -0.3, 0.1)
COVARIANCE = ((1.0, 0.3, 0.0), (0.3, 0.8, -0.2), (0.0, -0.2, 1.2))
NORMAL = priors.Normal(m=MEAN, sigma=COVARIANCE)
SHARE = priors.Beta(2.0, 1.5)
CUBE = priors.TruncatedNormal(mean=0.4, sd=0.5)
DRAWS = 63  # of the posterior that the truth is ranked among
STEPS = 4  # of a chain for each of them
TUNE = 200
PARTS = 4  # of the replicates, which can be computed at once

Prior = Callable[[np.random.Generator], np.ndarray]
Posterior = Callable[[Gram, float, int], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model: draws of its prior, written out here, and of its posterior, by the package."""

    prior: Prior
    posterior: Posterior
    minority: bool


def _normal(rng: np.random.Generator) -> np.ndarray:
    return rng.multivariate_normal(MEAN, COVARIANCE)


def _simplex(rng: np.random.Generator) -> np.ndarray:
    e = np.exp(_normal(rng))
    return e / e.sum()


def _bsvdd_m(rng: np.random.Generator) -> np.ndarray:
    alpha1 = rng.beta(2.0, 1.5, size=len(MINORITY))
    return np.concatenate([(1 + alpha1.sum()) * _simplex(rng), -alpha1])


def _bdd_m(rng: np.random.Generator) -> np.ndarray:
    """Of a normal vector given its sum, by the regression of all but the last on the sum."""
    alpha1 = stats.truncnorm(-0.8, 1.2, loc=0.4, scale=0.5).rvs(size=2, random_state=rng)
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])  # two of them, and the sum
    m, S = A @ np.array(MEAN), A @ np.array(COVARIANCE) @ A.T
    slope, total = S[:2, 2] / S[2, 2], 1 + alpha1.sum()
    rest = S[:2, :2] - np.outer(slope, S[2, :2])
    two = rng.multivariate_normal(m[:2] + slope * (total - m[2]), rest)
    return np.concatenate([two, [total - two.sum()], -alpha1])


def _exact_bdd(gram: Gram, scale: float, seed: int) -> np.ndarray:
    posterior = bdd.NormalPosterior(gram, NORMAL, scale)
    return posterior.draw(DRAWS, 1, np.random.default_rng(seed))[0]


def _sampled(of: type[Model], **own: priors.Prior) -> Posterior:
    """Return draws by parallel chains, of a model with this prior of the minority."""

    def posterior(gram: Gram, scale: float, seed: int) -> np.ndarray:
        with quietly():
            model = of(NORMAL, scale, **own)
            tree = sample(model, gram, "hmc", STEPS * DRAWS, TUNE, 1, seed)
        return tree["posterior"]["w"].values[0, STEPS - 1 :: STEPS]

    return posterior


CASES = {
    "BDD": Case(_normal, _exact_bdd, False),
    "BSVDD": Case(_simplex, _sampled(bsvdd.Model), False),
    "BDD-M": Case(_bdd_m, _sampled(bdd_m.Model, minority_prior=CUBE), True),
    "BSVDD-M": Case(_bsvdd_m, _sampled(bsvdd_m.Model, minority_prior=SHARE), True),
}


def _quantities(w: np.ndarray, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return w_j, d_z and the log likelihood of weights (S, M), written out."""
    a = w @ points
    d = np.linalg.norm(a[:, None] - Z, axis=2)
    log_likelihood = -SCALE / 2 * np.square(a[:, None] - rows).sum(axis=(1, 2))
    return np.column_stack([w, d, log_likelihood])


Wrong = Callable[[Gram, float], tuple[Gram, float]]


def _flipped(gram: Gram, scale: float) -> tuple[Gram, float]:
    sign = np.where(np.arange(gram.n_points) < gram.n_majority_points, 1.0, -1.0)
    return replace(gram, K=gram.K * np.outer(sign, sign), r=gram.r * sign), scale


WRONG: dict[str, Wrong] = {
    "n0 dropped": lambda gram, scale: (replace(gram, n0=1), scale),
    "lambda doubled": lambda gram, scale: (gram, 2 * scale),
    "minority added": _flipped,
    "minority left out of r": lambda gram, scale: (
        replace(gram, r=np.where(np.arange(gram.n_points) < gram.n_majority_points, gram.r, 0.0)),
        scale,
    ),
}


def ranks(
    name: str, replicates: int, seed: int, wrong: Wrong = lambda gram, scale: (gram, scale)
) -> np.ndarray:
    """Return the ranks of the truth in (0, 1), uniform if all is right, (replicates, quantities).

    Ties, which the chains have and the truth does not, are no matter; a uniform random number makes
    the S + 1 ranks continuous. The quantities are w_j, d_z and the log likelihood.
    """
    case, rng = CASES[name], np.random.default_rng(seed)
    minority = MINORITY if case.minority else None
    points = np.concatenate([MAJORITY, MINORITY]) if case.minority else MAJORITY
    u = []
    for replicate in range(replicates):
        w = case.prior(rng)
        rows = w @ points + rng.standard_normal((N0, 2)) / np.sqrt(SCALE)
        gram = Gram.from_rows(kernels.Linear(), rows, minority, MAJORITY)
        draws = case.posterior(*wrong(gram, SCALE), 1000 * seed + replicate)
        truth = _quantities(w[None], points, rows)
        below = (_quantities(draws, points, rows) < truth).sum(axis=0)
        u.append((below + rng.uniform(size=len(below))) / (len(draws) + 1))
    return np.array(u)


def p_value(u: np.ndarray) -> float:
    """Return the p-value of uniform ranks (replicates, quantities), corrected by Bonferroni.

    By Kolmogorov and Smirnov: of each quantity's ranks, and of their distances from the middle,
    which show posteriors that are too narrow or too wide.
    """
    tested = [v for each in u.T for v in (each, np.abs(2 * each - 1))]
    p = [stats.kstest(v, "uniform", method="asymp").pvalue for v in tested]
    return float(min(1.0, len(p) * min(p)))


def picture(u: dict[str, np.ndarray], probability: float = 0.99) -> plt.Figure:
    """Show ECDFs of ranks less the uniform one, and a band that holds a whole one so often."""
    figure, axes = plt.subplots(
        2, len(u) // 2, figsize=(7, 5.4), sharey=True, sharex=True, layout="constrained"
    )
    colors = {"weights": "#0072B2", "d_z": "#E69F00", "log likelihood": "#009E73"}
    for ax, (name, each) in zip(axes.flat, u.items(), strict=True):
        kinds = ["weights"] * (each.shape[1] - len(Z) - 1) + ["d_z"] * len(Z) + ["log likelihood"]
        for values, kind in zip(each.T, kinds, strict=True):
            x, ecdf, low, high = ecdf_pit(values, probability, 2000, rng=np.random.default_rng(0))
            ax.plot(x, ecdf - x, color=colors[kind], linewidth=1)
        ax.fill_between(x, low - x, high - x, color="#999999", alpha=0.3, linewidth=0)
        ax.set_title(f"{name}, {len(each)} data sets: p = {p_value(each):.2g}", fontsize=9)
        ax.set_xlabel("rank of the truth")
    for ax in axes[:, 0]:
        ax.set_ylabel("ECDF less uniform")
    handles = [plt.Line2D([], [], color=color, label=kind) for kind, color in colors.items()]
    axes[0, 0].legend(handles=handles, fontsize=7, loc="lower left")
    return figure


def main() -> None:
    """Compute, print, draw."""
    chosen = options("calibration", __doc__, replicates=200)
    n = chosen.replicates // PARTS
    cells = [(name, n, seed) for name in reversed(CASES) for seed in range(PARTS)]
    parts = computed(ranks, cells, chosen.jobs)
    u = {
        name: np.concatenate(
            [part for (of, *_), part in zip(cells, parts, strict=True) if of == name]
        )
        for name in CASES
    }
    for name, of_model in u.items():
        print(f"{name}: p = {p_value(of_model):.3g}")
    write(chosen.out / "calibration.png", picture(u))


if __name__ == "__main__":
    main()
