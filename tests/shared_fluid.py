"""Links that tell customers apart, followed in time: the models' equations, not linearised.

Apart from the models' own code but for the law of TCP's rate; slow and plain, as a judge of them.
"""

from dataclasses import dataclass, field

import numpy as np


class Past:
    """A function of time, at equal steps, and between them on straight lines."""

    def __init__(self, value):
        self.values = [value]

    def ago(self, steps):
        at = max(len(self.values) - 1 - steps, 0.0)
        before = int(at)
        after = min(before + 1, len(self.values) - 1)
        part = at - before
        return self.values[before] + part * (self.values[after] - self.values[before])


@dataclass
class AbcFluid:
    """`points` are those of the queue's law; groups are those of the link."""

    link: object
    points: tuple
    step_s: float = 1e-3
    queue: list = field(default_factory=list)

    def follow(self, duration_s, *, shifted):
        """The state over time when windows begin off the equilibrium by these shares."""
        at, customers = self.link.equilibrium, self.link.customers
        rtts = [each.rtt_s(at.queue_packets, self.link.capacity_pps) for each in customers]
        windows = [
            offered * rtt / each.flows.count * (1 + shift)
            for offered, rtt, each, shift in zip(
                at.offered_pps, rtts, customers, shifted, strict=True
            )
        ]
        state = np.array([*windows, *at.state, at.mean_state, at.queue_packets])
        self.past = {
            "rate": [
                Past(x * (1 + shift)) for x, shift in zip(at.offered_pps, shifted, strict=True)
            ],
            "activity": [Past(a) for a in at.state],
            "loss": [Past(p) for p in at.loss],
        }
        kept = [state]
        for _ in range(round(duration_s / self.step_s)):
            here = self.change(state, 0.0)
            there = self.change(state + self.step_s * here, self.step_s)
            state = state + self.step_s / 2 * (here + there)
            self.remember(state)
            kept.append(state)
        return np.array(kept)

    def split(self, state):
        groups = len(self.link.customers)
        return state[:groups], state[groups : 2 * groups], state[-2], state[-1]

    def rates(self, windows, queue):
        customers = self.link.customers
        return [
            each.flows.count * window / each.rtt_s(queue, self.link.capacity_pps)
            for each, window in zip(customers, windows, strict=True)
        ]

    def losses(self, activities, mean, queue):
        own = np.interp(queue, *np.transpose(self.points))
        return [own ** (2 ** (-self.link.gamma * (a - mean))) for a in activities]

    def remember(self, state):
        windows, activities, mean, queue = self.split(state)
        _, carried = self.at_queue(queue, self.step_s)
        now = {
            "rate": self.rates(windows, queue),
            "activity": activities,
            "loss": self.losses(carried, mean, queue),
        }
        for name, values in now.items():
            for past, value in zip(self.past[name], values, strict=True):
                past.values.append(value)

    def at_queue(self, queue, ahead_s):
        """Rates and activities of half a round trip ago."""
        lags = [
            (each.rtt_s(queue, self.link.capacity_pps) / 2 - ahead_s) / self.step_s
            for each in self.link.customers
        ]
        return [
            [past.ago(lag) for past, lag in zip(self.past[name], lags, strict=True)]
            for name in ("rate", "activity")
        ]

    def change(self, state, ahead_s):
        windows, activities, mean, queue = self.split(state)
        link = self.link
        arriving, carried = self.at_queue(queue, ahead_s)
        losses = self.losses(carried, mean, queue)
        counts = [each.count for each in link.customers]
        moved = []
        for n, each in enumerate(link.customers):
            rtt_s = each.rtt_s(queue, link.capacity_pps)
            met = self.past["loss"][n].ago((rtt_s / 2 - ahead_s) / self.step_s)
            acks = self.past["rate"][n].ago((rtt_s - ahead_s) / self.step_s) / each.flows.count
            flows = each.flows
            settles = float(flows.rate_pps(np.asarray(met), np.asarray(rtt_s))) * rtt_s
            grows = (1 / windows[n] - windows[n] / settles**2) / flows.packets_per_ack
            moved.append(grows * acks)
        sent = self.rates(windows, queue)
        metered = [
            (x * 2**-a / each.reference_pps - 1) / link.inertia_s
            for x, a, each in zip(sent, activities, link.customers, strict=True)
        ]
        share = 1 - link.activity_weight
        above = sum(n * x * (a - mean) for n, x, a in zip(counts, arriving, carried, strict=True))
        into = sum(n * x * (1 - p) for n, x, p in zip(counts, arriving, losses, strict=True))
        return np.array([*moved, *metered, share * above, into - link.capacity_pps])


class AicpFluid(AbcFluid):
    """AICP-b, with Reno: fills in the place of activities, and no average."""

    def losses(self, fills, _mean, queue):
        own = np.interp(queue, *np.transpose(self.points))
        return [self.link.policing.loss(own, min(fill, 1.0)) for fill in fills]

    def remember(self, state):
        windows, fills, mean, queue = self.split(state)
        now = {
            "rate": self.rates(windows, queue),
            "activity": fills,
            "loss": self.losses(fills, mean, queue),
        }
        for name, values in now.items():
            for past, value in zip(self.past[name], values, strict=True):
                past.values.append(value)

    def change(self, state, ahead_s):
        windows, fills, mean, queue = self.split(state)
        link = self.link
        arriving, _ = self.at_queue(queue, ahead_s)
        losses = self.losses(fills, mean, queue)
        own = np.interp(queue, *np.transpose(self.points))
        moved = []
        for n, each in enumerate(link.customers):
            rtt_s = each.rtt_s(queue, link.capacity_pps)
            met = self.past["loss"][n].ago((rtt_s / 2 - ahead_s) / self.step_s)
            acks = self.past["rate"][n].ago((rtt_s - ahead_s) / self.step_s) / each.flows.count
            moved.append(((1 - met) / windows[n] - met * windows[n] / 2) * acks)
        through = [x * (1 - p) for x, p in zip(arriving, losses, strict=True)]
        filled = [(link.fill_pps - own * y) / link.depth_packets for y in through]
        into = sum(each.count * y for each, y in zip(link.customers, through, strict=True))
        return np.array([*moved, *filled, 0.0, into - link.capacity_pps])
