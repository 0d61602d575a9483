"""A link with a propagation delay, for kernels without netem: two TAP devices and this program.

    python delay_line.py NAMESPACE DEVICE NAMESPACE DEVICE MILLISECONDS

What the first device sends reaches the second after that time, and the other way at once. Says
`ready` when both devices are there, and ends when its standard input does.
"""

import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
MAX_FRAME = 65_600
# Frames that are read at once, before those that are due are written.
BATCH = 64


def device(namespace: str, name: str) -> int:
    """A TAP device in a namespace, as a file that does not block."""
    with open(f"/run/netns/{namespace}") as file:  # noqa: PTH123
        # setns(2), which os has from Python 3.12 on.
        if ctypes.CDLL(None).setns(file.fileno(), 0) != 0:
            raise OSError(f"no namespace {namespace}")
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def write(tap: int, frame: bytes) -> None:
    """Hand a device a frame, which it may not want."""
    try:
        os.write(tap, frame)
    except OSError:
        # Down, or full: a link loses it.
        return


def carry(first: int, second: int, delay: float) -> None:
    """Carry frames until standard input ends."""
    waiting: deque[tuple[float, bytes]] = deque()
    while True:
        timeout = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        ready, _, _ = select.select([0, first, second], [], [], timeout)
        if 0 in ready and not os.read(0, 1):
            return
        for tap in {first, second} & set(ready):
            for _ in range(BATCH):
                try:
                    frame = os.read(tap, MAX_FRAME)
                except OSError:
                    break
                if tap == first:
                    waiting.append((time.monotonic() + delay, frame))
                else:
                    write(first, frame)
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            write(second, waiting.popleft()[1])


def main() -> None:
    """Make the devices, and carry."""
    names, milliseconds = sys.argv[1:5], float(sys.argv[5])
    taps = device(names[0], names[1]), device(names[2], names[3])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    carry(*taps, milliseconds / 1e3)


if __name__ == "__main__":
    main()
