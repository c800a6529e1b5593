"""The No-U-Turn sampler, by nutpie, on this package's log density.

Chains run one after another: nutpie does not tell which chain asks for a starting point, and two
threads cannot run the log density, a Python function, at the same time.

If few dictionary points have some weight, NUTS moves the parameters of these only, and the others
are drawn from their prior (``inference/active_points.py``). If this changes the log density of the
draws by more than ``MAX_GAP``, NUTS runs again with all points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import threads
from ..active_points import ActivePoints
from ..cancellation import checkpoint, stoppable
from ..draws import Draws, SamplerReport, SamplerSettings
from ..log_density import LogDensity

STATISTICS = ["diverging", "energy", "n_steps", "step_size"]
MAX_GAP = 1e-3  # range over the draws of the log density's error when points are left out
POLL = 0.05  # seconds between two checks whether the computation was superseded


def sample(
    density: LogDensity,
    starts: np.ndarray,
    settings: SamplerSettings,
    active: np.ndarray | None = None,
) -> Draws:
    """Return draws of the model of ``density``.

    Parameters
    ----------
    density : LogDensity
    starts : ndarray of shape (chains, size)
        Where the chains start, on the unconstrained scale.
    settings : SamplerSettings
    active : ndarray of int, optional
        The dictionary points whose weights are not negligible. Default: all.
    """
    run = None if active is None else _of_active_points(density, active, starts, settings)
    if run is None:
        x, statistics = _run(density, starts, settings)
        run = density.named(x), statistics, density.n_points
    named, statistics, n_points = run
    report = SamplerReport(
        "nuts", library="nutpie", products=density.products, active_points=n_points
    )
    variables = {n: v.reshape(settings.chains, -1, *v.shape[1:]) for n, v in named.items()}
    return Draws.of_model(variables, density.model, report, statistics)


def _of_active_points(
    density: LogDensity, active: np.ndarray, starts: np.ndarray, settings: SamplerSettings
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], int] | None:
    """Return named quantities of draws, statistics and the number of points that NUTS moves.

    None, if more than half of the points have some weight, if the prior does not separate them, or
    if the draws are not those of all points.
    """
    part = ActivePoints.of(density, active)
    if part is None or part.points > density.n_points / 2:
        return None
    x, statistics = _run(part.density, starts[:, part.parameters], settings)
    x, expected = part.completed(x, np.random.default_rng(_seeds(settings)[-1]))
    logp, named = density.evaluate(x)
    density.products += part.density.products
    if np.ptp(logp - expected) > MAX_GAP:
        return None
    return named, statistics, part.points


def _seeds(settings: SamplerSettings) -> np.ndarray:
    """Return a seed for each chain, and one more."""
    return np.random.SeedSequence(settings.seed).generate_state(settings.chains + 1)


@threads.one()  # threads that share one product of K and a vector take longer than one alone
def _run(
    density: LogDensity, starts: np.ndarray, settings: SamplerSettings
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return draws (chains * draws, size) on the unconstrained scale, and their statistics."""
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    logp_and_gradient = density.machine_code()
    seeds, starts = _seeds(settings)[:-1], np.ascontiguousarray(starts)  # for Rust
    traces = []
    for start, seed in zip(starts, seeds, strict=True):
        compiled = from_pyfunc(
            ndim=density.size,
            make_logp_fn=lambda: logp_and_gradient,
            make_expand_fn=lambda *seeds: lambda x: {"x": np.array(x)},
            expanded_dtypes=[np.dtype("float64")],
            expanded_shapes=[(density.size,)],
            expanded_names=["x"],
            make_initial_point_fn=lambda seed, start=start: start,
        )
        run = nutpie.sample(
            compiled,
            draws=settings.draws,
            tune=settings.tune,
            chains=1,
            seed=int(seed),
            progress_bar=settings.progressbar,
            save_warmup=False,
            blocking=False,
        )
        try:
            traces.append(_result(run))
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # of Rust; ``except Exception`` misses it
                raise RuntimeError(
                    f"nutpie failed ({error}): the posterior may be improper, or its scales too "
                    "far apart; use another prior, or sampler='metropolis'"
                ) from error
            run.cancel()
            raise
    x = np.concatenate([trace["posterior"]["x"].values[0] for trace in traces])
    groups = [trace.children["sample_stats"].dataset for trace in traces]
    statistics = {
        name: np.concatenate([group[name].values for group in groups]) for name in STATISTICS
    }
    return x, statistics


def _result(run: Any) -> Any:
    """Return the result of a nutpie run; stop if a newer request supersedes it."""
    while stoppable():
        try:
            return run.wait(timeout=POLL)
        except TimeoutError:
            checkpoint()
    return run.wait()
