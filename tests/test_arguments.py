"""Whatever the arguments, the command ends with a documented code, and says why in words."""

import os
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, SMALL
from typer.testing import CliRunner

from tidegate.cli import app

# More examples by hand: TIDEGATE_EXAMPLES=100000 .venv/bin/pytest tests/test_arguments.py
EXAMPLES = int(os.environ.get("TIDEGATE_EXAMPLES", "40"))

PAGE = (ROOT / "docs/command-line.md").read_text()
CODES = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}

# A run of one is over at once; nothing here starts the lab, or a paper that there is.
QUICK = ["--set", "duration=0.05 s", "--set", "warm_up=0 s", "--no-save", "-r", "1"]

NUMBERS = st.one_of(
    st.integers().map(str),
    st.sampled_from(["0", "-1", "50000000", "9" * 20, "1e9", "nan", "inf", "0x10", "٣", " 1", ""]),
)
KEYS = st.one_of(
    st.sampled_from([
        "users.heavy.flows", "users.heavi.flows", "add users.guest.flows", "users",
        "links.x.rate", "bottleneck.rate", "bottleneck.aqm.kind", "bottleneck.aqm",
        "bottleneck.delay", "replications", "seed", "name", "tcp.congestion_control",
        "sweep", "sweep.\"seed\"", "profile", "a." * 200 + "b",
    ]),
    st.text(max_size=20),
)  # fmt: skip
VALUES = st.one_of(
    NUMBERS, st.text(max_size=30),
    st.sampled_from([
        "10 Mb/s", "1 b/s", "1000000000 s", "bbr", "{ kind = 'fq_codel' }", "{}", "[]", "[1, 2]",
        "[" * 500, "{a=" * 500, "\x1b[2J", "\0", "9" * 10_000, "true", "off", "{ guest = {} }",
    ]),
)  # fmt: skip
SETTINGS = st.one_of(st.builds("{}={}".format, KEYS, VALUES), st.text(max_size=30))
OPTIONS = st.one_of(
    st.tuples(st.sampled_from(["--set", "--add", "--against"]), SETTINGS),
    st.tuples(st.sampled_from(["-r", "--replications", "--seed", "-j", "--jobs"]), NUMBERS),
    st.tuples(st.sampled_from(["-f", "--format"]), st.sampled_from(["json", "csv", "table", "x"])),
    st.tuples(st.sampled_from(["-q", "--help", "--no-save", "--check", "--nonsense", "-", "--"])),
    st.tuples(st.text(max_size=10)),
)


@st.composite
def commands(draw):
    name = draw(st.sampled_from(
        ["simulate", "validate", "list", "plot", "compare", "schema", "reproduce", "lab", ""]
    ))  # fmt: skip
    options = [word for option in draw(st.lists(OPTIONS, max_size=4)) for word in option]
    if name == "simulate":
        return [name, "small.toml", *options, *QUICK]
    if name == "validate":
        return [name, "small.toml", *options]
    if name == "lab":
        return [name, "--check", *options]
    if name == "reproduce":
        return [name, "no-such-paper", *options]
    return [name, *options]


def test_any_arguments_end_with_a_documented_code(tmp_path, monkeypatch):
    assert {0, 1, 2, 3, 4, 5, 6, 77, 130} <= CODES
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)

    @settings(max_examples=EXAMPLES)
    @given(commands())
    def ends_in_words(arguments):
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code in CODES, arguments
        assert "Traceback" not in done.output
        if done.exit_code:
            assert done.output.strip(), f"{arguments} end with {done.exit_code} and not a word"

    ends_in_words()
