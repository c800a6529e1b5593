"""The No-U-Turn sampler, by nutpie, on this package's log density.

Chains run one after another: nutpie does not tell which chain asks for a starting point, and two
threads cannot run the log density, a Python function, at the same time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import threads
from ..active_points import ActivePoints, AllPoints
from ..cancellation import checkpoint, stoppable
from ..draws import Draws, SamplerReport, SamplerSettings
from ..log_density import LogDensity

STATISTICS = ["diverging", "energy", "n_steps", "step_size"]
POLL = 0.05  # seconds between two checks whether the computation was superseded


def sample(
    moved: AllPoints | ActivePoints,
    starts: np.ndarray,
    settings: SamplerSettings,
) -> Draws:
    """Return draws of a model.

    Parameters
    ----------
    moved : AllPoints or ActivePoints
        The points that NUTS moves.
    starts : ndarray of shape (chains, size)
        Where the chains start, on the unconstrained scale.
    settings : SamplerSettings

    Raises
    ------
    NotSeparateError
        The draws of the active points are not those of all points.
    """
    x, statistics = _run(moved.density, starts[:, moved.parameters], settings)
    named = moved.named(x, np.random.default_rng(_seeds(settings)[-1]))
    report = SamplerReport(
        "nuts", library="nutpie", products=moved.products, active_points=moved.points
    )
    variables = {n: v.reshape(settings.chains, -1, *v.shape[1:]) for n, v in named.items()}
    return Draws.of_model(variables, moved.density.model, report, statistics)


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
