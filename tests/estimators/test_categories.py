"""Columns of categories by every way in: data frames, files, dask; scored, saved, explained."""

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows import blocks as rows_module
from bsvdd.estimators.rows import categories

import bsvdd
from bsvdd import BDD, BSVDD, DSVM, SVDD, kernels, plots

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


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_VALUES", 4 * 50)  # blocks of 50 rows


def test_the_fit_is_that_of_a_matrix_of_the_product():
    est = SVDD(kernel=KERNEL).fit(FRAME)
    rbf = KERNEL.resolve(FRAME[["a", "b"]].to_numpy())

    def k(X, Z):
        values = rbf(X[["a", "b"]].to_numpy(), Z[["a", "b"]].to_numpy())
        for c in ("city", "zip"):
            values = values * np.where(X[[c]].to_numpy() == Z[c].to_numpy(), 1.0, KERNEL.rho)
        return values

    same = SVDD(kernel=kernels.Precomputed(diagonal=1.0)).fit(k(FRAME, FRAME))
    assert est.kernel_.categorical == (1, 3)
    np.testing.assert_allclose(est.distance(NEW), same.distance(k(NEW, FRAME)), rtol=1e-8)


def test_an_unseen_category_is_more_abnormal(fitted):
    usual, unseen, far = fitted.p_value(NEW)
    assert usual > 0.3 and unseen < usual / 2 and far < 0.02


def as_csv(folder, frame):
    frame.to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def as_parquet(folder, frame):
    frame.to_parquet(folder / "x.parquet")
    return folder / "x.parquet"


def as_parquet_category(folder, frame):
    return as_parquet(folder, frame.astype({"city": "category"}))


WAYS = {
    "objects": lambda folder, frame: frame.astype({"city": object, "zip": object}),
    "categories": lambda folder, frame: frame.astype({"city": "category", "zip": "category"}),
    "csv": as_csv,
    "parquet": as_parquet,
    "parquet with a dictionary": as_parquet_category,
    "dask": lambda folder, frame: dd.from_pandas(frame, npartitions=3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dictionary", [None, 30])
def test_every_way_in_has_the_same_result(way, dictionary, tmp_path):
    if way == "dask" and dictionary is None:
        pytest.skip("a dask collection needs a dictionary")

    def make():
        return BDD(kernel=KERNEL, dictionary=dictionary, draws=40)

    expected = make().fit(FRAME)
    est = make().fit(WAYS[way](tmp_path, FRAME))
    assert est.kernel_ == expected.kernel_
    np.testing.assert_allclose(est.cutoff_, expected.cutoff_, rtol=1e-10)
    new = WAYS[way](tmp_path, pd.concat([NEW] * 40, ignore_index=True))
    scores = np.asarray(est.score_samples(new))
    np.testing.assert_allclose(scores[:3], expected.score_samples(NEW), rtol=1e-10)
    np.testing.assert_allclose(scores, np.tile(scores[:3], 40), rtol=1e-12)


def test_a_category_is_text_even_where_a_block_has_numbers_only(tmp_path):
    """007 and 7 differ, though the parser would read a block of them as numbers."""
    frame = pd.DataFrame({"a": RNG.normal(size=120), "code": ["007"] * 60 + ["7"] * 59 + ["x"]})
    est = SVDD(kernel=KERNEL).fit(as_csv(tmp_path, frame))
    np.testing.assert_array_equal(
        est.idata_["constant_data"]["X"].values[:, 1], categories.codes(frame["code"])
    )
    assert len(np.unique(categories.codes(frame["code"]))) == 3


def test_positions_make_numbers_categories():
    X = np.column_stack([RNG.normal(size=80), RNG.integers(0, 3, 80)])
    frame = pd.DataFrame(X, columns=["a", "c"]).astype({"c": int})
    by_array = SVDD(kernel=kernels.Tabular(categorical=1)).fit(X)
    by_frame = SVDD(kernel=kernels.Tabular(categorical=1)).fit(frame)
    by_type = SVDD(kernel=kernels.Tabular()).fit(frame.astype({"c": "category"}))
    for est, new in ((by_frame, frame), (by_type, frame), (by_type, frame.astype({"c": str}))):
        np.testing.assert_array_equal(est.score_samples(new), by_array.score_samples(X))


def test_columns_are_found_by_name_in_any_order(fitted, tmp_path):
    path = as_csv(tmp_path, NEW)
    np.testing.assert_array_equal(fitted.score_samples(path), fitted.score_samples(NEW))
    for turned in (NEW[NEW.columns[::-1]], as_csv(tmp_path, NEW[NEW.columns[::-1]])):
        np.testing.assert_array_equal(fitted.score_samples(turned), fitted.score_samples(NEW))
    message = r"X lacks column 'city' \(did you mean 'cty'\?\), .*; it has 'a', 'cty', 'b', 'zip'"
    with pytest.raises(ValueError, match=message):
        fitted.predict(NEW.rename(columns={"city": "cty"}))


def test_explained_by_columns_of_both_kinds():
    est = BSVDD(kernel=KERNEL).fit(FRAME)
    why = est.explain(NEW)
    assert why.top_columns(1)["column_1"].tolist()[1:] == ["city", "a"]
    total = why.columns["mean"].sum("column") + why.rows[["base", "remainder"]].sum(axis=1)
    np.testing.assert_allclose(total, why.rows["mean"], rtol=1e-9)
    assert why.changes is None
    figure = plots.plot_explanation(est, NEW.iloc[[1]])
    assert "city = Lima" in [text.get_text() for text in figure.axes[0].get_yticklabels()]
    plt.close(figure)


def test_what_is_asked_of_a_fit(fitted, tmp_path):
    assert fitted.p_value(NEW, "split").shape == (3,)
    assert fitted.p_value(NEW, "cross")[2] < 0.1
    text = fitted.report(tmp_path / "r.html").read_text()
    assert "3 categories" in text and "4 categories" in text
    fitted.save(tmp_path / "m.nc")
    same = bsvdd.load(tmp_path / "m.nc")
    assert same.kernel_ == fitted.kernel_
    np.testing.assert_array_equal(same.score_samples(NEW), fitted.score_samples(NEW))
    y = np.repeat([0, 1], [N - 20, 20])
    est = DSVM(kernel=KERNEL).fit(FRAME, y)
    assert est.predict(NEW).shape == (3,)
    np.testing.assert_allclose(est.kinds(NEW).sum(axis=1), 1.0)


def test_text_without_a_kernel_for_it_is_an_error(tmp_path):
    est = SVDD(kernel=kernels.RBF())
    with pytest.raises(ValueError, match=r"columns 'city', 'zip' are not.*kernels.Tabular\(\)"):
        est.fit(FRAME)
    with pytest.raises(ValueError, match=r"columns 'city', 'zip' are not.*kernels.Tabular\(\)"):
        est.fit(as_csv(tmp_path, FRAME))


@pytest.mark.parametrize("columns", [["a", "b"], ["city", "zip"], ["a"], ["city"]], ids="-".join)
@pytest.mark.parametrize("model", [SVDD, BDD])
def test_columns_of_one_kind(model, columns):
    est = model().fit(FRAME[columns])
    new = FRAME[columns].iloc[:2].copy()
    new.iloc[1, 0] = "Lima" if columns[0] == "city" else 9.0
    assert est.predict(new).tolist()[1] == -1
    assert est.kernel_.categorical == tuple(
        i for i, c in enumerate(columns) if c in ("city", "zip")
    )


def test_weights_by_name():
    weights = {"city": 3.0, "b": 0.5}
    est = BSVDD(kernel=kernels.Tabular(weights=weights), draws=40, tune=40).fit(FRAME)
    assert est.kernel_.weights == ((1, 3.0), (2, 0.5))
    assert est.p_value(NEW, "split").shape == (3,)  # refits know the names
    first, second = (
        e.explain(NEW, changes=False).columns["share"].sel(column="city").values[1]
        for e in (BSVDD(draws=40, tune=40).fit(FRAME), est)
    )
    assert second > first
    with pytest.raises(
        ValueError, match="weights: 'town' is no column of X, which has 'a', 'city'"
    ):
        SVDD(kernel=kernels.Tabular(weights={"town": 2.0})).fit(FRAME)
    with pytest.raises(ValueError, match="weights: 'a' is no column of X, .* without names"):
        SVDD(kernel=kernels.Tabular(weights={"a": 2.0})).fit(FRAME[["a", "b"]].to_numpy())


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.assign(city=[("a",)] * N).astype({"zip": "category"}), "setting an array element"),
        (FRAME.assign(city=["x", b"y"] * 80), "column 'city': a category must be a text"),
        (FRAME.assign(city=["x", None] * 80), "contains NaN"),
    ],
)
def test_tables_it_cannot_take(frame, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SVDD(kernel=KERNEL).fit(frame)


def test_codes():
    texts = ["red", "7", "7.0", "007", "1e5", "True", "nan", "-0.25", ""]
    codes = categories.codes(pd.Series(texts))
    np.testing.assert_array_equal(codes[[1, 5, 7]], [7.0, 1.0, -0.25])
    others = np.delete(codes, [1, 2, 5, 7])
    assert ((others > -1) & (others < 0)).all() and len(np.unique(codes)) == 8
    assert codes[2] == 7.0  # as the number 7.0 is 7
    large = [2**53 + i for i in (0, 1, 2)] + [2**64 + 1, 10**400]
    of_large = categories.codes(pd.Series(large, dtype=object))
    assert len(np.unique(of_large)) == 5
    np.testing.assert_array_equal(of_large, categories.codes(pd.Series(map(str, large))))
    assert categories.code("red") == -0.05433795954653775  # the same in all versions
    assert np.isnan(categories.codes(pd.Series(["a", None, np.nan]))[1:]).all()
