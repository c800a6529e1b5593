"""Workers compute the cells of a study: this process, worker processes, or a dask cluster.

A worker may die, because its memory is full, it crashes, or it is switched off. On a cluster
another worker takes over its cell. On one machine all worker processes end together. If no worker
is left, an error says so; the finished cells have been returned before.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from .cell import Cell
from .store import Row

CONNECT = 5  # seconds to reach a scheduler, and to see its first worker
FETCH = 5  # seconds to get a row from the worker that computed it
ABANDONED = 60  # seconds without any worker before a cluster is given up
POLL = 1  # seconds between two checks of a cluster's workers
GROWTH = 4_000_000_000  # bytes by which a process may grow, as it keeps the models it compiled
IDLE = 10  # seconds without work before a process ends
WATCH = 0.5  # seconds between two looks at the parent
RESUME = "; run the same again: a study goes on from its stored cells"
LISTED = 4  # number of cells that an error names


@dataclass(frozen=True)
class Workers:
    """The processes that compute cells.

    Parameters
    ----------
    jobs : int, default=1
        Number of worker processes on this machine; -1 is one for each processor.
    scheduler : str, optional
        Address of a dask scheduler, whose workers are used instead. They need the same version of
        bsvdd, and one thread each, as the warnings of a fit are caught for the whole process.
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
            The scheduler, or all of its workers, are lost.
        """
        if cells:
            yield from self._on_cluster(cells) if self.scheduler else self._in_processes(cells)

    def _in_processes(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        started: dict[int, Cell] = {}

        def tasks() -> Iterator[Any]:
            for i, cell in enumerate(cells):
                started[i] = cell
                yield delayed(_run_cell)(i, cell)

        with warnings.catch_warnings():
            # joblib warns when it replaces a worker that has grown; its cells are not lost
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            try:
                jobs = min(effective_n_jobs(self.jobs), len(cells))
                for i, row in processes(jobs, "generator_unordered")(tasks()):
                    del started[i]
                    yield i, row
            except BrokenProcessPool as error:
                raise ChildProcessError(
                    "a worker process died at one of these cells: "
                    f"{_names(started.values())}. Most often the memory was full, or compiled "
                    "code crashed. If it happens again, use fewer jobs, or leave that model or "
                    f"data set out{RESUME} ({error})"
                ) from error

    def _on_cluster(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        with self._client() as client:
            try:
                yield from self._submit(client, cells)
            except ChildProcessError:
                raise
            except (CancelledError, OSError) as error:
                cancelled = isinstance(error, CancelledError)  # whose text lists the running tasks
                why = "its scheduler is gone" if cancelled else error
                raise ConnectionError(
                    f"the dask cluster at {self.scheduler} is lost ({why}); restart it{RESUME}"
                ) from error

    def _submit(self, client: Any, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        from dask.distributed import KilledWorker, wait

        running: dict[Any, int] = {}
        waiting = iter(range(len(cells)))
        workers, last_seen = self._check_workers(client, set()), time.monotonic()
        while True:
            room = max(1, 2 * len(workers)) - len(running)  # each worker has its next cell ready
            for i in islice(waiting, max(0, room)):
                running[client.submit(cells[i].run, pure=False)] = i
            if not running:
                return
            done: Iterable[Any] = ()
            with client.as_current(), suppress(TimeoutError):
                done = wait(list(running), timeout=POLL, return_when="FIRST_COMPLETED").done
            workers = self._check_workers(client, workers)
            if workers:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > ABANDONED:
                raise TimeoutError(f"it has had no worker for {ABANDONED} s")
            for future in done:
                try:
                    row = future.result(timeout=FETCH)
                except TimeoutError:
                    continue  # its worker died with the row; another computes it again
                except KilledWorker as error:
                    raise ChildProcessError(
                        f"each worker died at this cell: {_names([cells[running[future]]])}. "
                        "Most often its memory was full, or compiled code crashed. Give workers "
                        f"more memory, or leave that model or data set out{RESUME} ({error})"
                    ) from error
                yield running.pop(future), row

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
            try:
                client.wait_for_workers(1, timeout=CONNECT)
            except TimeoutError as error:
                raise ValueError(
                    f"the scheduler at {self.scheduler} has no worker; start some with "
                    f"`dask worker {self.scheduler} --nthreads 1`"
                ) from error
            yield client

    def _check_workers(self, client: Any, checked: set[str]) -> set[str]:
        """Return the current workers; raise a ValueError if an unchecked one cannot be used."""
        workers = client.nthreads()
        new = sorted(workers.keys() - checked)
        if not new:
            return set(workers)
        ours = version("bsvdd")
        # a worker that dies meanwhile does not answer
        theirs = client.run(partial(version, "bsvdd"), workers=new, on_error="ignore")
        for worker, version_there in theirs.items():
            if version_there != ours:
                raise ValueError(
                    f"worker {worker} has bsvdd {version_there}, and this is bsvdd {ours}; "
                    "workers must have the same version"
                )
        for worker in new:
            if workers[worker] > 1:
                raise ValueError(
                    f"worker {worker} has {workers[worker]} threads; start workers with one each: "
                    f"`dask worker {self.scheduler} --nworkers {workers[worker]} --nthreads 1`"
                )
        return set(workers)


def processes(jobs: int, return_as: str = "list") -> Parallel:
    """Return joblib's runner in worker processes, which stay the same from call to call."""
    return Parallel(
        jobs,
        backend="loky",
        return_as=return_as,
        batch_size=1,
        idle_worker_timeout=IDLE,
        initializer=_start,
        initargs=(os.getpid(),),
    )


def _start(parent: int) -> None:
    """Prepare a worker process: it may grow, and it ends when its parent is gone."""
    _allow_growth()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when ``parent`` is gone, even in the middle of a cell.

    A process whose parent was killed is given to another parent. By itself it would compute its
    cell to the end, and then wait for more.
    """
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


def _allow_growth() -> None:
    """Raise the limit at which loky replaces this process.

    loky treats growth by 0.3 GB as a memory leak and starts another process, which would compile
    all models again. It has no public name for this limit.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = GROWTH


def _run_cell(i: int, cell: Cell) -> tuple[int, Row]:
    return i, cell.run()


def _names(cells: Iterable[Cell]) -> str:
    names = [f"{c.scenario.name}, {c.candidate.name}, replicate {c.replicate}" for c in cells]
    more = [f"{len(names) - LISTED} more"] if len(names) > LISTED else []
    return "; ".join(names[:LISTED] + more)
