"""The league's numbers, by number: tables that a test makes up."""

import numpy as np
import pytest

from tidegate.results.tables import COUNTS, table
from tidegate.studies.league.field import Situation
from tidegate.studies.league.measures import (
    completion_s,
    customer_rates_bps,
    geometric_mean,
    of_run,
)

GROUPS = ["heavy", "light", "short"]
BEGIN_S, LENGTH_S = 10.0, 20.0


class MadeUp:
    """What measures ask of a scenario: one heavy, two light and one short customer."""

    groups = GROUPS
    user_groups = (0, 1, 1, 2)
    warm_up_s = BEGIN_S
    duration_s = LENGTH_S


USERS = {"heavy": {}, "light": {}, "short": {"traffic": {"kind": "transfer"}}}


def situation(**more):
    given = {
        "name": "made-up", "title": "made up", "path": None, "ratio": ("heavy", "light"),
        "customers": ("heavy", "light"), "completion": "short", "state": False, "lab": False,
        "quick": {},
        "content": {"users": USERS},
    }  # fmt: skip
    return Situation(**{**given, **more})


def tables(transfers=((12.0, 2.0),), utilization=(0.5, 1.0)):
    """Two flows of the heavy customer, one of each other; transfers are (start, completion)."""
    flows = {
        "user": np.array([0, 0, 1, 2, 3], "u4"),
        "group": np.array([0, 0, 1, 1, 2], "u4"),
        "throughput_bps": np.array([4.0, 2.0, 2.0, 1.0, 0.5]) * 1.25e6,
        "goodput_bps": np.array([4.0, 2.0, 2.0, 1.0, 0.5]) * 1e6,
        "mean_srtt_s": np.full(5, 0.03),
    }
    flows |= {name: np.zeros(5, "u8") for name in COUNTS}
    start, taken = np.array(transfers, dtype=float).reshape(-1, 2).T
    return {
        "flows": table(flows),
        "transfers": table({
            "flow": np.full(len(start), 4), "group": np.full(len(start), 2), "start_s": start,
            "size_bytes": np.full(len(start), 200_000), "completion_s": taken,
        }),
        "links": table({
            "name": ["access", "first", "second"], "monitored": np.array([False, True, True]),
            "utilization": np.array([0.1, *utilization]),
            "p95_sojourn_s": np.array([9.0, 0.02, 0.03]),
            "state_bytes": np.array([5, 100, 200]),
        }),
    }  # fmt: skip


def derived(**more):
    from tidegate.results.tables import derive

    made = tables(**more)
    return {**made, **derive(made, MadeUp())}


def test_rates_are_payload_of_customers_and_the_index_is_jains():
    found = of_run(situation(), MadeUp(), tables())
    assert found["rate_bps.heavy"] == 6e6
    assert found["rate_bps.light"] == 1.5e6
    assert found["ratio"] == 4.0
    assert found["rtt_s"] == 0.03
    assert found["jain"] == pytest.approx((6 + 2 + 1) ** 2 / (3 * (36 + 4 + 1)))


def test_links_are_the_bottlenecks_used_on_average_and_waited_at_longest():
    found = of_run(situation(), MadeUp(), tables())
    assert found["utilization"] == 0.75
    assert found["p95_delay_s"] == 0.03
    assert found["state_bytes"] == 300


def test_who_fetches_now_and_then_has_a_rate_while_he_does():
    # 0.5 Mb/s over 20 s, all of it in the 2 s of the transfer.
    rates = customer_rates_bps(derived(), MadeUp(), "short", fetches=True)
    assert rates.tolist() == [pytest.approx(5e6)]
    assert not len(customer_rates_bps(derived(transfers=()), MadeUp(), "short", fetches=True))


def test_completion_is_the_mean_of_transfers_within_the_measured_time():
    made = derived(transfers=((12.0, 2.0), (20.0, 4.0), (1.0, 5.0)))  # the last ended before
    assert completion_s(made, MadeUp(), "short") == 3.0


def test_a_transfer_that_the_end_cuts_off_adds_its_time_and_no_completion():
    made = derived(transfers=((12.0, 2.0), (25.0, float("nan"))))
    assert completion_s(made, MadeUp(), "short") == 7.0
    late = derived(transfers=((12.0, 2.0), (25.0, 100.0)))  # finished long after the end
    assert completion_s(late, MadeUp(), "short") == 7.0


def test_where_none_finishes_the_time_so_far_is_what_is_told():
    made = derived(transfers=((4.0, float("nan")),))  # under way all the time
    assert completion_s(made, MadeUp(), "short") == LENGTH_S
    assert np.isnan(completion_s(derived(transfers=()), MadeUp(), "short"))


def test_what_is_not_there_is_none_and_not_a_number():
    found = of_run(situation(ratio=("heavy", "short")), MadeUp(), tables(transfers=()))
    assert found["ratio"] is None
    assert found["completion_s"] is None


def test_the_mean_of_factors_is_geometric():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
