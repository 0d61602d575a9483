"""Reports: what they have of a result, and that Chromium shows them without asking for anything."""

import base64
import json
import re
import shutil
import subprocess
import zlib

import pytest
from support import ROOT, SMALL, SWEEP

import tidegate
from tidegate.errors import MissingPageError, ResultError, UsageError
from tidegate.exploring import PAGE, fragment
from tidegate.reporting import MOST_POINTS, REPORT, content, gather
from tidegate.results.result import Comparison

WEB = ROOT / "web"
# One Chromium at a time.
pytestmark = pytest.mark.xdist_group("page")

NASTY = '</script><script>alert("x")</script><b>'
IMAGE = "<img src=x onerror=alert(1)>"
NAMED = SMALL.replace('name = "small"', f"name = '{NASTY}'\ndescription = '{NASTY}'")


def needs_page():
    if not REPORT.is_file():
        pytest.skip("the page of reports is not built: `make page`")


def given(path):
    (data,) = re.findall(
        r'<script type="application/json" id="given">(.*?)</script>', path.read_text()
    )
    return json.loads(data)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Folders of results by what they are."""
    folder = tmp_path_factory.mktemp("results")
    tidegate.simulate(SMALL).save(folder / "one")
    tidegate.simulate(SMALL, set={"users.heavy.flows": 2}).save(folder / "other")
    variants = {"as in the file": {}, IMAGE: {"bottleneck.differentiation": "none"},
                "fair": {"bottleneck.scheduler": "drr"}}  # fmt: skip
    Comparison({name: tidegate.simulate(NAMED, set=keys) for name, keys in variants.items()}).save(
        folder / "variants"
    )
    tidegate.sweep(SWEEP, out=folder / "sweep", replications=2)
    transfers = {"kind": "transfer", "size": "100 kB", "pause": "0.2 s"}
    tidegate.simulate(SMALL, set={"users.light.traffic": transfers}).save(folder / "transfers")
    return folder


def test_a_report_has_the_numbers_of_the_result(results):
    result = tidegate.load(results / "one")
    (variant,) = content({"": result}, "tidegate")["variants"]
    known = {(row["metric"], row["name"]): row for row in result.summary().to_pylist()}
    shown = {(metric, name) for metric, name, *_ in variant["values"]}
    assert {("throughput_bps", "heavy"), ("p99_queueing_delay_s", "light")} <= shown
    assert ("drop_ratio", "bottleneck") in shown
    for metric, name, mean, ci95, runs in variant["values"]:
        row = known[metric, name]
        assert (mean, ci95, runs) == (row["mean"], row["ci95"], row["runs"])
    assert variant["label"] == "small"
    assert variant["elastic"] == ["heavy", "light"]


def test_its_command_repeats_the_result_to_the_digest(results, tidegate_command):
    result = tidegate.load(results / "other")
    (variant,) = content({"": result}, "tidegate")["variants"]
    command, comment = variant["command"].splitlines()
    (tidegate_command.folder / variant["file"]).write_text(variant["scenario"])
    done = tidegate_command(*command.split()[1:], "--no-save", "--format", "json")
    runs = json.loads(done.stdout)["runs"]
    assert [run["digest"] for run in runs] == [digest for _, digest in result.digests]
    assert comment == f"# first digest {runs[0]['digest']}"


def test_variants_have_their_differences_with_intervals_and_settings(results):
    found = content(gather([results / "variants"]), "tidegate")
    assert [one["label"] for one in found["variants"]] == ["as in the file", IMAGE, "fair"]
    (differences,) = [grid for grid in found["tables"] if grid["title"].startswith("Differences")]
    assert "runs paired by their seeds" in differences["title"]
    assert any("±" in cell for row in differences["cells"] for cell in row)
    keys = [row[0] for row in found["settings"]["cells"]]
    assert "bottleneck.scheduler.kind" in keys


def test_transfers_have_their_completion_times(results):
    found = content(gather([results / "transfers"]), "tidegate")
    (variant,) = found["variants"]
    of_transfers = {
        (metric, name) for metric, name, *_ in variant["values"] if "completion" in metric
    }
    assert {name for _, name in of_transfers} == {"light"}
    assert ("p99_completion_s", "light") in of_transfers


def test_results_side_by_side_are_named_by_their_folders_and_points_by_their_settings(results):
    assert list(gather([results / "one", results / "other"])) == ["one", "other"]
    assert list(gather([results / "one", results / "one"])) == ["one: one", "one: one (2)"]
    assert list(gather([results / "variants" / "variant-2", results / "one"])) == ["fair", "one"]
    points = list(gather([results / "sweep"]))
    assert points[0] == "users.heavy.flows = 1, bottleneck.differentiation.gamma = 0.0"
    assert len(points) == 4
    assert len(gather([results / "variants", results / "one"])) == 4


def test_a_sweep_with_many_points_is_refused_with_what_draws_it(tmp_path):
    flows = list(range(1, MOST_POINTS + 2))
    text = f'{SMALL}\n[sweep]\n"users.heavy.flows" = {flows}\n'
    tidegate.sweep(text, out=tmp_path / "many", replications=1, set={"duration": "0.1 s"})
    with pytest.raises(UsageError, match=f"{len(flows)} points.*tidegate plot"):
        gather([tmp_path / "many"])


def test_what_is_no_result_is_refused(tmp_path, tidegate_command):
    with pytest.raises(ResultError, match="no result folder"):
        gather([tmp_path])
    with pytest.raises(UsageError, match="name a result folder"):
        tidegate.report()


def test_without_the_page_a_report_says_how_to_build_it(results, monkeypatch, tmp_path):
    monkeypatch.setattr("tidegate.reporting.REPORT", tmp_path / "report.html")
    with pytest.raises(MissingPageError, match=r"make report-page.*node") as missing:
        tidegate.report(results / "one")
    assert missing.value.exit_code == 77


def test_the_address_of_a_scenario_unpacks_to_it():
    packed = fragment('a = "ü"', "b=1").removeprefix("#s=")
    bytes_ = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    assert json.loads(zlib.decompress(bytes_, -15)) == {"text": 'a = "ü"', "against": "b=1"}


def test_the_command_writes_the_page_into_the_result_or_where_asked(results, tidegate_command):
    needs_page()
    one, other = results / "one", results / "other"
    assert tidegate_command("report", one).stdout.strip() == str(one / "report.html")
    done = tidegate_command("report", one, other)
    path = tidegate_command.folder / done.stdout.strip()
    assert re.fullmatch(r"results/one--other-\w{8}/report\.html", done.stdout.strip())
    assert [variant["label"] for variant in given(path)["variants"]] == ["one", "other"]
    assert tidegate_command("report", one, "--out", "r").stdout.strip() == "r/report.html"


def test_a_report_goes_with_its_result(results, tmp_path):
    needs_page()
    tidegate.simulate(SMALL, replications=1).save(tmp_path / "r")
    tidegate.report(tmp_path / "r")
    tidegate.simulate(SMALL, replications=2).save(tmp_path / "r")
    assert not (tmp_path / "r" / "report.html").exists()


def test_the_policy_of_a_report_allows_no_request():
    needs_page()
    text = REPORT.read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy
    assert not re.search(r"unsafe|connect-src|https?:", policy)


@pytest.fixture(scope="module")
def visits(results, tmp_path_factory):
    """What happens in Chromium, by report."""
    needs_page()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if shutil.which("node") is None or chromium is None:
        pytest.skip("no node or no chromium")
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("no playwright-core: `make page`")
    folder = tmp_path_factory.mktemp("reports")
    names = {"one": ["transfers"], "variants": ["variants"], "sweep": ["sweep"]}
    pages = [
        tidegate.report(*(results / part for part in parts), out=folder / name)
        for name, parts in names.items()
    ]
    command = ["node", WEB / "visit_report.mjs", chromium, "-", *pages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(zip(names, json.loads(done.stdout), strict=True))


def test_reports_ask_for_nothing_and_report_no_error(visits):
    for name, visit in visits.items():
        # The page to explore is asked for by who follows the link.
        asked = [url for url in visit["requests"] if not url.endswith("/tidegate.html")]
        assert asked == [], name
        assert visit["errors"] == [], name


def test_axe_finds_nothing_serious_and_pages_are_wide_enough(visits):
    for name, visit in visits.items():
        assert visit["axe"] == {"light": [], "dark": [], "phone": []}, name
        assert max(visit["overflow"].values()) <= 0, name


def test_a_sentence_a_table_and_series_show_the_result(visits, results):
    visit = visits["one"]
    result = tidegate.load(results / "transfers")
    rows = result.summary().to_pylist()
    heavy = next(r for r in rows if (r["name"], r["metric"]) == ("heavy", "throughput_bps"))
    assert f"A user of heavy gets {heavy['mean'] / 1e6:.2f} Mb/s" in visit["sentence"]
    headings = {row[0] for row in visit["tables"][0]}
    assert {
        "Throughput per user [Mb/s]",
        "Queueing delay of a packet, 95th percentile [ms]",
    } <= headings
    assert visit["figures"] == [
        "Throughput of all users of heavy [Mb/s]", "Throughput of all users of light [Mb/s]",
        "Queue at bottleneck [packets]",
    ]  # fmt: skip
    assert visit["zoomed"] == ["2.0", "4.0"]
    assert visit["saved"] == result.scenario.to_toml()


def test_names_of_a_scenario_are_text_and_nothing_else(visits):
    visit = visits["variants"]
    assert NASTY in visit["text"]
    assert visit["title"].startswith(NASTY)
    assert IMAGE in visit["text"]
    # The page's own: its data and its program.
    assert visit["elements"] == visits["one"]["elements"] == 2


def test_paper_has_dark_ink_and_all_that_a_page_can_unfold(visits):
    for visit in visits.values():
        assert visit["paper"] == {"ink": "rgb(28, 35, 48)", "buttons": 0, "folded": 0}


def test_a_scenario_can_be_changed_where_the_page_to_explore_is_built(visits):
    if not PAGE.is_file():
        pytest.skip("the page is not built: `make page`")
    for name, visit in visits.items():
        assert all(link.startswith("tidegate.html#s=") for link in visit["changes"]), name
        assert visit["changed"] == visit["saved"], name
