"""Tables of polars and pyarrow have the answers of the same data frame of pandas."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bsvdd.inference.warning import DataWarning

import bsvdd
from bsvdd import SVDD, Views, kernels

N = 40
RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "text": RNG.choice(["x", "y", "z"], N),
        "category": pd.Categorical(RNG.choice(["u", "v"], N)),
        "level": pd.Categorical(RNG.choice(["lo", "hi"], N), ["lo", "hi"], ordered=True),
        "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, N), "D"),
        "weight": [f"{w:.1f} kg" for w in RNG.gamma(5.0, size=N)],
        "kind": RNG.permutation([0] * 35 + [1] * 5),
    }
)
POLARS = pl.from_pandas(FRAME).with_columns(
    pl.col("day").cast(pl.Date), pl.col("level").cast(pl.Enum(["lo", "hi"]))
)
TABLES = {"polars": POLARS, "lazy": POLARS.lazy(), "pyarrow": POLARS.to_arrow()}
pytestmark = [
    pytest.mark.filterwarnings("ignore:numbers with a unit"),
    pytest.mark.filterwarnings("ignore:column 'level' is read as numbers, the places in lo < hi"),
]


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_other_libraries(name, tmp_path):
    table, expected = TABLES[name], SVDD().fit(FRAME, "kind")
    est = SVDD().fit(table, "kind")
    est.save(tmp_path / "m")
    assert (
        est.kernel_.categorical == (1, 2)
        and est.fit_.training.forms == expected.fit_.training.forms
    )
    for fit in (est, bsvdd.load(tmp_path / "m")):
        np.testing.assert_array_equal(fit.score_samples(table), expected.score_samples(FRAME))
        np.testing.assert_array_equal(fit.score_samples(table), fit.score_samples(FRAME))
    np.testing.assert_array_equal(bsvdd.p_value(est, table), bsvdd.p_value(est, FRAME))
    pd.testing.assert_frame_equal(est.decision(table), est.decision(FRAME))
    new, expected = (bsvdd.explain(est, of[:3]).shares for of in (table, FRAME))
    pd.testing.assert_frame_equal(new, expected)


def test_labels_and_other_ways_of_polars(tmp_path):
    rows, table, y = FRAME.drop(columns="kind"), POLARS.drop("kind"), POLARS["kind"]
    expected = SVDD().fit(rows, FRAME["kind"])
    for labels in (y, POLARS.to_arrow()["kind"]):
        est = SVDD().fit(table, labels)
        np.testing.assert_array_equal(est.score_samples(table), expected.score_samples(rows))
    bsvdd.report(est, tmp_path / "m.html", table, y)
    assert "weight" in (tmp_path / "m.html").read_text(encoding="utf-8")
    predicted = Views().fit(table).predict(table)
    np.testing.assert_array_equal(predicted, Views().fit(rows).predict(rows))


def test_gaps_and_large_numbers_of_polars():
    gap = POLARS.drop("kind").with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("a")).alias("a")
    )
    with pytest.raises(ValueError, match="'text', 'category' are not numeric"):
        SVDD(kernel=kernels.RBF()).fit(gap)
    large = pl.DataFrame({"a": POLARS["a"], "n": [None, *range(2**53, 2**53 + N - 1)]})
    with pytest.raises(ValueError, match="'n' has whole numbers of 2.53 or more"):
        SVDD().fit(large)


def test_pictures_of_rows_have_the_values_of_the_table():
    est = SVDD().fit(FRAME, "kind")
    for asked in ({"row": 3}, {"z": FRAME.iloc[[3]]}, {"z": POLARS[3]}):
        ax = bsvdd.plots.plot_explanation(est, **asked)
        texts = " ".join(t.get_text() for t in ax.get_yticklabels())
        for name, value in (("day", f"{FRAME['day'][3]:%Y-%m-%d}"), ("level", FRAME["level"][3])):
            assert f"{name} = {value}" in texts
        assert f"weight = {float(FRAME['weight'][3].split()[0])} kg" in texts


def test_an_order_is_said():
    with pytest.warns(DataWarning, match="column 'level' is read as numbers, the places in lo < h"):
        SVDD().fit(POLARS.select("a", "level"))


def test_without_pyarrow_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"a table of polars needs pyarrow; install it: pip inst"):
        SVDD().fit(POLARS)
