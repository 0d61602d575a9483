"""Commands that pages and README show exist, with their options, files and settings."""

import re
import shlex
from itertools import pairwise

import pytest
import typer
from support import ROOT

from tidegate.cli import app
from tidegate.errors import ScenarioError
from tidegate.scenarios.reading import parse

PAGES = sorted({
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "papers").glob("*/README.md"),
})  # fmt: skip
COMMANDS = typer.main.get_command(app).commands
BLOCK = re.compile(r"^[ ]*```(?:sh|bash|console)\n(.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
READS_A_SCENARIO = {"simulate", "explore", "analyse", "lab", "sweep", "validate"}
# Files that a page asks its reader to write.
READERS_OWN = {"scenarios/blue.toml"}


def commands(text):
    """The arguments of each call of tidegate in a page's blocks of shell commands."""
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            names = [word.rpartition("/")[2] for word in words]
            if "tidegate" in names:
                arguments = words[names.index("tidegate") + 1 :]
                ends = [n for n, word in enumerate(arguments) if word in {"|", ">", "&", "&&", ";"}]
                yield arguments[: ends[0]] if ends else arguments


def errors(arguments):
    """What is wrong with a call, a line each."""
    if not arguments or arguments[0].startswith("-"):
        return []
    name, *rest = arguments
    if name not in COMMANDS:
        return [f"there is no command {name}"]
    known = {option for one in COMMANDS[name].params for option in [*one.opts, *one.secondary_opts]}
    known |= {"--help", "-h"}
    options = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    found = [f"{name} has no option {option}" for option in options if option not in known]
    files = [word for word in rest if re.fullmatch(r"(scenarios|sweeps)/[\w/-]+\.toml", word)]
    files = [file for file in files if file not in READERS_OWN]
    found += [f"there is no file {file}" for file in files if not (ROOT / file).is_file()]
    if not found and name in READS_A_SCENARIO and len(files) == 1:
        found += _refused(files[0], rest)
    return found


def _refused(file, words):
    """What a scenario with these settings, and each of its variants, is refused for."""
    settings, variants = [], []
    for option, argument in pairwise(words):
        key, _, value = argument.partition("=")
        if option in {"--set", "--add"}:
            settings.append((key if option == "--set" else f"add {key}", value))
        elif option == "--against":
            variants.append((key, value))
    refused = []
    for variant in [[], *([one] for one in variants)]:
        try:
            parse(ROOT / file, [*settings, *variant])
        except ScenarioError as error:
            refused.append(f"{file} with {[*settings, *variant]}: {error}")
    return refused


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    found = [
        f"tidegate {' '.join(arguments)}: {error}"
        for arguments in commands(text)
        for error in errors(arguments)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("tidegate simulate scenarios/evening-peak.toml --plot", None),
        ("sudo .venv/bin/tidegate lab scenarios/evening-peak.toml -r 2 | head", None),
        ("tidegate simulte scenarios/evening-peak.toml", "no command"),
        ("tidegate simulate scenarios/evening-peak.toml --plots", "no option"),
        ("tidegate simulate scenarios/evening-piek.toml", "no file"),
        ("tidegate simulate scenarios/evening-peak.toml --set users.heavi.flows=2", "heavi"),
        ("tidegate simulate scenarios/evening-peak.toml --against bottleneck.aqm=reed", "aqm"),
    ],
)
def test_what_is_wrong_with_a_command_is_found(line, error):
    [arguments] = commands(f"```sh\n{line}\n```\n")
    found = errors(arguments)
    assert [one for one in found if error and error in one] if error else found == []
