"""The file of a saved estimator as bytes: its seal, and checks of its HDF5 content.

docs/format.md describes the format, and docs/security.md the reasons for the checks.
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
SEAL_BYTES = 90  # the longest seal
DIGEST_BYTES = 65  # the end of the seal, which the checksum does not cover
READ = 2**20  # bytes read at once
MAX_MEMBERS = 1000  # groups in a file, variables in a group, values in an attribute
MAX_TEXTS = 16  # texts in an attribute
PHANTOM = b"This is a netCDF dimension but not a netCDF variable"  # a dimension without values


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


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
    """Give the open file, after checks of its seal and of its HDF5 content.

    Raises
    ------
    UnreadableFileError
        The bytes differ from those that were saved, or ``save`` never writes such content.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would block
        raise UnreadableFileError(f"{path} is no saved bsvdd estimator: it is not a file")
    with open(path, "rb") as file:
        _check_seal(file, path)
        try:
            inspect(file)
        except Exception as error:
            raise UnreadableFileError(
                f"{path} is refused, because bsvdd never saves such a file: {error}"
            ) from error
        yield file


def _check_seal(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SEAL_BYTES))
    seal_match = SEAL.search(file.read())
    if seal_match is None:
        raise UnreadableFileError(
            f"{path} is no saved bsvdd estimator: it does not end with the seal that save writes. "
            "It is cut off, or something was appended, or it is another kind of file, or older "
            f"than format {FORMAT}; use a complete copy, or save the fit again"
        )
    version = int(seal_match[1])
    if version != FORMAT:
        raise UnreadableFileError(
            f"{path} has format {version}, and this version reads {FORMAT}; load it with the "
            "version of bsvdd that wrote it"
        )
    digest, sealed_digest = _digest(file, size - DIGEST_BYTES), seal_match[2].decode()
    if digest != sealed_digest:
        raise UnreadableFileError(
            f"{path} is damaged: its SHA-256 is {digest[:12]}..., but its seal has "
            f"{sealed_digest[:12]}...; use a complete copy, or save the fit again"
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
    """Raise a ValueError unless the file has plain values only, and no more than its own bytes.

    A checksum is not a signature: whoever makes a file can also make its seal. This function reads
    names, shapes, types and attributes only.
    """
    size = file.seek(0, os.SEEK_END)
    with h5py.File(file, "r") as root:
        budget = _less_attributes(size, root)
        for group in _members(root, h5py.Group):
            budget = _less_attributes(budget, group)
            for data in _members(group, h5py.Dataset):
                budget = _less_attributes(budget, data)
                length = math.prod(data.shape)
                if not _is_phantom(data):
                    _check_storage(data)
                    budget -= length * data.dtype.itemsize
                if budget < 0 or length > size:
                    raise ValueError(
                        f"{data.name} of shape {data.shape} would make the content larger than "
                        f"the {size} bytes of the file"
                    )


def _members(group: h5py.Group, kind: type) -> Iterator[Any]:
    if len(group) > MAX_MEMBERS:
        raise ValueError(f"{group.name} has {len(group)} members, expected at most {MAX_MEMBERS}")
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"{group.name} has {name!r}, a {type(link).__name__} to another place")
        member = group[name]
        if not isinstance(member, kind):
            raise ValueError(
                f"{member.name} is a {type(member).__name__}, expected a {kind.__name__}: a file "
                "has groups, and groups have variables only"
            )
        yield member


def _less_attributes(budget: int, item: Any) -> int:
    """Return the budget of bytes, less the texts among the attributes of ``item``."""
    if len(item.attrs) > MAX_MEMBERS:
        raise ValueError(
            f"{item.name} has {len(item.attrs)} attributes, expected at most {MAX_MEMBERS}"
        )
    for name in item.attrs:
        attribute = item.attrs.get_id(name)
        n, dtype = math.prod(attribute.shape or ()), attribute.dtype
        is_text = h5py.check_string_dtype(dtype) is not None
        if name in ("DIMENSION_LIST", "REFERENCE_LIST"):  # HDF5's own, for dimensions
            is_text = False
        elif not is_text and dtype.kind not in "iufb":
            raise ValueError(
                f"attribute {name!r} of {item.name} is of type {dtype}, expected numbers or texts"
            )
        most = MAX_TEXTS if is_text else MAX_MEMBERS
        if n > most:
            raise ValueError(
                f"attribute {name!r} of {item.name} has {n} values, expected at most {most}"
            )
        if is_text:  # texts can have any length, and many can share their bytes in the file
            budget -= sum(len(value) for value in np.ravel(item.attrs[name]))
        if budget < 0:
            raise ValueError(f"attribute {name!r} of {item.name} is longer than the file")
    return budget


def _is_phantom(data: h5py.Dataset) -> bool:
    return bytes(data.attrs.get("NAME", b"")).startswith(PHANTOM)


def _check_storage(data: h5py.Dataset) -> None:
    """Raise a ValueError unless the values lie in this file, uncompressed and in one block."""
    storage = data.id.get_create_plist()
    plain = storage.get_layout() in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
    if not plain or storage.get_nfilters() or storage.get_external_count():
        raise ValueError(
            f"{data.name} is in chunks, compressed, or in another file, expected one plain block"
        )
    if data.dtype.kind not in "iufbS":
        raise ValueError(f"{data.name} is of type {data.dtype}, expected numbers or characters")
