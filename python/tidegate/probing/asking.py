"""Probes that go ahead of a call, and what their answers mean (Zimmermann's dissertation, 7.2.2).

Each probe is ECN-capable. Those that come back marked, and those that do not come back at all, are
the price p of the path, (7.3.3); a call may begin if p is below its threshold: w/x, willingness to
pay over rate, where they are given, and else 1/n, so that a single mark blocks.
"""

from __future__ import annotations

import os
import select
import socket
import time
from dataclasses import dataclass, field
from enum import Enum

from tidegate.errors import UsageError
from tidegate.probing.packets import CE, ECT_0, LEAST_BYTES, NOT_ECT, Probe, udp_socket

_UDP_BYTES = 28
"""Headers of IPv4 and UDP."""


class Verdict(Enum):
    """What a path says of a call."""

    admit = "admit"
    refuse = "refuse"
    silent = "no answer"
    blind = "cleared"
    """Answers came, but a node on the path clears the ECN field, so that marks do not arrive."""


@dataclass
class Answers:
    """What became of some probes."""

    sent: int = 0
    ecn: dict[int, int] = field(default_factory=dict)
    """ECN field on arrival, by the probe's number."""
    round_trips_s: list[float] = field(default_factory=list)

    @property
    def marked(self) -> int:
        """Probes that came back marked."""
        return sum(ecn == CE for ecn in self.ecn.values())

    @property
    def lost(self) -> int:
        """Probes that did not come back."""
        return self.sent - len(self.ecn)

    @property
    def price(self) -> float:
        """Share that was marked or lost, (7.3.3)."""
        return (self.lost + self.marked) / self.sent

    def verdict(self, threshold: float | None) -> Verdict:
        """What the path says, with w/x as the threshold or, without, 1/n.

        >>> Answers(10, {k: 2 for k in range(10)}).verdict(None).value
        'admit'
        >>> Answers(10, {k: 3 if k == 4 else 2 for k in range(10)}).verdict(None).value
        'refuse'
        >>> Answers(10, {k: 3 if k == 4 else 2 for k in range(10)}).verdict(0.2).value
        'admit'
        """
        if not self.ecn:
            return Verdict.silent
        if all(ecn == NOT_ECT for ecn in self.ecn.values()):
            return Verdict.blind
        limit = 1 / self.sent if threshold is None else threshold
        return Verdict.admit if self.price < limit else Verdict.refuse


@dataclass(frozen=True)
class Probing:
    """How a path is probed."""

    probes: int = 10
    spacing_s: float = 0.04
    size_bytes: int = 100
    """On the wire, over IPv4."""
    patience_s: float = 1.0
    """How long answers are waited for after the last probe."""

    def ask(self, host: str, port: int) -> Answers:
        """Probe the path to a host."""
        try:
            family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        except OSError as error:
            raise UsageError(f"no host {host!r}: {error.strerror or error}") from None
        with udp_socket(family, ECT_0) as opened:
            opened.connect(place)
            return self._ask(opened)

    def _ask(self, opened: socket.socket) -> Answers:
        run, answers = os.urandom(8), Answers()
        payload_bytes = max(LEAST_BYTES, self.size_bytes - _UDP_BYTES)
        sent_at: dict[int, float] = {}
        begun = time.monotonic()
        for number in range(self.probes):
            self._listen(opened, run, answers, sent_at, begun + number * self.spacing_s)
            sent_at[number] = time.monotonic()
            answers.sent += 1
            try:
                opened.send(Probe(run, number).emit(payload_bytes))
            except OSError:
                continue  # nobody listens there, or no way leads there: a probe that is lost
        self._listen(opened, run, answers, sent_at, time.monotonic() + self.patience_s)
        return answers

    def _listen(
        self, opened: socket.socket, run: bytes, answers: Answers,
        sent_at: dict[int, float], until: float,
    ) -> None:  # fmt: skip
        """Take answers until then, or until all there will be are there.

        What is there counts, also where this process is late to look.
        """
        while len(answers.ecn) < self.probes:
            left = max(0.0, until - time.monotonic())
            if not select.select([opened], [], [], left)[0]:
                return
            try:
                answer = Probe.parse(opened.recv(2048))
            except OSError:
                continue  # the host says that nobody listens
            if answer and answer.run == run and answer.number in sent_at:
                if answer.number not in answers.ecn:
                    answers.round_trips_s.append(time.monotonic() - sent_at[answer.number])
                answers.ecn[answer.number] = answer.ecn
