"""The embedded data sets are the files their table describes."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from bsvdd.comparison.scenarios import datasets

DATA = Path(__file__).parents[2] / "comparison" / "scenarios" / "data"
SUMS = dict(
    reversed(line.split("  ", 1)) for line in (DATA / "SHA256SUMS").read_text().splitlines()
)
ROW = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+)% \|", re.MULTILINE)
TABLE = {row[0]: row[1:] for row in ROW.findall((DATA / "README.md").read_text(encoding="utf-8"))}


def test_every_file_is_listed():
    files = {path.name for path in DATA.glob("*.npz")}
    assert files == set(SUMS)
    assert files == {f"{name}.npz" for name in TABLE}


def test_every_set_has_a_source_and_a_licence():
    found = datasets.sources()
    assert set(found) == set(TABLE)
    for source in found.values():
        assert source.url.startswith("https://archive.ics.uci.edu/dataset/")
        assert source.origin and source.licence and source.copy and source.conversion


@pytest.mark.parametrize("name", sorted(SUMS))
def test_checksum(name):
    assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == SUMS[name]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_arrays(name):
    n, p, n1, share = TABLE[name]
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"X", "y"}
        X, y = arrays["X"], arrays["y"]
    assert X.dtype == np.float64 and X.shape == (int(n), int(p))
    assert y.dtype == np.int64 and y.shape == (int(n),)
    assert np.isfinite(X).all()
    assert set(y.tolist()) == {0, 1}
    assert y.sum() == int(n1)
    assert 100 * y.mean() == pytest.approx(float(share), abs=0.051)
