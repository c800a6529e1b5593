"""Draws of the weights, the settings of a sampler, and its report."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

SAMPLE = ("chain", "draw")
OWN = "own"  # the sampler of draws that a user made
POINTS = 20  # evenly spaced training rows whose d_z are monitored


def monitored_rows(n: int) -> np.ndarray:
    """Return the indices of the monitored rows: at most 20 of n rows, evenly spaced."""
    return np.linspace(0, n - 1, min(POINTS, n)).astype(int)


def thinned(n: int, most: int) -> np.ndarray:
    """Return up to ``most`` of n numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


@dataclass(frozen=True)
class SamplerSettings:
    """Settings of a sampler.

    Attributes
    ----------
    sampler : str
        A name of :data:`bsvdd.inference.sampling.SAMPLERS`, or "exact".
    draws, tune, chains : int
        Draws per chain that are kept, draws per chain that only tune the sampler, and chains.
    seed : int or None
    """

    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    seed: int | None = None


@dataclass(frozen=True)
class SamplerReport:
    """The report of a sampler on its draws; a field that does not apply is None.

    Attributes
    ----------
    sampler : str
        The sampler that made the draws: "hmc", "nuts", "metropolis", "exact", ``OWN`` for the
        user's, or "none" for a single estimate.
    why : str
        Why this sampler was used.
    library : str
        The package that sampled.
    seconds : float
    r_hat, ess : float
        The largest R-hat and the smallest effective sample size of the monitored values, if the
        sampler monitors values.
    divergences : int
        Number of divergent transitions of all monitored draws, of which fewer may be kept.
    """

    sampler: str
    why: str | None = None
    library: str | None = None
    seconds: float | None = None
    r_hat: float | None = None
    ess: float | None = None
    divergences: int | None = None

    def attrs(self) -> dict[str, Any]:
        """Return the fields that apply, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the weights ``w`` and of the variables of their model.

    Attributes
    ----------
    variables : dict of ndarray of shape (chains, draws, ...)
        By name; ``w`` is one of them.
    report : SamplerReport
    log_prior : dict of ndarray of shape (chains, draws)
        Log prior densities, by variable.
    statistics : dict of ndarray of shape (chains, draws)
        Statistics of the sampler, such as ``diverging``.
    dims : dict of tuple of str
        Dimensions of each variable besides chain and draw.
    coords : dict of sequence
        Coordinates of these dimensions.
    solution : dict of float
        Numbers that a solver returns besides the weights, such as ``offset`` or ``C``.
    """

    variables: dict[str, np.ndarray]
    report: SamplerReport
    log_prior: dict[str, np.ndarray] = field(default_factory=dict)
    statistics: dict[str, np.ndarray] = field(default_factory=dict)
    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    coords: dict[str, Any] = field(default_factory=dict)
    solution: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_model(
        cls,
        variables: dict[str, np.ndarray],
        model: pm.Model,
        report: SamplerReport,
        statistics: dict[str, np.ndarray],
    ) -> Self:
        """Return draws with the dimensions and coordinates of their model."""
        dims = {
            name: tuple(str(d) for d in (model.named_vars_to_dims.get(name) or ()) if d is not None)
            for name in variables
        }
        all_dims = {d for of_variable in dims.values() for d in of_variable}
        coords = {d: list(model.coords[d]) for d in all_dims if d in model.coords}
        return cls(variables, report, statistics=statistics, dims=dims, coords=coords)

    @classmethod
    def of_trace(
        cls,
        free: xr.Dataset,
        model: pm.Model,
        report: SamplerReport,
        statistics: dict[str, np.ndarray],
    ) -> Self:
        """Return draws of the free variables of ``model``, with its deterministics."""
        import pymc as pm

        from .prior_density import NUMPY  # late: it imports PyMC

        others = pm.compute_deterministics(
            free, model=model, progressbar=False, compile_kwargs={"mode": NUMPY}
        )
        names = [v.name for v in [*model.free_RVs, *model.deterministics]]
        variables = {name: (free if name in free else others)[name].values for name in names}
        return cls.of_model(variables, model, report, statistics)

    @classmethod
    def of_weights(cls, w: np.ndarray, solution: dict[str, float] | None = None) -> Self:
        """Return a single estimate of the weights, shape (M,), and the numbers of its solver."""
        return cls(
            {"w": w[None, None]},
            SamplerReport("none"),
            dims={"w": ("point",)},
            coords={"point": np.arange(len(w))},
            solution=solution or {},
        )

    @property
    def w(self) -> np.ndarray:
        """The weights, shape (chains, draws, M)."""
        return self.variables["w"]

    @property
    def weights(self) -> np.ndarray:
        """The weights of all chains, shape (chains * draws, M)."""
        return self.flat("w")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of chains, and number of draws per chain."""
        chains, draws = self.w.shape[:2]
        return chains, draws

    @property
    def is_posterior(self) -> bool:
        """Whether these are draws of a posterior, and not a single estimate."""
        return self.report.sampler != "none"

    def flat(self, name: str) -> np.ndarray:
        """Return one variable of all chains, shape (chains * draws, ...)."""
        v = self.variables[name]
        return v.reshape(-1, *v.shape[2:])

    def without(self, name: str) -> Self:
        """Return the draws without one variable."""
        others = {n: v for n, v in self.variables.items() if n != name}
        return replace(self, variables=others)

    def check(self) -> None:
        """Raise a ValueError if shapes, dims and coords do not fit, as ``datasets`` would.

        An xarray.Dataset would import dask, which takes longer than scoring some rows.
        """
        sizes = dict(zip(SAMPLE, self.shape, strict=True))
        sizes |= {name: len(values) for name, values in self.coords.items()}
        for name, v in self.variables.items():
            dims = (*SAMPLE, *self.dims.get(name, ()))
            known = tuple(sizes.setdefault(d, n) for d, n in zip(dims, v.shape, strict=False))
            if v.shape[: len(dims)] != known or len(known) < len(dims):
                raise ValueError(f"{name} has shape {v.shape}, but dims {dims} of {sizes}")
        for name, v in (self.log_prior | self.statistics).items():
            if v.size != self.w[..., 0].size:
                raise ValueError(f"{name} has {v.size} values for {self.shape} draws")

    def datasets(self) -> dict[str, xr.Dataset]:
        """Return the groups ``posterior``, ``log_prior`` and ``sample_stats`` of a DataTree."""
        groups = {"posterior": self._posterior()}
        if self.log_prior:
            groups["log_prior"] = self.by_draw(self.log_prior)
        if self.statistics or self.report.library:
            groups["sample_stats"] = self.by_draw(self.statistics)
        return groups

    def by_draw(self, values: dict[str, np.ndarray]) -> xr.Dataset:
        """Return a dataset of variables with one number per draw, dims (chain, draw)."""
        import xarray as xr

        numbers = {name: (SAMPLE, v.reshape(self.shape)) for name, v in values.items()}
        return xr.Dataset(numbers, self._sample_coords())

    def of_rows(self, values: np.ndarray) -> xr.DataArray:
        """Return values (chains * draws, n) of n rows with dims (chain, draw, obs)."""
        import xarray as xr

        return xr.DataArray(
            values.reshape(*self.shape, -1),
            dims=(*SAMPLE, "obs"),
            coords={**self._sample_coords(), "obs": np.arange(values.shape[-1])},
            name="d",
        )

    def _sample_coords(self) -> dict[str, np.ndarray]:
        return {name: np.arange(n) for name, n in zip(SAMPLE, self.shape, strict=True)}

    def _posterior(self) -> xr.Dataset:
        import xarray as xr

        variables = {}
        for name, v in self.variables.items():
            dims = list(self.dims.get(name, ()))
            dims += [f"{name}_dim_{i}" for i in range(len(dims), v.ndim - 2)]
            variables[name] = ([*SAMPLE, *dims], v)
        coords = {**self._sample_coords(), **self.coords}
        return xr.Dataset(variables, coords, {**self.report.attrs(), **self.solution})
