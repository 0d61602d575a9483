"""Make the traces of this folder: synthetic ones, from no measurement.

``cellular.down`` is in Mahimahi's format. A rate is chosen every 100 ms: its logarithm is a random
walk that is drawn back to log(3 Mb/s), and with probability 1/100 nothing can be sent for 0.3 to
1.2 s, as behind a corner. Opportunities of 1500 bytes are spread evenly over that rate.

``leo-delay.csv`` has a one-way delay as on a path over satellites in a low orbit: every 15 s
another satellite, which is 18 to 38 ms away, and in between a drift of up to 3 ms, a row every half
second.
"""

import math
import random
from pathlib import Path

FOLDER = Path(__file__).parent


def cellular(seconds: int = 20, seed: int = 1) -> str:
    """Make times of opportunities, in milliseconds."""
    draws = random.Random(seed)  # noqa: S311 - no secret
    log_rate, owed, silent_until, lines = math.log(3e6), 0.0, 0.0, []
    for ms in range(1, 1000 * seconds + 1):
        if ms % 100 == 1:
            log_rate += 0.15 * (math.log(3e6) - log_rate) + draws.gauss(0, 0.35)
            if draws.random() < 0.01:
                silent_until = ms + draws.uniform(300, 1200)
        if ms >= silent_until:
            owed += math.exp(log_rate) / 1000 / 12000
        while owed >= 1:
            lines.append(f"{ms}\n")
            owed -= 1
    return "".join(lines)


def leo(seconds: int = 60, seed: int = 2) -> str:
    """Make rows of a time and a delay."""
    draws = random.Random(seed)  # noqa: S311 - no secret
    rows = ["time_s,delay_ms\n"]
    for half in range(2 * seconds):
        if half % 30 == 0:
            far, drift = draws.uniform(18, 38), draws.uniform(-3, 3)
        rows.append(f"{half / 2},{far + drift * (half % 30) / 30:.2f}\n")
    return "".join(rows)


if __name__ == "__main__":
    (FOLDER / "cellular.down").write_text(cellular(), encoding="utf-8")
    (FOLDER / "leo-delay.csv").write_text(leo(), encoding="utf-8")
