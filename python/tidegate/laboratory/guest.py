"""Stock kernels in virtual time: a run of the lab inside a guest of qemu.

The guest's file system is two archives in memory: that of ``make kernels``, and one with the
programs and the scenario of this run. The guest has no disk, network or clock of the host. Its
clock counts instructions (``-icount``): a busy host makes a run slow and never wrong. What it
prints comes by two virtio ports.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.data import IN_CHECKOUT, remedy
from tidegate.errors import LabError, MissingError, UsageError
from tidegate.laboratory.archive import Archive, shared_libraries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate._native import Scenario
    from tidegate.laboratory.process import Children

QEMU = "qemu-system-x86_64"
ICOUNT_SHIFT, FAST_ICOUNT_SHIFT = 1, 0
"""An instruction of the guest takes 2^1 ns, or 2^0 where its links are fast."""
FAST_BPS = 50e6
"""A processor with 2^1 ns does not keep up with 100 Mb/s through the forwarder."""
MEMORY_MB = 768

MISSING = 77
"""The code with which a task ends that lacks something."""

_FOLDER = "TIDEGATE_KERNELS"
FETCH = (
    "`make kernels` fetches them"
    if IN_CHECKOUT
    else f"tools/kernels.py of tidegate's source fetches them, and {_FOLDER} names their folder"
)
"""What to do where there are no kernels."""

_ENDED = re.compile(r"ended (\d+)")
_COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on tsc=reliable no_timer_check"
)


@dataclass(frozen=True)
class Kernel:
    """A kernel that ``make kernels`` has fetched."""

    series: str
    """Such as ``6.12``."""
    release: str
    """Such as ``6.12.117+deb12-amd64``."""
    folder: Path

    @property
    def order(self) -> tuple[int, ...]:
        """By which kernels are older and newer."""
        return tuple(int(number) for number in self.series.split("."))


def folder() -> Path:
    """Where ``make kernels`` puts them."""
    named = os.environ.get(_FOLDER)
    if named:
        return Path(named)
    checkout = Path(__file__).resolve().parents[3]
    return (checkout if (checkout / "Makefile").exists() else Path()) / "target" / "kernels"


def kernels() -> list[Kernel]:
    """Return the kernels that are here, oldest first."""
    found = []
    for about in folder().glob("*/about.json"):
        try:
            known = json.loads(about.read_text(encoding="utf-8"))
            kernel = Kernel(known["series"], known["release"], about.parent)
            found.append((kernel.order, kernel))
        except (OSError, ValueError, KeyError):
            continue
    return [kernel for _, kernel in sorted(found, key=lambda pair: pair[0])]


def chosen(word: str) -> Kernel:
    """Return the kernel of a series, or the newest for ``auto``."""
    here = kernels()
    if not here:
        raise MissingError([f"stock kernels in {folder()}: {FETCH}"])
    if word == "auto":
        return here[-1]
    for kernel in here:
        if word in {kernel.series, kernel.release}:
            return kernel
    known = ", ".join(kernel.series for kernel in here)
    raise UsageError(f"kernel: {word!r} is none of {known}, auto")


def missing() -> list[str]:
    """Return what keeps guests from running, a line each with its remedy."""
    if shutil.which(QEMU) is None:
        return [f"{QEMU}: install it (on Debian: apt-get install qemu-system-x86)"]
    return []


def qemu_version() -> str:
    """Return the version of qemu, such as ``7.2.22``; empty where there is none."""
    try:
        done = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return ""
    found = re.search(r"version (\S+)", done.stdout)
    return found[1] if found else ""


@dataclass(frozen=True)
class Task:
    """What a guest does: a shell command, with programs of the host and a standard input."""

    command: str
    programs: Sequence[str] = ()
    """Paths on this machine; they are in the guest's PATH under their names."""
    input: str = ""

    def archive(self) -> bytes:
        """Return the part of the guest's file system that is this task's own."""
        archive = Archive()
        archive.file("task/run", f"{self.command}\n".encode())
        archive.file("task/input", self.input.encode())
        libraries: set[str] = set()
        for program in self.programs:
            archive.file(f"bin/{Path(program).name}", Path(program).read_bytes(), executable=True)
            libraries.update(shared_libraries(program))
        for library in sorted(libraries):
            archive.file(library.lstrip("/"), Path(library).read_bytes(), executable=True)
        return archive.content()


def file_system(kernel: Kernel, task: Task) -> int:
    """Return a descriptor of a guest's file system, in memory alone."""
    descriptor = os.memfd_create("tidegate-initramfs")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write((kernel.folder / "initramfs.cpio").read_bytes())
        file.write(task.archive())
    return descriptor


def icount_shift(scenario: Scenario) -> int:
    """Return the time of an instruction that the guest of a scenario needs, log2 of ns."""
    rate_bps = sum(rate_bps for _, rate_bps, _ in scenario.bottlenecks)
    return FAST_ICOUNT_SHIFT if rate_bps > FAST_BPS else ICOUNT_SHIFT


def command(kernel: Kernel, file_system: int, seed: int, shift: int = ICOUNT_SHIFT) -> list[str]:
    """Return how qemu is called; results are its standard output, all else its standard error.

    The seed is that of the guest's processor, whose random numbers are all that its kernel has.
    """
    return [
        QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-monitor", "none", "-accel", "tcg,thread=single",
        "-icount", f"shift={shift},sleep=off", "-seed", str(seed % 2**32),
        "-rtc", "base=2024-01-01,clock=vm", "-cpu", "max", "-smp", "1", "-m", str(MEMORY_MB),
        "-kernel", str(kernel.folder / "vmlinuz"), "-initrd", f"/proc/self/fd/{file_system}",
        "-append", _COMMAND_LINE,
        "-chardev", "file,id=result,path=/proc/self/fd/1",
        "-chardev", "file,id=report,path=/proc/self/fd/2",
        "-chardev", "file,id=console,path=/proc/self/fd/2", "-serial", "chardev:console",
        # Without eventfds the device works in the guest's own time.
        "-device", "virtio-serial-pci,ioeventfd=off",
        "-device", "virtserialport,chardev=result,nr=1",
        "-device", "virtserialport,chardev=report,nr=2",
    ]  # fmt: skip


def lab_task(program: str, scenario: Scenario, arguments: Sequence[str], generator: str) -> Task:
    """Return a call of `tidegate-lab` as a guest's task, with all that the scenario needs."""
    from tidegate.laboratory import bpf
    from tidegate.laboratory.process import find_program

    needed = {Path(program).name: program}
    if generator == "iperf3":
        needed["iperf3"] = find_program("iperf3") or "iperf3"
    lines = []
    if bpf.needed([scenario]):
        needed[bpf.PROGRAM] = bpf.found()
        lines = [
            # A port opens once: what stays behind must not hold one, or the end is not reported.
            f"{{ sleep 1000000 | {bpf.PROGRAM} hold; }} >/tmp/bpf 2>&1 &",
            "until [ -s /tmp/bpf ]; do sleep 0.1; done",
            "read ready </tmp/bpf",
            f'[ "$ready" = ready ] || {{ cat /tmp/bpf >&2; exit {MISSING}; }}',
        ]
    lines += [
        'read busy </proc/stat; echo "stat $busy" >&2',
        shlex.join([Path(program).name, *arguments]),
        "code=$?",
        'read busy </proc/stat; echo "stat $busy" >&2',
        "exit $code",
    ]
    return Task("\n".join(lines), tuple(needed.values()), scenario.to_toml())


_QDISCS = {
    "cake": "", "choke": "limit 1000 bandwidth 10mbit", "codel": "", "dualpi2": "", "fq": "",
    "fq_codel": "", "fq_pie": "", "hhf": "", "htb": "", "netem": "delay 1ms", "pie": "",
    "red": "limit 400000 avpkt 1000 bandwidth 10mbit", "sfb": "", "sfq": "",
    "tbf": "rate 10mbit burst 3k limit 90k",
}  # fmt: skip
"""What a kernel is asked for, with options that it does not go without."""


@dataclass(frozen=True)
class Abilities:
    """What a kernel has for the lab."""

    kernel: Kernel
    congestion_controls: list[str]
    qdiscs: list[str]
    missing: list[str]
    lacking: list[str]
    """Parts of the lab that do not run on it, with the reason."""

    def lines(self) -> list[str]:
        """Return it in words."""
        state = f"cannot run the lab: {'; '.join(self.missing)}" if self.missing else "runs the lab"
        return [
            f"{self.kernel.series}: Linux {self.kernel.release} {state}",
            f"  congestion control: {' '.join(self.congestion_controls)}",
            f"  qdiscs: {' '.join(self.qdiscs)}",
            *(f"  not {line}" for line in self.lacking),
        ]


def abilities(kernel: Kernel, children: Children) -> Abilities:
    """Boot a kernel and ask it what it has."""
    from tidegate.laboratory import bpf
    from tidegate.laboratory.process import PROGRAM, find, find_program

    program = find() or PROGRAM
    programs, ours = [program], find_program(bpf.PROGRAM)
    lines = [
        "for module in /modules/tcp_*.ko; do",
        "module=${module##*/}; /sbin/modprobe ${module%.ko}; done",
    ]
    for kind, options in _QDISCS.items():
        made = f"/bin/tc qdisc add dev lo root {kind} {options} 2>/dev/null"
        lines.append(f"{made} && echo {kind} && /bin/tc qdisc del dev lo root")
    lines.append("echo --")
    if ours is not None:
        programs.append(ours)
        lines.append(f"{bpf.PROGRAM} check 2>&1 >/dev/null && echo {' '.join(bpf.OURS)}")
    lines += ["echo --", f"{Path(program).name} check"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        task = Task("\n".join(lines), tuple(programs))
        code, said, _ = children.in_guest(kernel, task, 1, output, lambda _done, _all: None)
        output.seek(0)
        qdiscs, ours_there, found = (*output.read().split("--\n", 2), "", "")[:3]
    try:
        known = json.loads(found)
    except ValueError as error:
        raise LabError(1, f"the guest ended with {code}: {'; '.join(said[-3:])}") from error
    controls, lacking = known["congestion_controls"], []
    if ours_there.split() == list(bpf.OURS):
        controls = [*controls, *bpf.OURS]
    else:
        lacking.append(f"congestion control {', '.join(bpf.OURS)}: {_why(ours, ours_there)}")
    if shutil.which("iperf3") is None:
        lacking.append("generator iperf3: install it (on Debian: apt-get install iperf3)")
    return Abilities(kernel, controls, qdiscs.split(), known["missing"], lacking)


def _why(program: str | None, said: str) -> str:
    """Return why congestion control of ours does not run in a guest."""
    if program is None:
        return remedy("setup", "where clang and the headers of libelf are")
    return "; ".join(said.split("\n")[:2]).strip("; ") or "the kernel refuses it"


@dataclass(frozen=True)
class Report:
    """What a guest said beside its result."""

    code: int | None
    """The task's exit code; none where the guest did not come to its end."""
    lines: list[str]
    processor_time: tuple[tuple[int, int], tuple[int, int]]
    """Busy and total time of the guest's processor before and after, in ticks."""


def report(said: Sequence[str]) -> Report:
    """Sort what came by a guest's second port and its console.

    >>> report(["stat cpu 1 0 1 8 0 0 0 0", "a line", "stat cpu 2 0 2 16 0 0 0 0", "ended 3"])
    Report(code=3, lines=['a line'], processor_time=((2, 10), (4, 20)))
    """
    code, lines, times = None, [], []
    for line in said:
        ended = _ENDED.fullmatch(line)
        if ended:
            code = int(ended[1])
        elif line.startswith("stat cpu"):
            times.append(processor_time(line.removeprefix("stat ")))
        elif not line.endswith("reboot: Power down"):
            lines.append(line)
    before, after = (times[0], times[-1]) if times else ((0, 0), (0, 0))
    return Report(code, lines, (before, after))


def processor_time(line: str) -> tuple[int, int]:
    """Busy and total time of all processors in ticks, from the first line of /proc/stat."""
    # user nice system idle iowait irq softirq steal; what follows is contained in user and nice.
    ticks = [int(word) for word in line.split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
