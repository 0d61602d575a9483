"""What connected sockets of other programs pay for congestion: looked at, and changed.

Our congestion controls (``tidegate-bpf hold``) take willingness to pay and gain of a socket by an
option of their own. A socket of another process is borrowed for that (``pidfd_getfd``), so that its
program need not know.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import MissingError, OfferError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CONTROLS = ("tg_sbrm", "tg_tcprm", "tg_vegascp")
"""Names that the kernel has for congestion controls that pay."""
MOST = 4000.0
"""Packets per second: what the programs have bits for."""

_LEVEL, _PARAMETERS = 0xCE, 1
_Q20 = 1 << 20
_PIDFD_GETFD = 438
# Of struct tcp_info (linux/tcp.h): delivery_rate in byte/s, delivered and delivered_ce in packets.
_DELIVERY_RATE, _DELIVERED = 160, 192


@dataclass(frozen=True)
class Payer:
    """A TCP socket, and what it pays."""

    pid: int
    fd: int
    local: str
    remote: str
    control: str
    willingness: float | None
    """Packets per second; none where its congestion control pays nothing."""
    kappa: float | None
    rate_bps: float
    delivered: int
    marks: int
    """Delivered packets whose marks the receiver reported."""

    @property
    def pays(self) -> bool:
        """Whether its congestion control takes offers."""
        return self.control in CONTROLS


def processes(*, pid: int | None = None, cgroup: str | None = None) -> list[int]:
    """Numbers of one process, of those of a control group and below, or of all."""
    if pid is not None:
        if not Path(f"/proc/{pid}").is_dir():
            raise OfferError(f"there is no process {pid}")
        return [pid]
    if cgroup is None:
        return sorted(int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    lists = sorted(Path(cgroup).rglob("cgroup.procs"))
    if not lists:
        raise OfferError(f"{cgroup}: no control group; give its directory, as /sys/fs/cgroup/NAME")
    return sorted({int(line) for each in lists for line in each.read_text().split()})


def payers(pids: Iterable[int], port: int | None = None) -> Iterator[Payer]:
    """Their TCP sockets, connected or listening; with a port those that have it at either end."""
    for pid, fd, borrowed in _sockets(pids):
        with borrowed:
            if port is None or port in _ports(borrowed):
                yield _looked_at(pid, fd, borrowed)


def offer(payer: Payer, willingness: float, kappa: float | None = None) -> None:
    """Let a socket pay so much from now on."""
    kappa = payer.kappa if kappa is None else kappa
    given = struct.pack("=II", round((kappa or 0.2) * _Q20), round(willingness * _Q20))
    with _borrowed(payer.pid, payer.fd) as borrowed:
        try:
            borrowed.setsockopt(_LEVEL, _PARAMETERS, given)
        except OSError as error:
            raise OfferError(
                f"process {payer.pid}, {payer.local}: {error.strerror}; its control group needs "
                "`tidegate-bpf hold --cgroup`"
            ) from error


def _sockets(pids: Iterable[int]) -> Iterator[tuple[int, int, socket.socket]]:
    for pid in pids:
        for fd in _descriptors(pid):
            try:
                borrowed = _borrowed(pid, fd)
            except OSError:  # It was closed meanwhile.
                continue
            if _is_tcp(borrowed):
                yield pid, fd, borrowed
            else:
                borrowed.close()


def _descriptors(pid: int) -> list[int]:
    try:
        there = list(Path(f"/proc/{pid}/fd").iterdir())
    except PermissionError as error:
        if os.geteuid() == 0:  # A process that this user may not look at.
            return []
        raise MissingError([f"root, to look at the sockets of process {pid}"]) from error
    except FileNotFoundError:  # It has ended.
        return []
    return sorted(int(each.name) for each in there if _is_socket(each))


def _is_socket(descriptor: Path) -> bool:
    try:
        return descriptor.readlink().name.startswith("socket:")
    except (FileNotFoundError, PermissionError):  # It was closed meanwhile, or is out of reach.
        return False


def _borrowed(pid: int, fd: int) -> socket.socket:
    """Give another process's socket under a number of our own."""
    process = os.pidfd_open(pid)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        own = libc.syscall(_PIDFD_GETFD, process, fd, 0)
        if own < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(process)
    return socket.socket(fileno=own)


def _is_tcp(borrowed: socket.socket) -> bool:
    inet = borrowed.family in {socket.AF_INET, socket.AF_INET6}
    return inet and borrowed.type == socket.SOCK_STREAM


def _ports(borrowed: socket.socket) -> set[int]:
    ports = {borrowed.getsockname()[1]}
    with suppress(OSError):  # One that listens has no peer.
        ports.add(borrowed.getpeername()[1])
    return ports


def _looked_at(pid: int, fd: int, borrowed: socket.socket) -> Payer:
    named = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    control = named.split(b"\0")[0].decode()
    info = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    (rate,) = struct.unpack_from("=Q", info, _DELIVERY_RATE)
    delivered, marks = struct.unpack_from("=II", info, _DELIVERED)
    willingness = kappa = None
    if control in CONTROLS:
        with suppress(OSError):  # Out of reach, if its control group is another than the programs'.
            words = struct.unpack("=II", borrowed.getsockopt(_LEVEL, _PARAMETERS, 8))
            kappa, willingness = (each / _Q20 for each in words)
    try:
        remote = _address(borrowed.getpeername())
    except OSError:
        remote = "listens"
    local = _address(borrowed.getsockname())
    return Payer(pid, fd, local, remote, control, willingness, kappa, 8.0 * rate, delivered, marks)


def _address(pair: tuple[str, int]) -> str:
    host, port = pair[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
