"""The kernel that runs as a process: where it is, and how to have it do something."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import ResultError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

GUEST = Path("tools/linux-oracle")
PARTS = ("linux", "agent", "randomness.so", "version")
BUILD = "tools/linux-oracle/build.sh builds it in about five minutes of processor time"
# Virtual time begins here, so that nothing depends on when it runs.
START_NS = 1_700_000_000_000_000_000


def folder() -> Path:
    """Where the kernel is kept: ``$TIDEGATE_UML``, else in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("TIDEGATE_UML") or cache / "tidegate" / "uml").absolute()


def missing() -> str | None:
    """Why there is no kernel to ask; ``None`` if there is one."""
    lacking = [part for part in PARTS if not (folder() / part).is_file()]
    return f"no {', '.join(lacking)} in {folder()}: {BUILD}" if lacking else None


@dataclass(frozen=True)
class Kernel:
    """A kernel, and the checkout whose scripts it runs."""

    root: Path

    def __post_init__(self) -> None:
        if lack := missing():
            raise UsageError(lack)

    @property
    def version(self) -> str:
        """Version of Linux, such as "6.12.117"."""
        return (folder() / "version").read_text(encoding="utf-8").strip()

    def run(
        self, job: Path, commands: str, *, seed: int = 1, timeout_s: float = 600,
        options: Mapping[str, int] | None = None,
    ) -> str:  # fmt: skip
        """Boot, run shell commands in the folder ``job``, and return what they wrote.

        ``$AGENT`` is the program of the guest. The same commands, files, seed and options give the
        same bytes. ``options`` go to the kernel's command line.

        Raises
        ------
        ResultError
            If the kernel or one of the commands fails.
        """
        job = job.resolve()
        (job / "job.sh").write_text(commands, encoding="utf-8")
        (job / "status").unlink(missing_ok=True)
        kept = folder()
        # The command line is mixed into the random numbers of the kernel. Only the job's folder
        # differs from machine to machine, and hardly any of them matters to what is compared.
        command = [
            "setarch", "--addr-no-randomize", str(kept / "linux"), "mem=256M",
            "time-travel=inf-cpu", f"time-travel-start={START_NS}", "umid=one", "uml_dir=./uml/",
            "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "con=null",
            "con0=null,fd:1", "ssl=null", "quiet", "norandmaps",
            f"init={(self.root / GUEST / 'init.sh').resolve()}", f"JOB={job}",
            f"AGENT={kept / 'agent'}",
            *(f"oracle_link.{key}={value}" for key, value in (options or {}).items()),
        ]  # fmt: skip
        environment = {
            **os.environ, "LD_PRELOAD": str(kept / "randomness.so"), "UML_SEED": str(seed),
        }  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=job, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ResultError(f"the kernel did not run: {error}") from error
        if not (job / "status").is_file():
            raise ResultError(f"the kernel died: {(done.stdout + done.stderr)[-2000:]}")
        if (job / "status").read_text(encoding="utf-8").strip() != "0":
            raise ResultError(f"in {job}: {(job / 'errors').read_text(encoding='utf-8')}")
        return (job / "output").read_text(encoding="utf-8")
