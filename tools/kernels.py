"""`make kernels`: stock Debian kernels that `tidegate lab --kernel` boots, in ``target/kernels``.

Fetches the newest kernel package of each series in the machine's archive (Debian 12: 6.1 and 6.12)
by ``apt-get download``, which needs no root, and makes of each

* ``SERIES/vmlinuz``, the kernel as packaged,
* ``SERIES/initramfs.cpio``, a file system with busybox, ``tc`` and the modules of network devices,
  qdiscs and congestion controls, the same bytes for the same packages,
* ``SERIES/about.json``, which says what they are made of.

What is there already is kept. Ends with 77, and a line for each, where something is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.laboratory.archive import Archive, shared_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING = 77
FOLDER = Path("target/kernels")

ALWAYS = ("virtio_pci", "virtio_console", "tun")
"""Modules that the guest loads as it starts; the kernel asks for the others when it needs them."""
MODULES = ("veth", "ifb", "dummy", "8021q", "gtp")
GROUPS = ("net/sched/sch_", "net/sched/cls_", "net/sched/act_", "net/ipv4/tcp_")
"""Taken whole, so far as names below ``kernel/`` begin so."""
PLACES = (
    r"/kernel/(net/(sched|ipv4|ipv6|8021q|802|llc)|lib|crypto|drivers/(net|char|virtio))"
    r"/[^/]+\.ko(\.xz)?$"
)
"""Where these and what they need are in a package."""
LEFT_OUT = (
    "tcp_diag", "act_csum", "act_ct", "act_ctinfo", "act_connmark", "act_ipt", "act_sample",
    "act_ife", "act_simple", "act_tunnel_key", "sch_teql",
)  # fmt: skip
"""They need much that no lab has a use for."""

APPLETS = ("sh", "mount", "insmod", "sleep", "cat", "ls", "mkdir", "poweroff", "sed", "dmesg")

INIT = """\
#!/bin/sh
# Mounts what programs expect, runs /task/run and switches the machine off. What the task prints
# goes to the first virtio port, errors and progress go to the second.
export PATH=/bin LD_LIBRARY_PATH=/lib
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
/sbin/modprobe ALWAYS
tries=0
until [ -c /dev/vport0p2 ]; do
    sleep 0.01
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || { echo "no virtio ports"; poweroff -f; }
done
sh /task/run </task/input >/dev/vport0p1 2>/dev/vport0p2
echo "ended $?" >/dev/vport0p2
poweroff -f
"""

MODPROBE = """\
#!/bin/sh
# Loads modules by name or by the names that the kernel has for qdiscs, classifiers and actions.
for name do
    case $name in
    -*) continue ;;
    net-sch-* | net-cls-* | net-act-*) name=${name#net-} ;;
    esac
    name=$(echo "$name" | sed s/-/_/g)
    [ $name = sch_clsact ] && name=sch_ingress
    # Others have it compiled in.
    [ -f /modules/$name.ko ] || continue
    for needed in $(cat /modules/$name.needs) $name; do
        [ -d /sys/module/$needed ] || insmod /modules/$needed.ko || exit 1
    done
done
"""


def main() -> int:
    """Make what is missing; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="Where to put them.")
    folder: Path = parser.parse_args().folder
    lacking = missing()
    if lacking:
        return refuse(lacking)
    try:
        packages = newest(available())
        if not packages:
            return refuse(
                [("this machine's package archive has no linux-image-VERSION-amd64-unsigned "
                  "(on Debian: apt-get update)")]
            )  # fmt: skip
        for series, package in packages.items():
            make(folder / series, series, package)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        return refuse([f"`{' '.join(error.cmd[:3])}` failed: {said[-1] if said else error}"])
    return 0


def missing() -> list[str]:
    """Say what this machine lacks, a line each with its remedy."""
    remedies = {
        "qemu-system-x86_64": "apt-get install qemu-system-x86",
        "apt-get": "this needs Debian or a relative",
        "dpkg-deb": "this needs Debian or a relative",
        "ldd": "apt-get install libc-bin",
        "tc": "apt-get install iproute2",
    }
    return [f"{name}: {remedy}" for name, remedy in remedies.items() if find(name) is None]


def find(name: str) -> str | None:
    """Return the path of a program, also of those that only root has on the PATH."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def refuse(lines: list[str]) -> int:
    """Print what is missing and return the code for it."""
    for line in lines:
        print(f"kernels: missing: {line}", file=sys.stderr)  # noqa: T201
    return MISSING


def available() -> list[str]:
    """Return the names of all packages in the archive that hold a kernel for 64-bit PCs."""
    listed = call(["apt-cache", "pkgnames", "linux-image-"]).decode().split()
    return [
        name for name in listed if re.fullmatch(r"linux-image-\d+\.[-+.\w]*amd64-unsigned", name)
    ]


def newest(names: list[str]) -> dict[str, str]:
    """Return the newest package of each series.

    >>> newest(["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-57-amd64",
    ...         "linux-image-6.12.9+deb12-amd64", "linux-image-6.1.0-99-rt-amd64"])
    {'6.1': 'linux-image-6.1.0-57-amd64', '6.12': 'linux-image-6.12.9+deb12-amd64'}
    """
    plain = [name for name in names if not re.search(r"-(rt|cloud)-", name)]
    by_series: dict[str, str] = {}
    for name in sorted(plain, key=numbers):
        series = ".".join(map(str, numbers(name)[:2]))
        by_series[series] = name
    return by_series


def numbers(name: str) -> list[int]:
    """Return the numbers in a package's name, without that of the architecture."""
    return [int(word) for word in re.findall(r"\d+", name.replace("amd64", ""))]


def make(folder: Path, series: str, package: str) -> None:
    """Fetch a kernel and make its file system, unless that has been done."""
    version = candidate(package)
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    about = {"series": series, "package": package, "version": version, "recipe": recipe}
    known = folder / "about.json"
    if known.exists() and json.loads(known.read_text()).items() >= about.items():
        say(f"{folder}: {package} {version}, as before")
        return
    say(f"{folder}: fetching {package} {version}")
    folder.mkdir(parents=True, exist_ok=True)
    known.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="tidegate-kernels-") as scratch:
        kernel, modules = parts_of(fetch(package, Path(scratch)))
        (folder / "vmlinuz").write_bytes(kernel)
        busybox = member(fetch("busybox-static", Path(scratch)), "./bin/busybox")
    (folder / "initramfs.cpio").write_bytes(file_system(modules, busybox))
    release = package.removeprefix("linux-image-").removesuffix("-unsigned")
    known.write_text(json.dumps({**about, "release": release}, indent=2) + "\n")


def candidate(package: str) -> str:
    """Return the version that apt would install."""
    text = call(["apt-cache", "policy", package]).decode()
    found = re.search(r"Candidate: (\S+)", text)
    return found[1] if found else ""


def fetch(package: str, scratch: Path) -> Path:
    """Download a package; apt checks its signature."""
    call(["apt-get", "download", "--quiet", package], cwd=scratch)
    (file,) = scratch.glob(f"{package}_*.deb")
    return file


def entries(deb: Path) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Yield the files of a package."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as unpacking:  # noqa: S603, S607
        assert unpacking.stdout is not None, "stdout is a pipe"  # noqa: S101
        with tarfile.open(fileobj=unpacking.stdout, mode="r|") as files:
            for entry in files:
                yield entry, files


def content(entry: tarfile.TarInfo, files: tarfile.TarFile) -> bytes:
    """Return the bytes of a regular file."""
    stream = files.extractfile(entry)
    assert stream is not None, "a regular file"  # noqa: S101
    return stream.read()


def member(deb: Path, name: str) -> bytes:
    """Return the bytes of one file of a package."""
    (found,) = [content(entry, files) for entry, files in entries(deb) if entry.name == name]
    return found


def parts_of(deb: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the kernel, and the modules that the lab may need by name."""
    kernel, modules = b"", {}
    for entry, files in entries(deb):
        if entry.name.startswith("./boot/vmlinuz-"):
            kernel = content(entry, files)
        elif re.search(PLACES, entry.name):
            data = content(entry, files)
            plain = lzma.decompress(data) if entry.name.endswith(".xz") else data
            modules[entry.name.partition("/kernel/")[2].partition(".ko")[0]] = plain
    return kernel, modules


def file_system(modules: dict[str, bytes], busybox: bytes) -> bytes:
    """Return the archive that the kernel unpacks as its root."""
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "task"):
        archive.directory(name)
    archive.file("init", INIT.replace("ALWAYS", " ".join(ALWAYS)).encode(), executable=True)
    archive.file("bin/busybox", busybox, executable=True)
    for applet in APPLETS:
        archive.link(f"bin/{applet}", "busybox")
    archive.file("sbin/modprobe", MODPROBE.encode(), executable=True)
    for name, (data, others) in chosen(modules).items():
        archive.file(f"modules/{name}.ko", data)
        archive.file(f"modules/{name}.needs", "".join(f"{other}\n" for other in others).encode())
    tc = find("tc")
    assert tc is not None, "it has been looked for"  # noqa: S101
    archive.file("bin/tc", Path(tc).read_bytes(), executable=True)
    for library in shared_libraries(tc):
        archive.file(library.lstrip("/"), Path(library).read_bytes(), executable=True)
    return archive.content()


def chosen(modules: dict[str, bytes]) -> dict[str, tuple[bytes, list[str]]]:
    """Return modules by name, and of each those to load before it, in this order.

    Those that need something from elsewhere are left out.
    """
    by_name = {plain(path): data for path, data in modules.items()}
    whole = [plain(path) for path in modules if path.startswith(GROUPS)]
    wanted = [name for name in map(plain, (*ALWAYS, *MODULES, *whole)) if name not in LEFT_OUT]
    taken: dict[str, tuple[bytes, list[str]]] = {}

    def before(name: str) -> list[str]:
        order: list[str] = []
        for other in needs(by_name.get(name, b"")):
            order += [one for one in [*before(other), other] if one not in order]
        return order

    for name in sorted(set(wanted) & by_name.keys()):
        others = before(name)
        if by_name.keys() >= set(others):
            taken.update({one: (by_name[one], before(one)) for one in [*others, name]})
    return taken


def plain(path: str) -> str:
    """Return a module's name as the kernel has it."""
    return path.rpartition("/")[2].replace("-", "_")


def needs(module: bytes) -> list[str]:
    """Return the names of the modules that one needs, from its section .modinfo."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [plain(name) for name in found[1].decode().split(",") if name] if found else []


def call(command: list[str], cwd: Path | None = None) -> bytes:
    """Run a program and return what it prints."""
    return subprocess.run(command, cwd=cwd, capture_output=True, check=True).stdout  # noqa: S603


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
