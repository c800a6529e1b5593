"""How a row is measured: both sides in one run, in turn, by medians."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import threadpoolctl


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    what, against : str
        What is measured, and what it is compared with.
    value : float
        A ratio of the two, or a number in ``unit``.
    target : float
        The most that ``value`` is to be.
    unit : str
        Empty for a ratio.
    details : dict
        Numbers behind it, by name.
    """

    what: str
    against: str
    value: float
    target: float
    unit: str = ""
    details: dict[str, float] = field(default_factory=dict)


def touch_memory() -> None:
    """Use a gigabyte and free it, so that what is measured next has memory at once.

    A virtual machine gives free memory back to its host within seconds, and waits for it when it is
    used again: .9 s for 400 MB, against .05 s.
    """
    np.ones(2**27)


def in_turn(sides: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, float]:
    """Return the median seconds of each side, called in turn after one call to warm up.

    What else the machine does then falls on all sides alike.
    """
    for side in sides.values():
        side()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            start = time.perf_counter()
            side()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(s)) for name, s in seconds.items()}


@contextmanager
def quietly(category: type[Warning]) -> Iterator[None]:
    """Leave out the warnings of one category."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return b of cost = a size^b, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def in_new_process(code: str, *arguments: Any) -> dict[str, float]:
    """Run ``code``, which prints JSON last, in a process of its own; return what it printed."""
    run = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a measured process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# The peak of a process itself: ru_maxrss would count that of the one it was forked from.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
"""


def threads() -> dict[str, int]:
    """Return the number of threads of each library that has a pool of them."""
    pools = threadpoolctl.threadpool_info()
    return {f"{p['internal_api']} ({p['prefix']})": p["num_threads"] for p in pools}
