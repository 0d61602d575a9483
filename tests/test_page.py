"""The page in Chromium, and its engine in node, beside the native one."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from support import ROOT

import tidegate
from tidegate._native import Scenario
from tidegate.errors import MissingPageError, ScenarioError
from tidegate.exploring import PAGE, explore

WEB = ROOT / "web"
ENGINE = ROOT / "target" / "wasm32-unknown-unknown" / "web" / "tidegate_web.wasm"
FILE = "scenarios/evening-peak.toml"
AGAINST = "bottleneck.differentiation.kind"
# One Chromium at a time.
pytestmark = pytest.mark.xdist_group("page")


def needs(*, page=False, packages=False):
    if shutil.which("node") is None:
        pytest.skip("no node")
    if page and not PAGE.is_file():
        pytest.skip("the page is not built: `make page`")
    if not page and not ENGINE.is_file():
        pytest.skip("the engine is not built for WebAssembly: `make page`")
    if packages and not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("no playwright-core: `make page`")


def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return found or pytest.skip("no chromium")


def node(*arguments):
    command = ["node", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def digest(text, overrides=()):
    scenario = Scenario.parse(text, list(overrides))
    return scenario.run(scenario.seed)["run"]["digest"][0]


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    """What happens on the page that `tidegate explore` writes."""
    needs(page=True, packages=True)
    page = explore(ROOT / FILE, against={AGAINST: "none"}, out=tmp_path_factory.mktemp("page"))
    assert page.name == "evening-peak.html"
    return json.loads(node(WEB / "visit.mjs", chromium(), page))


def test_the_page_asks_for_nothing_and_reports_no_error(visit):
    assert visit["requests"] == []
    assert visit["errors"] == []


def test_digests_are_those_of_native_runs(visit):
    text = (ROOT / FILE).read_text()
    assert visit["text"] == text
    native = [digest(text), digest(text, [(AGAINST, "none")])]
    assert visit["digests"].split() == native
    assert re.findall(r"first digest (\w+)", visit["command"]) == native


def test_a_control_changes_the_text_and_what_runs(visit):
    text = visit["text_edited"]
    assert text == visit["text"].replace('rate = "10 Mb/s"', 'rate = "2 Mb/s"', 1)
    assert visit["digests_edited"].split() == [digest(text), digest(text, [(AGAINST, "none")])]


def test_a_link_brings_back_the_same_state_and_results(visit):
    assert "#s=" in visit["link"]
    assert visit["text_linked"] == visit["text_edited"]
    assert visit["digests_linked"] == visit["digests_edited"]


def test_an_error_has_line_and_column_and_leads_there(visit):
    with pytest.raises(ScenarioError) as refused:
        Scenario.parse(re.sub(r"(?m)^rate = .*$", 'rate = "10 M"', visit["text"], count=1))
    (issue,) = refused.value.issues
    assert visit["problem"].startswith(f"line {issue.line}, column {issue.column} ")
    assert issue.message in visit["problem"]
    assert visit["selected"] == 'rate = "10 M"'


def test_what_may_stand_at_the_cursor_is_offered(visit):
    offered = {begun: own["offers"][:1] for begun, own in visit["completion"].items()}
    assert offered == {
        "[bott": ["bottleneck"],
        "[bottleneck]\naq": ["aqm"],
        '[bottleneck]\naqm = { kind = "co': ["codel"],
        '[bottleneck]\naqm = { kind = "pie", tar': ["target"],
        "[users.a]\ntcp.ec": ["ecn"],
        "# aq": [],
    }
    taken = [own["text"] for own in visit["completion"].values()]
    assert taken[:2] == ["[bottleneck", "[bottleneck]\naqm = "]
    assert taken[2].endswith('aqm = { kind = "codel"')
    assert taken[4].endswith("tcp.ecn = ")


def test_each_situation_of_the_gallery_has_an_answer(visit):
    assert len(visit["gallery"]) == 10
    for title, found in visit["gallery"].items():
        assert found["problems"] == [], title
        assert "With " in found["sentence"], title


def test_a_large_scenario_is_left_to_the_native_engine(visit):
    assert "million packets" in visit["large"]


def test_axe_finds_nothing_serious_and_a_phone_is_wide_enough(visit):
    assert visit["axe"] == {"light": [], "error": [], "completion": [], "phone": []}
    assert visit["phone_overflow"] <= 0


def test_the_page_is_small_and_its_policy_allows_no_request():
    needs(page=True)
    import gzip

    content = PAGE.read_text()
    assert len(gzip.compress(content.encode(), 9)) <= 900_000
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', content)
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert not re.search(r"connect-src|https?:", policy)


def test_the_engine_in_node_has_native_digests():
    needs()
    names = ["dualpi2", "csfq-udp-flood", "sbrm", "conex-audit", "video", "handover"]
    files = [ROOT / "scenarios" / f"{name}.toml" for name in names]
    lines = node(WEB / "digests.mjs", ENGINE, *files).splitlines()
    assert [line.split("\t")[0] for line in lines] == [digest(file.read_text()) for file in files]


def test_what_is_too_large_for_memory_is_a_sentence():
    needs()
    script = """
        import { engine } from "./web/engine.mjs";
        const text = `version = 1\nwarm_up = "0 s"\nduration = "1 s"\nbottleneck.rate = "1 Mb/s"\n`
            + `users.a = { count = 100000, flows = 10 }\n`;
        try {
            console.log(engine(process.argv[1])({ ask: "run", text, seed: "1" }));
        } catch (error) {
            console.log(error.message);
        }
    """
    command = ["node", "--input-type=module", "--eval", script, ENGINE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "out of memory", done


def test_explore_writes_the_scenario_with_its_changes(tidegate_command, tmp_path):
    needs(page=True)
    done = tidegate_command(
        "explore", "small.toml", "--set", "users.heavy.flows=7", "--out", "page", "--no-open"
    )
    assert done.stdout.strip() == "page/small.html"
    content = (tmp_path / "page" / "small.html").read_text()
    (given,) = re.findall(r'<script type="application/json" id="given">(.*?)</script>', content)
    state = json.loads(given)
    assert (
        Scenario.parse(state["text"]).plan()
        == Scenario.parse(
            (tmp_path / "small.toml").read_text(), [("users.heavy.flows", "7")]
        ).plan()
    )


def test_a_text_that_would_end_the_element_does_not(tmp_path):
    needs(page=True)
    text = 'version = 1\ndescription = "</script><b>"\nbottleneck.rate = "1 Mb/s"\nusers.a = {}\n'
    content = explore(text, out=tmp_path).read_text()
    assert "</script><b>" not in content
    (given,) = re.findall(r'id="given">(.*?)</script>', content)
    assert json.loads(given)["text"] == text


@pytest.mark.parametrize("option", ["--set", "--against"])
def test_explore_refuses_what_simulate_refuses(tidegate_command, option):
    needs(page=True)
    done = tidegate_command("explore", "small.toml", option, "users.heavy.flow=7", "--no-open")
    assert done.returncode == 3
    assert "flow" in done.stderr


def test_without_the_page_explore_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr("tidegate.exploring.PAGE", tmp_path / "none.html")
    with pytest.raises(MissingPageError, match="make page") as missing:
        explore()
    assert missing.value.exit_code == 77


def test_make_page_names_what_is_missing():
    program = ROOT / "tools" / "page.py"
    done = subprocess.run(
        [sys.executable, program], env={"PATH": "/nowhere"}, capture_output=True, text=True
    )
    assert done.returncode == 77
    assert "page: missing: node: apt-get install nodejs" in done.stderr


def test_a_widget_tells_its_notebook_what_is_chosen_and_what_comes_out(tmp_path):
    needs(page=True, packages=True)
    widget = tidegate.explorer(ROOT / FILE, set={"replications": 2}, against={AGAINST: "none"})
    state, code = tmp_path / "state.json", tmp_path / "widget.js"
    state.write_text(json.dumps({"page": widget.page, "height_px": widget.height_px}))
    code.write_text(widget._esm)
    heard = json.loads(node(WEB / "visit_widget.mjs", chromium(), state, code))
    assert heard["errors"] == []
    assert heard["changed"].keys() == {"text", "against", "digests", "rows"}
    widget.set_state(heard["changed"])
    plain = tidegate.load_scenario(widget.text, set={AGAINST: "none"})
    assert widget.digests == [digest(widget.text), digest(plain.to_toml())]
    shares = [row for row in widget.rows if row["metric"] == "share" and row["name"] == "heavy"]
    assert [row["runs"] for row in shares] == [2, 2]
    assert 0 < shares[0]["mean"] < shares[1]["mean"] < 1


def test_a_widget_is_refused_as_a_page_is():
    needs(page=True)
    with pytest.raises(ScenarioError):
        tidegate.explorer(ROOT / FILE, set={"users.nobody.flows": 2})
