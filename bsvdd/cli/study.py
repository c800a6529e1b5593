"""``bsvdd study``: the comparative studies; a stopped run is resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..comparison import report, run, scenarios
from . import options
from .console import progress
from .errors import check_output_folder, plain_errors


@dataclass(frozen=True)
class Run:
    """The options that all studies have."""

    quick: bool
    out: Path
    seed: int
    jobs: int
    backend: str
    scheduler: str | None
    retry: bool

    def results(self, studies: list[Any]) -> dict[str, Any]:
        """Run the studies with one store, show their progress, and write their tables."""
        if (self.backend == "dask") != (self.scheduler is not None):
            raise click.UsageError("--backend dask and --scheduler ADDRESS go together")
        workers = run.workers.Workers(self.jobs, self.scheduler)
        for study in studies:
            study.check()
        store = run.store.Store(self.out / "cells")
        console = Console(stderr=True)

        def warn(text: str) -> None:
            console.print(text, style="yellow", soft_wrap=True, markup=False)

        results = {}
        with progress("study", console) as display:
            for study in studies:
                on_cell = display.cells(study.name, len(study.cells()))
                results[study.name] = study.run(store, workers, self.retry, on_cell)
        for study in studies:
            rows, save = results[study.name], report.table.save
            save(study.file(self.out, "results.csv"), run.runner.to_csv(rows).encode())
            for suffix, text in report.table.formats(rows).items():
                save(study.file(self.out, f"table.{suffix}"), text.encode())
            for _, row in rows[rows["error"] != ""].iterrows():
                place = f"{row['data']}, {row['model']}, replicate {row['replicate']}"
                warn(f"failed: {place}: {row['error']}")
        return results


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all studies have; ``command`` gets them as ``own``."""
    shared = {
        "quick": click.option(
            "--quick", is_flag=True, help="Fewer settings, models and replicates: minutes."
        ),
        "out": click.option(
            "--out",
            default=f"bsvdd-study-{command.__name__}",
            show_default=True,
            type=options.FOLDER,
            help="Folder of the finished cells and the tables.",
        ),
        "seed": options.seed,
        "jobs": options.jobs,
        "backend": click.option(
            "--backend",
            default="processes",
            type=click.Choice(["processes", "dask"]),
            show_default=True,
            help="Where cells are computed.",
        ),
        "scheduler": click.option(
            "--scheduler", help="Address of the dask scheduler, for --backend dask."
        ),
        "retry": click.option(
            "--retry", is_flag=True, help="Compute cells again that failed before."
        ),
    }
    return options.grouped("own", Run, shared)(command)


@click.group()
def study() -> None:
    """Run a comparative study.

    Each finished cell is stored in --out; a run that was stopped goes on from there, with the
    same command.
    """


@study.command()
@click.option(
    "--protocol",
    default="published",
    show_default=True,
    type=click.Choice(["published", "fair"]),
    help="The published priors with F1 by 5 folds (our choice), or one fair protocol for all.",
)
@with_run_options
def slides(protocol: str, own: Run) -> None:
    """The published table beside ours: four models, v = 5, 10, 20, 10 pairs of sets."""
    with plain_errors():
        chosen = run.studies.slides(own.quick, protocol, own.seed)
        results = own.results([chosen])
        pages = report.reproduction
        found = pages.tables(*pages.by_v(chosen, results[chosen.name]), pages.best_f1(chosen))
        click.echo(report.guidelines.text(found))
    click.echo(f"table: {chosen.file(own.out, 'table.txt')}")


@study.command()
@with_run_options
def settings(own: Run) -> None:
    """Guidelines from generated data: rows, features, imbalance, boundary, labels, tails."""
    with plain_errors():
        _guidelines(run.studies.settings(own.quick, own.seed), own)


@study.command()
@click.option(
    "--data", "names", multiple=True, help="Embedded data set; repeatable [default: all]."
)
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of .npz (X, y) and .csv files instead.",
)
@click.option("--label", help="Column of the classes in the .csv files.")
@click.option("--minor", help="Value of the minority (1 in 0/1, -1 in -1/+1).")
@click.option(
    "--rows",
    default=1000,
    show_default=True,
    type=click.IntRange(4),
    help="Training rows at most: of a larger half so many are drawn.",
)
@click.option(
    "--protocol",
    default="fair",
    show_default=True,
    type=click.Choice(["fair", "one-class"]),
    help="All models on halves of both classes, or one-class models and yardsticks on normal rows.",
)
@with_run_options
def real(
    names: tuple[str, ...],
    data_dir: Path | None,
    label: str | None,
    minor: str | None,
    rows: int,
    protocol: str,
    own: Run,
) -> None:
    """Guidelines from real data: the embedded sets, or those of a folder."""
    if data_dir is not None and names:
        raise click.UsageError("give either --data or --data-dir, not both")
    if data_dir is None and (label is not None or minor is not None):
        raise click.UsageError("--label and --minor are about --data-dir, but none is given")
    with plain_errors():
        datasets = scenarios.datasets
        if data_dir is not None:
            check_output_folder(own.out, data_dir)
            data = datasets.from_folder(data_dir, label, minor)
        else:
            chosen = names or (datasets.QUICK if own.quick else datasets.names())
            data = [datasets.embedded(name) for name in chosen]
        if protocol == "one-class":
            _require_ranks()
            study = run.studies.one_class(data, own.quick, own.seed, rows)
            results = own.results([study])[study.name]
            found = report.guidelines.one_class(report.table.model_rows(results), study.candidates)
            click.echo(found.T.to_string(float_format="%.3f"))
            click.echo(f"table: {study.file(own.out, 'table.txt')}")
        else:
            _guidelines(run.studies.real(data, own.quick, own.seed, rows), own)


def _guidelines(plan: Any, own: Run) -> None:
    _require_ranks()
    results = own.results(plan.studies)
    click.echo(report.guidelines.text(report.guidelines.sections(plan, results)))
    click.echo(f"table: {plan.main.file(own.out, 'table.txt')}")


def _require_ranks() -> None:
    """Raise a ValueError, before anything is computed, if ranks cannot be compared."""
    if find_spec("scikit_posthocs") is None:
        raise ValueError("guidelines need scikit-posthocs: pip install 'bsvdd[study]'")
