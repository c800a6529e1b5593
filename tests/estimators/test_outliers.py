"""Rows of one table: decisions on training rows and their reasons, each left out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BSVDD, kernels

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(11)
ROWS = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1]
ROWS[:3] = [[9.0, 0.0, 0.0], [0.0, -80.0, 0.0], [0.0, 0.0, 0.9]]
MINORITY = np.arange(60) % 9 == 4
SMALL = {"draws": 50, "tune": 100}
RBF = kernels.Standardized(kernels.RBF(1.4))


@pytest.mark.parametrize(
    "est",
    [BDD(kernel=RBF), BSVDD(kernel=RBF, **SMALL), BSVDD(**SMALL)],
    ids=["BDD", "BSVDD", "BSVDD of tables"],
)
def test_rows_that_have_no_part_in_the_weights_are_decided_as_new_rows(est):
    est.fit(ROWS, MINORITY)
    found = est.decision()
    expected = est.decision(ROWS[MINORITY])
    shared = [c for c in expected if c != "p_value"]
    assert list(found) == [*expected, "left_out"]
    same = found.loc[MINORITY, shared].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, expected[shared], rtol=1e-9)
    assert found["surprise"].between(found["surprise_low"], found["surprise_high"]).all()
    np.testing.assert_array_equal(found["probability_normal"] > est.fit_.level, found["normal"])


@pytest.fixture(scope="module")
def named():
    """A fit to rows of which each of four has a column at fault."""
    columns = {
        "amount": np.exp(RNG.normal(size=80)),
        "city": RNG.choice(["Bonn", "Rom"], 80),
        "version": 3,
        "size": RNG.normal(size=80),
    }
    frame = pd.DataFrame(columns, [f"n{i}" for i in range(80)])
    for row, (column, value) in enumerate(ODD.items()):
        frame.loc[f"n{row}", column] = value
    return BSVDD(**SMALL).fit(frame)


ODD = {"amount": 99.0, "city": "Oslo", "version": 4, "size": -9.0}


def test_the_column_at_fault_is_named_first(named):
    why = bsvdd.explain(named, rows=range(4))
    assert why.top_columns(1)["column_1"].tolist() == list(ODD)
    assert set(named.decision()["surprise"].nlargest(3).index) == {"n0", "n2", "n3"}


def test_a_fit_says_what_it_is(named):
    unfitted = BSVDD(**SMALL)
    text = str(named)
    assert repr(named) == repr(unfitted) == str(unfitted) == repr(clone(named))
    for said in (
        *("80 majority, 0 minority; 4 columns (1 of categories)", "RBF(bandwidth=", "prior = Flat"),
        *("2 chains of 50 by Hamiltonian", "of 80 majority rows ("),
        *("est.decision()", "est.decision(X)", "bsvdd.explain(est, X)"),
    ):
        assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
