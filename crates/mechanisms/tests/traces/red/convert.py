"""Joins ns-2's two traces into one line per arriving packet; see ns2.tcl."""

from pathlib import Path

TRANSMISSION_S = 0.008

# Per update of the average: its value, and p_b where ns-2 has computed it.
updates: list[tuple[str, str]] = []
for line in Path("averages.tmp").read_text().splitlines():
    name, _, value = line.split()
    if name == "a":
        updates.append((value, "-"))
    elif name == "p" and updates and float(value) > 0:
        updates[-1] = (updates[-1][0], value)

rows = [
    "# RED in ns-2.35 (ns2.tcl): one line per arriving packet",
    "# waiting_packets idle_us average p_b",
]
waiting, idle_since, next_update, average = 0, 0.0, iter(updates), 0.0
for line in Path("packets.tmp").read_text().splitlines():
    event, time = line.split()[:2]
    if event == "-":
        waiting -= 1
        idle_since = float(time) + TRANSMISSION_S
    elif event == "d":
        waiting -= 1
    elif event == "+":
        idle_s = max(0.0, float(time) - idle_since) if waiting == 0 else 0.0
        # ns-2 writes a value down when it changes: not as long as it is 0.
        if average > 0 or waiting > 0:
            text, p_b = next(next_update)
            average = float(text)
            rows.append(f"{waiting} {round(idle_s * 1e6)} {text} {p_b}")
        waiting += 1
Path("ns2.trace").write_text("\n".join(rows) + "\n")
