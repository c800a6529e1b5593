"""est.report: one HTML file with the numbers of the fit, the user's names, and no network."""

import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.report import report, words
from bsvdd.inference.threads import steps
from scipy.stats import beta

from bsvdd import BSVDD, OCSVM, SVDD, Cutoff, Landmarks, kernels, load, plots, priors

EVIL = "<script>alert(1)</script>"


class Parser(HTMLParser):
    """Tags, sources and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [v for k, v in attrs if k in ("src", "href")]

    def handle_data(self, data):
        self.text += data


def page(path):
    return Parser(path.read_text(encoding="utf-8"))


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
    path = bayes.report(tmp_path_factory.mktemp("report") / "model.html", calibration=False)
    assert plt.get_fignums() == opened
    return path


def test_the_page_needs_nothing_else_and_escapes_what_the_user_wrote(written):
    parsed = page(written)
    assert "script" not in parsed.tags and "link" not in parsed.tags
    assert parsed.sources and all(s.startswith("data:image/png;base64,") for s in parsed.sources)
    assert EVIL in parsed.text  # as text


def test_the_page_has_the_numbers_of_the_fit(bayes, written):
    text = page(written).text
    scores, minority = bayes.left_out_scores(), np.arange(30) >= 24
    alarms = int((scores < bayes.offset_)[~minority].sum())
    misses = int((scores >= bayes.offset_)[minority].sum())
    assert f"{alarms} of 24 (" in text and f"{misses} of 6 (" in text
    assert f"{bayes.cutoff_:.6g}" in text and repr(bayes.kernel_) in text
    table = bayes.summary()
    support = table.loc["effective_support"]
    assert f"{support['prior']:.3g}" in text
    assert f"{support['posterior']:.3g} [" in text
    for number in ("spread", "pull"):
        assert f"{table['posterior'][number]:{'+' if number == 'pull' else ''}.2g}" in text
    for words_ in ("What P(normal) is", "Oh", "R-hat", "SHA-256"):
        assert words_ in text


def test_rows_have_the_names_of_the_user(bayes, frame, written):
    decision = bayes.decision(frame[0])
    abnormal = decision[~decision["normal"]].sort_values("surprise", ascending=False)
    assert len(abnormal)
    text = page(written).text
    assert all(name in text for name in abnormal.index[:10])
    assert f"Row {abnormal.index[0]}: which" in text


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_the_code_of_the_page_runs_again(bayes, frame, tmp_path):
    X, y = frame
    labelled = tmp_path / "t.csv"
    X.assign(kind=np.asarray(y)).to_csv(labelled, index=False)
    landmarks = BSVDD(
        dictionary=Landmarks(5), prior=priors.Flat(sd=2.0), cutoff=Cutoff("rank", rank=3)
    )
    own = SVDD(random_state=np.random.RandomState(3))
    fits = [
        (bayes, frame),
        (landmarks.fit(X, y), frame),
        (SVDD().fit(X), (X, None)),
        (BSVDD(dictionary=8, draws=300, tune=200).fit(labelled, "kind"), (labelled, "not y")),
        (own.fit(X, y), frame),
    ]
    for est, (rows, labels) in fits:
        space = {"X": rows, "y": labels}
        exec(words.code(est), space)
        again = space["est"]
        assert again.labels_ == est.labels_
        if est is not own:  # a stream of the caller has moved on
            assert repr(again) == repr(est)
            assert again.cutoff_ == pytest.approx(est.cutoff_)


def test_training_rows_are_left_out_and_new_rows_that_equal_them_are_counted(make, frame, tmp_path):
    X, y = frame
    est = make("SVDD").fit(X, y)
    own = page(est.report(tmp_path / "own.html", calibration=False)).text
    found = est.training_decision()
    odd = found[~found["normal"]].sort_values("surprise", ascending=False)
    assert len(odd) and all(str(name) in own for name in odd.index[:10])
    assert f"{odd['p_value'].iloc[0]:.3g}" in own and "each left out" in own
    assert "equal a training row" not in own
    mixed = pd.concat([X[:7], X[:3] + 1.0])
    text = page(est.report(tmp_path / "mixed.html", mixed, calibration=False)).text
    assert "7 of these rows equal a training row in all columns" in text


def test_new_rows_with_labels_are_reported(make, frame, new_rows, tmp_path):
    est = make("SVDD").fit(*frame)
    X = pd.DataFrame(new_rows, columns=frame[0].columns, index=[f"new {i}" for i in range(15)])
    y = np.repeat([0, 1], [10, 5])
    text = page(est.report(tmp_path / "new.html", X, y, calibration=False)).text
    normal = est.decision(X)["normal"].to_numpy()
    assert re.search(rf"majority\s*{normal[:10].sum()}\s*{(~normal[:10]).sum()}", text)
    unlabelled = page(est.report(tmp_path / "x.html", X, calibration=False)).text
    assert "need labelled rows of both classes" in unlabelled


@pytest.mark.parametrize(
    ("est", "words_"),
    [
        (OCSVM(), "no centre in kernel space"),
        (SVDD(kernel=kernels.Linear()), "no bandwidth to show"),
        (BSVDD(dictionary=8), "landmarks"),
        (SVDD(kernel=kernels.Precomputed()), "by a precomputed kernel"),
    ],
    ids=["hyperplane", "linear", "landmarks", "matrix"],
)
def test_what_cannot_be_shown_is_said(est, words_, table, tmp_path):
    X = kernels.RBF(1.5)(table[0]) if "precomputed" in words_ else table[0]
    path = est.fit(X, table[1]).report(tmp_path / "model.html", calibration=False)
    assert words_ in page(path).text


def test_bad_input_is_told_apart(fitted, table, tmp_path):
    est = fitted("SVDD")
    with pytest.raises(ValueError, match="X is not given"):
        est.report(tmp_path / "a.html", y=table[1])
    with pytest.raises(FileNotFoundError, match="does not exist; make it"):
        est.report(tmp_path / "nowhere" / "a.html", calibration=False)
    assert not list(tmp_path.iterdir())


def test_the_interval_is_that_of_clopper_and_pearson():
    low, high = beta.ppf(0.025, 3, 18), beta.ppf(0.975, 4, 17)
    assert words.share(3, 20) == (
        f"3 of 20 (15.0 %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %)"
    )


def test_convergence_repeats_the_warnings_of_a_bad_fit(make, table):
    with pytest.warns(UserWarning):
        est = make("BSVDD", draws=5, tune=5).fit(*table)
    assert any("Do not trust the draws yet" in sentence for sentence in words.convergence(est))
    assert words.convergence(SVDD().fit(table[0]))[0].startswith("The model has one solution")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (
            (0.97, 0.5, 0.0),
            [
                "The posterior is its prior: ",
                "has 0.97 of",
                "0.5 times",
                "intervals are too narrow.",
            ],
        ),
        (
            (0.3, 1.0, -2.5),
            ["has 0.3 of its prior variance", "about as wide as they should be", "by -2.5 post"],
        ),
        ((np.nan, 3.0, np.nan), ["is 3 times that between samples", "intervals are too wide."]),
    ],
    ids=["prior", "calibrated", "improper"],
)
def test_what_the_posterior_is_worth_is_said(numbers, said):
    value = dict(zip(("variance_ratio", "spread", "pull"), numbers, strict=True))
    sentences = words.worth(BSVDD(), value)
    assert len(sentences) == np.isfinite(numbers).sum()
    assert all(part in " ".join(sentences) for part in said)


def test_roc_counts_pairs_and_marks_the_cutoff(fitted, table):
    est, (X, y) = fitted("SVDD"), table
    figure = plots.plot_roc(est)
    scores, minority = est.left_out_scores(), y == 1
    pairs = scores[minority][:, None] - scores[~minority]
    auc = ((pairs < 0) + 0.5 * (pairs == 0)).mean()
    roc, pr = figure.axes
    label, random_ranks = (text.get_text() for text in roc.get_legend().get_texts())
    assert label == f"SVDD: AUC {auc:.3f}" and random_ranks.endswith("0.5")
    dot = roc.lines[1]
    assert dot.get_xdata()[0] == (scores < est.offset_)[~minority].mean()
    assert dot.get_ydata()[0] == (scores < est.offset_)[minority].mean()
    assert pr.get_legend().get_texts()[1].get_text() == "base rate 0.2"
    with pytest.raises(ValueError, match="needs the labels y"):
        plots.plot_roc(est, X)
    with pytest.raises(ValueError, match="majority and minority rows, got 30 and 0"):
        plots.plot_roc(SVDD(kernel=kernels.RBF(1.5)).fit(X))
    plt.close("all")


def test_labels_of_plots_are_the_names_of_the_rows(bayes, frame, tmp_path):
    names = set(frame[0].index)
    ax = plots.plot_weights(bayes, most=4).axes[0]
    shown = [t.get_text().removeprefix("row ") for t in ax.get_xticklabels()]
    w = bayes.idata_["posterior"]["w"].values.mean(axis=(0, 1))
    assert shown == [frame[0].index[j] for j in np.sort(np.argsort(-w, kind="stable")[:4])]
    bayes.save(tmp_path / "model.nc")
    ax = plots.plot_distances(load(tmp_path / "model.nc")).axes[0]  # they survive a file
    ax.figure.canvas.draw()
    ticks = dict(zip(ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()], strict=True))
    assert {text for text in ticks.values() if text} <= names
    assert ticks[0.0] == "id 0"
    assert "row id" in plots.plot_weights_pair(bayes).axes[0].get_xlabel()
    plt.close("all")


def test_the_table_of_abnormal_rows_has_digits_to_tell_them_apart(table, tmp_path):
    """With a narrow kernel all remote rows have one distance; their surprises differ."""
    est = SVDD(kernel=kernels.RBF(0.3)).fit(*table)
    X = np.array([[9.0, 0, 0], [5.0, 0, 0], [0, 7.0, 0]])
    text = page(est.report(tmp_path / "narrow.html", X, calibration=False)).text
    for row in est.decision(X, p_value=None).itertuples():
        assert f"{row.surprise:.2f} [{row.surprise_low:.2f}, {row.surprise_high:.2f}]" in text


@pytest.mark.parametrize("simplex", [True, False])
def test_shares_of_columns_are_listed_where_there_are_any(make, table, tmp_path, simplex):
    """Weights that may be negative have none: no empty column, and no words about shares."""
    est = make("BDD", simplex=simplex, draws=1000).fit(*table)
    X = np.array([[9.0, 0.0, 0.0]])
    text = page(est.report(tmp_path / "page.html", X, calibration=False)).text
    assert ("columns, with their shares" in text) is simplex
    assert ("A share says how much" in text) is simplex
    assert ("Columns have no shares: there are no exact shares" in text) is not simplex
    assert ("which columns and which training rows" in text) is simplex
    assert "A change says where the boundary lies" in text


def test_without_a_search_for_changes_no_words_promise_one(table, tmp_path):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"]).assign(kind=["u", "v"] * 15)
    est = SVDD(kernel=kernels.Tabular(), minor_label=1).fit(frame, table[1])
    text = page(est.report(tmp_path / "page.html", calibration=False)).text
    assert "smallest change" not in text.replace("No smallest change is searched for", "")
    assert "No smallest change is searched for, because there is no step between two cat" in text
    assert "est.fit(X, y)  # y is 1 in minority rows" in text


def test_a_report_says_what_it_does(make, table, tmp_path, monkeypatch, capsys):
    est = make("SVDD").fit(*table)
    monkeypatch.setattr(report, "steps", lambda task: steps(task, every=0.0005))
    assert "fitted five times" in page(est.report(tmp_path / "page.html")).text
    said = capsys.readouterr().err
    for what in ("distances", "calibration, fit 1 of 5", "explanations"):
        assert re.search(rf"^report: {what}, \d+ s so far$", said, re.M), what
