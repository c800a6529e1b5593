"""``bsvdd study``: the comparative studies; a stopped run is resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from . import options
from .errors import check_output_folder, plain_errors
from .progress import progress


@dataclass(frozen=True)
class RunOptions:
    """The options that all studies have."""

    quick: bool
    out: Path
    seed: int
    jobs: int
    backend: str
    scheduler: str | None
    retry: bool

    @property
    def workers(self) -> Any:
        """The processes that compute cells."""
        from ..comparison.run.workers import Workers

        if (self.backend == "dask") != (self.scheduler is not None):
            raise click.UsageError("--backend dask and --scheduler ADDRESS go together")
        return Workers(self.jobs, self.scheduler)


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all studies have; ``command`` gets them as one object."""
    folder = f"bsvdd-study-{command.__name__}"

    @click.option("--quick", is_flag=True, help="Fewer settings, models and replicates: minutes.")
    @click.option(
        "--out",
        default=folder,
        show_default=True,
        type=options.FOLDER,
        help="Folder of the finished cells, the tables and the page.",
    )
    @options.seed
    @options.jobs
    @click.option(
        "--backend",
        default="processes",
        type=click.Choice(["processes", "dask"]),
        show_default=True,
        help="Where cells are computed.",
    )
    @click.option("--scheduler", help="Address of the dask scheduler, for --backend dask.")
    @click.option("--retry", is_flag=True, help="Compute cells again that failed before.")
    @wraps(command)
    def with_options(**values: Any) -> None:
        shared = {f.name: values.pop(f.name) for f in fields(RunOptions)}
        command(run=RunOptions(**shared), **values)

    return with_options


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
def slides(protocol: str, run: RunOptions) -> None:
    """The published table beside ours: four models, v = 5, 10, 20, 10 pairs of sets."""
    with plain_errors():
        from ..comparison.run import studies

        chosen = studies.slides(run.quick, protocol, run.seed)
        results = _run([chosen], run)
        _draw_to_files()
        from ..comparison.report import reproduction

        page = reproduction.write(run.out, chosen, results[chosen.name])
    click.echo(f"report: {page}")


@study.command()
@with_run_options
def settings(run: RunOptions) -> None:
    """Guidelines from generated data: rows, features, imbalance, boundary, labels, tails."""
    with plain_errors():
        from ..comparison.run import studies

        _guidelines(studies.settings(run.quick, run.seed), run)


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
    run: RunOptions,
) -> None:
    """Guidelines from real data: the embedded sets, or those of a folder."""
    if data_dir is not None and names:
        raise click.UsageError("give either --data or --data-dir, not both")
    if data_dir is None and (label is not None or minor is not None):
        raise click.UsageError("--label and --minor are about --data-dir, but none is given")
    with plain_errors():
        from ..comparison.run import studies
        from ..comparison.scenarios import datasets

        if data_dir is not None:
            check_output_folder(run.out, data_dir)
            data = datasets.from_folder(data_dir, label, minor)
        else:
            chosen = names or (datasets.QUICK if run.quick else datasets.names())
            data = [datasets.embedded(name) for name in chosen]
        if protocol == "one-class":
            _one_class(studies.one_class(data, run.quick, run.seed, rows), run)
        else:
            _guidelines(studies.real(data, run.quick, run.seed, rows), run)


@study.command()
@click.option("--data", "names", multiple=True, help="Embedded set of several classes; repeatable.")
@with_run_options
def kinds(names: tuple[str, ...], run: RunOptions) -> None:
    """Kinds of abnormal rows that training has not seen, beside labelled kinds."""
    with plain_errors():
        from ..comparison.report import kinds as report
        from ..comparison.run import studies
        from ..comparison.scenarios import kinds as sets

        chosen = studies.kinds(
            [sets.embedded(n) for n in names or sets.names()], run.quick, run.seed
        )
        results = _run([chosen], run)[chosen.name]
        text = report.text(results)
        report.save(run.out, results)
        click.echo(text)
    click.echo(f"table: {chosen.file(run.out, 'table.txt')}")


def _one_class(study: Any, run: RunOptions) -> None:
    _require_ranks()
    from ..comparison.report import guidelines
    from ..comparison.report.table import model_rows

    results = _run([study], run)[study.name]
    found = guidelines.one_class(model_rows(results), study.candidates)
    click.echo(found.table.T.to_string(float_format="%.3f"))
    click.echo(f"table: {study.file(run.out, 'table.txt')}")


def _guidelines(plan: Any, run: RunOptions) -> None:
    _require_ranks()
    results = _run(plan.studies, run)
    _draw_to_files()
    from ..comparison.report import guidelines

    click.echo(f"report: {guidelines.write(run.out, plan, results)}")


def _require_ranks() -> None:
    """Raise a ValueError, before anything is computed, if ranks cannot be compared."""
    if find_spec("scikit_posthocs") is None:
        raise ValueError("guidelines need scikit-posthocs: pip install 'bsvdd[study]'")


def _draw_to_files() -> None:
    import matplotlib

    matplotlib.use("agg")


def _run(studies: list[Any], run: RunOptions) -> dict[str, Any]:
    """Run the studies with one store, show their progress, and write their tables."""
    from rich.console import Console

    from ..comparison.report import pages, table
    from ..comparison.run import runner
    from ..comparison.run.store import Store

    workers = run.workers
    for study in studies:
        study.check()
    store = Store(run.out / "cells")
    console = Console(stderr=True)

    def warn(text: str) -> None:
        console.print(text, style="yellow", soft_wrap=True, markup=False)

    for name, reason in store.foreign.items():
        warn(f"{store.folder / name} is left as it is: {reason}")
    results = {}
    with progress(console) as display:
        for study in studies:
            on_cell = display.cells(study.name, len(study.cells()))
            results[study.name] = study.run(store, workers, run.retry, on_cell)
    for study in studies:
        rows = results[study.name]
        pages.save(study.file(run.out, "results.csv"), runner.to_csv(rows).encode())
        for suffix, text in table.formats(rows).items():
            pages.save(study.file(run.out, f"table.{suffix}"), text.encode())
        for _, row in rows[rows["error"] != ""].iterrows():
            place = f"{row['data']}, {row['model']}, replicate {row['replicate']}"
            warn(f"failed: {place}: {row['error']}")
    return results
