"""`tidegate lab --kernel`: what is asked of qemu, and runs on the kernels of `make kernels`."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support import COMMAND, ROOT, SMALL, comes, guest_lacking

import tidegate
from tidegate import errors
from tidegate.laboratory import bpf, control, guest, process
from tidegate.laboratory.archive import Archive, shared_libraries

FAKE_QEMU = Path(__file__).with_name("fake_qemu.py")


LACKING = "; ".join(guest_lacking())
needs_kernels = pytest.mark.skipif(bool(LACKING), reason=LACKING)


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """Two kernels that are never booted."""
    folder = tmp_path / "kernels"
    for series, release in (("6.1", "6.1.9-amd64"), ("6.12", "6.12.3-amd64")):
        (folder / series).mkdir(parents=True)
        about = {"series": series, "release": release}
        (folder / series / "about.json").write_text(json.dumps(about))
        (folder / series / "initramfs.cpio").write_bytes(Archive().content())
        (folder / series / "vmlinuz").write_bytes(b"")
    monkeypatch.setenv("TIDEGATE_KERNELS", str(folder))
    return folder


@pytest.fixture
def lab_in_guest(lab_command, kernels):
    """The command with a stand-in for qemu, which runs the stand-in for the lab."""
    programs = lab_command.folder / "programs"
    programs.mkdir()
    qemu = programs / guest.QEMU
    qemu.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE_QEMU}" "$@"\n')
    qemu.chmod(0o755)

    def run(*arguments, **environment):
        path = f"{programs}:{os.environ['PATH']}"
        return lab_command(*arguments, PATH=path, TIDEGATE_KERNELS=str(kernels), **environment)

    run.folder = lab_command.folder
    return run


def members(archive):
    """Names, modes and contents of a cpio archive."""
    at, found = 0, {}
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, named = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + named - 1].decode()
        content = at + 110 + named + -(110 + named) % 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, archive[content : content + size])
        at = content + size + -size % 4


def test_an_archive_has_directories_modes_and_the_same_bytes_each_time():
    def make():
        archive = Archive()
        archive.file("a/b/run", b"#!/bin/sh\n", executable=True)
        archive.file("a/note", b"odd")
        archive.link("bin/sh", "busybox")
        return archive.content()

    found = members(make())
    assert list(found) == ["a", "a/b", "a/b/run", "a/note", "bin", "bin/sh"]
    assert [oct(mode) for mode, _ in found.values()] == [
        "0o40755", "0o40755", "0o100755", "0o100644", "0o40755", "0o120777",
    ]  # fmt: skip
    assert found["a/note"][1] == b"odd"
    assert found["bin/sh"][1] == b"busybox"
    assert make() == make()
    assert len(make()) % 512 == 0


def test_a_program_comes_with_its_libraries():
    libraries = shared_libraries("/bin/sh")
    assert any("libc.so" in name for name in libraries)
    assert all(Path(name).exists() for name in libraries)
    task = guest.Task("sh -c true", programs=("/bin/sh",), input="text")
    found = members(task.archive())
    assert found["task/run"][1] == b"sh -c true\n"
    assert found["task/input"][1] == b"text"
    assert {name.lstrip("/") for name in libraries} <= set(found)


def test_kernels_are_found_by_series_and_by_age(kernels):
    assert [kernel.series for kernel in guest.kernels()] == ["6.1", "6.12"]
    assert guest.chosen("auto").series == "6.12"
    assert guest.chosen("6.1").release == guest.chosen("6.1.9-amd64").release == "6.1.9-amd64"
    with pytest.raises(errors.UsageError, match=r"'6.2' is none of 6.1, 6.12, auto"):
        guest.chosen("6.2")
    (kernels / "6.1/about.json").write_text("{")
    assert [kernel.series for kernel in guest.kernels()] == ["6.12"]


def test_without_kernels_it_says_how_to_get_them(lab_command, tmp_path):
    empty = str(tmp_path / "nothing")
    for arguments in (("small.toml",), ("--check",), ("--check", "--kernel", "all")):
        kernel = () if "--kernel" in arguments else ("--kernel", "auto")
        done = lab_command("lab", *arguments, *kernel, TIDEGATE_KERNELS=empty)
        assert done.returncode == 77, done.stderr
        assert "`make kernels` fetches them" in done.stderr


def test_a_guest_has_no_clock_disk_or_network_of_the_host(kernels):
    words = guest.command(guest.chosen("6.12"), 9, seed=7)
    assert words[words.index("-icount") + 1] == "shift=1,sleep=off"
    assert words[words.index("-seed") + 1] == "7"
    assert words[words.index("-initrd") + 1] == "/proc/self/fd/9"
    assert "-nodefaults" in words
    assert not {"-drive", "-fsdev", "-netdev", "-nic"} & set(words)
    assert guest.command(guest.chosen("6.12"), 9, seed=7) == words


def test_ends_are_reported_although_congestion_control_of_ours_is_held(kernels, monkeypatch):
    """A virtio port opens once: a process that stays behind must hold none."""
    monkeypatch.setattr("tidegate.laboratory.bpf.found", lambda: "/bin/true")
    scenario = tidegate.load_scenario(ROOT / "scenarios/lab/sbrm.toml")
    (held,) = [
        line for line in guest.lab_task("/bin/true", scenario, ["run"], "own").command.splitlines()
        if " hold" in line
    ]  # fmt: skip
    assert re.fullmatch(r"\{ .*; \} >\S+ 2>&1 &", held)


def test_a_guest_has_a_faster_processor_where_links_are_fast(kernels):
    slow, fast = (
        tidegate.load_scenario(SMALL, set={"bottleneck.rate": f"{mbps} Mb/s"}) for mbps in (50, 51)
    )
    assert (guest.icount_shift(slow), guest.icount_shift(fast)) == (1, 0)
    words = guest.command(guest.chosen("6.12"), 9, seed=7, shift=guest.icount_shift(fast))
    assert words[words.index("-icount") + 1] == "shift=0,sleep=off"


def test_a_run_in_a_guest_has_the_tables_of_any_and_says_where_it_ran(lab_in_guest):
    done = lab_in_guest("lab", "small.toml", "-r", 2, "--kernel", "6.12")
    assert done.returncode == 0, done.stderr
    assert "2 runs of 3 s in virtual time" in done.stderr
    assert "in virtual time by qemu 9.9.9" in done.stdout
    assert "the guest's processor was 50 % busy" in done.stdout
    (folder,) = (lab_in_guest.folder / "results").iterdir()
    rows = pq.read_table(folder / "lab.parquet").to_pylist()
    assert [row["seed"] for row in rows] == [5, 6]
    assert {(row["qemu"], row["icount_shift"]) for row in rows} == {("9.9.9", 1)}
    assert all(0.9 <= row["control_ratio"] <= 1.1 for row in rows)


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("broken", 1, "the stand-in was told to fail"),
        ("missing", 77, "modprobe tcp_bbr"),
        ("panic", 1, "Kernel panic"),
        ("garbage", 1, "gave no valid result"),
    ],
)
def test_what_fails_in_a_guest_ends_as_it_does_here(lab_in_guest, how, code, message):
    done = lab_in_guest("lab", "small.toml", "-r", 1, "--kernel", "auto", how=how)
    assert done.returncode == code, done.stderr
    assert message in done.stderr


def test_where_the_control_fails_no_run_begins(lab_in_guest):
    done = lab_in_guest("lab", "small.toml", "-r", 1, "--kernel", "auto", how="unfair")
    assert done.returncode == 6
    assert re.search(r"ten flows got \d+\.\d\d times as much as one", done.stderr)
    assert not (lab_in_guest.folder / "results").exists()


def test_nobody_can_look_into_a_guest(lab_in_guest):
    done = lab_in_guest("lab", "small.toml", "--kernel", "auto", "--verbose")
    assert done.returncode == 2
    assert "the hosts of a guest cannot be entered" in done.stderr


@needs_kernels
@pytest.mark.xdist_group("kernels")
def test_a_stock_kernel_runs_a_scenario_and_repeats_it():
    first, second = (tidegate.lab(SMALL, replications=1, kernel="auto") for _ in range(2))
    (row,) = first.lab.to_pylist()
    assert row["valid"], row["reasons"]
    assert row["kernel"] == guest.chosen("auto").release
    assert control.LEAST <= row["control_ratio"] <= control.MOST
    for column in ("packets_delivered", "losses", "packets_sent"):
        assert first.tables["users"][column] == second.tables["users"][column]


@needs_kernels
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3")
@pytest.mark.xdist_group("kernels")
def test_iperf3_makes_the_load_in_a_guest():
    short = {"warm_up": "0.5 s", "duration": "1 s"}
    lines = SMALL.splitlines()
    plain = "\n".join(one for one in lines if not one.startswith(("meter", "differentiation")))
    result = tidegate.lab(plain, set=short, replications=1, kernel="auto", generator="iperf3")
    assert result.links["utilization"][0].as_py() > 0.5


@needs_kernels
@pytest.mark.skipif(process.find_program(bpf.PROGRAM) is None, reason=f"no {bpf.PROGRAM}")
@pytest.mark.xdist_group("kernels")
def test_a_kernel_takes_congestion_control_of_ours_or_is_named_as_lacking_it():
    able = guest.abilities(guest.chosen("auto"), process.Children())
    short = {"warm_up": "0.5 s", "duration": "1 s"}
    scenario = tidegate.load_scenario(ROOT / "scenarios/lab/sbrm.toml", set=short)
    if "sbrm" in able.congestion_controls:
        assert tidegate.lab(scenario, replications=1, kernel="auto").flows.num_rows == 3
        return
    assert any("sbrm" in line for line in able.lines())
    with pytest.raises(errors.MissingError):
        tidegate.lab(scenario, replications=1, kernel="auto")


@needs_kernels
@pytest.mark.xdist_group("kernels")
def test_a_guests_qdisc_sees_the_codepoints_of_users():
    """CAKE's tins: bulk has a sixteenth of the rate beside best effort, and would have half."""
    scenario = tidegate.load_scenario(
        SMALL,
        set={
            "bottleneck.aqm": "drop-tail", "bottleneck.differentiation": "none",
            "bottleneck.kernel_qdisc": {"kind": "cake", "diffserv3": True},
            "users.light.dscp": "CS1", "warm_up": "2 s", "duration": "4 s",
        },
    )  # fmt: skip
    flows = tidegate.lab(scenario, replications=1, kernel="auto").flows.to_pylist()
    heavy, light = (
        sum(flow["throughput_bps"] for flow in flows if flow["group"] == group)
        for group in ("heavy", "light")
    )
    assert light == pytest.approx(heavy / 15, rel=0.2)


@needs_kernels
@pytest.mark.xdist_group("kernels")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_when_the_command_is_ended_no_guest_and_no_file_is_left(
    tidegate_command, tmp_path_factory, how
):
    scratch = tmp_path_factory.mktemp("scratch")
    running = subprocess.Popen(
        [COMMAND, "lab", "small.toml", "--kernel", "auto"],
        cwd=tidegate_command.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=tidegate_command.environment(TMPDIR=str(scratch)),
    )  # fmt: skip
    assert comes(lambda: guests_of(running.pid) or running.poll() is not None)
    (guest_pid,) = guests_of(running.pid)
    running.send_signal(how)
    assert running.wait() != 0
    assert comes(lambda: not is_guest(guest_pid))
    assert list(scratch.iterdir()) == []
    assert [path.name for path in tidegate_command.folder.iterdir() if path.suffix != ".toml"] == []


PROGRAMS = ("qemu-system-x86_64", "apt-get", "apt-cache", "dpkg-deb", "ldd", "tc")


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ("qemu-system-x86_64", "missing: qemu-system-x86_64: apt-get install qemu-system-x86"),
        ("apt-get", "missing: apt-get: this needs Debian or a relative"),
        ("dpkg-deb", "missing: dpkg-deb: this needs Debian or a relative"),
        ("", "missing: `apt-cache pkgnames linux-image-` failed: no archive"),
    ],
)
def test_where_kernels_cannot_be_made_it_says_what_is_missing(tmp_path, lacking, message):
    programs, folder = tmp_path / "programs", tmp_path / "kernels"
    programs.mkdir()
    for name in PROGRAMS:
        if name != lacking:
            (programs / name).write_text("#!/bin/sh\necho no archive >&2\nexit 1\n")
            (programs / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "tools/kernels.py", "--folder", folder],
        env={"PATH": str(programs)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (77, f"kernels: {message}\n")
    assert not folder.exists()


def is_guest(pid):
    """Whether a process is there and is qemu; of one that has ended nothing is left here."""
    try:
        return guest.QEMU.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def guests_of(pid):
    """The guests that a process has started."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in children.read_text().split()]
        except OSError:
            continue
    return [child for child in found if is_guest(child)]
