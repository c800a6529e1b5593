"""The file of a fitted estimator as bytes: its seal, and the few things of HDF5 that it may use.

docs/format.md describes the format; docs/security.md says why a reader asks for just these.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

FORMAT = 2
SEAL = re.compile(rb"bsvdd format (\d{1,3}) sha256 ([0-9a-f]{64})\n\Z")
SEAL_BYTES = 90  # the longest seal; DIGEST_BYTES of them are not covered by the checksum
DIGEST_BYTES = 65
READ = 2**20  # bytes at once
MAX_MEMBERS = 1000  # groups of a file, variables of a group, values of an attribute
MAX_TEXTS = 16  # texts of an attribute
PHANTOM = b"This is a netCDF dimension but not a netCDF variable"  # a length without values


class UnreadableFileError(ValueError):
    """The file is no fitted bsvdd estimator, or is damaged."""


def seal(path: Path) -> None:
    """Append the seal to a written file."""
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(f"bsvdd format {FORMAT} sha256 ".encode())
        digest = _digest(file, file.tell())
        file.seek(0, os.SEEK_END)
        file.write(f"{digest}\n".encode())


@contextmanager
def unsealed(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give the open file, after a look at its seal and at what it would have HDF5 read.

    Raises
    ------
    UnreadableFileError
        The bytes are not those that were saved, or are such as no save writes.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
        raise UnreadableFileError(f"{path} is no saved bsvdd estimator: it is not a file")
    with open(path, "rb") as file:
        _check_seal(file, path)
        try:
            inspect(file)
        except Exception as error:
            raise UnreadableFileError(
                f"{path} is refused, as no save of bsvdd writes such a file: {error}"
            ) from error
        yield file


def _check_seal(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SEAL_BYTES))
    found = SEAL.search(file.read())
    if found is None:
        raise UnreadableFileError(
            f"{path} is no saved bsvdd estimator: its end is not the seal that save writes. It is "
            "cut off, or something was appended, or it is another file, or of a version before "
            f"format {FORMAT}; take a copy that is whole, or save the fit again"
        )
    version = int(found[1])
    if version != FORMAT:
        raise UnreadableFileError(
            f"{path} has format {version}, and this version reads {FORMAT}; load it with the "
            "version of bsvdd that wrote it"
        )
    digest = _digest(file, size - DIGEST_BYTES)
    if digest != found[2].decode():
        raise UnreadableFileError(
            f"{path} is damaged: its SHA-256 is {digest[:12]}..., and its seal says "
            f"{found[2].decode()[:12]}...; take a copy that is whole, or save the fit again"
        )


def _digest(file: BinaryIO, n: int) -> str:
    """Return the SHA-256 of the first n bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while n and (block := file.read(min(n, READ))):
        digest.update(block)
        n -= len(block)
    return digest.hexdigest()


def inspect(file: BinaryIO) -> None:
    """Raise a ValueError unless the file holds plain numbers and no more than its own bytes.

    A checksum is no signature: who makes a file makes its seal too. Nothing is read here but
    names, shapes, types and attributes.
    """
    size = file.seek(0, os.SEEK_END)
    with h5py.File(file, "r") as root:
        left = _without_attributes(size, root)
        for group in _members(root, h5py.Group):
            left = _without_attributes(left, group)
            for data in _members(group, h5py.Dataset):
                left = _without_attributes(left, data)
                length = math.prod(data.shape)
                if not _is_phantom(data):
                    _check_storage(data)
                    left -= length * data.dtype.itemsize
                if left < 0 or length > size:
                    raise ValueError(
                        f"{data.name} of shape {data.shape} would make it more than the {size} "
                        "bytes that the file has"
                    )


def _members(group: h5py.Group, kind: type) -> Iterator[Any]:
    if len(group) > MAX_MEMBERS:
        raise ValueError(f"{group.name} has {len(group)} members, and {MAX_MEMBERS} are read")
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"{group.name} has {name!r}, a {type(link).__name__} to elsewhere")
        member = group[name]
        if not isinstance(member, kind):
            raise ValueError(
                f"{member.name} is a {type(member).__name__}, expected a {kind.__name__}: groups "
                "stand side by side, and hold variables only"
            )
        yield member


def _without_attributes(left: int, item: Any) -> int:
    """Return how many bytes are left without the texts among the attributes of ``item``."""
    if len(item.attrs) > MAX_MEMBERS:
        raise ValueError(f"{item.name} has {len(item.attrs)} attributes, {MAX_MEMBERS} are read")
    for name in item.attrs:
        found = item.attrs.get_id(name)
        n, text = math.prod(found.shape or ()), h5py.check_string_dtype(found.dtype) is not None
        if name in ("DIMENSION_LIST", "REFERENCE_LIST"):  # of HDF5's dimensions
            text = False
        elif not text and found.dtype.kind not in "iufb":
            raise ValueError(f"attribute {name!r} of {item.name} is of type {found.dtype}")
        if n > (MAX_TEXTS if text else MAX_MEMBERS):
            raise ValueError(f"attribute {name!r} of {item.name} has {n} values")
        if text:  # of any length, and many may be one and the same in the file
            left -= sum(len(value) for value in np.ravel(item.attrs[name]))
        if left < 0:
            raise ValueError(f"attribute {name!r} of {item.name} is longer than the file")
    return left


def _is_phantom(data: h5py.Dataset) -> bool:
    return bytes(data.attrs.get("NAME", b"")).startswith(PHANTOM)


def _check_storage(data: h5py.Dataset) -> None:
    """Raise a ValueError unless the values lie in this file as they are."""
    made = data.id.get_create_plist()
    plain = made.get_layout() in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
    if not plain or made.get_nfilters() or made.get_external_count():
        raise ValueError(
            f"{data.name} is in chunks, compressed, or in another file, expected one plain block"
        )
    if data.dtype.kind not in "iufbS":
        raise ValueError(f"{data.name} is of type {data.dtype}, expected numbers or characters")
