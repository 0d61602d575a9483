"""`make page`: the simulator in one HTML file, in ``python/tidegate/data/page``.

Compiles ``crates/web`` to WebAssembly, installs the packages of ``web/package-lock.json``, checks
the TypeScript and builds the page. Ends with 77, and a line for each, where something is missing.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

MISSING = 77
ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
TARGET = "wasm32-unknown-unknown"
ENGINE = ROOT / "target" / TARGET / "web" / "tidegate_web.wasm"
PAGE = ROOT / "python" / "tidegate" / "data" / "page" / "tidegate.html"
MOST_BYTES = 900_000
"""Compressed, the page is no larger."""


def main() -> int:
    """Build what was asked for; return the exit code."""
    only_engine = sys.argv[1:] == ["engine"]
    lacking = missing(only_engine=only_engine)
    if lacking:
        return refuse(lacking)
    build = ["cargo", "build", "--package", "tidegate-web", "--target", TARGET, "--profile", "web"]
    run([*build, "--locked", "--quiet"])
    if only_engine:
        return 0
    if not packages():
        return refuse(["the packages of web/package-lock.json: npm could not install them"])
    run(["npx", "--no-install", "tsc", "--noEmit"], cwd=WEB)
    built = ROOT / "target" / "page"
    run(["npx", "--no-install", "vite", "build"], cwd=WEB, TIDEGATE_PAGE=str(built))
    PAGE.parent.mkdir(exist_ok=True)
    shutil.copyfile(built / "index.html", PAGE)
    compressed = len(gzip.compress(PAGE.read_bytes(), 9))
    say(f"{PAGE.relative_to(ROOT)}: {compressed / 1e3:.0f} kB compressed")
    if compressed > MOST_BYTES:
        say(f"page: {MOST_BYTES / 1e3:.0f} kB are allowed")
        return 1
    return 0


def missing(*, only_engine: bool = False) -> list[str]:
    """Say what this machine lacks, a line each with its remedy."""
    remedies = {"node": "apt-get install nodejs"}
    if not only_engine:
        remedies["npm"] = "apt-get install npm"
    lacking = [
        f"{name}: {remedy}" for name, remedy in remedies.items() if shutil.which(name) is None
    ]
    if shutil.which("cargo") is None:
        lacking.append("cargo: see docs/how-to/install.md")
    elif not has_target():
        lacking.append(f"Rust for {TARGET}: rustup target add {TARGET}")
    return lacking


def has_target() -> bool:
    """Return whether the compiler has the standard library of WebAssembly."""
    command = ["rustc", "--print", "target-libdir", "--target", TARGET]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return found.returncode == 0 and any(Path(found.stdout.strip()).glob("libcore-*"))


def packages() -> bool:
    """Install what the lock file names, unless that has been done."""
    done = WEB / "node_modules" / ".tidegate"
    lock = (WEB / "package-lock.json").read_text()
    if done.exists() and done.read_text() == lock:
        return True
    command = ["npm", "ci", "--silent", "--no-audit", "--no-fund"]
    if subprocess.run(command, cwd=WEB, check=False).returncode:  # noqa: S603
        return False
    done.write_text(lock)
    return True


def run(command: list[str], cwd: Path = ROOT, **variables: str) -> None:
    """Run a program; its failure is ours."""
    environment = {**os.environ, **variables}
    if subprocess.run(command, cwd=cwd, env=environment, check=False).returncode:  # noqa: S603
        sys.exit(1)


def refuse(lines: list[str]) -> int:
    """Print what is missing and return the code for it."""
    for line in lines:
        print(f"page: missing: {line}", file=sys.stderr)  # noqa: T201
    return MISSING


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
