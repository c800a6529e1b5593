"""``bsvdd study``: the comparative studies, resumed where they stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show what is wrong with the input as one line, without a traceback."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        raise click.ClickException(str(error)) from error


def jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    """Refuse numbers of processes that are none."""
    if value != -1 and value < 1:
        raise click.BadParameter(f"expected at least 1, or -1 for all processors; got {value}")
    return value


@dataclass(frozen=True)
class Options:
    """What all studies are told."""

    quick: bool
    out: Path
    seed: int
    jobs: int
    backend: str
    scheduler: str | None
    retry: bool

    @property
    def workers(self) -> Any:
        """Where cells are computed."""
        from bsvdd.comparison.workers import Workers

        if (self.backend == "dask") != (self.scheduler is not None):
            raise click.UsageError("--backend dask and --scheduler ADDRESS go together")
        return Workers(self.jobs, self.scheduler)


def common(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all studies have, and give them to ``command`` as one object."""
    folder = f"bsvdd-study-{command.__name__}"

    @click.option("--quick", is_flag=True, help="Fewer settings, models and replicates: minutes.")
    @click.option(
        "--out",
        default=folder,
        show_default=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of the finished cells, the tables and the page.",
    )
    @click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
    @click.option(
        "--jobs",
        default=-1,
        show_default=True,
        type=int,
        callback=jobs,
        help="Worker processes; -1 is one for each processor.",
    )
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
    def with_options(**given: Any) -> None:
        shared = {each.name: given.pop(each.name) for each in fields(Options)}
        command(options=Options(**shared), **given)

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
    help="F1 and the published priors, or one fair protocol for all models.",
)
@common
def slides(protocol: str, options: Options) -> None:
    """The published table beside ours: four models, v = 5, 10, 20, 10 pairs of sets."""
    with plain_errors():
        from bsvdd.comparison import reproduction, studies

        chosen = studies.slides(options.quick, protocol, options.seed)
        results = _run([chosen], options)
        _plots()
        page = reproduction.write(options.out, chosen, results[chosen.name])
    click.echo(f"report: {page}")


@study.command()
@common
def settings(options: Options) -> None:
    """Guidelines from generated data: rows, features, imbalance, boundary, labels, tails."""
    with plain_errors():
        from bsvdd.comparison import studies

        _guidelines(studies.settings(options.quick, options.seed), options)


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
@common
def real(
    names: tuple[str, ...],
    data_dir: Path | None,
    label: str | None,
    minor: str | None,
    rows: int,
    options: Options,
) -> None:
    """Guidelines from real data: the embedded sets, or those of a folder."""
    if data_dir is not None and names:
        raise click.UsageError("give either --data or --data-dir, not both")
    if data_dir is None and (label is not None or minor is not None):
        raise click.UsageError("--label and --minor are about --data-dir, but none is given")
    with plain_errors():
        from bsvdd.comparison import datasets, studies

        if data_dir is not None:
            data = datasets.from_folder(data_dir, label, minor)
        else:
            chosen = names or (datasets.QUICK if options.quick else datasets.names())
            data = [datasets.embedded(name) for name in chosen]
        _guidelines(studies.real(data, options.quick, options.seed, rows), options)


def _guidelines(plan: Any, options: Options) -> None:
    if find_spec("scikit_posthocs") is None:
        raise ValueError("guidelines need scikit-posthocs: pip install 'bsvdd[study]'")
    results = _run(plan.studies, options)
    _plots()
    from bsvdd.comparison import advice

    click.echo(f"report: {advice.write(options.out, plan, results)}")


def _plots() -> None:
    import matplotlib

    matplotlib.use("agg")


def _run(studies: list[Any], options: Options) -> dict[str, Any]:
    """Run the studies with one store, show how far they are, and write their tables."""
    from rich.console import Console

    from bsvdd.comparison import pages, table
    from bsvdd.comparison.store import Store

    out, workers = options.out, options.workers
    for each in studies:
        each.check()
    store = Store(out / "cells")
    console = Console(stderr=True)
    for name, why in store.foreign.items():
        console.print(
            f"{store.folder / name} is left as it is: {why}",
            style="yellow",
            soft_wrap=True,
            markup=False,
        )
    results = {}
    with progress(console) as bar:
        for each in studies:
            told = follow(bar, each.name, len(each.cells()))
            results[each.name] = each.run(store, workers, options.retry, told)
    for each in studies:
        found = results[each.name]
        pages.save(each.file(out, "results.csv"), found.to_csv(index=False).encode())
        for suffix, text in table.formats(found).items():
            pages.save(each.file(out, f"table.{suffix}"), text.encode())
        for _, cell in found[found["error"] != ""].iterrows():
            console.print(
                f"failed: {cell['data']}, {cell['model']}, replicate {cell['replicate']}: "
                f"{cell['error']}",
                style="yellow",
                soft_wrap=True,
                markup=False,
            )
    return results


def progress(console: Any) -> Any:
    """Return a progress bar with what is done, what failed, and the time that is left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def follow(bar: Any, name: str, total: int) -> Callable[[Any], None]:
    """Add a task to ``bar``; return what moves it on with each finished cell."""
    task = bar.add_task(name, total=total, failed=0)

    def done(now: Any) -> None:
        bar.update(
            task,
            completed=now.done,
            failed=now.failed,
            description=f"{name}: {now.cell.setting.name}, {now.cell.candidate.name}",
        )

    return done
