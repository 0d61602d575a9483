"""The live page in Chromium: phone, dark, empty, and in a congested link."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from gateway.box import ROOT, Box, lacking, needing

WEB = ROOT / "web"
LACKING = lacking()
if not shutil.which("node"):
    LACKING.append("node")
if not (WEB / "node_modules/playwright-core").is_dir():
    LACKING.append("playwright-core (make page)")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if not CHROMIUM:
    LACKING.append("chromium")
pytestmark = needing(LACKING)
# TIDEGATE_SCREENSHOTS=FOLDER keeps what Chromium shows.
SCREENSHOTS = os.environ.get("TIDEGATE_SCREENSHOTS", "-")
LISTEN = ["--set", 'listen="127.0.0.1:9464"']


def visit(box: Box, stem: str, rows: int) -> dict[str, Any]:
    """What is on the page, once it has so many customers."""
    script = WEB / "visit_gateway.mjs"
    words = [str(CHROMIUM), SCREENSHOTS, stem, "http://127.0.0.1:9464/", str(rows)]
    # Chromium keeps its files there.
    home = Path(box.state_folder).parent
    text = box.inside("g", "env", f"HOME={home}", "node", script, *words)
    said: dict[str, Any] = json.loads(text)
    assert (said["requests"], said["errors"]) == ([], [])
    assert said["axe"] == {"light": [], "dark": [], "phone": []}
    assert all(pixels <= 0 for pixels in said["overflow"].values()), said["overflow"]
    return said


def awaited(box: Box, verdict: str) -> None:
    """Wait for packets of this verdict, and until the page has looked."""
    while box.totals()[verdict] < 20:
        time.sleep(0.1)
    time.sleep(5)


def test_the_page_shows_who_gets_what_and_why() -> None:
    with Box() as box:
        box.shape("u0", 20)
        heavy, light = (box.address(name, "ipv4") for name in ("heavy", "light"))
        path = box.file("customers.csv", f"id,addresses\nheavy,{heavy}\n<i>light,{light}\n")
        words = [*LISTEN, "--set", f'customer_file="{path}"']
        with box.control_loop("observe", *words):
            empty = visit(box, "empty", 0)
            with box.duel(15):
                awaited(box, "would-drop")
                observed = visit(box, "observed", 2)
            box.gateway("enforce")
            with box.duel(15):
                awaited(box, "dropped")
                enforced = visit(box, "enforced", 2)
    assert empty["mode"] == "Observing: no packet is touched."
    assert empty["note"] == "No customer has sent or received anything yet."
    assert empty["rows"] == []
    assert observed["where"] == "customers at c0, uplink u0"
    assert len(observed["health"]) == 2
    assert observed["health"][0] == "the signal is well"
    assert observed["health"][1] == "the device has no queue: everything passes"
    assert [row[0] for row in observed["rows"]] == ["heavy", "<i>light"]
    assert any(label.startswith("Delay of the queue: now ") for label in observed["figures"])
    assert observed["sentences"][0].startswith("With ABC, "), observed["sentences"]
    assert "doublings of the reference rate" in observed["why"]
    assert observed["nobody"].startswith("nobody <b> has sent and received nothing")
    assert "does not answer since" in observed["lost"]
    assert enforced["mode"] == "Enforcing: the link is shared by customer."
    # Would-be losses of the time before do not count.
    assert " lost " in enforced["sentences"][0], enforced["sentences"]
    assert "would" not in enforced["sentences"][0]
