"""The build backend: setuptools, and an editable install that is found before a folder ``bsvdd``.

A clone is a folder ``bsvdd`` without an ``__init__.py``. Python takes it for a namespace package
in a script beside the clone, because setuptools puts the finder of an editable install after the
search of ``sys.path``. Here another finder comes first, which gives the editable install if
``sys.path`` has no package ``bsvdd``, but only such a folder.
"""

import base64
import hashlib
import os
import zipfile

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  the other hooks of PEP 517 and PEP 660

NAME = "__editable___bsvdd_first"
FIRST = """\
import sys
from importlib.machinery import PathFinder

from {module} import _EditableFinder


class First:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "bsvdd":
            return None
        spec = PathFinder.find_spec(name)
        folder = spec is not None and spec.origin is None
        return _EditableFinder.find_spec(name) if folder else None


sys.meta_path.insert(0, First)
"""


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the editable wheel of setuptools, with the finder above before all others (PEP 660)."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    path = os.path.join(wheel_directory, name)
    with zipfile.ZipFile(path) as wheel:
        files = {member: wheel.read(member) for member in wheel.namelist()}
    (line,) = (member for member in files if member.endswith(".pth"))
    (module,) = (member[:-3] for member in files if member.endswith("_finder.py"))
    changed = {
        # a line of a .pth file that begins with "import" is run when Python starts
        line: files[line].decode().rstrip() + f"; import {NAME}\n",
        f"{NAME}.py": FIRST.format(module=module),
    }
    (record,) = (member for member in files if member.endswith(".dist-info/RECORD"))
    rows = [row for row in files[record].decode().splitlines() if not row.startswith(line + ",")]
    for member, text in changed.items():
        files[member] = text.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[member]).digest())
        rows.append(f"{member},sha256={digest.decode().rstrip('=')},{len(files[member])}")
    files[record] = ("\n".join(rows) + "\n").encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, content in files.items():
            wheel.writestr(member, content)
    return name
