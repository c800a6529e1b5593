"""Atomic writes: a file is written as a whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

STALE = 24 * 3600.0  # seconds; an older temporary file was left by a killed process
NAME_BYTES = 200  # of a file's name, kept in its temporary file's name of at most 255
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; rename it if the block has no error.

    A process that is killed in the block leaves the temporary file behind and ``path``
    unchanged. A later write to ``path`` removes temporary files that are older than a
    day. A file that is replaced keeps its permissions, and a symbolic link is followed.

    Raises
    ------
    OSError
        The disk is full; ``path`` is unchanged.
    """
    path = Path(os.path.realpath(path))
    require_replaceable(path)
    name = path.name.encode()[:NAME_BYTES].decode(errors="ignore")
    remove_stale(path.parent, glob.escape(name))
    temporary = path.with_name(f".{name}.{uuid4().hex}.part")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # some file systems report a full disk only here
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno)}; nothing was written, and an existing "
                "file is unchanged: free some space and try again",
                str(path),
            ) from error
        raise


def write(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, all or nothing."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def require_replaceable(path: Path) -> None:
    """Raise an OSError if ``path`` is a folder, device or pipe, or has no folder."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {folder} does not exist; make it")
    if path.exists() and not path.is_file():
        raise OSError(
            f"{path} is no file, but a folder, device or pipe; name another file"
        )


def remove_stale(folder: Path, name: str) -> None:
    """Remove old temporary files in ``folder``, of files that match ``name``."""
    for temporary in folder.glob(f".{name}.{'[0-9a-f]' * 32}.part"):
        with suppress(OSError):  # another process may remove it first
            if time.time() - temporary.stat().st_mtime > STALE:
                temporary.unlink()
