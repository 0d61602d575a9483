"""`make audit`: whether something is known against a package of the lock files.

Ends with 0 where all were looked up and nothing is known, with 1 where something is, and with 77
where a database could not be reached: then nothing is known of some packages, which is no verdict.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FOUND, UNREACHED = 1, 77

CARGO_LOCKS = (
    "Cargo.lock",
    "crates/bpf/Cargo.lock",
    "crates/gateway/Cargo.lock",
    "fuzz/Cargo.lock",
)
PYTHON_LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-audit.lock")


class Audit(NamedTuple):
    """What came of one lock file."""

    looked_up: int
    """Packages of which the database was asked."""
    found: list[str]
    """What is known against them, a line each."""
    unreached: str = ""
    """Why some were not looked up."""

    @property
    def code(self) -> int:
        """What to end with."""
        return FOUND if self.found else UNREACHED if self.unreached or not self.looked_up else 0

    def reported(self, lock: str) -> str:
        """In words."""
        known = "\n".join([f"{len(self.found)} found", *(f"  {one}" for one in self.found)])
        text = f"{lock}: {self.looked_up} packages looked up, {known}"
        return f"{text}\n  NOT AUDITED: {self.unreached}" if self.unreached else text


def of_python(text: str, output: str) -> Audit:
    """Read what pip-audit printed; it ends with 0 where it could not look anything up."""
    try:
        packages = list(json.loads(text)["dependencies"])
    except (ValueError, KeyError, TypeError):
        return Audit(0, [], _last_line(output))
    skipped = [one["skip_reason"] for one in packages if "skip_reason" in one]
    found = [
        f"{one['name']} {one['version']}: {problem['id']} ({', '.join(problem['fix_versions'])})"
        for one in packages
        for problem in one.get("vulns", ())
    ]
    why = f"{len(skipped)} packages: {skipped[0]}" if skipped else ""
    return Audit(len(packages) - len(skipped), found, why)


def of_cargo(text: str, output: str) -> Audit:
    """Read what cargo-audit printed."""
    try:
        content = json.loads(text)
        looked_up = content["lockfile"]["dependency-count"]
        problems = list(content["vulnerabilities"]["list"])
        problems += [one for kind in content["warnings"].values() for one in kind]
    except (ValueError, KeyError, TypeError, AttributeError):
        return Audit(0, [], _last_line(output))
    found = [
        f"{one['package']['name']} {one['package']['version']}: "
        f"{(one.get('advisory') or {}).get('id', one.get('kind', 'unknown'))}"
        for one in problems
    ]
    return Audit(looked_up, found)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["the database did not answer"])[-1]


def _asked(*command: object) -> tuple[str, str]:
    done = subprocess.run(  # noqa: S603
        [str(one) for one in command], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


def main(tools: Path) -> int:
    """Audit all lock files with the programs of a folder."""
    pip_audit = (tools / "pip-audit", "--disable-pip", "--require-hashes", "--format", "json",
                 "--progress-spinner", "off", "--requirement")  # fmt: skip
    database = Path("target/advisory-db")
    cargo_audit = (tools / "cargo-audit", "audit", "--json", "--db", database, "--file")
    audits = {lock: of_python(*_asked(*pip_audit, lock)) for lock in PYTHON_LOCKS}
    audits |= {lock: of_cargo(*_asked(*cargo_audit, lock)) for lock in CARGO_LOCKS}
    for lock, audit in audits.items():
        print(audit.reported(lock))  # noqa: T201
    codes = {audit.code for audit in audits.values()}
    if UNREACHED in codes:
        sys.stderr.write(
            "a database of advisories could not be reached from here; nothing is known of the "
            "packages that were not looked up\n"
        )
    return FOUND if FOUND in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
