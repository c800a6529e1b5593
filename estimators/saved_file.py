"""Saved fits: one safetensors file of arrays and one JSON header; nothing in it is executed.

What follows from the fit, such as distances and the decision of the training rows, is not stored.
Kernels, priors and cutoffs of this package are stored as their name and fields
(:mod:`.encoding`). A user's own function is stored as its name only, and must be given to
:func:`bsvdd.load`. docs/format.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from ..inference.learned import Learner, Posterior
from ..models import kernels
from ..models.gram import Gram
from ..models.potential import WeightMap
from .atomic import atomic
from .encoding import encode
from .fit import Fit
from .labels import to_save
from .rows.gaps import NEAREST

FORMAT = 1
PART = 2**20  # characters at once
# bytes in memory of a value, a name and a list of JSON, by their signs; of a file at most so many
# times its bytes, and some room: a number of a kernel has 20 signs and 40 bytes
SIZES = {b",": 40, b":": 64, b"[": 64, b"{": 64}
MOST_TIMES, ROOM = 3, 16_000_000

NONE = type(None)
PLAIN = (str, int, float, bool)
FINITE = sys.float_info.max

Place = str | Callable[[Any], Any] | None
Group = dict[str, np.ndarray]


# what a file has: where each value stands in a fitted estimator, and what it must be


class Entry(NamedTuple):
    """A value of the header: one of ``types``, with items of the types ``items``.

    The items of a list or dict in it are of the types ``inner``. ``of`` is its path of attributes
    from the fit, or a function of the fit. Numbers are at least ``low``, and less than ``below``.
    """

    of: Place
    types: tuple[type, ...]
    items: tuple[type, ...] = ()
    low: float = -FINITE
    below: float = math.inf
    inner: tuple[type, ...] = ()


class Tensor(NamedTuple):
    """An array, or, if its name ends with ``*``, a dict of arrays whose names follow.

    ``of`` is as in :class:`Entry`, and an array that is None is not saved. ``kinds`` are the kinds
    of its dtype. ``shape`` has a symbol for each length; the same symbol is the same length, and
    ``...`` any further ones. Values are at least ``low`` and less than ``below``, a number or a
    symbol. They are finite; if ``finite`` is False, they may be infinite, but not NaN; if it is
    None, they may be anything.
    """

    of: Place
    kinds: str
    shape: str
    low: float = -math.inf
    below: float | str = math.inf
    finite: bool | None = True


def _parameters(fit: Fit) -> dict[str, Any]:
    return {
        name: encode(name, kernels.as_kernel(value) if name == "kernel" else value)
        for name, value in fit.spec.parameters.items()
    }


def _forms(fit: Fit) -> dict[str, list[str]]:
    return {str(column): form.saved() for column, form in fit.data.forms.items()}


def _scale(fit: Fit) -> float | None:
    learner = fit.learner
    return learner.model.scale if isinstance(learner, Posterior) else None


def _core(fit: Fit) -> float | None:
    return None if fit.data.core is None else fit.data.core.share


def map_of(learner: Learner, variables: Group, gram: Gram) -> WeightMap | None:
    """Return the map of the variables of a file to the weights, which are then not in it."""
    if not isinstance(learner, Posterior):
        return None
    rule = learner.model.weight_map(gram)
    return rule if set(rule.inputs) <= set(variables) - {"w"} else None


def _variables(fit: Fit) -> Group:
    """Return draws; those of many numbers in single precision, far finer than their error."""
    draws = fit.draws
    rule = map_of(fit.learner, draws.variables, fit.data.gram)
    kept = draws if rule is None else draws.without("w")
    return {
        name: v.astype(np.float32)
        if draws.is_posterior and v.ndim > 2 and v.dtype.kind == "f"
        else v
        for name, v in kept.variables.items()
    }


def _by_draw(group: str) -> Callable[[Fit], Group]:
    def of(fit: Fit) -> Group:
        values: Group = getattr(fit.draws, group)
        return {name: v.reshape(fit.draws.shape) for name, v in values.items()}

    return of


def _groups(fit: Fit) -> np.ndarray | None:
    """Return the point of each row, if points are groups of rows."""
    gram = fit.data.gram
    grouped = gram.member_of_row is not None and not gram.points.are_rows
    return fit.data.point_of_row if grouped else None


def _of_groups(name: str) -> Callable[[Fit], Any]:
    """Return a statistic of groups of different rows, which takes long to compute again."""

    def of(fit: Fit) -> Any:
        point, gram = _groups(fit), fit.data.gram
        return None if point is None or gram.points.single_members else getattr(gram, name)

    return of


def _core_rows(fit: Fit) -> np.ndarray | None:
    core = fit.data.core
    return None if core is None else core.rows.astype(np.int8)


def _gaps(fit: Fit) -> np.ndarray | None:
    return None if fit.data.gaps is None else fit.data.gaps.astype(np.int8)


def _donors(fit: Fit) -> np.ndarray | None:
    """Return the rows whose values fill gaps; which rows have gaps, the gaps say."""
    return None if fit.data.imputations is None else fit.data.imputations.donors


def _boundary(fit: Fit) -> Group:
    return {name: v for name, v in vars(fit.chosen.boundary).items() if name != "unseen"}


HEADER = {
    "format": Entry(lambda fit: FORMAT, (int,)),
    "estimator": Entry("spec.name", (str,)),
    "parameters": Entry(_parameters, (dict,)),
    "kernel": Entry(lambda fit: encode("kernel", fit.data.kernel), (dict,)),
    "likelihood_scale": Entry(_scale, (float, NONE), (), 0.0),
    "features": Entry(lambda fit: [str(n) for n in fit.data.columns.names or ()], (list,), (str,)),
    "seed": Entry("data.seed", (int,), (), 0, 2**31),
    "label": Entry("data.label", (str, NONE)),
    "labels": Entry(lambda fit: to_save(fit.data.labels), (list,), PLAIN),
    "names": Entry("data.names", (list, NONE), (int, str)),
    "forms": Entry(_forms, (dict,), (list,), inner=(str,)),
    "all_rows": Entry("data.all_rows", (bool,)),
    "core": Entry(_core, (float, NONE), (), 0.0, 1.0),
    "report": Entry(lambda fit: fit.draws.report.attrs(), (dict,), (str, int, float)),
    "solution": Entry("draws.solution", (dict,), (int, float)),
    "dims": Entry("draws.dims", (dict,), (list,), inner=(str,)),
    "coords": Entry("draws.coords", (dict,), (list,), inner=PLAIN),
    "diagnostics": Entry(lambda fit: dict(fit.diagnostics), (dict,), (int, float)),
    "distance": Entry(lambda fit: float(fit.distance), (float,)),
}
TENSORS = {
    "rows": Tensor("data.rows", "f", "n p"),
    "minority": Tensor(lambda fit: fit.data.minority.astype(np.int8), "i", "n", 0, 2),
    "core": Tensor(_core_rows, "i", "n", 0, 2),
    "gaps": Tensor(_gaps, "i", "n p", 0, 2),
    "donors": Tensor(_donors, "i", "ways g p", -1, "n"),
    "left_out": Tensor("chosen.left_out", "f", "n", finite=None),
    "boundary/*": Tensor(_boundary, "f", "cut", finite=False),
    "unseen/*": Tensor(lambda fit: vars(fit.chosen.boundary.unseen), "f", "", finite=False),
    "point_of_row": Tensor(_groups, "i", "n", -1, "n"),
    "gram/K": Tensor(_of_groups("K"), "f", "M M"),
    "gram/r": Tensor(_of_groups("r"), "f", "M"),
    "gram/T": Tensor(_of_groups("T"), "f", ""),
    "gram/row_sums": Tensor(_of_groups("row_sums"), "f", "R"),
    "gram/row_squares": Tensor(_of_groups("row_squares"), "f", "R"),
    "posterior/w": Tensor(None, "f", "chains draws M"),
    "posterior/squared_norm": Tensor(None, "f", "chains draws"),
    "posterior/*": Tensor(_variables, "fiub", "chains draws ...", finite=None),
    "log_prior/*": Tensor(_by_draw("log_prior"), "f", "chains draws", finite=False),
    "sample_stats/*": Tensor(_by_draw("statistics"), "fiub", "chains draws", finite=None),
    "sha256": Tensor(None, "u", "digest"),
}
NEEDED = ("rows", "minority", "sha256")
OF_GROUPS = tuple(name for name in TENSORS if name.startswith("gram/"))


def _value(fit: Fit, of: Place) -> Any:
    return attrgetter(of)(fit) if isinstance(of, str) else of and of(fit)


def group(tensors: Group, start: str) -> Group:
    """Return the tensors whose names have this start, without it."""
    return {name.removeprefix(start): v for name, v in tensors.items() if name.startswith(start)}


# writing


def save(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Write a fit to ``path``, completely or not at all.

    Raises
    ------
    TypeError
        A parameter, or a value of a draw, is an object that cannot be stored.
    ValueError
        Names of rows are too long to be stored.
    OSError
        The file cannot be written.
    """
    content = _content(fit)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes(content)


def _content(fit: Fit) -> bytes:
    header = {name: _value(fit, entry.of) for name, entry in HEADER.items()}
    text, tensors = json.dumps(header, default=_plain), {}
    for name, tensor in TENSORS.items():
        found = _value(fit, tensor.of)
        for key, values in (found if isinstance(found, dict) else {"": found}).items():
            if values is not None:
                place = name.removesuffix("*") + key
                tensors[place] = _contiguous(place, np.asarray(values))
    tensors["sha256"] = _digest(text, tensors)
    try:
        return safetensors.save(tensors, {"bsvdd": text})
    except SafetensorError as error:
        raise ValueError(
            f"names of rows and columns and parameters take {len(text) / 1e6:.0f} MB, which is too "
            f"much ({error}); fit rows without names, X.reset_index(drop=True)"
        ) from error


def _contiguous(name: str, values: np.ndarray) -> np.ndarray:
    """Return values in C order, which safetensors takes for granted and never checks."""
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} cannot be saved: expected numbers, got {values.dtype}")
    return np.asarray(values, values.dtype.newbyteorder("<"), order="C")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be saved; expected numbers and texts")


def _digest(text: str, tensors: Group) -> np.ndarray:
    """Return the SHA-256 of the header and of all other tensors, as bytes."""
    digest = hashlib.sha256()
    for i in range(0, len(text), PART):
        digest.update(text[i : i + PART].encode())
    for name in sorted(set(tensors) - {"sha256"}):
        values = tensors[name]
        digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


# reading


class Parsed(NamedTuple):
    """A file: its header and tensors."""

    header: dict[str, Any]
    tensors: Group


def parsed_of(content: bytes) -> Parsed:
    """Return header and tensors of a file, after checks of its bytes and of the header."""
    end = 8 + int.from_bytes(content[:8], "little")
    values = sum(size * content.count(sign, 8, end) for sign, size in SIZES.items())
    if values > MOST_TIMES * len(content) + ROOM:
        raise ValueError(f"its header has values of {values / 1e6:.0f} MB, more than a fit has")
    try:
        tensors = safetensors.load(content)
        start = str(memoryview(content)[8:end], "utf-8")
        del content  # what is read takes some times the size of the file
        text = json.loads(start, object_pairs_hook=_each_once)["__metadata__"]["bsvdd"]
        del start
        header = json.loads(text, object_pairs_hook=_each_once)
        version = header["format"]
    except Exception as error:
        raise ValueError(
            "it is no saved bsvdd estimator, or it is cut off or damaged; use a complete copy, or "
            f"save the fit again ({type(error).__name__}: {error})"
        ) from error
    if version != FORMAT:
        raise ValueError(
            f"it has format {version!r:.20}, and this version reads {FORMAT}; load it with the "
            "version of bsvdd that wrote it, or fit again"
        )
    if not np.array_equal(tensors.get("sha256", []), _digest(text, tensors)):
        raise ValueError(
            "it is damaged, because its SHA-256 is not the one that was saved; use a complete "
            "copy, or save the fit again"
        )
    _check_header(header)
    return Parsed(header, tensors)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _check_header(header: dict[str, Any]) -> None:
    """Raise a ValueError unless the header has its keys, types and ranges."""
    if set(header) != set(HEADER):
        differ = ", ".join(sorted(set(header) ^ set(HEADER)))
        raise ValueError(f"header: missing from it, or unknown: {differ:.80}")
    for key, (_, types, types_of_items, low, below, types_inside) in HEADER.items():
        value = header[key]
        _check_types(key, [value], types)
        if types_of_items:
            _check_types(key, _items(value), types_of_items)
        if types_inside:
            for item in _items(value):
                _check_types(key, _items(item), types_inside)
        if isinstance(value, int | float) and not low <= value < below:
            raise ValueError(f"{key}: expected at least {low} and less than {below}, got {value}")


def _items(value: Any) -> Iterable[Any]:
    """Return the items of a list or of a dict; None has none."""
    return value.values() if isinstance(value, dict) else value or ()


def _check_types(key: str, values: Iterable[Any], types: tuple[type, ...]) -> None:
    for value in values:
        if type(value) not in types:
            names = " or ".join(kind.__name__ for kind in types)
            raise ValueError(f"{key}: got {value!r:.80}, expected {names}")


def check_tensors(tensors: Group, needed: tuple[str, ...]) -> None:
    """Raise a ValueError that names the first wrong tensor."""
    for name in needed:
        if name not in tensors:
            raise ValueError(f"{name} is missing")
    sizes = {"digest": 32, "ways": NEAREST}
    known = [name for name in TENSORS if name in tensors]
    for name in [*known, *sorted(set(tensors) - set(known))]:
        expected = TENSORS.get(name) or TENSORS.get(name[: name.find("/") + 1] + "*")
        if expected is None:
            raise ValueError(f"{name} is unknown")
        values, symbols = tensors[name], expected.shape.removesuffix("...").split()
        lengths = values.shape[: len(symbols)] if "..." in expected.shape else values.shape
        if (
            values.dtype.kind not in expected.kinds
            or len(lengths) != len(symbols)
            or any(n != sizes.setdefault(s, n) for s, n in zip(symbols, lengths, strict=True))
        ):
            of = expected.shape.split()
            raise ValueError(
                f"{name}: expected values of kind {expected.kinds} and shape "
                f"({', '.join(str(sizes.get(symbol, symbol)) for symbol in of)}), got "
                f"{values.dtype} of shape {values.shape}"
            )
        below = sizes[expected.below] if isinstance(expected.below, str) else expected.below
        right = (values >= expected.low) & (values < below) & np.isfinite(values)
        if expected.finite is False:
            right = ~np.isnan(values)
        if expected.finite is not None and not right.all():
            what = "finite " if expected.finite else ""
            raise ValueError(
                f"{name}: expected {what}values from {expected.low} to below {below}, got "
                f"{values[~right][0]}"
            )
