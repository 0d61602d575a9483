"""The Debian package in a fresh minbase: installs, runs as its own user, upgrades and purges."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.box import ROOT, Box, lacking, needing

PACKAGES = sorted((ROOT / "target/debian").glob("tidegate-gateway_*.deb"))
MINBASE = Path(os.environ.get("TIDEGATE_MINBASE", ROOT / "target/minbase"))
LACKING = lacking()
if not PACKAGES:
    LACKING.append("the package (make deb)")
if not (MINBASE / "usr/bin/dpkg").exists():
    LACKING.append(f"debootstrap --variant=minbase bookworm {MINBASE}")
pytestmark = needing(LACKING)
RIGHTS = "-all,+bpf,+net_admin"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A copy of the minbase."""
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", MINBASE, root], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    try:
        yield root
    finally:
        for mounted in ("run/tidegate/bpf", "proc"):
            subprocess.run(["umount", root / mounted], check=False, capture_output=True)
        shutil.rmtree(root)


def run(root: Path, *words: str) -> str:
    command = ["chroot", root, *words]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )  # fmt: skip
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def later(package: Path, folder: Path) -> Path:
    """The same package with a later version."""
    contents, upgrade = folder / "contents", folder / "later.deb"
    subprocess.run(["dpkg-deb", "-R", package, contents], check=True)
    control = contents / "DEBIAN/control"
    lines = control.read_text().splitlines(keepends=True)
    control.write_text(
        "".join("Version: 99.0\n" if line.startswith("Version:") else line for line in lines)
    )
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", contents, upgrade], check=True)
    return upgrade


def test_the_package_installs_runs_upgrades_and_purges(root: Path, tmp_path: Path) -> None:
    package = PACKAGES[-1]
    shutil.copy(package, root / "tmp/first.deb")
    shutil.copy(later(package, tmp_path), root / "tmp/later.deb")
    run(root, "dpkg", "-i", "/tmp/first.deb")
    assert "tidegate" in run(root, "id", "tidegate")
    assert run(root, "tidegate-gateway", "init").startswith("#")
    (root / "etc/tidegate/gateway.toml").write_text('interface = "c0"\nuplink = "u0"\n')
    with Box() as box:

        def inside(*words: str) -> str:
            return box.inside("g", "chroot", root, *words)

        inside("tidegate-gateway", "check")
        inside("tidegate-gateway", "prepare", "--user", "tidegate")
        # As the unit has it.
        command = box.command(
            "g", "chroot", root, "setpriv", "--reuid=tidegate", "--regid=tidegate",
            "--clear-groups", f"--inh-caps={RIGHTS}", f"--ambient-caps={RIGHTS}",
            f"--bounding-set={RIGHTS}", "tidegate-gateway", "run",
        )  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr
                assert process.stderr.readline().startswith("observe: customers at c0")
                assert inside("tidegate-gateway", "enforce") == "enforce: switched\n"
                run(root, "dpkg", "-i", "--force-confold", "/tmp/later.deb")
                assert inside("tidegate-gateway", "status").startswith("enforce:")
            finally:
                process.kill()
        assert "control loop does not run" in inside("tidegate-gateway", "status")
        inside("dpkg", "-P", "tidegate-gateway")
        left = box.inside("g", "tc", "qdisc", "show", "dev", "c0")
        assert "clsact" not in left
    for path in ("etc/tidegate", "var/lib/tidegate", "usr/bin/tidegate-gateway", "run/tidegate"):
        assert not (root / path).exists(), path
    assert "tidegate" not in (root / "etc/passwd").read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="not here: systemd-analyze")
def test_systemd_takes_the_unit_and_rates_it_as_hardened(tmp_path: Path) -> None:
    subprocess.run(["dpkg-deb", "-x", PACKAGES[-1], tmp_path], check=True)
    [unit] = tmp_path.rglob("tidegate-gateway.service")
    # Programs have to be where a unit says, and those of the package are not on this machine.
    program = "/usr/bin/tidegate-gateway"
    unit.write_text(unit.read_text().replace(program, f"{tmp_path}{program}"))

    def analysed(*words: str) -> str:
        command = ["systemd-analyze", *words, str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stderr

    # A kernel that lacks something is no fault of the unit.
    own = [line for line in analysed("verify", "--man=no").splitlines() if unit.name in line]
    assert own == []
    # From 0 to 100; "OK" ends at 50.
    analysed("security", "--offline=true", "--threshold=25")


def test_the_package_depends_on_nothing_and_the_unit_is_hardened(tmp_path: Path) -> None:
    package = PACKAGES[-1]
    depends = subprocess.run(
        ["dpkg-deb", "-f", package, "Depends"], capture_output=True, text=True, check=True
    )
    subprocess.run(["dpkg-deb", "-x", package, tmp_path], check=True)
    [unit] = tmp_path.rglob("tidegate-gateway.service")
    text = unit.read_text()
    program = (tmp_path / "usr/bin/tidegate-gateway").read_bytes()
    # A program that is not static asks for this one.
    if b"/lib64/ld-linux" not in program:
        assert depends.stdout.strip() == ""
    for line in ("User=tidegate", "WatchdogSec=10", "CapabilityBoundingSet=CAP_BPF CAP_NET_ADMIN"):
        assert line in text
