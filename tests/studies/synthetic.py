"""Data and an engine that tests make up."""

from tidegate.results.statistics import Estimate
from tidegate.scenarios.reading import parse
from tidegate.studies.data import Datum, Group
from tidegate.studies.points import Point, Points


def estimate(value, half_width=0.0):
    return Estimate(value, half_width, 10 if half_width else 0)


def group(values, half_width=0.0, factor="x"):
    """Data over one factor, from {level: mean}."""
    data = [Datum({factor: level}, estimate(mean, half_width)) for level, mean in values.items()]
    return Group("", {"": data})


def named(values, half_width=0.0):
    """A datum (or several) for each level name, from {name: mean or means}."""
    listed = {name: means if isinstance(means, list) else [means] for name, means in values.items()}
    return Group(
        "",
        {
            name: [Datum({}, estimate(mean, half_width)) for mean in means]
            for name, means in listed.items()
        },
    )


def curve_groups(curves, half_width=0.0, factor="x"):
    """A curve over one factor for each level name, from {name: {level: mean}}."""
    return Group(
        "", {name: group(values, half_width, factor).all for name, values in curves.items()}
    )


def book(rows, metric="m", half_width=0.0, key=("e", "s")):
    """A book of one series, from [(levels, mean)]."""
    return Points({key: [Point(levels, {metric: estimate(v, half_width)}) for levels, v in rows]})


class FakeSimulation:
    """Answers as the engine does; heavy users get `ratio` times what light ones get."""

    seed = 1
    warm_up_s = 15.0
    duration_s = 60.0
    groups = ("ug0", "ug1")

    def __init__(self, text, overrides, ratio=10.0):
        self.text = text + repr(overrides)
        self.real = (text, overrides)
        self.ratio = ratio

    def meter_activities(self, times_s):
        return parse(*self.real).meter_activities(times_s)

    def to_toml(self):
        return self.text

    def run(self, seed):
        wobble = 1.0 + 0.01 * (seed % 3)
        return {
            "flows": {
                "user": [0, 0, 1],
                "group": [0, 0, 1],
                "throughput_bps": [2.5e6 * wobble, 2.5e6 * wobble, 5e6 / self.ratio],
                "timeouts": [0, 1, 0],
                "packets_sent": [100, 100, 20],
                "retransmits": [0, 20, 0],
                "losses": [0, 20, 0],
                "packets_delivered": [100, 80, 20],
                "marks": [50, 40, 0],
            },
            "links": {
                "name": ["ug0.0.access", "bottleneck"],
                "arrivals": [10, 100],
                "departures": [10, 90],
                "departures_in_all": [10, 90],
                "utilization": [0.1, 1.0],
                "mean_backlog_packets": [0.0, 12.0],
                "drops_full": [0, 1],
                "drops_aqm": [0, 9],
                "drops_wire": [0, 0],
                "drops_policer": [0, 0],
                "marks": [0, 5],
            },
            "link_groups": {
                "link": ["bottleneck", "bottleneck"],
                "group": [0, 1],
                "mean_activity": [1.0, 3.0],
            },
            "transfers": {"start_s": [15.0], "completion_s": [2.7]},
        }
