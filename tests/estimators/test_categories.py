"""Columns of categories by every way in: data frames and files; scored, saved, explained."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows import categories
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, kernels, plots

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
N = 160
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "city": RNG.choice(["Bonn", "Rom", "Oslo"], N),
        "b": RNG.normal(50.0, 10.0, N),
        "zip": RNG.choice(["0711", "711", "30", "x"], N),
    }
)
KERNEL = kernels.Tabular(kernels.RBF("mean"))
NEW = pd.DataFrame(
    {"a": [0.0, 0.0, 4.0], "city": ["Rom", "Lima", "Rom"], "b": 50.0, "zip": ["30", "30", "0711"]}
)


@pytest.fixture(scope="module")
def fitted():
    return SVDD(kernel=KERNEL).fit(FRAME)


def test_the_fit_is_that_of_a_matrix_of_the_product(fitted):
    of_numbers = SVDD(kernel=KERNEL).fit(FRAME[["a", "b"]]).kernel_

    def k(X, Z):
        values = of_numbers(*(of_numbers.inputs(of[["a", "b"]].to_numpy()) for of in (X, Z)))
        for c in ("city", "zip"):
            values = values * np.where(X[[c]].to_numpy() == Z[c].to_numpy(), 1.0, KERNEL.rho)
        return values

    same = SVDD(kernel=kernels.Precomputed(diagonal=1.0)).fit(k(FRAME, FRAME))
    assert fitted.kernel_.categorical == (1, 3)
    np.testing.assert_allclose(fitted.distance(NEW), same.distance(k(NEW, FRAME)), rtol=1e-8)


def by_file(kind, folder, frame):
    getattr(frame, f"to_{kind}")(folder / f"x.{kind}", index=False)
    return bsvdd.read_table(folder / f"x.{kind}")


WAYS = {
    "objects": lambda folder, frame: frame.astype({"city": object, "zip": object}),
    "categories": lambda folder, frame: frame.astype({"city": "category", "zip": "category"}),
    "csv": partial(by_file, "csv"),
    "parquet": partial(by_file, "parquet"),
    "parquet with a dictionary": lambda folder, frame: by_file(
        "parquet", folder, frame.astype({"city": "category"})
    ),
}


@pytest.mark.parametrize("dictionary", ["auto", 30])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_has_the_same_result(way, dictionary, tmp_path):
    make = BDD(kernel=KERNEL, dictionary=dictionary, draws=40)
    est, expected = clone(make).fit(WAYS[way](tmp_path, FRAME)), make.fit(FRAME)
    assert est.kernel_ == expected.kernel_
    np.testing.assert_allclose(est.cutoff_, expected.cutoff_, rtol=1e-10)
    new = WAYS[way](tmp_path, pd.concat([NEW] * 40, ignore_index=True))
    scores = np.tile(expected.score_samples(NEW), 40)
    np.testing.assert_allclose(np.asarray(est.score_samples(new)), scores, rtol=1e-10)


def test_a_category_is_text_even_where_a_block_has_numbers_only(tmp_path):
    """007 and 7 differ, though the parser would read a block of them as numbers."""
    frame = pd.DataFrame({"a": RNG.normal(size=120), "code": ["007"] * 60 + ["7"] * 59 + ["x"]})
    est = SVDD(kernel=KERNEL).fit(by_file("csv", tmp_path, frame))
    codes = categories.codes(frame["code"])
    np.testing.assert_array_equal(est.idata_["constant_data"]["X"].values[:, 1], codes)
    assert len(np.unique(codes)) == 3


def test_positions_make_numbers_categories():
    X = np.column_stack([RNG.normal(size=80), RNG.integers(0, 3, 80)])
    frame = pd.DataFrame(X, columns=["a", "c"]).astype({"c": int})
    by_array, by_frame = (SVDD(kernel=kernels.Tabular(categorical=(1,))).fit(x) for x in (X, frame))
    by_type = SVDD(kernel=kernels.Tabular()).fit(frame.astype({"c": "category"}))
    for est, new in ((by_frame, frame), (by_type, frame), (by_type, frame.astype({"c": str}))):
        np.testing.assert_array_equal(est.score_samples(new), by_array.score_samples(X))


@pytest.mark.parametrize("positions", [1, (-1,), (0.5,), ("c",), ((1,),)], ids=str)
def test_positions_that_cannot_be(positions):
    with pytest.raises(ValueError, match="categorical must be a sequence of positions of columns"):
        kernels.Tabular(categorical=positions)


def test_columns_are_found_by_name_in_any_order(fitted, tmp_path):
    turned = NEW[NEW.columns[::-1]]
    for new in (by_file("csv", tmp_path, NEW), turned, by_file("csv", tmp_path, turned)):
        np.testing.assert_array_equal(fitted.score_samples(new), fitted.score_samples(NEW))
    message = r"X lacks column 'city' \(did you mean 'cty'\?\), .*; it has 'a', 'cty', 'b', 'zip'"
    with pytest.raises(ValueError, match=message):
        fitted.predict(NEW.rename(columns={"city": "cty"}))


def test_answers_to_rows_with_both_kinds_of_columns(fitted, tmp_path):
    """p-values, shares, and a report; saved fits too."""
    usual, unseen, far = bsvdd.p_value(fitted, NEW)
    assert usual > 0.3 and unseen < usual / 2 and far < 0.02
    text = bsvdd.report(fitted, tmp_path / "r.html").read_text()
    assert ">city<" in text or "city" in text
    fitted.save(tmp_path / "m")
    same = bsvdd.load(tmp_path / "m")
    assert same.kernel_ == fitted.kernel_
    np.testing.assert_array_equal(same.score_samples(NEW), fitted.score_samples(NEW))
    est = BSVDD(kernel=KERNEL).fit(FRAME)
    why = bsvdd.explain(est, NEW)
    assert why.top_columns(1)["column_1"].tolist()[1:] == ["city", "a"]
    labels = plots.plot_explanation(est, NEW.iloc[[1]]).get_yticklabels()
    assert "city = Lima" in [text.get_text() for text in labels]


@pytest.mark.parametrize("columns", [["a", "b"], ["city", "zip"], ["a"], ["city"]], ids="-".join)
@pytest.mark.parametrize("model", [SVDD, BDD])
def test_columns_of_one_kind(model, columns):
    est, new = model().fit(FRAME[columns]), FRAME[columns].iloc[:2].copy()
    texts = columns[0] == "city"
    new.iloc[1, 0] = "Lima" if texts else 9.0
    assert est.predict(new)[1] == -1
    assert est.kernel_.categorical_columns == tuple(range(len(columns) * texts))


def test_codes():
    texts = ["red", "7", "7.0", "007", "1e5", "True", "nan", "-0.25", ""]
    codes = categories.codes(pd.Series(texts))
    np.testing.assert_array_equal(codes[[1, 2, 5, 7]], [7.0, 7.0, 1.0, -0.25])
    others = np.delete(codes, [1, 2, 5, 7])
    assert ((others > -1) & (others < 0)).all() and len(np.unique(codes)) == 8
    large = [2**53 + i for i in (0, 1, 2)] + [2**64 + 1, 10**400]
    of_large = categories.codes(pd.Series(large, dtype=object))
    assert len(np.unique(of_large)) == 5
    np.testing.assert_array_equal(of_large, categories.codes(pd.Series(map(str, large))))
    assert categories.code("red") == -0.05433795954653775  # the same in all versions
    assert np.isnan(categories.codes(pd.Series(["a", None, np.nan]))[1:]).all()
