"""Saved fits are read: the estimator, its data, what was learned, and the cutoff that it chose."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..inference import threads
from ..inference.center import Boundary, Unseen
from ..inference.draws import OWN, Draws, SamplerReport
from ..inference.learned import Learned, Learner, Posterior
from ..models import kernels
from ..models.core import Core
from ..models.gram import Gram
from ..models.kernels import Kernel
from .detector import Detector
from .encoding import decode, function_names
from .fit import Chosen, Fit, Spec
from .fitting import decided
from .inputs import names_of
from .own_draws import of_draws
from .reading import Asked
from .registry import find
from .rows.forms import form_of
from .rows.gaps import Imputations
from .rows.names import Columns
from .saved_file import NEEDED, OF_GROUPS, Group, Parsed, check_tensors, group, map_of, parsed_of
from .training import Dictionary, GroupedRows, TrainingData, members, statistics


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


def load(path: str | os.PathLike[str], functions: Mapping[str, Any] | None = None) -> Any:
    """Return the fitted estimator that was saved in ``path``.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        The user's own functions among the parameters, for instance
        ``load(path, {"prior": my_prior})``. Without them, the error names those that are needed.

    Returns
    -------
    estimator
        A fitted estimator of the class that was saved.

    Raises
    ------
    UnreadableFileError
        The file is not one that ``est.save`` wrote, or it is damaged.
    ValueError
        A function is missing, or a function is given that the file does not need.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = bsvdd.SVDD().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     est.save(Path(folder) / "model.nc")
    ...     same = bsvdd.load(Path(folder) / "model.nc")
    >>> same.cutoff_ == est.cutoff_
    True
    """
    own_functions = dict(functions or {})
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would block
            raise ValueError("it is no saved bsvdd estimator, because it is not a file")
        parsed = parsed_of(Path(path).read_bytes())  # once: the file may change
        needed = set(function_names([parsed.header["parameters"], parsed.header["kernel"]]))
    except OSError:
        raise
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error
    if set(own_functions) != needed:
        names = ", ".join(sorted(needed)) or "no functions"
        raise ValueError(
            f"{path} was saved with {names}, which are not stored: give a dict with exactly these "
            f"names, load(path, {{name: function}}), got {sorted(own_functions) or 'none'}"
        )
    try:
        return _fitted(_unfitted(parsed.header, own_functions), parsed, own_functions)
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error


def _unfitted(header: dict[str, Any], functions: dict[str, Any]) -> Any:
    """Return the estimator of a header, not fitted."""
    record = find(header["estimator"])
    if record is None:
        raise ValueError(f"unknown estimator {header['estimator']!r:.80}")
    cls = record.estimator()
    parameters = {name: decode(v, functions) for name, v in header["parameters"].items()}
    if set(parameters) != set(cls._get_param_names()):  # a default would be a guess
        differ = ", ".join(sorted(set(parameters) ^ set(cls._get_param_names())))
        raise ValueError(f"parameters: missing from it, or unknown to {cls.__name__}: {differ:.80}")
    return cls(**parameters)


def _fitted(est: Detector, parsed: Parsed, functions: dict[str, Any]) -> Detector:
    """Return the estimator with the fit of a file, after the remaining checks."""
    header, tensors, asked = parsed.header, parsed.tensors, est._asked()
    check_tensors(tensors, NEEDED)
    data = _data(header, tensors, asked, functions)
    learner = est._learner()
    if isinstance(learner, Posterior):
        learner = learner.with_scale(header["likelihood_scale"])
    boundary = Boundary(**group(tensors, "boundary/"), unseen=Unseen(**group(tensors, "unseen/")))
    fit = Fit(
        spec=Spec(type(est), est.get_params(deep=False)),
        learner=learner,
        data=data,
        learned=_learned(learner, data, parsed),
        diagnostics=header["diagnostics"],
    )
    chosen = Chosen(boundary, header["distance"], tensors.get("left_out"))
    fit = decided(fit, asked.cutoff, chosen)
    return est._with_fit(fit)


def _learned(learner: Learner, data: TrainingData, parsed: Parsed) -> Learned:
    """Return what was learned, from the draws."""
    header, tensors = parsed.header, parsed.tensors
    draws = {
        name: v.astype(float) if v.dtype == np.float32 else v
        for name, v in group(tensors, "posterior/").items()
    }
    if not (draws and header["report"]):
        raise ValueError("posterior/w: expected draws with the report of their sampler")
    draws = _with_weights(learner, draws, data.gram)
    found = Draws(
        draws,
        SamplerReport(**header["report"]),
        group(tensors, "log_prior/"),
        group(tensors, "sample_stats/"),
        {name: tuple(dims) for name, dims in header["dims"].items()},
        header["coords"],
        header["solution"],
    )
    if not found.w.size or found.w.shape[-1] != data.gram.n_points:
        raise ValueError(
            f"posterior/w: expected draws of {data.gram.n_points} weights, got {found.w.shape}"
        )
    if not np.isfinite(found.w).all():
        raise ValueError("posterior/w: expected finite weights")
    if not np.isfinite(list(found.solution.values())).all():
        raise ValueError(f"solution: expected finite numbers, got {found.solution}")
    found.check()
    if found.is_posterior and not isinstance(learner, Posterior):
        raise ValueError(f"report: expected no sampler, got {found.report.sampler!r:.80}")
    if found.report.sampler == OWN:
        own: Any = learner
        return of_draws(own, found, data)
    return learner.learned(found, data)


def _with_weights(learner: Learner, draws: Group, gram: Gram) -> Group:
    """Return the draws with the weights, if they follow from other draws."""
    rule = map_of(learner, draws, gram)
    if rule is None:
        if "w" not in draws:
            raise ValueError("posterior/w: expected weights")
        return draws
    if "w" in draws:
        raise ValueError("posterior/w: expected no weights, which follow from other draws")
    inputs = [draws[name] for name in rule.inputs]
    with np.errstate(all="ignore"):  # values that are not finite are an error in the caller
        w = rule.weights(*(v.reshape(-1, v.shape[-1]) for v in inputs))
    return draws | {"w": w.reshape(*inputs[0].shape[:2], -1)}


def _data(
    header: dict[str, Any],
    tensors: Group,
    asked: Asked,
    functions: dict[str, Any],
) -> TrainingData:
    rows, minority = tensors["rows"], tensors["minority"] > 0
    kernel = kernels.as_kernel(decode(header["kernel"], functions))
    n_columns = rows.shape[1] - (2 if kernel.pairwise else 0)
    if header["features"] and len(header["features"]) != n_columns:
        raise ValueError(f"features: expected {n_columns} names")
    features = tuple(header["features"]) or None
    names = None if header["names"] is None else names_of(header["names"])
    labels = header["labels"]
    if len({*labels}) < len(labels) or len({type(label) for label in labels}) > 1:
        raise ValueError("labels: expected different ones of one type")
    if minority.all():
        raise ValueError("minority: expected at least one majority row")
    forms = {int(column): form_of(texts) for column, texts in header["forms"].items()}
    if not all(0 <= column < rows.shape[1] for column in forms):
        raise ValueError(f"forms: no column of rows, {list(forms)!r:.80}")
    if names is not None and names.shape != minority.shape:
        raise ValueError(f"names: expected {len(rows)} whole numbers or texts")
    if kernel.pairwise:  # the last entry of a row is its index among the columns
        p, index = rows.shape[1] - 2, rows[:, -1:]
        if not np.isin(index, np.arange(p)).all():
            raise ValueError(f"rows: expected rows of a kernel of {p} columns")
    core, described = None, ~minority
    if (header["core"] is None) != ("core" not in tensors):
        raise ValueError("core: expected its share with its rows, or neither")
    if header["core"] is not None:
        described = tensors["core"] > 0
        if minority.any() or not described.any():
            raise ValueError("core: expected at least one row, and no minority rows beside a core")
        core = Core(header["core"], described)
    rule, points = asked.dictionary_for(minority), tensors.get("point_of_row")
    rule.held_rows(minority, 0)  # an error if the kernel matrix is too large
    of_rows = None
    if isinstance(rule, GroupedRows):
        of_rows = np.arange(int(described.sum())) if points is None else points[described]
        if of_rows.min() < 0:
            raise ValueError("point_of_row: expected the point of each described row, got -1")
    elif points is not None:
        raise ValueError("point_of_row: expected where points are groups of rows only")
    gram: Any
    known = {name: v for name, v in tensors.items() if name in OF_GROUPS}
    if known:
        inside = np.full(len(rows), True) if core is None else core.rows
        member_of_row = np.full(len(rows), -1)
        gram, member_of_row[inside] = _of_groups(
            known, rule, kernel, rows[inside], minority[inside], of_rows
        )
    else:
        with threads.one():
            gram, member_of_row = statistics(
                rule, kernel, rows, minority, header["seed"], core, of_rows
            )
    rows.setflags(write=False)
    gaps = tensors["gaps"] > 0 if "gaps" in tensors else None
    return TrainingData(
        rows=rows,
        kernel=kernel,
        gram=gram,
        member_of_row=member_of_row,
        columns=Columns(asked.name, n_columns, features),
        dictionary=rule,
        seed=header["seed"],
        all_rows=header["all_rows"],
        label=header["label"],
        labels=tuple(labels),
        minority=minority,
        names=names,
        forms=forms,
        gaps=gaps,
        imputations=_imputations(rows, minority, gaps, tensors.get("donors")),
        core=core,
    )


def _imputations(
    rows: np.ndarray, minority: np.ndarray, gaps: np.ndarray | None, donors: np.ndarray | None
) -> Imputations | None:
    """Return the rows with gaps in each way to fill them."""
    which = np.empty(0, dtype=int) if gaps is None else np.flatnonzero(gaps.any(axis=1))
    if (0 if donors is None else donors.shape[1]) != len(which):
        raise ValueError(f"donors: expected those of {len(which)} rows with gaps")
    if gaps is None or donors is None:
        return None
    column, fills = np.arange(rows.shape[1]), donors >= 0
    able = ~gaps & ~minority[:, None]
    if not (fills == gaps[which]).all() or not able[donors, column][fills].all():
        raise ValueError(
            "donors: expected a majority row with a value for each gap, and none beside gaps"
        )
    return Imputations(which, np.where(fills, rows[donors, column], rows[which]), donors)


def _of_groups(
    known: Group,
    rule: Dictionary,
    kernel: Kernel,
    rows: np.ndarray,
    minority: np.ndarray,
    of_rows: np.ndarray | None,
) -> tuple[Gram, np.ndarray]:
    """Return the Gram statistics of a file, and the member that each row is."""
    if not isinstance(rule, GroupedRows) or set(known) != set(OF_GROUPS):
        raise ValueError(f"gram: expected {', '.join(OF_GROUPS)}, of groups of rows only")
    points, member, n1 = rule.points(kernel, rows, minority, 0, of_rows)
    statistics: dict[str, Any] = {**group(known, "gram/")}
    found = Gram(
        **statistics | {"T": float(statistics["T"])},
        n0=len(member),
        points=points,
        kernel=kernel,
        n1=n1,
        member_of_row=member,
    )
    if len(known["gram/row_sums"]) != found.n_majority_members:
        raise ValueError(
            f"gram/row_sums: expected {found.n_majority_members} values, one for each different row"
        )
    return found, members(member, minority, found)
