"""Habits of scikit-learn and pandas: nested parameters, columns by name, and what came instead."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, kernels, load

RNG = np.random.default_rng(8)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
Y = np.where(np.arange(60) % 6 == 0, "bad", "ok")
HUGE = 10**400


def test_parameters_of_kernels_by_name():
    est = SVDD(kernel=kernels.Tabular(kernels.Laplacian(2.0)))
    assert est.get_params()["kernel__kernel__bandwidth"] == 2.0
    new = clone(est).set_params(kernel__kernel__bandwidth=0.5, kernel__rho=0.2, C=0.3)
    assert new.kernel == kernels.Tabular(kernels.Laplacian(0.5), rho=0.2) and new.C == 0.3
    assert est.kernel == kernels.Tabular(kernels.Laplacian(2.0))
    new.set_params(kernel=kernels.RBF(), kernel__bandwidth=3.0)
    assert new.kernel == kernels.RBF(3.0)
    for name in ("kernel__nope", "kernel__kernel__nope", "kernel__bandwidth__x"):
        with pytest.raises(ValueError, match="is no parameter of"):
            est.set_params(**{name: 1.0})
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        new.set_params(kernel__bandwidth=-1.0)


def test_the_column_of_the_labels_by_its_name():
    est = SVDD(minor_label="bad").fit(FRAME.assign(kind=Y), "kind")
    np.testing.assert_array_equal(
        est.score_samples(FRAME.assign(kind=Y)),
        SVDD(minor_label="bad").fit(FRAME, Y).score_samples(FRAME),
    )
    with pytest.raises(ValueError, match=r"y='knd' is no column of the data frame .*'kind'\?"):
        est.fit(FRAME.assign(kind=Y), "knd")
    with pytest.raises(ValueError, match="no column besides that of the labels"):
        est.fit(FRAME[["a"]], "a")
    with pytest.raises(ValueError, match="y='kind': the name of a column is for the columns of"):
        est.fit(X, "kind")


def test_columns_in_another_order():
    est = SVDD().fit(FRAME)
    turned = FRAME[["c", "a", "b"]]
    np.testing.assert_array_equal(est.score_samples(turned), est.score_samples(FRAME))
    pd.testing.assert_frame_equal(bsvdd.explain(est, turned).rows, bsvdd.explain(est, FRAME).rows)
    with pytest.raises(ValueError, match="X lacks column 'b', which the fit has; it has 'a', 'c'"):
        est.predict(FRAME[["a", "c"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- d"):
        est.predict(FRAME.assign(d=1.0))


ROWS = [[HUGE, 1.0]] * 20
BAD = {
    "a class": (SVDD(kernel=kernels.RBF), X, r"kernel is the class RBF; make one: RBF\(\)"),
    "a column twice": (SVDD(), FRAME.set_axis(["a", "b", "a"], axis=1), "the column 'a' twice"),
    "a huge value": (SVDD(), ROWS, "X has a number that is too large for any float"),
    "a huge value in a frame": (SVDD(), pd.DataFrame(ROWS, columns=["a", "b"]), "is inf"),
    "a huge cutoff": (SVDD(cutoff=HUGE), X, "cutoff is a whole number that is too large"),
    "a huge C": (SVDD(C=HUGE), X, "C is a whole number that is too large"),
    "a huge seed": (SVDD(random_state=HUGE), X, "random_state is a whole number that is too large"),
    "many draws": (BSVDD(draws=HUGE), X, "draws is a whole number that is too large"),
    "a huge scale": (BDD(likelihood_scale=HUGE), X, "likelihood_scale is a whole number"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_came_instead(case):
    est, rows, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        est.fit(rows)


@pytest.mark.parametrize("first", [2**53 + 1, 2**63 - 20, 2**64 + 1])
def test_names_of_rows_of_any_size(first, tmp_path):
    est = SVDD().fit(FRAME.set_axis([first + i for i in range(60)]))
    est.save(tmp_path / "m")
    for fit in (est, load(tmp_path / "m")):
        assert [int(name) for name in fit.fit_.data.row_names] == [first + i for i in range(60)]


def test_a_decision_prints_what_matters_first_in_80_columns():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(99, 2)), columns=["a", "b"])
    rows = X.set_axis([f"order {i:06d}" for i in range(99)])
    est = SVDD().fit(rows)
    head = ["p_value", "probability_normal", "surprise", "surprise_low", "normal"]
    for table in (est.decision(rows), est.decision()):
        lines = repr(table.tail(3)).splitlines()
        assert lines[0].split() == head and max(map(len, lines)) <= 80
        assert lines[3].startswith("order 000098") and "True" in lines[3]
        assert len(repr(table).splitlines()) < 20  # the middle of many rows is left out
        assert repr(table[["p_value"]].head()) == repr(pd.DataFrame(table)[["p_value"]].head())
    numbered = est.decision(X.set_axis(range(len(X))))
    assert repr(numbered).split()[:6] == [*head[:4], "surprise_high", "normal"]


CHANGED = {
    "join": lambda table: table.join(pd.DataFrame({"who": "Ann"}, table.index)),
    "assign": lambda table: table.assign(who="Ann"),
    "merge": lambda table: table.merge(pd.DataFrame({"normal": [True, False], "who": "Ann"})),
    "reset_index": lambda table: table.rename_axis("who").reset_index(),
    "rename": lambda table: table.rename(columns={"surprise": "who"}),
    "concat": lambda table: pd.concat([table, table["surprise"].rename("who")], axis=1),
}


@pytest.mark.parametrize("how", CHANGED)
def test_a_decision_that_was_joined_or_renamed_prints_all_columns(how):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    table = CHANGED[how](SVDD().fit(rows).decision())
    text = repr(table)
    assert "who" in table and all(str(name) in text.split() for name in table)
    assert max(map(len, text.splitlines())) <= 80


def test_a_fit_prints_in_a_line():
    fit = SVDD().fit(X).fit_
    assert repr(fit) == f"Fit(60 rows, 60 points, 1 draws, distance={fit.distance:.6g})"
