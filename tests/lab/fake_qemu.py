#!/usr/bin/env python3
"""Stands in for qemu: runs a guest's task with the stand-in for the lab, and boots nothing.

It takes the task from the archive that qemu is given, and answers as a guest does.
TIDEGATE_STAND_IN tells it how to behave, besides what the stand-in for the lab does:

    panic      the kernel stops before the task
    unfair     the control shares by flow
"""
# ruff: noqa: T201 - it is a program

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

STAND_IN = Path(__file__).with_name("stand_in.py")


def member(archive, name):
    """The content of the last file of this name."""
    at = archive.rindex(name.encode() + b"\0") - 110
    fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
    content = at + 110 + fields[11] + -(110 + fields[11]) % 4
    return archive[content : content + fields[6]].decode()


def main():
    if "--version" in sys.argv:
        print("QEMU emulator version 9.9.9 (Debian)")
        return 0
    how = os.environ.get("TIDEGATE_STAND_IN", "").split()
    if "panic" in how:
        print("[    1.0] Kernel panic - not syncing: told to", file=sys.stderr)
        return 0
    archive = Path(dict(pairwise(sys.argv))["-initrd"]).read_bytes()
    (words,) = re.findall(r"^\S+ run .*", member(archive, "task/run"), re.MULTILINE)
    scenario = member(archive, "task/input")
    # The simulator has no CAKE of Linux, but what is like it.
    by_host = '{ kind = "cake", isolation = "dual-srchost", rtt = "300 ms" }'
    fair = '"fifo"' if "unfair" in how else by_host
    scenario = re.sub(r"(?m)^kernel_qdisc = .*$", "", scenario)
    if scenario != member(archive, "task/input"):
        scenario = re.sub(r"(?m)^scheduler = .*$", f"scheduler = {fair}", scenario)
    print("stat cpu 10 0 0 10 0 0 0 0", file=sys.stderr, flush=True)
    command = [sys.executable, STAND_IN, *shlex.split(words)[1:]]
    done = subprocess.run(command, input=scenario, text=True, check=False)
    print("stat cpu 20 0 0 20 0 0 0 0", file=sys.stderr)
    print(f"ended {done.returncode}", file=sys.stderr)
    print("[    9.0] reboot: Power down", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
