"""est.report: one HTML file with the numbers of the fit, the user's names, and no network."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators import words
from bsvdd.estimators.fit import prior_support
from bsvdd.estimators.report import report
from bsvdd.inference.threads import steps
from bsvdd.inference.warning import DiagnosticWarning

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, Views, cutoffs, kernels, load, plots, priors
from tests.scores import scores_left_out

EVIL = "<script>alert(1)</script>"


class Parser(HTMLParser):
    """Tags, sources and texts of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.sources, self.text = [], [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [v for k, v in attrs if k in ("src", "href")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def text(tmp_path):
    """Return a function that gives the text of a fit's report."""
    return lambda est, *rows: Parser(bsvdd.report(est, tmp_path / "r.html", *rows)).text


@pytest.fixture(scope="module")
def frame(table):
    X, y = table
    names = [f"id {i}" for i in range(len(X) - 1)] + ["<i>last</i>"]
    return pd.DataFrame(X, columns=["a", EVIL, "c"], index=names), y


@pytest.fixture(scope="module")
def bayes(make, frame):
    return make("BSVDD", draws=500, tune=200).fit(*frame)


@pytest.fixture(scope="module")
def written(bayes, tmp_path_factory):
    opened = plt.get_fignums()  # by other tests of this process
    path = bsvdd.report(bayes, tmp_path_factory.mktemp("report") / "model.html")
    assert plt.get_fignums() == opened
    return Parser(path)


def test_the_page_needs_nothing_else_and_escapes_what_the_user_wrote(written):
    assert "script" not in written.tags and "link" not in written.tags
    assert written.sources and all(s.startswith("data:image/png;base64,") for s in written.sources)
    assert EVIL in written.text  # as text


def test_the_page_has_the_numbers_of_the_fit_and_the_names_of_the_user(bayes, frame, written):
    scores, minority = scores_left_out(bayes), np.arange(30) >= 24
    alarms = int((scores < bayes.offset_)[~minority].sum())
    misses = int((scores >= bayes.offset_)[minority].sum())
    prior, posterior = bayes.summary().loc["effective_support", ["prior", "posterior"]]
    worth = bayes.summary()["posterior"]
    decision = bayes.decision(frame[0])
    odd = decision[~decision["normal"]].sort_values("surprise", ascending=False).index
    assert len(odd)
    for part in (
        *(f"{alarms} of 24 (", "majority rows lie beyond it", f" {misses} of 6 ("),
        *(f"{bayes.cutoff_:.6g}", repr(bayes.kernel_)),
        *(f"{prior:.3g}", f"{posterior:.3g} [", f"{worth['spread']:.2g}", f"{worth['pull']:+.2g}"),
        *("What P(normal) is", "Oh", "R-hat", "SHA-256"),
        *(f"Row {odd[0]}: which", *odd[:10]),
    ):
        assert part in written.text


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_the_code_of_the_page_runs_again(bayes, frame, tmp_path):
    X, y = frame
    labelled = X.assign(kind=np.asarray(y))
    groups = BSVDD(dictionary=5, prior=priors.Flat(sd=2.0), cutoff=cutoffs.Rank(3))
    own = SVDD(random_state=np.random.RandomState(3))
    one_table = [BSVDD(random_state=3), Views(random_state=3), SVDD(core=0.7)]
    for est in one_table:
        est.fit_predict(X)
    fits = [
        *((est, (X, "no y")) for est in one_table),
        (bayes.with_prior(priors.Flat(sd=2.0)), frame),
        (bayes, frame),
        (groups.fit(X, y), frame),
        (SVDD().fit(X), (X, None)),
        (BSVDD(dictionary=8, draws=300, tune=200).fit(labelled, "kind"), (labelled, "not y")),
        (own.fit(X, y), frame),
    ]
    for est, (rows, labels) in fits:
        space = {"X": rows, "y": labels}
        exec(words.code(est.fit_), space)
        again = space["est"]
        assert again.labels_ == est.labels_
        assert ("random_state was no number" in words.code(est.fit_)) == (est is own)
        if est is not own:  # a stream of the caller has moved on
            assert repr(again) == repr(est) and again.cutoff_ == est.cutoff_
            np.testing.assert_array_equal(again.score_samples(X), est.score_samples(X))


def test_training_rows_are_left_out(make, frame, text):
    X, y = frame
    est = make("SVDD").fit(X, y)
    found = est.decision()
    odd = found[~found["normal"]].sort_values("surprise", ascending=False)
    own = text(est)
    assert len(odd) and all(str(name) in own for name in odd.index[:10])
    assert f"{odd['p_value'].iloc[0]:.3g}" in own and "each left out" in own


def test_new_rows_with_labels_are_reported(make, frame, new_rows, text):
    est = make("SVDD").fit(*frame)
    X = pd.DataFrame(new_rows, columns=frame[0].columns, index=[f"new {i}" for i in range(15)])
    normal = est.decision(X)["normal"].to_numpy()[:10]
    labelled = text(est, X, np.repeat([0, 1], [10, 5]))
    assert re.search(rf"majority\s*{normal.sum()}\s*{(~normal).sum()}", labelled)
    assert "need labelled rows of both classes" in text(est, X)


ODD, NO_CHANGES = [[9.0, 0.0, 0.0]], "No smallest change is searched for, because there is no step"
SHARES = ["columns, with their shares", "A share says how much", "which columns and which"]
NO_SHARES = ["Columns have no shares: there are no exact shares"]
BOUNDARY, RBF = ["A change says where the boundary lies"], kernels.RBF(1.5)
SAID = {  # the fit, new rows, and what its page has and has not
    "groups": (BSVDD(dictionary=8), None, ["groups"], []),
    "matrix": (SVDD(kernel=kernels.Precomputed()), None, ["by a precomputed kernel"], []),
    "simplex": (BDD(kernel=RBF, simplex=True), ODD, SHARES + BOUNDARY, NO_SHARES),
    "signed": (BDD(kernel=RBF, draws=1000), ODD, NO_SHARES + BOUNDARY, SHARES),
    "categories": (SVDD(minor_label=1), None, [NO_CHANGES, "# y is 1 in minority rows"], BOUNDARY),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_said_of_a_fit(case, table, text):
    """Weights that may be negative have no shares of columns: no words about them."""
    (est, new, said, unsaid), (X, y) = SAID[case], table
    if case == "categories":
        X = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=["u", "v"] * 15)
    page = text(est.fit(RBF(X) if case == "matrix" else X, y), *([] if new is None else [new]))
    assert all(each in page for each in said) and not any(each in page for each in unsaid)
    promised = "smallest change" in page.replace("No smallest change is searched for", "")
    assert case != "categories" or not promised


def test_bad_input_is_told_apart(fitted, table, tmp_path):
    est = fitted("SVDD")
    with pytest.raises(ValueError, match="X is not given"):
        bsvdd.report(est, tmp_path / "a.html", y=table[1])
    with pytest.raises(FileNotFoundError, match="does not exist; make it"):
        bsvdd.report(est, tmp_path / "nowhere" / "a.html")
    assert not list(tmp_path.iterdir())


def test_convergence_repeats_the_warnings_of_a_bad_fit(make, table):
    with pytest.warns(UserWarning):
        est = make("BSVDD", draws=5, tune=5).fit(*table)
    assert any("Do not trust the draws yet" in sentence for sentence in words.convergence(est.fit_))
    assert words.convergence(SVDD().fit(table[0]).fit_)[0].startswith("The model has one solution")


PRIOR = ["The posterior is its prior: ", "has 0.97 of", "0.5 times", "intervals are too narrow."]
CALIBRATED = ["has 0.3 of its prior variance", "about as wide as they should be", "by -2.5 post"]
IMPROPER = ["is 3 times that between samples", "intervals are too wide."]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0.97, 0.5, 0.0), PRIOR),
        ((0.3, 1.0, -2.5), CALIBRATED),
        ((np.nan, 3.0, np.nan), IMPROPER),
    ],
    ids=["prior", "calibrated", "improper"],
)
def test_what_the_posterior_is_worth_is_said(bayes, numbers, said):
    value = dict(zip(("variance_ratio", "spread", "pull"), numbers, strict=True))
    support = {"effective_support": 1.04 * prior_support(bayes.fit_)}
    sentences = words.worth(replace(bayes.fit_, diagnostics=support), value)
    assert len(sentences) == np.isfinite(numbers).sum()
    assert all(part in " ".join(sentences) for part in said)


@pytest.mark.parametrize(("count", "n"), [(2, 12), (0, 5), (5, 5), (60, 300)])
def test_the_interval_of_a_share_is_that_of_jeffreys(count, n):
    """By quadrature of x^(count - 1/2) (1 - x)^(n - count - 1/2), in x = sin(t)^2."""
    t = (np.arange(200_000) + 0.5) / 200_000 * np.pi / 2
    density = np.sin(t) ** (2 * count) * np.cos(t) ** (2 * (n - count))
    x = np.sin(t[np.searchsorted(np.cumsum(density) / density.sum(), [0.05, 0.95])]) ** 2
    low, high = words.jeffreys(count, n)
    assert low == pytest.approx(x[0] if count else 0.0, abs=1e-4)
    assert high == pytest.approx(x[1] if count < n else 1.0, abs=1e-4)


def test_what_the_limit_of_false_alarms_changed_is_said():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(211, 2)), np.repeat([0, 1], [199, 12])
    rows[y == 1] = 1.2 + 0.7 * rows[y == 1]
    est = BDD(kernel=kernels.RBF(0.6)).fit(rows, y)
    alone = est.with_cutoff(cutoffs.Best("g_mean", max_fpr=None))
    assert (scores_left_out(alone)[y == 0] < 0).mean() > 0.25
    left_out = est.fit_.chosen.left_out  # the rule itself, on these values
    assert (left_out[y == 0] < 0).mean() <= 0.2
    rate = (left_out[y == 0] < cutoffs.Best("g_mean", max_fpr=None)(left_out, y == 1)).mean()
    said = f"The G-mean alone would flag {rate:.2f} of the majority rows, more than"
    assert said in " ".join(words.cutoff(est.fit_)) and "alone" not in str(alone)
    rows[y == 1] = 0.1 * rng.normal(size=(12, 2))
    with pytest.warns(DiagnosticWarning, match="no minority row is among the oddest majority r"):
        inside = BDD(kernel=kernels.RBF(0.6)).fit(rows, y)
    rate = inside.with_cutoff(cutoffs.FalseAlarm(0.1))
    assert inside.cutoff_ == pytest.approx(rate.cutoff_, rel=1e-3)
    assert (scores_left_out(inside)[y == 0] < 0).sum() == (scores_left_out(rate)[y == 0] < 0).sum()
    text = " ".join(words.cutoff(inside.fit_))
    assert "No minority row is among" in text and "alone would" not in text


def test_roc_counts_pairs_and_marks_the_cutoff(fitted, table):
    est, (X, y) = fitted("SVDD"), table
    scores, minority = scores_left_out(est), y == 1
    pairs = scores[minority][:, None] - scores[~minority]
    auc = ((pairs < 0) + 0.5 * (pairs == 0)).mean()
    roc, pr = plots.plot_roc(est).axes
    label, random_ranks = (text.get_text() for text in roc.get_legend().get_texts())
    assert label == f"SVDD: AUC {auc:.3f}" and random_ranks.endswith("0.5")
    ((x, y_),) = roc.lines[1].get_xydata()
    below = scores < est.offset_
    assert (x, y_) == (below[~minority].mean(), below[minority].mean())
    assert pr.get_legend().get_texts()[1].get_text() == "base rate 0.2"
    with pytest.raises(ValueError, match="needs the labels y"):
        plots.plot_roc(est, X)
    with pytest.raises(ValueError, match="majority and minority rows, got 30 and 0"):
        plots.plot_roc(SVDD(kernel=kernels.RBF(1.5)).fit(X))


def test_labels_of_plots_are_the_names_of_the_rows(bayes, frame, tmp_path):
    names = frame[0].index
    ax = plots.plot_weights(bayes, most=4).axes[0]
    shown = [t.get_text().removeprefix("row ") for t in ax.get_xticklabels()]
    w = bayes.idata_["posterior"]["w"].values.mean(axis=(0, 1))
    assert shown == [names[j] for j in np.sort(np.argsort(-w, kind="stable")[:4])]
    bayes.save(tmp_path / "model.nc")
    ax = plots.plot_distances(load(tmp_path / "model.nc")).axes[0]  # they survive a file
    ax.figure.canvas.draw()
    ticks = dict(zip(ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()], strict=True))
    assert {text for text in ticks.values() if text} <= set(names)
    assert ticks[0.0] == "id 0"


def test_the_table_of_abnormal_rows_has_digits_to_tell_them_apart(table, text):
    """With a narrow kernel all remote rows have one distance; their surprises differ."""
    est = SVDD(kernel=kernels.RBF(0.3)).fit(*table)
    X = np.array([[9.0, 0, 0], [5.0, 0, 0], [0, 7.0, 0]])
    page = text(est, X)
    for row in est.decision(X).itertuples():
        assert f"{row.surprise:.2f} [{row.surprise_low:.2f}, {row.surprise_high:.2f}]" in page


def test_a_report_says_what_it_does(fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "steps", lambda task: steps(task, every=0.0005))
    bsvdd.report(fitted("SVDD"), tmp_path / "page.html")
    said = capsys.readouterr().err
    for what in ("distances", "explanations"):
        assert re.search(rf"^report: {what}, \d+ s so far$", said, re.M), what
