"""Draws of the weights, and what a sampler reports of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    import pymc as pm

SAMPLE = ("chain", "draw")


@dataclass(frozen=True)
class SamplerSettings:
    """How draws are made.

    Attributes
    ----------
    sampler : str
        A name of :data:`bsvdd.inference.sampling.SAMPLERS`, or "exact".
    draws, tune, chains : int
        Draws of each chain that are kept, draws that only tune the sampler, and chains.
    seed : int or None
    progressbar : bool
    """

    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    seed: int | None = None
    progressbar: bool = False


@dataclass(frozen=True)
class SamplerReport:
    """What a sampler reports; None where it does not apply.

    Attributes
    ----------
    sampler : str
        The sampler that made the draws: "laplace", "nuts", "metropolis", "exact", "reweighted",
        or "none" for a single estimate.
    why : str
        Why this sampler was taken.
    library : str
        The package that sampled.
    seconds : float
    products : float
        Products K w; a batch of S weights counts as S. NaN where PyMC samples by itself.
    modes : float
        Modes of the posterior that the searches reached; NaN where the search failed.
    active_points : int
        Dictionary points in NUTS's log density.
    r_hat, ess : float
        The largest R-hat and the smallest effective sample size of the monitored values, where
        the sampler was judged by them.
    pareto_k : float
        Of importance weights.
    """

    sampler: str
    why: str | None = None
    library: str | None = None
    seconds: float | None = None
    products: float | None = None
    modes: float | None = None
    active_points: int | None = None
    r_hat: float | None = None
    ess: float | None = None
    pareto_k: float | None = None

    def attrs(self) -> dict[str, Any]:
        """Return what applies, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_attrs(cls, attrs: Mapping[str, Any]) -> Self:
        """Return the report that :meth:`attrs` wrote."""
        return cls(**{f.name: attrs[f.name] for f in fields(cls) if f.name in attrs})


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
        Of the sampler, such as ``diverging``.
    dims : dict of tuple of str
        Dimensions of a variable beside chain and draw.
    coords : dict of sequence
        Of these dimensions.
    solution : dict of float
        What a solver says beside the weights, such as ``offset`` or ``C``.
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
        names = {d for each in dims.values() for d in each if d in model.coords}
        coords = {d: list(model.coords[d]) for d in names}
        return cls(variables, report, statistics=statistics, dims=dims, coords=coords)

    @classmethod
    def of_weights(cls, w: np.ndarray, solution: dict[str, float] | None = None) -> Self:
        """Return one estimate of the weights, shape (M,), and what its solver says."""
        return cls(
            {"w": w[None, None]},
            SamplerReport("none"),
            dims={"w": ("point",)},
            coords={"point": np.arange(len(w))},
            solution=solution or {},
        )

    @classmethod
    def from_tree(cls, tree: xr.DataTree, solution: Iterable[str] = ()) -> Self:
        """Return the draws that :meth:`datasets` wrote.

        Parameters
        ----------
        tree : DataTree
            With the group ``posterior``, and ``log_prior`` and ``sample_stats`` where there are.
        solution : iterable of str
            Names of the solver's numbers, which are read where they are there.
        """

        def values(group: str) -> dict[str, np.ndarray]:
            if group not in tree.children:
                return {}
            return {str(n): v.values for n, v in tree.children[group].dataset.data_vars.items()}

        posterior = tree.children["posterior"].dataset
        dims = {str(n): tuple(map(str, v.dims[2:])) for n, v in posterior.data_vars.items()}
        named = {d for each in dims.values() for d in each if d in posterior.coords}
        attrs = tree.children["posterior"].attrs
        return cls(
            values("posterior"),
            SamplerReport.from_attrs(attrs),
            values("log_prior"),
            values("sample_stats"),
            dims,
            {d: posterior[d].values for d in named},
            {name: float(attrs[name]) for name in solution if name in attrs},
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
        """Numbers of chains and of draws of each."""
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
        left = {n: v for n, v in self.variables.items() if n != name}
        return replace(self, variables=left)

    def datasets(self) -> dict[str, xr.Dataset]:
        """Return the groups ``posterior``, ``log_prior`` and ``sample_stats`` of a DataTree."""
        groups = {"posterior": self._posterior()}
        if self.log_prior:
            groups["log_prior"] = self.by_draw(self.log_prior)
        if self.statistics or self.report.library:
            groups["sample_stats"] = self.by_draw(self.statistics)
        return groups

    def by_draw(self, values: dict[str, np.ndarray]) -> xr.Dataset:
        """Return one number for each draw by name, dims (chain, draw)."""
        numbers = {name: (SAMPLE, v.reshape(self.shape)) for name, v in values.items()}
        return xr.Dataset(numbers, self._sample_coords())

    def of_rows(self, values: np.ndarray) -> xr.DataArray:
        """Return values (chains * draws, n) of n rows, dims (chain, draw, obs)."""
        return xr.DataArray(
            values.reshape(*self.shape, -1),
            dims=(*SAMPLE, "obs"),
            coords={**self._sample_coords(), "obs": np.arange(values.shape[-1])},
            name="d",
        )

    def _sample_coords(self) -> dict[str, np.ndarray]:
        return {name: np.arange(n) for name, n in zip(SAMPLE, self.shape, strict=True)}

    def _posterior(self) -> xr.Dataset:
        variables = {}
        for name, v in self.variables.items():
            dims = list(self.dims.get(name, ()))
            dims += [f"{name}_dim_{i}" for i in range(len(dims), v.ndim - 2)]
            variables[name] = ([*SAMPLE, *dims], v)
        coords = {**self._sample_coords(), **self.coords}
        return xr.Dataset(variables, coords, {**self.report.attrs(), **self.solution})
