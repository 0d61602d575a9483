"""A Dask cluster as the place where tasks are worked off: processes here, or other machines.

The scheduler and the workers are Dask's own (`dask scheduler`, `dask worker`). What is ours is what
they cannot know: that results depend on the build, so that a worker with another one must not
compute; and that a task whose worker dies may be innocent, the one beside it being the cause.
"""

from __future__ import annotations

import hashlib
import logging
import math
import queue
import re
import time
import warnings
from collections import deque
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tidegate import _native
from tidegate.errors import ClusterError, DeadWorkerError, UsageError
from tidegate.runs.execution import (
    Done,
    Executor,
    Groups,
    Outcome,
    Queue,
    Task,
    do_in_time,
    local_cores,
)
from tidegate.scenarios.reading import build_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from distributed import Client, Future, LocalCluster, Security

CONNECT_S = 10
"""How long a scheduler may take to answer."""
PATIENCE_S = 5.0
"""How long nothing may finish before we look whether there are workers at all."""

_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:\[[0-9a-f:.%]+\]|[^\s:/]+):[0-9]+")
REFRESH_S = 2.0
"""How old may be what we know of the workers."""
_LOCAL = {
    # One more worker may die of something else than the task that is there.
    "distributed.scheduler.allowed-failures": 1,
    # Without pages: the HTTP servers that Dask starts in any case authenticate no one.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Dask's settings for a cluster that is started here."""


class Build(NamedTuple):
    """What results depend on: the version, the compiled engine, and the package around it."""

    version: str
    engine: str
    package: str

    def __str__(self) -> str:
        return f"{self.version}, engine {self.engine[:8]}, package {self.package[:8]}"


@cache
def build() -> Build:
    """The build of this process."""
    folder = Path(_native.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return Build(_native.version(), build_id(), digest.hexdigest()[:16])


class Cluster(Executor):
    """The workers of a Dask scheduler, or of a cluster of processes that is started here."""

    def __init__(
        self,
        scheduler: str | None = None,
        jobs: int | None = None,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Connect; with no address of a scheduler, start one with `jobs` workers on loopback.

        Its processes speak TLS with a certificate that is made for it and that no one else has:
        any user of this machine may connect to its ports, and a process that can talk to them can
        run code as the user who started it.

        `say` receives progress messages.
        """
        try:
            import distributed
        except ImportError as error:
            raise UsageError(
                f"the engine dask lacks the package {error.name}: pip install 'tidegate[dask]'"
            ) from error
        _silence()
        self._say = say
        self._numbers = count()
        self._local: LocalCluster | None = None
        self._known_workers: tuple[dict[str, int], float] = {}, -math.inf
        security: Security | None = None
        if scheduler is None:
            security = _own_security()
            scheduler = self._start_local(jobs or local_cores(), security)
        else:
            _check_address(scheduler)
        self.address = scheduler
        try:
            self._client: Client = distributed.Client(
                scheduler, timeout=CONNECT_S, set_as_default=False, name="tidegate",
                security=security,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no scheduler answers at {scheduler} ({error}); start one with `dask scheduler`"
            ) from error
        self._refuse_other_builds()

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=CONNECT_S)
        if self._local is not None:
            with suppress(OSError, TimeoutError):
                self._local.close(timeout=CONNECT_S)

    def work_in_groups(
        self, tasks: Iterable[Task], do: Callable[[Iterable[Task]], Outcome]
    ) -> Groups[Task, Outcome]:
        """Yield groups of tasks with their outcome as they finish."""
        from distributed import KilledWorker

        waiting = Queue(tasks)
        suspects: deque[Task] = deque()
        running: dict[Future, Sequence[Task]] = {}
        finished: queue.SimpleQueue[Future] = queue.SimpleQueue()

        def submit(group: Sequence[Task]) -> None:
            key = f"tidegate-{self._client.id}-{next(self._numbers)}"
            future = self._client.submit(_on_worker, do, group, build(), key=key, pure=False)
            running[future] = group
            future.add_done_callback(finished.put)

        try:
            while True:
                while len(running) < self._ahead() and (group := waiting.next_group()):
                    submit(group)
                # A task that dies with its worker when alone was the cause.
                alone = not running
                if alone and suspects:
                    submit([suspects.popleft()])
                if not running:
                    return
                future = self._next(finished)
                tried = running.pop(future)
                try:
                    done: Done[Outcome] = self._result(future)
                except KilledWorker as death:
                    if alone and len(tried) == 1:
                        yield tried, DeadWorkerError(death.last_worker.address)
                    else:
                        suspects.extend(tried)
                except ClusterError:
                    raise
                except Exception as error:  # noqa: BLE001 - the caller judges it
                    yield tried, error
                else:
                    yield waiting.finished(tried, done), done.outcome
        finally:
            if running and self._client.status == "running":
                self._client.cancel(list(running), force=True)

    def _start_local(self, workers: int, security: Security) -> str:
        import dask
        from distributed import LocalCluster

        with dask.config.set(_LOCAL), warnings.catch_warnings():
            # Only one cluster on this machine can have this port; others take a free one.
            warnings.filterwarnings("ignore", "Port 8787 is already in use")
            self._local = LocalCluster(
                n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
                silence_logs=logging.CRITICAL, security=security, protocol="tls://",
            )  # fmt: skip
        address: str = self._local.scheduler_address
        return address

    def _refuse_other_builds(self) -> None:
        """Tell of all workers that must not compute, before anything is computed."""
        self._wait_for_workers()
        found = self._client.run(build, on_error="return")
        other = [
            _other_build(address, there) for address, there in found.items() if there != build()
        ]
        if other:
            raise ClusterError("\n  ".join(["no run was started:", *other]))

    def _wait_for_workers(self) -> None:
        if not self._workers():
            self._say(f"{self.address} has no workers; waiting for `dask worker {self.address}`")
            self._client.wait_for_workers(1)

    def _workers(self) -> dict[str, int]:
        """Threads of each worker, as they were a moment ago."""
        known, at = self._known_workers
        if time.monotonic() - at > REFRESH_S:
            try:
                known = self._client.nthreads()
            except OSError as error:
                raise self._gone() from error
            self._known_workers = known, time.monotonic()
        return known

    def _ahead(self) -> int:
        """Groups under way: one for each thread of the workers and as many that wait for it."""
        return 2 * max(1, sum(self._workers().values()))

    def _gone(self) -> ClusterError:
        return ClusterError(f"the scheduler at {self.address} went away")

    def _next(self, finished: queue.SimpleQueue[Future]) -> Future:
        """The next group that is finished; meanwhile the cluster may lose what it needs."""
        warned = False
        while True:
            try:
                return finished.get(timeout=PATIENCE_S)
            except queue.Empty:
                if not warned and self._client.status == "running" and not self._workers():
                    warned = True
                    self._say(f"{self.address} has lost all workers; waiting for others")

    def _result(self, future: Future) -> Done[Outcome]:
        """What a group yielded; raises why there is nothing."""
        from distributed import CancelledError
        from distributed.comm import CommClosedError

        try:
            done: Done[Outcome] = future.result()
        except (CancelledError, CommClosedError) as error:
            raise self._gone() from error
        except ModuleNotFoundError as error:
            if error.name != "tidegate":
                raise
            raise ClusterError("a worker has no tidegate; install this one there") from error
        return done


def _own_security() -> Security:
    """A certificate for a cluster of this process, kept in memory."""
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError as error:
        raise UsageError(
            "the engine dask lacks the package cryptography, which makes the certificate of a "
            "cluster here: pip install 'tidegate[dask]'"
        ) from error


def _check_address(scheduler: str) -> None:
    """Refuse what cannot be connected to, before Dask tries for long."""
    from distributed import Security

    if not _ADDRESS.fullmatch(scheduler):
        raise UsageError(
            f"{scheduler!r} is no address of a scheduler; write e.g. tcp://10.0.0.1:8786"
        )
    certified = Security().get_connection_args("client").get("ssl_context") is not None
    if scheduler.startswith("tls://") and not certified:
        raise ClusterError(
            f"{scheduler} takes certificates, and Dask's configuration here names none; "
            "docs/cluster.md says where it does"
        )


def _silence() -> None:
    """What there is to say of a cluster is said by us, once."""
    for name in logging.root.manager.loggerDict:
        if name.partition(".")[0] in {"distributed", "tornado"}:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _on_worker(
    do: Callable[[Iterable[Task]], Outcome], group: Sequence[Task], wanted: Build
) -> Done[Outcome]:
    """Do a group, unless what it would yield differed from what it yields where it came from."""
    if build() != wanted:
        from distributed import get_worker

        raise ClusterError(_other_build(get_worker().address, build(), wanted))
    return do_in_time(do, group)


def _other_build(address: str, there: Build | Exception, here: Build | None = None) -> str:
    """Why a worker must not compute."""
    if isinstance(there, Exception):
        return f"the worker {address} cannot tell which tidegate it has: {there}"
    return (
        f"the worker {address} has another build of tidegate ({there}; here {here or build()}): "
        "install this one there, or stop it"
    )
