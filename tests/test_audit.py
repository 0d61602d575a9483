"""`make audit` says what it could not look up, and finds what is known."""

import importlib.util
import json

import pytest
from support import ROOT

SPEC = importlib.util.spec_from_file_location("audit", ROOT / "tools/audit.py")
audit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)

CLEAN = {"name": "numpy", "version": "2.0", "vulns": []}
SKIPPED = {"name": "rich", "skip_reason": "Dependency not found"}
VULNERABLE = {
    "name": "tornado", "version": "6.0", "vulns": [{"id": "GHSA-1", "fix_versions": ["6.5"]}],
}  # fmt: skip


@pytest.mark.parametrize(("packages", "code", "reported"), [
    ([CLEAN], 0, "1 packages looked up, 0 found"),
    ([CLEAN, VULNERABLE], 1, "tornado 6.0: GHSA-1 (6.5)"),
    ([CLEAN, SKIPPED], 77, "NOT AUDITED: 1 packages: Dependency not found"),
    ([SKIPPED, VULNERABLE], 1, "NOT AUDITED"),
    ([], 77, "0 packages looked up"),
])  # fmt: skip
def test_python_packages_that_were_not_looked_up_are_no_verdict(packages, code, reported):
    found = audit.of_python(json.dumps({"dependencies": packages}), "")
    assert found.code == code
    assert reported in found.reported("requirements.lock")


def of_cargo(problems, warnings):
    content = {
        "lockfile": {"dependency-count": 3},
        "vulnerabilities": {"list": problems},
        "warnings": warnings,
    }
    return audit.of_cargo(json.dumps(content), "")


def test_crates_are_found_with_their_advisories():
    problem = {"advisory": {"id": "RUSTSEC-1"}, "package": {"name": "time", "version": "0.1"}}
    yanked = {"kind": "yanked", "advisory": None, "package": {"name": "x", "version": "1.0"}}
    assert of_cargo([], {}).code == 0
    assert of_cargo([problem], {}).found == ["time 0.1: RUSTSEC-1"]
    assert of_cargo([], {"yanked": [yanked]}).found == ["x 1.0: yanked"]
    assert of_cargo([problem], {"yanked": [yanked]}).code == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dependencies": 3}', "null"])
def test_a_database_that_does_not_answer_is_no_verdict(text):
    for read in (audit.of_python, audit.of_cargo):
        found = read(text, "Fetching\nerror: couldn't fetch\n  -> no route\n")
        assert found.code == 77
        assert "NOT AUDITED: error: couldn't fetch" in found.reported("a lock file")
