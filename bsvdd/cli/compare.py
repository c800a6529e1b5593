"""``bsvdd compare``: models on random halves of data sets, as a table and a page."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ..comparison import report, run, scenarios
from ..estimators import messages
from . import options
from .console import print_lines, progress, table_of
from .errors import check_output_folder, plain_errors

REPLICATES, REPLICATES_OF_MANY, MANY_ROWS = 5, 2, 20_000
GAPS = "to the best: paired difference in AUC, ± half of its 95 % interval."
LEGEND = [
    "G-mean: root of (1 - FPR)(1 - FNR). FPR: majority flagged. FNR: minority missed.",
    "halves: one trains, the other tests. told apart: a 95 % interval without 0.",
]


@click.command()
@click.argument("csv", type=options.FILE, required=False)
@click.option("--label", help="Column of the classes in CSV.")
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@options.of_table
@click.option("--data", "names", multiple=True, help="Embedded data set instead; repeatable.")
@click.option("--model", "models", multiple=True, help="Model to compare; repeatable.")
@options.of_models
@click.option(
    "--published",
    is_flag=True,
    help="Each model as its source has it: prior, sampler, decision and cutoff. BSVDD and BSVDD-M "
    "take random-walk Metropolis, minutes a fit; --draws, --tune and --chains hold if given.",
)
@click.option(
    "--replicates",
    default=None,
    show_default=f"{REPLICATES}; {REPLICATES_OF_MANY} for more than {MANY_ROWS:,} rows",
    type=click.IntRange(1),
    help="Random halves, each of which trains once.",
)
@options.of_sampler
@options.seed
@options.jobs
@click.option(
    "--out",
    default="bsvdd-report",
    show_default=True,
    type=options.FOLDER,
    help="Folder of the report.",
)
def compare(
    csv: Path | None,
    label: str | None,
    minor: str | None,
    table: options.TableOptions,
    names: tuple[str, ...],
    models: tuple[str, ...],
    own: list[options.ModelOptions],
    published: bool,
    replicates: int | None,
    sampling: dict[str, Any],
    seed: int,
    jobs: int,
    out: Path,
) -> None:
    """Fit and compare the models, on CSV or on embedded real data sets.

    Models train on random halves and are measured on the other halves, by the classes of --label.

    Prints a table and writes results.csv, then a report with pictures, into --out (what is there is
    replaced). Each finished fit is stored in --out; a comparison that was stopped prints the table
    of what is done, and goes on from there with the same command.
    """
    of_csv = [f"--{name}" for name in options.given("label", "minor", *vars(table))]
    if csv is None and of_csv:
        raise click.UsageError(f"no CSV file is given, which is needed for {' and '.join(of_csv)}")
    if csv is not None and names:
        raise click.UsageError("give either CSV or --data, not both")
    if csv is not None and label is None:
        raise click.UsageError(
            f"{csv} needs --label COLUMN, the column of the classes; which rows of a table without "
            "classes are odd, bsvdd outliers says"
        )
    of_source = [options.as_option(name) for name in options.given(*vars(own[0]))]
    if published and of_source:
        raise click.UsageError(
            f"--published has each model as its source has it, without {' and '.join(of_source)}"
        )

    console, log = Console(), Console(stderr=True)
    with plain_errors(), log.status("loading"):
        import matplotlib

        matplotlib.use("agg")
        candidates = _candidates(list(models) or run.runner.DEFAULT_MODELS, own)
        layout, datasets = table.layout(label), scenarios.datasets
        if csv is None:
            data = [datasets.embedded(name) for name in names or datasets.DEFAULT]
        else:
            check_output_folder(out, csv, ("results.csv", "report.html"))
            data = [datasets.from_csv(csv, layout, minor)]
        if replicates is None:  # halves of many rows differ little, and take long
            many = max(len(each.X) for each in data) > MANY_ROWS
            replicates = REPLICATES_OF_MANY if many else REPLICATES
        protocol = run.protocol.Protocol(cutoff=own[0].cutoff(), **sampling)
        given = options.given(*sampling)
        if published:
            candidates = run.protocol.as_published(list(models) or None, given)
        study = run.runner.comparison(data, candidates, replicates, protocol, seed)
        study.check()
        study, reasons = study.without_refused(bool(models))
        store = run.store.Store(out / "cells", needed=False)  # the table is on the screen anyway
    of_columns = [] if csv is None else _columns(data[0])
    changed = _changed(study)
    notes = [f"{messages.listed(table.drop)} left out"] if table.drop else []
    notes += [f"column {table.id!r} names the rows, and is no feature"] if table.id else []
    notes = [*of_columns, *notes, *changed, *(f"not fitted: {reason}" for reason in reasons)]
    plan = [f"left out: {reason}" for reason in reasons]
    plan += [f"parameters: {text}" for text in changed]
    for line in [*of_columns, *plan, _plan(study)]:
        click.echo(line, err=True)

    def save(results: Any) -> None:
        report.table.save(out / "results.csv", run.runner.to_csv(results).encode())

    done: list[Any] = []
    total = len(study.cells())
    with plain_errors():
        try:
            with progress("compare", log) as display:
                advance = display.cells("fits", total)

                def on_cell(each: Any) -> None:
                    done.append(each.row)
                    advance(each)

                workers = run.workers.Workers(jobs)
                results = study.run(store, workers, retry=True, on_cell=on_cell)
        except (KeyboardInterrupt, ChildProcessError):  # what is done is shown, and no fit is lost
            if done:
                print_results(console, results := run.runner.frame(done), data)
                click.echo(
                    f"stopped after {len(done)} of {total} fits, which are stored in {out}; the "
                    "same command goes on from there",
                    err=True,
                )
                save(results)
            raise
        print_results(console, results, data)  # on the screen before a disk can be full
        save(results)
        pages = report.own_data
        with progress("compare", log) as display, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that only make a picture
            display.step("pictures of an example")
            pictured = run.protocol.as_published(own=given) if published else ()
            default = replace(protocol, cutoff=None)
            figures = pages.example(default, seed, pictured)
            display.step("pictures of the data")
            figures |= pages.pictures(study, results)
        page = pages.write(out, results, study, figures, published, notes)
    click.echo(f"report: {page}")
    if csv is None:
        click.echo("next, your own table: bsvdd compare TABLE.csv --label COLUMN --minor VALUE")
    else:
        best = _best(study, results)
        own_of = {"model": [best.model], "prior": [best.choice] * bool(best.choice)} if best else {}
        names_of_own = ("dictionary", "minority_prior", *sampling)
        kept = [name for name in names_of_own if best and name in best.accepts]
        kept = ["label", "minor", *vars(table), *kept, "false_alarm_rate"]
        of_fit = options.command("fit", csv, kept, **own_of)
        click.echo(f"next, for new rows: {of_fit}; bsvdd score model.safetensors NEW.csv")


def _best(study: Any, results: Any) -> run.protocol.Candidate | None:
    """Return the description with the largest AUC of which all fits are there."""
    able = (c for c in study.candidates if not c.is_yardstick and "cutoff" in c.accepts)
    models = {each.name: each for each in able}  # that bsvdd fit can save
    order = report.own_data.ordered(results[results["error"] == ""])["model"]
    return next((models[name] for name in order if name in models), None)


def _candidates(models: list[str], own: list[options.ModelOptions]) -> list[run.protocol.Candidate]:
    """Return the models, those with a prior once for each prior."""
    parameters, found = [each.for_models(models) for each in own], []
    for model in models:
        for each, of_model in zip(own, parameters, strict=True):
            text = each.prior if "prior" in of_model[model] else None
            name = f"{model}, {text}" if text and len(own) > 1 else model
            found.append(run.protocol.Candidate(name, model, of_model[model], choice=text or ""))
            if text is None:  # a model without a prior
                break
    return found


def _plan(study: Any) -> str:
    """Return what will be computed."""
    models = {cell.candidate.name for cell in study.cells()}
    sizes = ", ".join(
        f"{each.name} ({len(each.X)} rows, {each.X.shape[1]} columns, "
        f"{each.minority.sum()} minority)"
        for each in study.data
    )
    halves = f"{study.replicates} random halves each"
    return f"plan: {len(study.cells())} fits of {len(models)} models on {sizes}, {halves}"


def _columns(data: Any) -> list[str]:
    """Return which columns are categories."""
    from ..models.kernels import Tabular

    if data.categorical is None:
        return []
    named = [data.columns[i] for i in data.categorical]
    return [
        f"{messages.listed(named, 'is a category', 'are categories')}: "
        f"kernels.Tabular(rho={Tabular.rho:g}) multiplies the kernel of the other "
        f"columns by {Tabular.rho:g} for each category in which two rows differ"
    ]


def _changed(study: Any) -> list[str]:
    """Return the parameters that are not the defaults, with their models."""
    models: dict[str, list[str]] = {}
    for candidate in study.candidates:
        for name, value in candidate.parameters.items():
            models.setdefault(f"{name}={value!r}", []).append(candidate.name)
    return [f"{parameter} of {messages.quoted(names, 20)}" for parameter, names in models.items()]


def print_results(console: Console, results: Any, data: list[Any]) -> None:
    """Print a table for each data set, the best model by AUC first, and what tells it apart."""
    pages, number = report.own_data, report.table.number
    shown = {"g_mean": "G-mean", "f1": "F1", "fpr": "FPR", "fnr": "FNR", "fit_seconds": "fit, s"}
    means = report.table.moments(pages.ordered(results), {"auc": "AUC"} | shown)[0]
    for each in data:
        mine = results[results["data"] == each.name]
        if mine.empty:  # a run that was stopped
            continue
        winners, rows = pages.winners(mine), []
        others: Any = winners["AUC"].others if "AUC" in winners else None
        for model, row in means.loc[each.name].iterrows():
            gap = ""
            if others is not None and model in others.index:
                mean, high = others.loc[model, ["difference", "high"]]
                gap = f"{mean:.3f}" + (f" ± {high - mean:.3f}" if high == high else "")
            fits = mine.loc[mine["model"] == model, "error"].eq("")
            some = "" if fits.all() else f" ({fits.sum()} of {len(fits)} fits)"
            numbers = number(row["auc"]), gap, *map(number, row[list(shown)])
            rows.append([f"{model}{some}", *numbers])
        title = (
            f"{each.name}: {len(each.X)} rows, {each.X.shape[1]} columns, base rate "
            f"{each.base_rate:.3f}; positive = minority"
        )
        console.print(Text(title))
        head = ["model", "AUC", "to the best", *shown.values()]
        rules = [row[0].startswith("flag ") for row in rows]
        console.print(table_of(head, rows, rules, min_width=16))
        told = [pages.sentence(*winner) for winner in winners.items()]
        gaps = f"{GAPS} {pages.UNADJUSTED}"
        print_lines(console, [*told, gaps, *pages.same_decisions(mine), ""])
    print_lines(console, LEGEND)
