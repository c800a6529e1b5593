"""The explorer: a control changes what it says, and the setting before stays."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, SVDD, cutoffs, kernels, priors
from bsvdd.estimators.facts import facts
from bsvdd.estimators.posterior_checks import posterior_checks, worst

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.arange(40) >= 34
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(c=RNG.choice(["x", "y"], 40))
FRAME.index = [f"<row {i}>" for i in range(40)]
FEW = {"draws": 200, "tune": 200}

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:bsvdd.base.warning.DiagnosticWarning"
)


def same(est, other):
    a, b = est.decision(), other.decision()
    np.testing.assert_allclose(a["surprise"], b["surprise"], rtol=1e-9)


@pytest.mark.parametrize(
    ("rows", "moved", "parameters"),
    [
        (X, {"false alarms": 0.2}, {"cutoff": cutoffs.FalseAlarm(0.2)}),
        (FRAME, {"prior": "RowSum"}, {"prior": priors.RowSum()}),
        (X, {"kernel": "Laplacian", "bandwidth": 2.0}, None),
        (FRAME, {"own prior": "priors.Flat(sd=0.3)", "false alarms": 0.2}, None),
    ],
    ids=["cutoff", "prior", "kernel", "own"],
)
def test_a_control_gives_what_a_fresh_fit_gives_and_the_code_makes_it(
    rows, moved, parameters
):
    explorer = bsvdd.explore(rows, est=BDD(**FEW))
    first = explorer.est
    pictures = explorer.answer({"more": True})["panels"]
    state = explorer.answer(moved | {"number": 7})
    assert state["number"] == 7 and not state["said"].startswith("V")
    assert explorer.before is first and explorer.past.number == 1
    assert explorer.answer({"more": True})["panels"]["picture"] != pictures["picture"]
    if parameters is not None:
        same(explorer.est, BDD(**FEW, **parameters).fit(rows))
    made = {}
    exec(explorer.code, made)
    same(explorer.est, made["est"].fit(rows))
    i = explorer.row
    P, Q = (
        each.decision()["probability_normal"].iloc[i]
        for each in (explorer.est, explorer.before)
    )
    row = explorer.answer({"more": True})["panels"]["row"]
    assert f"{Q:.2f} → <b>{P:.2f}</b>" in row


def test_moves_of_one_control_are_one_move_and_settings_are_compared():
    explorer = bsvdd.explore(X, est=BDD(**FEW))
    clock = itertools.count(0.0, 0.5)
    explorer.clock = lambda: next(clock)
    for rate in (0.2, 0.3, 0.4):
        explorer.set(**{"false alarms": rate})
    assert explorer.before.cutoff is None and len(explorer.settings) == 2
    explorer.clock = lambda: 100.0
    explorer.set(**{"false alarms": 0.5})
    assert explorer.before.cutoff == cutoffs.FalseAlarm(0.4)
    one, two, three = (each.number for each in explorer.settings)
    explorer.set(before=one)
    assert explorer.before.cutoff is None and explorer.now.number == three
    explorer.set(now=two)
    assert explorer.est.cutoff == cutoffs.FalseAlarm(0.4)
    panels = explorer.answer({})["panels"]
    moved = explorer.now.decision["normal"] != explorer.past.decision["normal"]
    assert f"{moved.sum()} of 40 decisions change" in panels["verdict"]


def test_names_are_escaped_and_minority_priors_have_numbers():
    explorer = bsvdd.explore(FRAME, Y, BSVDDM(minor_label=True, **FEW))
    panels = explorer.answer({})["panels"]
    panels |= explorer.answer({"more": True})["panels"]
    text = "".join(panels.values())
    assert "<row " not in text and "&lt;row " in text
    explorer.set(**{"minority_prior.b": 2.0, "prior": "RowSum"})
    explorer.set(**{"prior.exponent": 0.5, "row": "<row 7>", "x": "b"})
    assert explorer.est.prior == priors.RowSum(exponent=0.5)
    assert explorer.est.minority_prior == priors.Beta(b=2.0)
    assert explorer.row == 7 and explorer.columns == ["b", "a"]


def test_the_slider_starts_at_the_rate_of_the_cutoff():
    best = BDD(minor_label=True, cutoff=cutoffs.Best("g_mean"), **FEW)
    explorer = bsvdd.explore(X, Y, best)
    slider = explorer.controls.shown(explorer.now.values)[-1]
    share = facts(explorer.est).beyond["majority"].share
    assert slider["texts"][slider["value"]] == f"{share:.0%} *"
    explorer.set(**{"false alarms": 0.2})
    explorer.set(**{"false alarms": "cutoff"})
    assert explorer.now.number == 1


def test_a_prior_that_is_a_function_stays_and_its_rows_hang_on_weights():
    def prior(gram, name, dims):
        return pm.Normal(name, 0.0, 1.5, dims=dims)

    explorer = bsvdd.explore(X, est=BSVDD(prior=prior, **FEW))
    explorer.set(**{"false alarms": 0.2})
    assert explorer.est.prior is prior
    assert "Hangs on the weight of" in explorer.answer({"more": True})["panels"]["row"]


def test_what_cannot_be_is_said_and_changes_nothing():
    explorer = bsvdd.explore(X, est=BDD(**FEW))
    est = explorer.est
    for asked, words in (
        ({"own prior": "priors.Flat(sd='x')"}, "sd must be a positive"),
        ({"own prior": "Flat("}, "SyntaxError"),
        ({"prior": "Flut"}, "no prior is named 'Flut'"),
        ({"speed": 1}, "no control is named 'speed'"),
        ({"row": "none"}, "no row is named 'none'"),
        ({"x": "z"}, "no column of numbers is named 'z'"),
    ):
        assert words in explorer.answer(asked)["said"] and explorer.est is est
    with pytest.raises(TypeError, match="SVDD has not; use BSVDD"):
        bsvdd.explore(X, est=SVDD())
    linear = bsvdd.explore(X, est=BDD(kernel=kernels.Linear(), **FEW), own=False)
    said = linear.answer({"own prior": "1"})["said"]
    assert "no control is named 'own prior'" in said


def test_a_kernel_matrix_has_no_reasons():
    K = kernels.RBF(1.0)(X, X)
    explorer = bsvdd.explore(K, est=BDD(kernel=kernels.Precomputed(), **FEW))
    assert "no reasons" in explorer.answer({"more": True})["panels"]["row"]


def test_the_widget_answers():
    pytest.importorskip("anywidget")
    explorer = bsvdd.explore(X, est=BDD(**FEW))
    widget = explorer.widget
    widget.asked = {"false alarms": 0.2, "number": 1}
    assert widget.state["number"] == 1
    assert "20%" in widget.state["panels"]["verdict"]
    assert "application/vnd.jupyter.widget-view+json" in str(
        explorer._repr_mimebundle_()
    )


def test_checks_of_a_posterior():
    rows = np.random.default_rng(5).normal(size=(80, 2))
    found = facts(BSVDD().fit(rows)).posterior
    assert worst(posterior_checks(found, 80)) == "good"
    few = {"effective_support": {"posterior": 2.0}}
    for name, value, grade in (
        ("r_hat", 1.02, "fair"),
        ("r_hat", 1.2, "bad"),
        ("ess", 250.0, "fair"),
        ("ess", 90.0, "bad"),
        ("divergences", 3, "bad"),
        ("spread", 0.6, "fair"),
        ("spread", 3.0, "bad"),
        ("quantities", few, "bad"),
        ("variance_ratio", 0.95, "fair"),
        ("pull", 2.0, "fair"),
    ):
        assert worst(posterior_checks(replace(found, **{name: value}), 80)) == grade
    unknown = dict.fromkeys(["r_hat", "ess", "spread", "variance_ratio"], np.nan)
    grades = [each.grade for each in posterior_checks(replace(found, **unknown), 80)]
    assert grades.count("unknown") == 4


def test_numbers_with_a_unit_are_drawn():
    rows = FRAME.rename(index=str).assign(a=[f"{x:.2f} kg" for x in FRAME["a"]])
    for frame in (rows[["a", "b"]], rows):
        explorer = bsvdd.explore(frame, est=BDD(**FEW))
        explorer.set(x="a", y="b")
        answer = explorer.answer({"more": True})
        assert "said" not in answer and len(answer["panels"]["picture"]) > 10_000


@pytest.mark.parametrize("share", [0.2, 0.137])
def test_the_cutoff_of_labels_has_a_place_of_its_own_on_the_slider(share, monkeypatch):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(50, 2)), rng.normal(4.0, size=(30, 2))])
    explorer = bsvdd.explore(rows, np.arange(80) >= 50, est=BSVDDM(**FEW))
    monkeypatch.setattr(explorer.controls, "_share", share)
    for rate in ("cutoff", 0.2, 0.13):
        explorer.set(**{"false alarms": rate})
        slider = explorer.controls.shown(explorer.now.values)[-1]
        values, texts = slider["values"], slider["texts"]
        assert values[slider["value"]] == rate and values.count(0.2) == 1
        assert texts[values.index("cutoff")] == f"{share:.0%} *"
        numbers = [share if v == "cutoff" else v for v in values]
        assert numbers == sorted(numbers) and len(values) == len(texts)


def test_rows_of_one_name_are_told_apart_and_only_rows_are_links():
    patients = FRAME[["a", "b"]].set_axis([f"P{i // 2}" for i in range(40)])
    explorer = bsvdd.explore(patients, est=BDD(**FEW))
    assert explorer.names[:3] == ["P0 (row 0)", "P0 (row 1)", "P1 (row 2)"]
    decided = explorer.est.decision()["probability_normal"]
    for i in (4, 5):
        explorer.set(row=explorer.names[i])
        row = explorer.answer({"more": True})["panels"]["row"]
        assert f"<b>{decided.iloc[i]:.2f}</b>" in row
        links = re.findall(r'data-row="([^"]*)"', row)
        assert links and set(links) <= set(explorer.names)
    groups = np.repeat(np.arange(10), 4)
    for own in (
        {"est": BDD(**FEW), "groups": groups},
        {"est": BSVDD(**FEW, dictionary=9)},
    ):
        explorer = bsvdd.explore(X, **own)
        row = explorer.answer({"more": True})["panels"]["row"]
        assert set(re.findall(r'data-row="([^"]*)"', row)) <= set(explorer.names)
        assert " rows)" in row


@pytest.mark.parametrize(("est", "variable"), [(BDD, "weight"), (BSVDD, "log weight")])
def test_what_has_the_prior_is_said(est, variable):
    explorer = bsvdd.explore(X, est=est(**FEW))
    row = explorer.answer({"more": True})["panels"]["row"]
    assert f"if the prior mean of its {variable} rises by 1" in row
    found = bsvdd.sensitivity(explorer.est, rows=[0])
    (ax,) = bsvdd.plots.plot_sensitivity(found)
    assert f"of its {variable} is larger" in ax.get_xlabel()


def test_a_move_past_earlier_settings_loses_none():
    explorer = bsvdd.explore(X, est=BDD(**FEW))
    clock = itertools.count(0.0, 0.5)
    explorer.clock = lambda: next(clock)
    for rate in (0.11, 0.12, 0.13):
        explorer.set(**{"false alarms": rate})
    explorer.clock = lambda: 100.0
    for rate in (0.12, 0.11, 0.1, 0.09):
        explorer.set(**{"false alarms": rate})
    rates = [each.values["false alarms"] for each in explorer.settings]
    assert rates == [0.1, 0.13, 0.09]
    assert (explorer.past.number, explorer.now.number) != (explorer.now.number,) * 2
    explorer.clock = lambda: 200.0
    explorer.set(**{"false alarms": 0.2})
    explorer.set(**{"false alarms": 0.09})
    assert explorer.past is not explorer.now


def test_a_move_past_the_setting_before_began_where_it_began():
    explorer = bsvdd.explore(X, est=BDD(**FEW))
    explorer.set(**{"false alarms": 0.2})
    now = [1e9]
    explorer.clock = lambda: now[0]
    for rate in (0.05, 0.2, 0.3):
        explorer.set(**{"false alarms": rate})
        now[0] += 0.5
    assert (explorer.past.number, explorer.now.values["false alarms"]) == (2, 0.3)
    assert [each.values["false alarms"] for each in explorer.settings] == [
        0.1,
        0.2,
        0.3,
    ]
    explorer.set(**{"false alarms": 0.2})  # back where it began
    assert (explorer.past.number, explorer.now.number) == (1, 2)
    assert len(explorer.settings) == 2


def test_a_typed_prior_is_no_named_one():
    explorer = bsvdd.explore(X, est=BSVDD(**FEW))
    explorer.set(**{"own prior": "priors.EqualWeights(sd=0.2)"})
    prior = explorer.controls.shown(explorer.now.values)[0]
    assert prior["value"] == "" and prior["options"][:2] == ["", "Flat"]
    explorer.set(prior="Flat")
    prior = explorer.controls.shown(explorer.now.values)[0]
    assert prior["value"] == "Flat" and "" not in prior["options"]
    same(explorer.est, BSVDD(**FEW).fit(X))
