"""Signals for a bottleneck beyond the box: probes, and a configured rate."""

import time

from gateway.box import SERVER, Box, lacking, needing

pytestmark = needing(lacking())


def upload(kind: str, **parameters: str) -> list[str]:
    table = ", ".join(f'{key} = "{value}"' for key, value in {"kind": kind, **parameters}.items())
    return ["--set", f"upload={{ {table} }}"]


def signals(box: Box) -> int:
    """Packets dropped or marked so far."""
    packets = box.totals()
    return packets["dropped"] + packets["marked"]


def test_probes_see_a_bottleneck_beyond_the_box_also_after_its_rate_has_fallen() -> None:
    words = upload("delay", reflectors=f"{SERVER['ipv4']} {SERVER['ipv6']}")
    with Box(beyond=True) as box:
        box.shape("m1", 20, slowest=7)
        with box.control_loop("enforce", *words), box.duel(18) as duel:
            time.sleep(6)
            before, signals_before = box.status()["upload"], signals(box)
            box.shape("m1", 7, slowest=7)
            time.sleep(6)
            after, signals_after = box.status()["upload"], signals(box)
    assert (before["signal"], before["fresh"]) == ("ok", True)
    # The probability itself may be 0 at a moment at which the queue is short.
    assert 0 < signals_before < signals_after
    # The queue of 300 ms would be full.
    assert after["delay_s"] < 0.15
    assert duel.ratio(10, 18) <= 1.6, duel.rates


def test_a_rate_that_is_told_keeps_the_queue_beyond_the_box_empty() -> None:
    with Box(beyond=True) as box:
        box.shape("m1", 20)
        words = upload("rate", rate="16 Mb/s")
        with box.control_loop("enforce", *words), box.duel(12) as duel:
            time.sleep(8)
            backlog = max(box.backlog("m1") for _ in range(20))
    assert duel.used(4, 11) <= 16
    assert duel.ratio(4, 11) <= 1.6, duel.rates
    # Of 750 kB that the queue holds.
    assert backlog < 300_000


def test_without_an_answer_everything_passes() -> None:
    with Box(beyond=True) as box:
        box.shape("m1", 5)
        words = upload("delay", reflectors="10.2.0.77")
        with box.control_loop("enforce", *words), box.duel(6):
            time.sleep(4)
            report = box.status()["upload"]
    assert (report["signal"], report["fresh"]) == ("no reflector answers", False)
    assert report["verdicts"]["dropped"]["packets"] == 0
    assert report["verdicts"]["no-signal"]["packets"] > 0


def test_probes_of_a_long_path_see_its_queue_and_not_its_length() -> None:
    words = upload("delay", reflectors=SERVER["ipv4"])
    with Box(beyond=True, base_ms=50) as box:
        box.shape("m1", 10, slowest=10)
        with box.control_loop("enforce", *words):
            # A busy machine is a delay, too, now and then.
            quiet = min(box.status(0.2)["upload"]["delay_s"] for _ in range(20))
            with box.duel(20) as duel:
                time.sleep(12)
                busy = [box.status()["upload"] for _ in range(5)]
    # 50 ms of round trip are no delay.
    assert quiet < 0.02
    assert all(one["fresh"] and one["signal"] == "ok" for one in busy)
    # The queue of 300 ms would be full.
    assert sorted(one["delay_s"] for one in busy)[2] < 0.15
    assert duel.ratio(8, 20) <= 1.6, duel.rates
