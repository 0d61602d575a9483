"""Our queue mechanisms against those of a Linux kernel that runs in virtual time."""

import shutil

import numpy as np
import pytest
from linux_oracle import adaptive_red, closed_loop, kernel, ours, page, red
from linux_oracle.__main__ import COMPARISONS
from support import ROOT

from tidegate.studies.page import filled

needs_kernel = pytest.mark.skipif(
    kernel.missing() is not None or shutil.which("cargo") is None,
    reason=kernel.missing() or "our side is built with cargo",
)


@pytest.fixture(scope="session")
def linux():
    ours.build(ROOT)
    return kernel.Kernel(ROOT)


@needs_kernel
@pytest.mark.parametrize("name", COMPARISONS)
def test_our_mechanism_is_within_its_bounds_of_the_kernels(name, linux):
    comparison = COMPARISONS[name](linux, ROOT, quick=True)
    assert comparison.checks
    missed = [check for check in comparison.checks if not check.held]
    assert not missed, page.in_words(comparison)


@needs_kernel
def test_the_same_trace_and_seed_give_the_same_record(linux):
    from linux_oracle.comparison import replay
    from linux_oracle.traces import generate

    packets = generate(1, 3, lambda _: 1.2)
    records = [replay(linux, "pie limit 1000", packets, seed=seed)[0] for seed in (1, 1, 2)]
    assert records[0].departed == records[1].departed
    assert records[0].departed != records[2].departed


def test_red_gets_the_weight_that_tc_takes_for_the_burst():
    discipline, queue = closed_loop.CASES["RED"]
    words = discipline.split()
    low, burst, frame = (int(words[words.index(key) + 1]) for key in ("min", "burst", "avpkt"))
    # tc takes the largest power of two for which the burst still fits.
    room = burst + 1 - low / frame
    powers = (2.0**-log for log in range(1, 32))
    fitting = (w for w in powers if 1 <= room <= (1 - (1 - w) ** burst) / w)
    assert queue["aqm"]["weight"] == next(fitting)


def test_what_adaptive_red_of_linux_drops_above_its_thresholds_is_not_an_early_drop():
    # Ours is always gentle; its look at the kernel's queue calls such a packet early.
    state = np.array([red.MIN_B, red.MAX_B - 1.0, red.MAX_B, 1.5 * red.MAX_B])
    some, none = np.full(4, 0.1), np.zeros(4, dtype=bool)
    view = ours.View(state, some, some, none, ~none, np.empty((0, 4)))
    assert adaptive_red.as_linux(view).forced.tolist() == [False, False, True, True]


def test_the_page_says_what_was_measured():
    kept = page.read(ROOT).comparisons
    assert list(kept) == list(COMPARISONS), "`make oracle` measures what is missing"
    text = filled(ROOT / page.TEMPLATE, page.parts(list(kept.values())))
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == text


def test_without_a_kernel_the_remedy_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TIDEGATE_UML", str(tmp_path))
    assert "build.sh" in kernel.missing()
