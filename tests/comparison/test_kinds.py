"""Scenarios of labelled and unseen kinds, their metrics, and the report."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import kinds as report
from bsvdd.comparison.run import runner, studies
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.run.measures import measure_kinds, scores_of_answers
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.store import describe
from bsvdd.comparison.scenarios import datasets, kinds
from bsvdd.comparison.scenarios.kinds import Clusters, KindSet, LabelledKind
from sklearn.metrics import roc_auc_score

SET = KindSet(
    "toy",
    np.random.default_rng(0).normal(size=(100, 2)),
    np.repeat(["a", "b", "c", "d", "e"], [40, 30, 12, 15, 3]),
)


def test_the_fewest_largest_classes_with_more_than_half_of_the_rows_are_normal():
    assert SET.normal == ("a", "b")
    assert SET.kinds == ("d", "c")
    half = KindSet("half", np.zeros((20, 1)), np.repeat(["a", "b"], 10))
    assert half.normal == ("a", "b")


@pytest.mark.parametrize("name", kinds.names())
def test_embedded_sets(name):
    data = kinds.embedded(name)
    assert len(data.X) == len(data.label)
    assert np.isfinite(data.X).all()
    assert len(data.kinds) >= 2
    source = kinds.sources()[name]
    assert source.url.startswith("https://archive.ics.uci.edu/dataset/")
    assert source.origin and source.licence and source.copy and source.conversion


@pytest.mark.parametrize(
    ("name", "of", "kind"),
    [
        ("glass", "glass_headlamps", "headlamps"),
        ("ecoli", "ecoli_imU", "imU"),
        ("yeast", "yeast_ME2", "ME2"),
        ("vehicle", "vehicle_van", "van"),
        ("digits", "digits_0", "0"),
        ("landsat", "landsat_cotton71", "cotton crop"),
    ],
)
def test_classes_belong_to_the_rows_of_the_set_with_two_classes(name, of, kind):
    data, two = kinds.embedded(name), datasets.embedded(of)
    np.testing.assert_array_equal(data.X, two.X)
    np.testing.assert_array_equal(data.label == kind, two.minority)


def test_files_are_those_that_are_pinned():
    lines = (kinds.FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = dict(reversed(line.split()) for line in lines)
    assert set(sums) == {f"{name}.npz" for name in kinds.names()}
    for name, digest in sums.items():
        assert hashlib.sha256((kinds.FOLDER / name).read_bytes()).hexdigest() == digest


def test_an_unknown_set_is_named():
    with pytest.raises(ValueError, match="unknown set of several classes 'glas'.*'glass'"):
        kinds.embedded("glas")


def test_only_the_labelled_kind_is_in_training():
    pair = LabelledKind(SET, "d").pair(3)
    assert set(pair.kinds[0]) == {"", "d"}
    assert pair.train.minority.sum() == LabelledKind(SET, "d").n_minority == 4  # 35 / 10, rounded
    assert (~pair.train.minority).sum() == 35
    assert set(pair.kinds[1]) == {"", "c", "d", "e"}
    np.testing.assert_array_equal(pair.unseen, np.isin(pair.kinds[1], ["c", "e"]))
    rows = np.concatenate([pair.train.X, pair.test.X])
    assert len(np.unique(rows, axis=0)) == len(rows) == 100


def test_a_labelled_kind_is_one_of_the_set():
    with pytest.raises(ValueError, match="toy: 'a' is no kind of abnormal rows; .* 'd', 'c'"):
        LabelledKind(SET, "a")


@pytest.mark.parametrize("unseen", [0.0, 0.25, 0.5, 1.0])
def test_share_of_unseen_kinds_of_clusters(unseen):
    pair = Clusters(unseen, n_test=1000).pair(1)
    assert pair.test.minority.sum() == 100
    assert pair.unseen.sum() == 100 * unseen
    assert pair.train.minority.sum() == 30


def test_drift_moves_the_labelled_kinds_by_its_length():
    still, moved = (Clusters(0.5, drift, n_test=40_000).pair(2) for drift in (0.0, 2.0))
    np.testing.assert_array_equal(still.train.X, moved.train.X)
    for kind, length in (("kind A", 2.0), ("kind B", 2.0), ("kind C", 0.0)):
        means = [p.test.X[p.kinds[1] == kind].mean(axis=0) for p in (still, moved)]
        assert np.linalg.norm(means[1] - means[0]) == pytest.approx(length, abs=0.1)


@pytest.mark.parametrize("scenario", [Clusters(0.5), LabelledKind(SET, "c")])
def test_equal_seeds_give_equal_pairs(scenario):
    a, b, c = scenario.pair(5), scenario.pair(5), scenario.pair(6)
    np.testing.assert_array_equal(a.test.X, b.test.X)
    assert not np.array_equal(a.test.X[: len(c.test.X)], c.test.X)


@pytest.mark.parametrize("bad", [{"unseen": -0.1}, {"unseen": 0.5, "share": 0.0}])
def test_bad_clusters(bad):
    with pytest.raises(ValueError, match="Clusters: "):
        Clusters(**bad)


def test_a_cell_is_described_by_rows_and_classes():
    other = KindSet("toy", SET.X, SET.label[::-1])
    a, b = (describe(LabelledKind(each, "c")) for each in (SET, other))
    assert json.dumps(a) != json.dumps(b)


def test_metrics_of_seen_and_of_unseen_kinds_leave_the_others_out():
    minority = np.array([0, 0, 0, 1, 1, 1], dtype=bool)
    unseen = np.array([0, 0, 0, 0, 1, 1], dtype=bool)
    score = np.array([0.1, 0.4, 0.6, 0.9, 0.5, 0.0])
    found = measure_kinds(minority, unseen, score > 0.45, score)
    assert found["auc_seen"] == roc_auc_score([0, 0, 0, 1], score[:4])
    assert found["auc_unseen"] == pytest.approx(2 / 6)
    assert found["g_mean_unseen"] == pytest.approx(np.sqrt(2 / 3 * 1 / 2))


def test_scores_are_weighted_to_the_base_rate_and_the_share():
    answers = np.array([[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.4, 0.0, 0.6]])
    minority, unseen = np.arange(4) >= 2, np.arange(4) == 3
    found = scores_of_answers(answers, minority, unseen, 0.1, "x_")
    normal = -np.log([0.8, 0.5]).mean()
    expected = 0.9 * normal - 0.1 * (0.75 * np.log(0.8) + 0.25 * np.log(0.6))
    assert found["x_log_score_25"] == pytest.approx(expected)
    expected = 0.9 * np.mean([0.04, 0.25]) + 0.1 * (0.5 * 0.04 + 0.5 * 0.16)
    assert found["x_brier_50"] == pytest.approx(expected)
    expected = 0.9 * normal - 0.1 * (0.5 * np.log(0.7) + 0.5 * np.log(0.6))
    assert found["x_answers_log_score_50"] == pytest.approx(expected)


def test_scores_of_an_answer_without_rows_are_missing():
    found = scores_of_answers(
        np.eye(3)[[0, 1]], np.array([False, True]), np.zeros(2, bool), 0.1, ""
    )
    assert np.isnan(list(found.values())).all()


def test_a_cell_has_the_metrics_of_kinds():
    cell = Cell(LabelledKind(SET, "c"), Candidate("SVDD", "SVDD"), Protocol(), 0, 0)
    row = cell.run()
    assert "error" not in row
    for name in ("auc_seen", "auc_unseen", "log_score_25", "platt_brier_50", "answers_auc_seen"):
        assert isinstance(row[name], float)


def test_a_cell_of_other_scenarios_has_none():
    cell = Cell(datasets_scenario(), Candidate("SVDD", "SVDD"), Protocol(), 0, 0)
    assert not [name for name in cell.run() if "seen" in name or "log_score" in name]


def datasets_scenario():
    from bsvdd.comparison.scenarios.scenario import Real

    return Real(datasets.embedded("wine_cultivar3"))


def test_the_study_labels_kinds_in_turn():
    study = studies.kinds([kinds.embedded("thyroid")])
    study.check()
    names = [scenario.name for scenario in study.scenarios]
    assert "thyroid, hyper labelled" in names and "thyroid, hypo labelled" in names
    assert "clusters, 100% unseen" in names and "clusters, 25% unseen, drift 2" in names
    assert len(set(names)) == len(names)


def test_few_labelled_rows_are_of_the_same_kind():
    digits = kinds.embedded("digits")
    scenario = kinds.LabelledKind(digits, digits.kinds[0], labels=2)
    pair, whole = scenario.pair(3), kinds.LabelledKind(digits, digits.kinds[0]).pair(3)
    assert scenario.name == "digits, 9 labelled by 2 rows" and scenario.n_minority == 2
    assert (pair.kinds[0] == "9").sum() == 2
    assert (whole.kinds[0] == "9").sum() == 30
    normal = whole.kinds[0] == ""
    np.testing.assert_array_equal(pair.train.X[pair.kinds[0] == ""], whole.train.X[normal])
    names = [each.name for each in studies.kinds([digits]).scenarios]
    assert (
        scenario.labelled
        and "digits, 9 labelled by 2 rows" in names
        and "digits, 7 labelled by 2 rows" not in names
    )


def results():
    rng, rows = np.random.default_rng(0), []
    for model, seen, unseen in (
        ("LS-SVM", 0.95, 0.75),
        ("BSVDD", 0.85, 0.85),
        ("BSVDD-M", 0.9, 0.84),
    ):
        for data in ("a, x labelled", "a, y labelled", "b, z labelled", "clusters, 50% unseen"):
            row = {name: rng.uniform(0.1, 0.2) for name in report.SUMMARY if "mean" not in name}
            shift = 0.02 if data.startswith("a, x") else 0.0
            row |= {"auc_seen": seen + shift, "auc_unseen": unseen, "g_mean_seen": 0.8}
            row |= {"g_mean_unseen": 0.7, "data": data, "model": model, "auc": 0.8, "r_hat": 1.004}
            rows.append(row)
    return pd.DataFrame(rows)


def test_each_data_set_counts_once():
    table = report.summary(results())
    assert table.loc["LS-SVM", "auc_seen"] == pytest.approx(((0.97 + 0.95) / 2 + 0.95) / 2)
    assert table.index[0] == "BSVDD-M"


def test_labels_are_counted_on_the_same_kinds():
    rows = results()
    few = rows[rows["data"] == "a, y labelled"].assign(data="a, y labelled by 2 rows")
    few["auc_seen"] -= 0.1
    rows = pd.concat([rows, few])
    table = report.by_labelled_rows(rows)
    assert table.index.tolist() == ["2", "all"]
    assert table["LS-SVM"].tolist() == pytest.approx([0.85, 0.95])  # not "a, x", nor "b, z"
    assert report.summary(rows).equals(report.summary(results()))
    assert "by 2 rows" not in report.generated(rows).index


def test_the_best_and_the_next_model_are_named_for_each_metric():
    table = report.verdicts(results())
    assert table.loc[["AUC, seen", "AUC, unseen", "AUC, mean"], "best"].tolist() == [
        "LS-SVM",
        "BSVDD",
        "BSVDD-M",
    ]
    assert table.loc["AUC, unseen", ["value", "next", "next value"]].tolist() == [
        pytest.approx(0.85),
        "BSVDD-M",
        pytest.approx(0.84),
    ]
    assert (table.loc["Brier, 25%", "value"]) < table.loc["Brier, 25%", "next value"]


def test_files_of_the_report(tmp_path):
    report.save(tmp_path, results())
    assert pd.read_csv(tmp_path / "kinds_summary.csv").shape[0] == 3
    assert "AUC in generated data" in (tmp_path / "kinds_tables.txt").read_text(encoding="utf-8")


def test_results_without_real_data_are_refused():
    rows = results()
    with pytest.raises(ValueError, match="no real data set"):
        report.verdicts(rows[~rows["data"].str.endswith("labelled")])


DOCS = Path(__file__).parents[2] / "docs"


def test_the_guide_has_the_figures_of_the_stored_study():
    page = (DOCS / "measurements.md").read_text(encoding="utf-8")
    stored = runner.read(DOCS / "study" / "kinds_results.csv")
    for model, row in report.summary(stored).iterrows():
        shown = [f"{row[name]:.3f}".lstrip("0") for name in ("auc_seen", "auc_unseen", "auc_mean")]
        assert f"| {model} | {' | '.join(shown)} |" in page


def test_no_fit_of_the_stored_study_failed_or_disagrees():
    stored = runner.read(DOCS / "study" / "kinds_results.csv")
    assert (stored["error"] == "").all()
    default = stored[stored["model"] == "BSVDD-M"]
    assert len(default) == 132 and default["r_hat"].max() <= 1.01
    assert (stored["r_hat"] > 1.01).sum() <= 1  # of 396 fits with a posterior; the largest is 1.011
