"""Whether the posteriors are calibrated: ranks of the truth among posterior draws.

``uv run python -m benchmarks.calibration`` draws docs/calibration.png, of more replicates than
``tests/inference/test_sbc.py``, which says why the ranks are uniform.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from arviz_stats.ecdf_utils import ecdf_pit

from tests.inference.test_sbc import MODELS, p_value, ranks

from .shared import computed, options, write

COLOURS = {"weights": "#0072B2", "d_z": "#E69F00", "log likelihood": "#009E73"}


def picture(u: dict[str, np.ndarray], probability: float = 0.99) -> plt.Figure:
    """Show ECDFs of ranks less the uniform one, and a band that holds a whole one so often."""
    figure, axes = plt.subplots(
        2, len(u) // 2, figsize=(7, 5.4), sharey=True, sharex=True, layout="constrained"
    )
    for ax, (name, each) in zip(axes.flat, u.items(), strict=True):
        kinds = ["weights"] * (each.shape[1] - 3) + ["d_z"] * 2 + ["log likelihood"]
        for values, kind in zip(each.T, kinds, strict=True):
            x, ecdf, low, high = ecdf_pit(values, probability, 2000, rng=np.random.default_rng(0))
            ax.plot(x, ecdf - x, color=COLOURS[kind], linewidth=1)
        ax.fill_between(x, low - x, high - x, color="#999999", alpha=0.3, linewidth=0)
        ax.set_title(f"{name}, {len(each)} data sets: p = {p_value(each):.2g}", fontsize=9)
        ax.set_xlabel("rank of the truth")
    for ax in axes[:, 0]:
        ax.set_ylabel("ECDF less uniform")
    handles = [plt.Line2D([], [], color=color, label=kind) for kind, color in COLOURS.items()]
    axes[0, 0].legend(handles=handles, fontsize=7, loc="lower left")
    return figure


def main() -> None:
    """Compute, print, draw."""
    chosen = options("calibration", __doc__, repeats=4)
    seeds = range(chosen.repeats)
    parts = computed(ranks, [(name, seed) for name in MODELS for seed in seeds], chosen.jobs)
    u = {
        name: np.concatenate(parts[i * len(seeds) : (i + 1) * len(seeds)])
        for i, name in enumerate(MODELS)
    }
    for name, of_model in u.items():
        print(f"{name}: p = {p_value(of_model):.3g}")
    write(chosen.out / "calibration.png", picture(u))


if __name__ == "__main__":
    main()
