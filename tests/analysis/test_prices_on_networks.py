"""Packets against the optimum: explicit prices on random networks share as Kelly's problem says."""

import random

import pytest

import tidegate
from tidegate.analysis import Flow, optimum

HEAD = """\
version = 1
profile = "classic"
packet_size = "1000 B"
warm_up = "200 s"
duration = "60 s"
host_jitter = "off"
sample_interval = "off"
price_encoding = {{ kind = "explicit" }}

[tcp]
timestamps = true

[parking_lot]
hops = {hops}
rate = [{rates}]
delay = [{delays}]
buffer = "1000 packets"
aqm = {{ kind = "pc3", gamma = 0.0005, alpha = 0.1, target = "20 packets" }}
"""
GROUP = """
[users.u{number}]
flows = {count}
from = "r{first}"
to = "r{last}"
access = {{ delay = "{delay_ms} ms" }}
tcp.congestion_control = {{ kind = "direct-window", willingness_to_pay = {w}, kappa = 0.02 }}
"""


def network(seed, more_ms):
    """Two to four links in a row, somebody on each, and two who take several.

    Every second group is `more_ms` farther away.
    """
    draw = random.Random(seed)
    hops = draw.randint(2, 4)
    rates = [draw.choice([8, 12, 16, 24]) for _ in range(hops)]
    delays = [draw.randint(2, 15) for _ in range(hops)]
    ways = [(hop, hop + 1) for hop in range(hops)]
    for _ in range(2):
        first = draw.randint(0, hops - 2)
        ways.append((first, draw.randint(first + 2, hops)))
    text = HEAD.format(
        hops=hops,
        rates=", ".join(f'"{rate} Mb/s"' for rate in rates),
        delays=", ".join(f'"{delay} ms"' for delay in delays),
    )
    flows = []
    for number, (first, last) in enumerate(ways):
        w, count, delay_ms = draw.choice([50, 100, 200]), draw.randint(1, 2), draw.randint(1, 40)
        text += GROUP.format(
            number=number, count=count, first=first, last=last, w=w,
            delay_ms=delay_ms + (more_ms if number % 2 else 0),
        )  # fmt: skip
        links = tuple(f"r{hop}" for hop in range(first, last))
        flows.append(Flow(links=links, weight=w, count=count))
    return text, {f"r{hop}": rate * 1e6 for hop, rate in enumerate(rates)}, flows


@pytest.mark.parametrize("more_ms", [0, 30])
@pytest.mark.parametrize("seed", range(1, 21))
def test_rates_on_a_random_network_are_those_of_the_optimum(seed, more_ms):
    text, capacities, flows = network(seed, more_ms)
    groups = tidegate.simulate(text).groups.to_pylist()
    wanted = optimum(capacities, flows).rates
    for group, flow, want in zip(groups, flows, wanted, strict=True):
        each = group["total_throughput_bps"] / flow.count
        assert each == pytest.approx(want, rel=0.05), (seed, group["group"])
