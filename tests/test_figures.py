"""What figures show, asked of their axes rather than of their pixels."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from support import SMALL

import tidegate
from tidegate.figures import comparisons, results, sweeps
from tidegate.figures.look import MARKERS, look


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are drawn, by the names of their files."""
    found = {}
    for module in (sweeps, comparisons, results):

        def keep(figure, path, write=module.write):
            found[path.name] = figure
            return write(figure, path)

        monkeypatch.setattr(module, "write", keep)
    return found


def swept(text, folder):
    return tidegate.sweep(SMALL + "\n[sweep]\n" + text, out=folder / "runs", replications=2)


def lines_of(axes):
    """Number of points, and whether there is a line between them, of everything with markers."""
    drawn = [line for line in axes.lines if line.get_marker() in MARKERS]
    return [
        (len(line.get_xdata()), line.get_linestyle() not in ("None", "none", "")) for line in drawn
    ]


def test_over_categories_there_are_points_with_names_and_no_lines(tmp_path, drawn):
    swept(
        '"bottleneck.differentiation" = [{ kind = "none" }, { kind = "abc", gamma = 3.0 }, '
        '{ kind = "abc", gamma = 1.0 }]\n"tcp.congestion_control" = ["reno", "cubic"]',
        tmp_path,
    ).plot(tmp_path)
    (axes,) = drawn["sweep-heavy.png"].axes
    assert lines_of(axes) == [(3, False), (3, False)]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["none", "abc, gamma 3.0", "abc, gamma 1.0"]
    (legend,) = drawn["sweep-heavy.png"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["reno", "cubic"]
    renderer = drawn["sweep-heavy.png"].canvas.get_renderer()
    boxes = [label.get_window_extent(renderer) for label in axes.get_yticklabels()]
    assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])
    assert all(box.x0 >= 0 for box in boxes), "whole names are on the page"


def test_quantities_have_a_scale_with_their_unit(tmp_path, drawn):
    swept(
        '"bottleneck.delay" = ["0.05 s", "5 ms", "10 ms"]\n"users.heavy.flows" = [1, 4]', tmp_path
    ).plot(tmp_path)
    (axes,) = drawn["sweep-light.png"].axes
    assert axes.get_xlabel() == "bottleneck.delay [ms]"
    assert lines_of(axes) == [(3, True), (3, True)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "10", "50"]
    for line in axes.lines:
        if len(line.get_xdata()) == 3:
            assert list(line.get_xdata()) == pytest.approx([5.0, 10.0, 50.0])


def test_nothing_in_a_figure_of_a_sweep_is_toml(tmp_path, drawn):
    swept(
        '"bottleneck.differentiation" = [{ kind = "none" }, { kind = "abc" }]\n'
        '"bottleneck.buffer" = ["50 packets", "60 kB"]',
        tmp_path,
    ).plot(tmp_path)
    figure = drawn["sweep-heavy.png"]
    texts = [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    assert not [text for text in texts if set(text) & set('{}"=')]


def compared(**changes):
    first = tidegate.simulate(SMALL, replications=2)
    second = tidegate.simulate(SMALL, set=changes, replications=2)
    return tidegate.compare_results(first, second, names=("one", "other"))


def test_a_colour_is_one_group_or_link_in_all_parts_of_a_comparison(tmp_path, drawn):
    compared(**{"users.heavy.flows": 2}).plot(tmp_path)
    who, change, rates, queues = drawn["compare.png"].axes
    of_group = {
        name: [to_hex(patch.get_edgecolor()) for patch in who.patches][number::2]
        for number, name in enumerate(["heavy", "light"])
    }
    assert all(len(set(colours)) == 1 for colours in of_group.values())
    heavy, light = (of_group[name][0] for name in ("heavy", "light"))
    assert {patch.get_hatch() for patch in who.patches} == {"", "//"}
    labels = [label.get_text() for label in change.get_yticklabels()]
    found = {}
    for line in change.lines:
        if line.get_marker() == "o":
            found.setdefault(labels[int(line.get_ydata()[0])].partition(":")[0], set()).add(
                to_hex(line.get_color())
            )
    (link,) = {to_hex(line.get_color()) for line in queues.lines}
    assert found == {"heavy": {heavy}, "light": {light}, "bottleneck": {link}}
    assert len({heavy, light, link}) == 3
    for colour in (heavy, light):
        own = [line for line in rates.lines if to_hex(line.get_color()) == colour]
        assert [line.get_linestyle() for line in own] == ["-", "--"], "dashes tell the sides apart"
    assert [line.get_linestyle() for line in queues.lines] == ["-", "--"]


def test_what_the_axis_of_differences_does_not_reach_is_marked_at_its_end(tmp_path, drawn):
    both = compared(**{
        "bottleneck.aqm": {"kind": "drop-tail"}, "bottleneck.buffer": "300 packets",
        "bottleneck.differentiation.kind": "none",
    })  # fmt: skip
    both.plot(tmp_path)
    change = drawn["compare.png"].axes[1]
    low, high = change.get_xlim()
    beyond = [100 * row.relative for row in both.differences if abs(100 * row.relative) > high]
    assert beyond, "a queue six times as long"
    arrows = [line for line in change.lines if line.get_marker() in "<>" and line.get_marker()]
    assert all(low <= line.get_xdata()[0] <= high for line in arrows)
    reported = {text.get_text() for text in change.texts}
    assert {f"{value:+.0f} %" for value in beyond} <= reported


def test_many_lines_are_told_apart(tmp_path, drawn):
    assert len({(one.colour, str(one.dashes)) for one in map(look, range(36))}) == 36
    against = [("users.heavy.flows", flows) for flows in (1, 2, 3, 5, 6, 7, 8)]
    tidegate.compare(SMALL, against=against, replications=1).plot(tmp_path)
    bars = drawn["who-got-what.png"].axes[0].containers
    looks = {(to_hex(bar[0].get_facecolor()), bar[0].get_hatch()) for bar in bars if len(bar) == 2
             and hasattr(bar[0], "get_hatch")}  # fmt: skip
    assert len(looks) == 8
    assert np.isfinite(drawn["group-heavy.png"].axes[0].get_ylim()).all()
    (heavy, light) = drawn["who-got-what.png"].axes[0].get_yticklabels()
    assert heavy.get_text() == "heavy", "its flows are not the same in all variants"
    assert light.get_text() == "light\n2 users × 1 flow"


def test_the_delay_of_each_group_is_drawn_with_its_quantiles(tmp_path, drawn):
    result = tidegate.simulate(SMALL)
    result.plot(tmp_path)
    (axes,) = drawn["delay.png"].axes
    assert axes.get_xscale() == "log"
    (marks,) = (line for line in axes.lines if line.get_marker() == "o")
    rows = {row["name"]: row["mean"] for row in result.summary().to_pylist()
            if row["metric"] == "p95_queueing_delay_s"}  # fmt: skip
    assert marks.get_xdata().tolist() == pytest.approx([1e3 * rows["heavy"], 1e3 * rows["light"]])


def test_groups_that_differ_thirtyfold_are_marks_on_a_logarithmic_axis(tmp_path, drawn):
    probe = {"kind": "cbr", "rate": "20 kb/s"}
    tidegate.simulate(SMALL, set={"users.light.traffic": probe}).plot(tmp_path / "apart")
    assert drawn["who-got-what.png"].axes[0].get_xscale() == "log"
    tidegate.simulate(SMALL).plot(tmp_path / "near")
    assert drawn["who-got-what.png"].axes[0].get_xscale() == "linear"


def test_below_five_runs_the_runs_themselves_stand_for_a_band(tmp_path, drawn):
    for runs, bands in ((4, 0), (5, 1)):
        tidegate.simulate(SMALL, replications=runs).plot(tmp_path / str(runs))
        axes = drawn["group-heavy.png"].axes[0]
        # The patch of the warm-up is no collection.
        assert len(axes.collections) == bands
        thin = [line for line in axes.lines if line.get_linewidth() < 1]
        assert len(thin) == (0 if bands else runs)
