"""Where the cells of a study are computed: here, in worker processes, or on a dask cluster.

A worker may die: killed for memory, by a crash, or switched off. On a cluster another worker takes
its cell; processes of this machine end together. Where that leaves nothing to go on with, an error
says so, and cells that were finished have been handed over before.
"""

from __future__ import annotations

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

from joblib import Parallel, delayed

from .cell import Cell
from .store import Row

CONNECT = 5  # seconds to reach a scheduler, and to see its first worker
FETCH = 5  # seconds to have a row from the worker that computed it
ABANDONED = 60  # seconds without any worker until a cluster is given up
POLL = 1  # seconds between two looks at the workers of a cluster
GROWTH = 4_000_000_000  # bytes by which a process may grow: it keeps the models that it compiled
IDLE = 10  # seconds without work after which a process ends, also when what started it was killed
AGAIN = "; run the same again: a study goes on from its stored cells"
NAMED = 4  # cells that an error lists


@dataclass(frozen=True)
class Workers:
    """Where cells are computed.

    Parameters
    ----------
    jobs : int, default=1
        Worker processes of this machine; -1 is one for each processor.
    scheduler : str, optional
        Address of a dask scheduler, whose workers compute instead. They need the same bsvdd, and
        one thread each, as the warnings of a fit are caught for a whole process.
    """

    jobs: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.jobs != -1 and self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, or -1 for all processors; got {self.jobs}")

    def run(self, cells: Sequence[Cell]) -> Generator[tuple[int, Row]]:
        """Yield the place of each cell in ``cells``, and its row, as they are finished.

        Raises
        ------
        ValueError
            The scheduler cannot be reached, or its workers cannot compute these cells.
        ChildProcessError
            A cell took its process with it; on a cluster, several one after another.
        ConnectionError
            The scheduler is gone, or all of its workers are.
        """
        if cells:
            yield from self._on_cluster(cells) if self.scheduler else self._in_processes(cells)

    def _in_processes(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        begun: dict[int, Cell] = {}

        def tasks() -> Iterator[Any]:
            for i, cell in enumerate(cells):
                begun[i] = cell
                yield delayed(_numbered)(i, cell)

        with warnings.catch_warnings():
            # joblib says so where it starts a worker anew that has grown; its cells go to the next
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            try:
                for i, row in processes(self.jobs, "generator_unordered")(tasks()):
                    del begun[i]
                    yield i, row
            except BrokenProcessPool as error:
                raise ChildProcessError(
                    f"a worker process died at one of these cells: {_names(begun.values())}. Most "
                    "often the memory was full, or compiled code crashed. If it is not chance, "
                    f"use fewer jobs, or leave that model or data set out{AGAIN} ({error})"
                ) from error

    def _on_cluster(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        with self._client() as client:
            try:
                yield from self._computed(client, cells)
            except ChildProcessError:
                raise
            except (CancelledError, OSError) as error:
                gone = isinstance(error, CancelledError)  # its text lists what was running
                why = "its scheduler is gone" if gone else error
                raise ConnectionError(
                    f"the dask cluster at {self.scheduler} is lost ({why}); start it anew{AGAIN}"
                ) from error

    def _computed(self, client: Any, cells: Sequence[Cell]) -> Iterator[tuple[int, Row]]:
        from dask.distributed import KilledWorker, wait

        running: dict[Any, int] = {}
        waiting = iter(range(len(cells)))
        workers, seen = self._admitted(client, set()), time.monotonic()
        while True:
            room = max(1, 2 * len(workers)) - len(running)  # the next cell is there when one ends
            for i in islice(waiting, max(0, room)):
                running[client.submit(cells[i].run, pure=False)] = i
            if not running:
                return
            done: Iterable[Any] = ()
            with client.as_current(), suppress(TimeoutError):
                done = wait(list(running), timeout=POLL, return_when="FIRST_COMPLETED").done
            workers = self._admitted(client, workers)
            if workers:
                seen = time.monotonic()
            elif time.monotonic() - seen > ABANDONED:
                raise TimeoutError(f"it has had no worker for {ABANDONED} s")
            for future in done:
                try:
                    row = future.result(timeout=FETCH)
                except TimeoutError:
                    continue  # its worker died with the row, and another computes it
                except KilledWorker as error:
                    raise ChildProcessError(
                        f"each worker died at this cell: {_names([cells[running[future]]])}. "
                        "Most often its memory was full, or compiled code crashed. Give workers "
                        f"more memory, or leave that model or data set out{AGAIN} ({error})"
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

    def _admitted(self, client: Any, known: set[str]) -> set[str]:
        """Return the workers that are there, and raise a ValueError where a new one will not do."""
        workers = client.nthreads()
        new = sorted(workers.keys() - known)
        if not new:
            return set(workers)
        ours = version("bsvdd")
        # a worker that dies meanwhile says nothing
        theirs = client.run(partial(version, "bsvdd"), workers=new, on_error="ignore")
        for worker, found in theirs.items():
            if found != ours:
                raise ValueError(
                    f"worker {worker} has bsvdd {found}, and this is bsvdd {ours}; workers must "
                    "have the same version"
                )
        for worker in new:
            if workers[worker] > 1:
                raise ValueError(
                    f"worker {worker} has {workers[worker]} threads; start workers with one each: "
                    f"`dask worker {self.scheduler} --nworkers {workers[worker]} --nthreads 1`"
                )
        return set(workers)


def processes(jobs: int, return_as: str = "list") -> Parallel:
    """Return what runs calls in worker processes, the same ones from call to call."""
    return Parallel(
        jobs,
        backend="loky",
        return_as=return_as,
        batch_size=1,
        idle_worker_timeout=IDLE,
        initializer=_let_grow,
    )


def _let_grow() -> None:
    """Keep this process when it grows.

    loky takes growth by .3 GB for a leak and starts another process, which would compile all models
    again; it has no public name for that number.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = GROWTH


def _numbered(i: int, cell: Cell) -> tuple[int, Row]:
    return i, cell.run()


def _names(cells: Iterable[Cell]) -> str:
    said = [f"{c.setting.name}, {c.candidate.name}, replicate {c.replicate}" for c in cells]
    more = [f"{len(said) - NAMED} more"] if len(said) > NAMED else []
    return "; ".join(said[:NAMED] + more)
