#!/usr/bin/env python3
"""Stands in for the program `tidegate-lab`, which needs root and real time.

It speaks as that program does (commands, exit codes, progress, JSON), but what it gives are the
columns of a simulation, with a null wherever real Linux cannot tell. So the tests of the commands
around it run anywhere. TIDEGATE_STAND_IN tells it how to behave, as words:

    late=SEED      the run with this seed is invalid (late=all: every run)
    missing        something is missing on this machine
    broken         it ends with an error
    garbage        it prints no JSON
    slow           it takes its time
"""
# ruff: noqa: T201 - it is a program

import json
import os
import sys
import time
from itertools import pairwise
from math import isnan

from tidegate import Scenario

UNKNOWN = {"fast_recoveries", "host_jitter_s", "events", "hops", "timeouts"}


def behaviour():
    return os.environ.get("TIDEGATE_STAND_IN", "").split()


def columns(scenario, seed):
    return {
        name: {
            column: [None] * len(values) if column in UNKNOWN else plain(values)
            for column, values in content.items()
        }
        for name, content in scenario.run(seed).items()
    }


def plain(values):
    listed = values if isinstance(values, list) else values.tolist()
    return [None if isinstance(value, float) and isnan(value) else value for value in listed]


def main():
    command, *rest = sys.argv[1:]
    how = behaviour()
    if command == "exec":
        os.execvp(rest[0], rest)
    if command == "check":
        missing = ["root: run it with sudo"] if "missing" in how else []
        print(json.dumps({"root": not missing, "netns": True, "tun": True, "bpf": True,
                          "missing": missing}))  # fmt: skip
        return 77 if missing else 0
    options = dict(pairwise(rest))
    if command == "examine":
        toml = sys.stdin.read()
        refused = ["heavy: the stand-in has no such traffic"] if 'kind = "pages"' in toml else []
        deviations = ["heavy: slow start ends by HyStart", "light: slow start ends by HyStart"]
        print(json.dumps({"refused": refused, "deviations": deviations}))
        return 0
    assert command == "run"
    seed, ip = int(options["--seed"]), int(options["--ip"])
    scenario = Scenario.parse(sys.stdin.read())
    if "missing" in how:
        print("bbr: `modprobe tcp_bbr`", file=sys.stderr)
        return 77
    if "broken" in how:
        print("the stand-in was told to fail", file=sys.stderr)
        return 1
    if "garbage" in how:
        print("{")
        return 0
    total = scenario.warm_up_s + scenario.duration_s
    print(f"t 0.0 {total:.1f}", file=sys.stderr, flush=True)
    if "slow" in how:
        print(f"pid {os.getpid()}", file=sys.stderr, flush=True)
        time.sleep(600)
    late = f"late={seed}" in how or "late=all" in how
    if "--verbose" in rest:
        print("nsenter --net=/proc/1/fd/3", file=sys.stderr)
    forwarder = {
        "valid": not late,
        "reasons": ["forwarder late for 12 % of the packets"] if late else [],
        "packets": 1000, "late_packets": 120 if late else 0, "lateness_mean_s": 2e-05,
        "lateness_p99_s": 9e-05, "lateness_max_s": 0.0004, "overruns": 0, "cpu_share": 0.2,
        "malformed": 0, "inconsistent": 0, "unclassified": 0, "without_room": 0, "realtime": True,
        "nominal_late_s": 0.001,
    }  # fmt: skip
    kernel = {"release": "6.0.0-stand-in", "congestion_controls": ["reno", "cubic"]}
    tables = columns(scenario, seed)
    load = {"lateness_mean_s": 1e-05, "lateness_max_s": 0.0002}
    deviations = ["slow start ends by the kernel's HyStart, not by HyStart++"]
    document = {
        "tables": tables, "forwarder": forwarder, "load": load, "deviations": deviations,
        "kernel": kernel, "ip": ip,
    }  # fmt: skip
    json.dump(document, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
