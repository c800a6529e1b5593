"""The explorer: a control changes what it says, and the setting before stays."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, SVDD, cutoffs, kernels, priors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.arange(40) >= 34
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(c=RNG.choice(["x", "y"], 40))
FEW = {"draws": 200, "tune": 200}

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:bsvdd.base.warning.DiagnosticWarning"
)


def same(est, other, rows):
    a, b = est.decision(rows), other.decision(rows)
    np.testing.assert_allclose(a["surprise"], b["surprise"], rtol=1e-9)


@pytest.mark.parametrize(
    ("moved", "parameters"),
    [
        ({"rate": 0.2}, {"cutoff": cutoffs.FalseAlarm(0.2)}),
        ({"prior": "RowSum"}, {"prior": priors.RowSum()}),
        ({"own": "priors.Flat(sd=0.3)"}, {"prior": priors.Flat(sd=0.3)}),
        ({"kernel": "Laplacian", "bandwidth": 2.0}, None),
        ({"own": "priors.Flat(sd=0.3)", "rate": 0.2}, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", [X, FRAME], ids=["map", "surprises"])
def test_a_control_gives_what_a_fresh_fit_gives_and_the_code_makes_it(
    rows, moved, parameters
):
    explorer = bsvdd.explore(rows, est=BDD(**FEW))
    first, image = explorer.est, bytes(explorer._image.value)
    assert image.startswith(b"\x89PNG") and explorer.before is None
    for name, value in moved.items():
        explorer.controls[name].value = value
    assert explorer._image.value != image
    picture, now = explorer._picture, explorer.est.decision()
    p, q = (e.probability_normal[0] for e in (now, explorer.before.decision()))
    assert picture.right.get_title() == f"P(normal) = {p:.2f}, before {q:.2f}"
    assert len(picture.right.patches) == 3  # both sides of 0, and before as an outline
    drawn, other = picture.left.collections[:2]
    if rows is X:
        P = explorer.est.probability_normal(picture.grid)
        assert (drawn.get_array().ravel() == P).all()
    else:
        assert (other.get_offsets()[:, 1] == now["surprise"]).all()
    if parameters is not None:
        assert explorer.before is first
        same(explorer.est, BDD(**FEW, **parameters).fit(rows), rows)
    made = {}
    exec(explorer.code, made)
    same(explorer.est, made["est"].fit(rows), rows)


def test_numbers_of_a_prior_and_a_row():
    explorer = bsvdd.explore(X, Y, BSVDDM(minor_label=True, **FEW))
    explorer.controls["prior"].value = "RowSum"
    assert [slider.description for slider in explorer.numbers.children] == [
        "sd",
        "exponent",
    ]
    explorer.numbers.children[1].value = 0.5
    assert explorer.est.prior == priors.RowSum(exponent=0.5)
    before, table = explorer.est, explorer._table.value
    explorer.controls["row"].value = 7
    assert explorer.est is before and explorer._table.value != table


def test_a_prior_that_is_a_function_stays_and_a_row_draws_no_map_anew(monkeypatch):
    def prior(gram, name, dims):
        return pm.Normal(name, 0.0, 1.5, dims=dims)

    explorer = bsvdd.explore(X, est=BSVDD(prior=prior, **FEW))
    asked = []
    answers = type(explorer.est).probability_normal
    monkeypatch.setattr(
        type(explorer.est),
        "probability_normal",
        lambda est, Z: asked.append(len(Z)) or answers(est, Z),
    )
    explorer.controls["row"].value = 3
    assert not asked
    explorer.controls["rate"].value = 0.2
    assert len(asked) == 1 and "Error" not in explorer._said.value
    assert explorer.est.cutoff == cutoffs.FalseAlarm(0.2)


def test_what_cannot_be_is_said_and_changes_nothing():
    explorer = bsvdd.explore(X, est=BDD(**FEW))
    est = explorer.est
    for text, words in (
        ("priors.Flat(sd='x')", "sd must be a positive"),
        ("Flat(", "SyntaxError"),
    ):
        explorer.controls["own"].value = text
        assert words in explorer._said.value and explorer.est is est
    with pytest.raises(TypeError, match="SVDD has not; use BSVDD"):
        bsvdd.explore(X, est=SVDD())
    linear = bsvdd.explore(X, est=BDD(kernel=kernels.Linear(), **FEW), own=False)
    assert "own" not in linear.controls
