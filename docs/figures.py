"""Figures in pages, from the stored tables: ``uv run python -m docs figures`` writes them anew.

They stand between ``<!-- figures: NAME -->`` and ``<!-- end -->``; a test compares them with the
stored tables.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from bsvdd.comparison import models, studies
from bsvdd.comparison import table as tables
from bsvdd.estimators.atomic import atomic

from benchmarks import shared

FOLDER = Path(__file__).parent
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SETS = ("embedded", "development")
BASE = "300 rows, 50 features, v = 0, share .12"  # of the study of generated data
RATES = ("0.01", "0.001", "0.0001")


def write() -> None:
    """Write the figures of all pages anew."""
    for path in FOLDER.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if (new := rewritten(text)) != text:
            with atomic(path) as temporary:
                temporary.write_text(new, encoding="utf-8")


def size() -> str:
    """Return the AUC of fits to all rows that a set has, and their seconds."""
    file = stored("size")["sets"]["development"]
    named = ["BSVDD", "density of all rows", "5 neighbours", "one-class SVM"]
    digits = dict.fromkeys(named, 3) | {"points": 0, "seconds": 1, "spread": 2}
    return table(
        f"training rows, at most | {' | '.join(digits)}",
        (
            [f"{n:,}", *(number(file[name][i], d) for name, d in digits.items())]
            for i, n in enumerate(file["size"])
        ),
    )


def store(study: str, folder: Path) -> None:
    """Store the results of a study, and when they were found."""
    with atomic(FOLDER / "study" / f"{study}_results.csv") as temporary:
        temporary.write_bytes((folder / "results.csv").read_bytes())
    shared.record(f"study/{study}_results.csv", "all", f"bsvdd study {study}")


def gaps() -> str:
    """Return what hidden cells cost."""
    pairs = ["auc", "flagged", "probability"]
    columns = [name for pair in pairs for name in (pair, f"complete_{pair}")]
    return table(
        "cells hidden | AUC | complete | flagged | complete | P(normal) | complete | hold",
        (
            [f"{row['share']:.0%} {row['way']}", *(number(row[c], 3) for c in [*columns, "held"])]
            for row in stored("gaps")
        ),
    )


def evidence() -> str:
    """Return by which commands, at which commits and when the stored results were found."""
    found = pd.read_csv(FOLDER / "evidence.csv", dtype=str)
    parts = found.groupby(["file", "command", "commit", "date"], sort=False)["part"].agg(", ".join)
    columns = ["file", "part", "command", "commit", "date"]
    return table(
        "results | parts | command | commit | date",
        (
            [f"`{f}`", part, f"`{run}`", *when]
            for f, part, run, *when in parts.reset_index()[columns].itertuples(index=False)
        ),
    )


def rewritten(text: str) -> str:
    """Return a page with its figures as they are stored."""
    return BLOCK.sub(lambda found: f"{found[1]}{FIGURES[found[2]]()}\n{found[3]}", text)


def stored(name: str) -> Any:
    """Return what is in a stored file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def number(value: float | None, digits: int = 2) -> str:
    """Return a number without the zero before the point; a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if 0 <= value < 0.9999 and digits else text


def table(columns: str, rows: Iterable[Iterable[Any]]) -> str:
    """Return a table; ``columns`` are separated by bars."""
    head = [f"| {columns} |", "|" + "---|" * (columns.count("|") + 1)]
    return "\n".join(head + [f"| {' | '.join(map(str, row))} |" for row in rows])


def results(study: str) -> dict[str, pd.DataFrame]:
    """Return the results of a study: of all models, and of those that need no labels."""
    rows = pd.read_csv(FOLDER / "study" / f"{study}_results.csv")
    without = rows[~rows["model"].map(models.needs_labels)]
    return {"all models": rows, "without labels": without}


def ranks() -> str:
    """Return who is first in both studies, with the p-values."""
    lines = []
    for study in ("settings", "real"):
        for group, rows in results(study).items():
            for metric in ("g_mean", "auc"):
                values = tables.values_of(rows, metric)
                found, p = tables.ranks(values), tables.friedman(values)
                same = tables.not_told_apart(found)
                told = "all others" if len(same) == len(found) - 1 else "; ".join(same) or "none"
                rank = f"{found['mean rank'].iloc[0]:.1f} of {len(found)}"
                title = f"{study}, {group}, {tables.METRICS[metric]}"
                p_value = "< .001" if p < 0.001 else number(p, 3)
                lines.append([title, found.index[0], rank, p_value, told])
    return table(
        "models, metric | first | mean rank | p (Friedman) | not told apart from it", lines
    )


def when() -> str:
    """Return which model is best in each situation of both studies, by G-mean."""
    lines = []
    for study, run in {"settings": studies.settings(), "real": studies.real()}.items():
        once: dict[tuple[str, ...], tuple[str, str]] = {}
        for at, names in studies.levels(run).items():
            once[tuple(names)] = ("base", BASE) if tuple(names) in once else at
        levels = {at: list(names) for names, at in once.items()}
        of = [tables.situations(rows, levels, "g_mean") for rows in results(study).values()]
        for situation in of[0].index:
            cells = []
            for found in of:
                best, mean, same = found.loc[situation]
                told = "" if same.startswith("too few") else f"; {shortened(same)}"
                cells += [f"{best}{told}", number(mean, 2)]
            lines.append([f"{study}, {': '.join(situation)}", *cells])
    return table(
        "situation | best of all; not told apart | G-mean | best without labels; not told apart | "
        "G-mean",
        lines,
    )


def shortened(names: str) -> str:
    """Return up to three names, or how many they are."""
    n = len(names.split(", ")) if names else 0
    return "alone" if not n else names if n <= 3 else f"{n} others"


def means() -> str:
    """Return the mean G-mean, AUC and average precision of each model in both studies."""
    metrics = ["g_mean", "auc", "average_precision"]
    of = {
        study: pd.concat(
            {
                m: tables.values_of(results(study)["all models"], m).mean(skipna=False)
                for m in metrics
            },
            axis=1,
        )
        for study in ("settings", "real")
    }
    mean = pd.concat(of, axis=1).sort_values(("real", "g_mean"), ascending=False)
    rows = ([model, *(number(v, 3) for v in row)] for model, row in mean.iterrows())
    return table("model | settings: G-mean | AUC | AP | real: G-mean | AUC | AP", rows)


def modes() -> str:
    """Return BSVDD-M under its default and the published priors, on three sets."""
    found = {(r["data set"], r["bandwidth"], r["priors"]): r for r in stored("modes")["rows"]}

    def cell(row: dict[str, Any]) -> str:
        return f"{number(sum(row['auc']) / 2, 3)}, {row['r_hat']:.3f}, {row['ess']:.0f}"

    def lines() -> Iterator[list[str]]:
        for name in ("ecoli_imU", "abalone_9v18", "vehicle_van"):
            default, published = (found[name, "scale", p] for p in ("default", "published"))
            yield [f"{name}, {default['n0']} and {default['n1']}", cell(default), cell(published)]

    return table("data set, rows | default priors: AUC, R-hat, ESS | published priors", lines())


def detection() -> str:
    """Return the defaults beside simple methods, one class."""
    file = stored("detection")
    shown = [f"{sets} {m}" for sets in SETS for m in ("auc", "ap", "found", "false_alarms")]
    columns = " | ".join(f"{sets}: AUC | AP | found | false alarms" for sets in SETS)
    return table(
        f"model | {columns}",
        (
            [name, *(number(row[file["columns"].index(each)], 3) for each in shown)]
            for name, row in file["rows"].items()
        ),
    )


def posterior() -> str:
    """Return what posteriors say of populations that are known."""
    pooled = stored("posterior")["pooled"]
    lines = {
        "posterior / prior variance of s_z, median": ("learnt", 2),
        "posterior sd / sd of samples, median": ("spread", 2),
        "90 % intervals that contain the population's s_z": ("covered", 2),
        "the same, rows chosen by a small estimate": ("covered_estimated", 2),
        "90 % intervals of the surprise that contain the population's": ("covered_surprise", 2),
        "Brier score of P(normal)": ("brier", 4),
        "area under the risk-coverage curve, P / margin of the score": ("aurc_ratio", 2),
    }
    return table(
        " | ".join(["", *(f"`{name}`" for name in pooled)]),
        ([title, *(number(pooled[m][k], d) for m in pooled)] for title, (k, d) in lines.items()),
    )


def coverage() -> str:
    """Return how often intervals contain the truth, in a sentence."""
    found = stored("posterior")["pooled"]["BSVDD"]
    return (
        "On twelve known populations, 90 % intervals of $s_z$ near the cutoff contain the\n"
        f"population's value in {number(found['covered'])} of the cases (`BSVDD()`), and in "
        f"{number(found['covered_estimated'])} if rows are chosen\nby a small estimate. "
        "Intervals of the surprise contain the population's in "
        f"{number(found['covered_surprise'])}."
    )


def false_alarms() -> str:
    """Return realised false alarms for .10 asked, on real and generated rows."""
    file = stored("guarantee")
    real, made = pd.DataFrame(file["real"]), pd.DataFrame(file["generated"])
    real["within"] = real["false_alarms"].between(real["low"], real["high"])
    of_real = real.groupby("model")[["false_alarms", "within"]].mean()
    made["rate"] = made["mean"].str[-1]
    worst = made[(made["model"] == "BSVDD") & (made["kind"] == "t3") & (made["p"] == 50)]
    made = pd.concat([made, worst.assign(model="BSVDD, t, 50 columns")])
    by_n = made.pivot_table("rate", "model", "n", sort=False).sort_index(axis=1).join(of_real)
    sizes = " | ".join(f"generated, n = {n}" for n in sorted(made["n"].unique()))
    return table(
        f"model | {sizes} | real sets | sets within their 95 % band",
        (
            [model, *(number(rate, 3) for rate in rates), number(within, 2)]
            for model, *rates, within in by_n.itertuples()
        ),
    )


def discoveries() -> str:
    """Return false discovery rates and power."""
    rows = stored("guarantee")["discoveries"]
    sizes = list(dict.fromkeys((r["n"], r["p"]) for r in rows))
    found = {(r["name"], r["n"], r["p"]): f"{number(r['fdp'])}, {number(r['power'])}" for r in rows}
    return table(
        " | ".join(["method: FDR, power", *(f"n = {n}, {p} columns" for n, p in sizes)]),
        (
            [name, *(found.get((name, n, p), "–") for n, p in sizes)]
            for name in dict.fromkeys(r["name"] for r in rows)
        ),
    )


def labels() -> str:
    """Return what a dozen labels are good for, with the limit of false alarms and without."""
    file = stored("labels")
    return table(
        "best G-mean | G-mean | false alarms | more than .25 flagged | P(normal) in five bins | of "
        "these within the cutoff",
        (
            [
                limit,
                number(file[limit]["g_mean"]),
                number(file[limit]["false_alarms"]),
                number(file[limit]["above"]),
                by_bins(file[limit]["p"]),
                by_bins(file[limit]["inside"]),
            ]
            for limit in ("at most .2", "no limit")
        ),
    )


def rows_needed() -> str:
    """Return what a sample of n rows is good for."""
    return table(
        "training rows | width of the interval | false alarms, .10 asked | shifted rows found",
        (
            [
                f"{r['n']:,}",
                number(r["width"], 1),
                f"{number(r['false_alarms'])} ± {number(r['false_alarms_sd'])}",
                number(r["found"]),
            ]
            for r in stored("guarantee")["needed"]
        ),
    )


def planted() -> str:
    """Return which columns of planted rows are named."""
    file = stored("planted")
    sides = file["kinds"], file["kinds in e93990da"]
    return table(
        "planted | right column first, before | all right columns named, before",
        (
            [
                kind,
                *(
                    ", ".join(number(of[kind][what], 2) for of in sides)
                    for what in ("first", "all")
                ),
            ]
            for kind in file["kinds"]
        ),
    )


def relations() -> str:
    """Return which broken rows of a relation are found, and what else is."""
    digits = {"first": 2, "least": 1, "others": 1, "above": 0, "seconds": 1}
    return table(
        f"table | {' | '.join(digits)}",
        (
            [row["kind"], *(number(row[name], d) for name, d in digits.items())]
            for row in stored("relations")
        ),
    )


def views() -> str:
    """Return `Views()` beside BSVDD alone."""
    file = stored("views")["sets"]

    def lines() -> Iterator[list[str]]:
        for sets in SETS:
            of = file[f"{sets}, BSVDD"]
            for metric in ("auc", "ap", "found", "false_alarms"):
                values = [number(of[who][metric], 3) for who in ("alone", "views")]
                yield [f"{of['sets']} {sets} sets: {metric.replace('_', ' ')}", *values]

    return table("mean | BSVDD alone | `Views()`", lines())


def odd_rankings() -> str:
    """Return how rankings of one table with odd rows inside find them."""
    file = stored("one_table")
    sets, alike = file["sets"], file["alike"]["means"]
    return table(
        "ranking | AUC, AP: 13 embedded sets | AUC, AP: 90 development sets | alike odd rows first",
        (
            [
                name,
                *(
                    ", ".join(number(sets[which][name][metric], 3) for metric in ("auc", "ap"))
                    for which in SETS
                ),
                number(alike[name]),
            ]
            for name in alike
        ),
    )


def odd_rows() -> str:
    """Return how the list of odd rows keeps its promises on generated tables."""
    file = stored("one_table")
    lists, rates = file["lists"], file["new_rows"]

    def by(values: dict[str, float]) -> str:
        return ", ".join(f"{name} {number(value)}" for name, value in values.items())

    return table(
        "what | measured",
        [
            ("share of false rows in a list, .10 asked", number(lists["fdp"], 3)),
            ("the same by the kind of normal rows", by(lists["fdp_of_kind"])),
            ("share of the odd rows that are listed", number(lists["power"])),
            ("the same by the kind of normal rows", by(lists["power_of_kind"])),
            ("the same by the kind of odd rows", by(lists["power_of_odd"])),
            ("tables without odd rows with a list", number(lists["clean_with_a_list"])),
            ('"at least L" is true, by the share of odd rows', by(lists["at_least_true"])),
            ("Brier score of P(odd)", number(lists["brier"], 3)),
            ("share of odd rows, P(odd) in ten bins", by_bins(lists["odd_share_of_bin"])),
            ("new normal rows flagged, .10 asked", by(rates)),
            ("300 alike rows of 20,000: among the first 300", number(file["large"]["first"])),
            ("the same by isolation forest", number(file["large"]["isolation_forest"])),
        ],
    )


def by_bins(values: list[float]) -> str:
    """Return numbers in their order."""
    return " ".join(map(number, values))


FIGURES: dict[str, Callable[[], str]] = {
    each.__name__: each
    for each in (
        *(ranks, when, means, modes, detection, posterior, coverage, false_alarms),
        *(
            discoveries,
            labels,
            rows_needed,
            planted,
            relations,
            views,
            odd_rankings,
            odd_rows,
            size,
            gaps,
            evidence,
        ),
    )
}
