"""Rows on the study. Each function measures one row of the table."""

from __future__ import annotations

import functools
import os
import time

from bsvdd.comparison.run import studies
from bsvdd.comparison.run.workers import Workers, processes
from bsvdd.inference.compiled import compilations
from joblib import delayed

from .measure import Row

JOBS = 2
ASKED = 50  # times for the number of compilations: enough that each process answers


def in_process() -> tuple[int, int]:
    """Return this process, and how many model structures it has compiled."""
    return os.getpid(), compilations()


@functools.cache
def measured(quick: bool) -> dict[str, float]:
    """Run the study of the slides; return seconds, and compilations in each process."""
    study = studies.slides(quick)
    start = time.perf_counter()
    results = study.run(workers=Workers(JOBS))
    seconds = time.perf_counter() - start
    compiled = dict(processes(JOBS)(delayed(in_process)() for _ in range(ASKED)))
    fits = results.groupby("model", sort=False)["fit_seconds"].sum().dropna()
    return {
        "seconds": seconds,
        "cells": len(study.cells()),
        "failed": float((results["error"] != "").sum()),
        **{f"process {i}: compilations": n for i, n in enumerate(compiled.values())},
        **{f"{model}: seconds of all fits": float(s) for model, s in fits.items()},
    }


def study_seconds(quick: bool) -> Row:
    """Measure the time of the full study of the slides on two processes."""
    details = measured(quick)
    what = f"study of the slides, {details['cells']} cells, {JOBS} processes"
    return Row(what, "", details["seconds"], 300.0, "s", details)


def study_compilations(quick: bool) -> Row:
    """Measure the most compilations in one process of it."""
    details = measured(quick)
    most = max(value for name, value in details.items() if name.endswith("compilations"))
    what = "compilations in a process of the study of the slides"
    # BSVDD and BSVDD-M, each with all points and with those alone that have some weight
    return Row(what, "its model structures", most, 4.0, "", details)


ROWS = [study_seconds, study_compilations]
