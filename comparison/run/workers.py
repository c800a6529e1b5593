"""Workers compute the cells of a study: processes of this machine, or a dask cluster.

A worker may die, because its memory is full, it crashes, or it is switched off. On a cluster
another worker takes over its cell. On one machine all worker processes end together, and an error
says so; the finished cells have been returned before.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from .cell import Cell
from .store import Row

CONNECT = 5  # seconds to reach a scheduler, and to see its first worker
IDLE = 10  # seconds without work before a process ends
LISTED = 4  # number of cells that an error names
RESUME = "leave that model or data set out; run the same again: a study goes on from its cells"


@dataclass(frozen=True)
class Workers:
    """The processes that compute cells.

    Parameters
    ----------
    jobs : int, default=1
        Number of worker processes on this machine; -1 is one for each processor.
    scheduler : str, optional
        Address of a dask scheduler, whose workers are used instead. They need the same version of
        bsvdd, and one thread each, as the warnings of a fit are caught for the whole process. A
        study waits while the cluster has no worker.
    """

    jobs: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.jobs != -1 and self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, or -1 for all processors; got {self.jobs}")

    def run(self, cells: Sequence[Cell]) -> Generator[tuple[int, Row]]:
        """Yield (index in ``cells``, row of results) for each cell, as soon as it is finished.

        Raises
        ------
        ValueError
            The scheduler cannot be reached, or its workers cannot compute these cells.
        ChildProcessError
            A process died while it computed a cell; on a cluster, several did so in turn.
        ConnectionError
            The scheduler is lost.
        """
        if cells:
            yield from self._on_cluster(cells) if self.scheduler else self._in_processes(cells)

    def _in_processes(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        started: dict[int, Cell] = {}

        def tasks() -> Iterator[Any]:
            for i, cell in enumerate(cells):
                started[i] = cell
                yield delayed(_run_cell)(i, cell)

        pool = Parallel(
            min(effective_n_jobs(self.jobs), len(cells)),
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            idle_worker_timeout=IDLE,
        )
        with warnings.catch_warnings():
            # joblib replaces a worker that has grown; its cells are not lost
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            try:
                for i, row in pool(tasks()):
                    del started[i]
                    yield i, row
            except BrokenProcessPool as error:
                raise ChildProcessError(_died("a worker process", started.values())) from error

    def _on_cluster(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        # not by joblib, which waits without end for the cell of a worker that died
        with self._client() as client:
            from dask.distributed import KilledWorker, as_completed

            running: dict[Any, int] = {}
            finished, waiting = as_completed([], loop=client.loop), iter(enumerate(cells))
            i = 0

            def submit() -> None:
                """Keep two cells for each worker there is."""
                room = 2 * max(1, len(client.nthreads())) - len(running)
                for i, cell in islice(waiting, max(0, room)):
                    future = client.submit(cell.run, pure=False)
                    running[future] = i
                    finished.add(future)

            try:
                submit()
                for future in finished:
                    i = running.pop(future)
                    row = future.result()
                    submit()
                    yield i, row
            except KilledWorker as error:
                raise ChildProcessError(_died("each worker", [cells[i]])) from error
            except (CancelledError, OSError) as error:
                raise ConnectionError(
                    f"the dask scheduler at {self.scheduler} is lost; restart it, and run the same "
                    "again: a study goes on from its cells"
                ) from error

    @contextmanager
    def _client(self) -> Iterator[Any]:
        try:
            from dask.distributed import Client
        except ImportError as error:
            raise ValueError(
                "a dask scheduler needs dask.distributed: pip install 'bsvdd[dask]'"
            ) from error
        try:
            client = Client(self.scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"no dask scheduler answers at {self.scheduler!r} within {CONNECT} s ({error}); "
                "start one with `dask scheduler`, and give the address that it prints"
            ) from error
        with client:
            start = f"`dask worker {self.scheduler} --nthreads 1`"
            try:
                client.wait_for_workers(1, timeout=CONNECT)
            except TimeoutError as error:
                raise ValueError(f"the scheduler has no worker; start some with {start}") from error
            ours, theirs = version("bsvdd"), client.run(version, "bsvdd")
            for worker, threads in client.nthreads().items():
                if threads > 1 or theirs.get(worker, ours) != ours:
                    raise ValueError(
                        f"worker {worker} has {threads} threads and bsvdd {theirs.get(worker)}, "
                        f"expected one thread and bsvdd {ours}; start workers with {start}"
                    )
            yield client


def _run_cell(i: int, cell: Cell) -> tuple[int, Row]:
    return i, cell.run()


def _died(who: str, cells: Iterable[Cell]) -> str:
    names = list(map(str, cells))
    more = [f"{len(names) - LISTED} more"] if len(names) > LISTED else []
    return (
        f"{who} died at {'; '.join(names[:LISTED] + more)}. Most often the memory was full, or "
        f"compiled code crashed. If it happens again, use fewer jobs or more memory, or {RESUME}"
    )
