"""What monitoring reads: /metrics and /status on loopback, and nothing else."""

import json
import re
import sys
import time

from gateway.box import Box, lacking, needing

pytestmark = needing(lacking())

GET = """
import sys, urllib.error, urllib.request
request = urllib.request.Request("http://127.0.0.1:9464" + sys.argv[2], method=sys.argv[1])
try:
    with urllib.request.urlopen(request) as answer:
        print(answer.status, answer.headers["Content-Type"])
        print(answer.read().decode(), end="")
except urllib.error.HTTPError as error:
    print(error.code, "")
"""
SAMPLE = re.compile(r'^(\w+)(?:\{((?:\w+="[^"]*",?)*)\})? (\S+)$')


def get(box: Box, path: str, method: str = "GET") -> tuple[int, str, str]:
    text = box.inside("g", sys.executable, "-c", GET, method, path)
    head, _, body = text.partition("\n")
    code, _, kind = head.partition(" ")
    return int(code), kind, body


def samples(text: str) -> dict[tuple[str, str], float]:
    """Values by name and labels; every line has to be one of the format."""
    found = {}
    lines = text.splitlines()
    assert lines[-1] == "# EOF"
    for line in lines[:-1]:
        if line.startswith(("# HELP ", "# TYPE ", "# UNIT ")):
            continue
        match = SAMPLE.match(line)
        assert match, line
        found[match[1], match[2] or ""] = float(match[3])
    return found


def test_metrics_and_status_are_served_on_loopback_and_read_only(box: Box) -> None:
    heavy = box.address("heavy", "ipv4")
    path = box.file("customers.csv", f"id,addresses\nheavy,{heavy}\n")
    words = ["--set", 'listen="127.0.0.1:9464"', "--set", f'customer_file="{path}"']
    words += ["--set", 'customers="10.1.0.0/24"']
    box.shape("u0", 10)
    with box.control_loop("enforce", *words), box.duel(12):
        time.sleep(5)
        # The queue may just be empty, which is no delay.
        for _ in range(20):
            code, kind, text = get(box, "/metrics")
            if samples(text)["tidegate_delay_seconds", 'direction="upload"'] > 0:
                break
        status = json.loads(get(box, "/status")[2])
        named = box.status(0.2)
        anonymous = json.loads(
            box.gateway("status", "--format", "json", "--anonymous", "--every", "0.2")
        )
        assert [get(box, path, method)[0] for method, path in (
            ("POST", "/metrics"), ("GET", "/etc/passwd"), ("GET", "/"), ("HEAD", "/metrics"),
        )] == [405, 404, 200, 200]  # fmt: skip
    assert (code, kind.split(";")[0]) == (200, "application/openmetrics-text")
    got = samples(text)
    up = 'direction="upload"'
    assert got["tidegate_enforce", ""] == 1
    assert 0 < got["tidegate_probability", up] < 1
    assert got["tidegate_signal_fresh", up] == 1
    assert got["tidegate_signal_state", f'{up},state="ok"'] == 1
    assert got["tidegate_delay_seconds", up] > 0
    assert 8e6 < got["tidegate_rate_bits_per_second", up] < 11e6
    assert got["tidegate_packets_total", f'{up},verdict="passed"'] > 100
    assert got["tidegate_packets_total", f'{up},verdict="dropped"'] > 0
    assert got["tidegate_seen_bytes_total", f'{up},verdict="passed"'] > 1e5
    assert 0.5 <= got["tidegate_fairness", up] <= 1
    assert got["tidegate_customers_by_activity", f'{up},le="+Inf"'] == 2
    assert got["tidegate_customers_by_activity", f'{up},le="0"'] <= 2
    assert got["tidegate_customer_rate_bits_per_second", f'customer="heavy",{up}'] > 1e5
    assert got["tidegate_program_runs_total", 'program="tidegate_up"'] >= 0
    # One table, asked for in two ways.
    assert status.keys() == named.keys()
    assert {one["customer"] for one in named["customers"]} == {"heavy", "10.1.0.3"}
    assert {one["customer"] for one in anonymous["customers"]} == {"#1", "#2"}
    assert named["upload"]["fairness"] is not None
    assert named["upload"]["customers_by_activity"][-1]["customers"] <= 2


def test_only_loopback_is_taken(box: Box) -> None:
    code, _ = box.gateway_code("observe", "c0", "--uplink", "u0", "--set", 'listen="0.0.0.0:80"')
    assert code == 3
