"""`make page`: the pages of `tidegate explore` and `report`, in ``python/tidegate/data/page``.

Compiles ``crates/web`` to WebAssembly, installs the packages of ``web/package-lock.json``, checks
the TypeScript and builds each page into one HTML file. Ends with 77, and a line for each, where
something is missing. ``report`` as an argument builds the report alone, which takes no Rust.
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
PAGES = ROOT / "python" / "tidegate" / "data" / "page"
MOST_BYTES = 900_000
"""Compressed, the page is no larger."""


def main() -> int:
    """Build what was asked for; return the exit code."""
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    lacking = missing(what)
    if lacking:
        return refuse(lacking)
    if what != "report":
        build = ["cargo", "build", "--package", "tidegate-web", "--target", TARGET]
        run([*build, "--profile", "web", "--locked", "--quiet"])
    if what == "engine":
        return 0
    if not packages():
        return refuse(["the packages of web/package-lock.json: npm could not install them"])
    run(["npx", "--no-install", "tsc", "--noEmit"], cwd=WEB)
    page("report.html", "report.html")
    if what == "report":
        return 0
    compressed = page("index.html", "tidegate.html")
    if compressed > MOST_BYTES:
        say(f"page: {MOST_BYTES / 1e3:.0f} kB are allowed")
        return 1
    return 0


def page(entry: str, name: str) -> int:
    """Build a page; return its size in bytes, compressed."""
    built = ROOT / "target" / "page"
    command = ["npx", "--no-install", "vite", "build"]
    run(command, cwd=WEB, TIDEGATE_PAGE=str(built), TIDEGATE_ENTRY=entry)
    place = PAGES / name
    place.parent.mkdir(exist_ok=True)
    shutil.copyfile(built / entry, place)
    compressed = len(gzip.compress(place.read_bytes(), 9))
    say(f"{place.relative_to(ROOT)}: {compressed / 1e3:.0f} kB compressed")
    return compressed


def missing(what: str = "all") -> list[str]:
    """Say what this machine lacks, a line each with its remedy."""
    remedies = {"node": "apt-get install nodejs"}
    if what != "engine":
        remedies["npm"] = "apt-get install npm"
    lacking = [
        f"{name}: {remedy}" for name, remedy in remedies.items() if shutil.which(name) is None
    ]
    if what == "report":
        return lacking
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
