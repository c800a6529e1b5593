"""``bsvdd study`` and ``bsvdd data``, called as a user calls them."""

import matplotlib.pyplot as plt
import pytest
from bsvdd.comparison.run import protocol, runner, studies
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.slides import Slides
from click.testing import CliRunner

from bsvdd import cutoffs
from bsvdd.cli import main
from bsvdd.cli import study as cli_study

plt.switch_backend("agg")
pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("default::bsvdd.inference.warning.DataWarning"),
]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def small(monkeypatch):
    """Small studies of models that fit in milliseconds."""
    quick = protocol.Protocol(draws=40, tune=40)
    fast = [protocol.Candidate(name, name) for name in ("SVDD", "BDD", "OCSVM", "SVM")]

    def slides(quick_, name, seed):
        scenarios = [Slides(v=v, n_train=40, n_test=60, p=5) for v in (5.0, 10.0, 20.0)]
        return runner.Study("slides", scenarios, fast[:2], quick, 2, seed)

    def plan(name, design, *_):
        every = [s for levels in design.values() for group in levels.values() for s in group]
        some = list({s.name: s for s in every}.values())[:3]
        priors = [
            protocol.Candidate(f"BDD, {label}", "BDD", {"prior": p}, choice=label)
            for label, p in protocol.PRIORS.items()
        ]
        bands = studies.bandwidth_candidates()[:4]
        return studies.Plan(
            runner.Study(name, some, fast, quick, 1),
            runner.Study(f"{name}: priors", some, priors, quick, 1),
            runner.Study(f"{name}: bandwidths", some, bands, quick, 1),
            {f: {level: m for level, m in x.items() if m[0] in some} for f, x in design.items()},
        )

    monkeypatch.setattr(studies, "slides", slides)
    monkeypatch.setattr(studies, "_plan", plan)


def test_slides_writes_and_prints_tables_and_a_second_run_computes_nothing(
    small, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    result = call("study", "slides", "--out", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    names = {p.name for p in out.iterdir()}
    assert names == {"cells", "slides_results.csv", "slides_table.csv", "slides_table.txt"}
    assert len(list((out / "cells").iterdir())) == 12
    for text in ("0.167 (0.034)", "flag all", "Bayes rule", "slides, recast", "Distance"):
        assert text in result.output
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("computed again"))
    first = (out / "slides_table.csv").read_bytes()
    assert call("study", "slides", "--out", out, "--jobs", 1).exit_code == 0
    assert (out / "slides_table.csv").read_bytes() == first


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("settings", marks=pytest.mark.long), "real"])
def test_guidelines_are_written(small, tmp_path, name):
    result = call("study", name, "--quick", "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "mean rank" in result.output and "Situation: " in result.output
    assert (tmp_path / f"{name}_priors_table.csv").exists()
    quick = [datasets.embedded(each) for each in datasets.QUICK]
    plan = studies.real(quick) if name == "real" else studies.settings(quick=True)
    read = plan.read(tmp_path)
    assert list(read) == [name, f"{name}: priors", f"{name}: bandwidths"]
    for results in read.values():
        assert len(results) and (results["error"] == "").all()


def test_failed_and_damaged_cells_are_told_and_the_rest_goes_on(small, tmp_path, monkeypatch):
    fit = protocol.Protocol.fit

    def sometimes(self, candidate, *rest):
        if candidate.name == "BDD":
            raise MemoryError("no room")
        return fit(self, candidate, *rest)

    monkeypatch.setattr(protocol.Protocol, "fit", sometimes)
    result = call("study", "slides", "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "failed: slides v=5" in result.output and "MemoryError: no room" in result.output
    assert "0 of 2" in (tmp_path / "slides_table.txt").read_text()
    damaged = min((tmp_path / "cells").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:100])
    result = call("study", "slides", "--out", tmp_path, "--jobs", 1)
    assert f"{damaged} is damaged; its cell is computed again" in result.output


@pytest.fixture
def never(monkeypatch):
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))


@pytest.mark.parametrize("how", [["settings"], ["real", "--protocol", "one-class"]])
def test_a_package_that_is_missing_is_named_before_the_first_fit(tmp_path, monkeypatch, never, how):
    monkeypatch.setattr(cli_study, "find_spec", lambda _: None)
    result = call("study", *how, "--quick", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "pip install 'bsvdd[study]'" in result.output
    assert not list(tmp_path.iterdir())


def test_the_slides_study_is_the_published_one():
    study = studies.slides()
    assert [s.v for s in study.scenarios] == [5, 10, 20]
    assert [c.name for c in study.candidates] == ["SVDD", "BDD", "BSVDD", "BSVDD-M"]
    assert len(study.cells()) == 120
    assert study.protocol.cutoff == cutoffs.Printed(cutoffs.Best("f1", max_fpr=1.0))
    assert all((s.n_train, s.n_test, s.p) == (1000, 10_000, 50) for s in study.scenarios)
    assert studies.slides(protocol="fair").protocol == protocol.FAIR
