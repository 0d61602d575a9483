"""Figures of one metric, and formats, widths and fonts of figures, asked of axes and files."""

import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from support import SMALL

import tidegate
from tidegate import Output
from tidegate.errors import UsageError
from tidegate.figures import comparisons
from tidegate.figures.look import COLOURS, look
from tidegate.figures.quantity import METRICS, metric_named, shown

TRANSFERS = {"kind": "transfer", "size": "100 kB", "pause": "0.2 s"}
SWEPT = (
    SMALL
    + """
[sweep]
"users.heavy.flows" = [1, 4, 16]
"bottleneck.buffer" = ["20 packets", "50 packets"]
"bottleneck.differentiation.kind" = ["none", "abc"]
"""
)


@pytest.fixture(scope="module")
def both():
    base = {"users.light.traffic": TRANSFERS}
    against = {"bottleneck.differentiation.kind": "none"}
    return tidegate.compare(SMALL, set=base, against=against, replications=5)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    return tidegate.sweep(SWEPT, out=tmp_path_factory.mktemp("sweep") / "runs", replications=2)


def texts(labels):
    return [label.get_text() for label in labels]


def kept_in(monkeypatch, module, drawn):
    def keep(figure, path, write=module.write):
        drawn[path.name] = figure
        return write(figure, path)

    monkeypatch.setattr(module, "write", keep)


def mean_of(result, name, metric):
    rows = {(row["name"], row["metric"]): row for row in result.summary().to_pylist()}
    return rows[name, metric]["mean"]


@pytest.mark.parametrize(
    ("said", "metric"),
    [("p95_delay", "p95_queueing_delay_s"), ("fct", "mean_completion_s"),
     ("p99 FCT", "p99_completion_s"), ("queue", "mean_backlog_packets"), ("loss", "loss_ratio"),
     ("mos", "mos")],
)  # fmt: skip
def test_metrics_have_the_names_that_people_say(said, metric):
    assert metric_named(said) == metric


def test_a_misspelt_metric_is_met_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'throughput'"):
        metric_named("throughputs")


@pytest.mark.parametrize("metric", METRICS)
def test_no_label_is_a_key(metric):
    assert "_" not in shown(metric, 1.0).axis


def test_bars_show_means_by_group_with_a_colour_for_each_variant(both):
    axes = tidegate.plot(both, "p95_delay")
    assert texts(axes.get_yticklabels()) == ["heavy", "light"]
    assert axes.get_xlabel() == "p95 queueing delay [ms]"
    widths = [patch.get_width() for patch in axes.patches]
    expected = [
        1e3 * mean_of(result, group, "p95_queueing_delay_s")
        for result in both.values() for group in ("heavy", "light")
    ]  # fmt: skip
    assert widths == pytest.approx(expected)
    (legend,) = axes.figure.legends
    assert texts(legend.get_texts()) == ["abc", "no differentiation"]
    assert len({to_hex(patch.get_facecolor()) for patch in axes.patches}) == 2


def test_bars_by_variant_have_a_colour_for_each_group(both):
    axes = tidegate.plot(both, "throughput", by="variant")
    assert texts(axes.get_yticklabels()) == ["abc", "no differentiation"]
    (legend,) = axes.figure.legends
    assert texts(legend.get_texts()) == ["heavy", "light"]


def test_values_that_differ_thirtyfold_are_marks_on_a_logarithmic_axis():
    probe = {"kind": "cbr", "rate": "20 kb/s"}
    result = tidegate.simulate(SMALL, set={"users.light.traffic": probe}, replications=2)
    axes = tidegate.plot(result, "throughput")
    assert axes.get_xscale() == "log"
    assert not axes.patches


def test_a_distribution_counts_transfers_that_have_not_finished(both):
    axes = tidegate.plot(both, "fct", kind="cdf")
    assert len(axes.lines) == 2
    for line, result in zip(axes.lines, both.values(), strict=True):
        took = result.transfers["completion_s"].to_numpy()
        finished = np.sort(took[~np.isnan(took)])
        assert line.get_ydata()[-1] == pytest.approx(finished.size / took.size)
        x = line.get_xdata() / (1e3 if "[ms]" in axes.get_xlabel() else 1)
        assert x[1:] == pytest.approx(finished)


def test_what_has_no_distribution_is_refused_with_what_has(both):
    with pytest.raises(UsageError, match="completion_s, slowdown"):
        tidegate.plot(both, "utilization", kind="cdf")


def test_bands_over_time_stay_within_what_is_possible(both):
    axes = tidegate.plot(both, "queue", kind="series")
    (bands, _) = axes.collections
    y = bands.get_paths()[0].vertices[:, 1]
    assert y.min() >= 0
    assert y.max() <= 50, "the buffer has 50 packets"
    few = tidegate.simulate(SMALL, replications=4)
    axes = tidegate.plot(few, "throughput", kind="series", of="heavy")
    assert not axes.collections
    assert len([line for line in axes.lines if line.get_linewidth() < 1]) == 4


def test_a_map_has_a_cell_for_each_pair_of_values(sweep):
    axes = tidegate.plot(sweep, "throughput", kind="heat", of="heavy")
    assert texts(axes.get_yticklabels()) == ["1", "4", "16"]
    assert texts(axes.get_xticklabels()) == ["20 packets", "50 packets"]
    grid = np.asarray(axes.images[0].get_array())
    means = {}
    for point in sweep.points:
        row = next(r for r in point.summary() if (r.name, r.metric) == ("heavy", "throughput_bps"))
        key = point.values["users.heavy.flows"], point.values["bottleneck.buffer"]
        means.setdefault(key, []).append(row.mean / 1e6)
    expected = [[np.mean(means[n, b]) for b in ("20 packets", "50 packets")] for n in (1, 4, 16)]
    assert grid == pytest.approx(np.array(expected))
    assert len(axes.texts) >= 6


def test_a_map_takes_two_keys_that_are_swept(sweep, tmp_path):
    axes = tidegate.plot(sweep, kind="heat", by=["bottleneck.differentiation.kind"], of="light")
    assert axes.get_ylabel() == "differentiation"
    with pytest.raises(UsageError, match="'seed' is not swept"):
        tidegate.plot(sweep, kind="heat", by=["seed"])
    one = SMALL + '[sweep]\n"users.heavy.flows" = [1, 2]\n'
    single = tidegate.sweep(one, out=tmp_path / "one", replications=1)
    with pytest.raises(UsageError, match="two swept keys"):
        tidegate.plot(single, kind="heat")


def test_main_effects_are_means_over_the_other_keys_and_names_are_not_joined(sweep):
    panels = tidegate.plot(sweep, "throughput", kind="effects", of="heavy").figure.axes
    assert [axes.get_xlabel() for axes in panels] == [
        "flows",
        "buffer [packets]",
        "differentiation",
    ]
    lines = [axes.lines[0] for axes in panels]
    assert [line.get_linestyle() for line in lines] == ["-", "-", "None"]
    rows = [
        (point.values["users.heavy.flows"], row.mean / 1e6) for point in sweep.points
        for row in point.summary() if (row.name, row.metric) == ("heavy", "throughput_bps")
    ]  # fmt: skip
    expected = [np.mean([mean for flows, mean in rows if flows == own]) for own in (1, 4, 16)]
    assert lines[0].get_ydata() == pytest.approx(expected)


def test_a_sweep_is_drawn_for_any_metric(sweep):
    axes = tidegate.plot(sweep, "p95_delay", of="light")
    assert axes.get_ylabel() == "p95 queueing delay [ms]"
    assert tidegate.plot(sweep, "utilization").get_ylabel() == "utilization [%]"


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--metric", "no-such"), "no metric"),
     (("--metric", "throughput", "--kind", "heat"), "none of bar"),
     (("--metric", "throughput", "--of", "nobody"), "heavy, light"),
     (("--kind", "bar"), "go with --metric"),
     (("--figures", "bmp"), "none of png, svg, pdf"), (("--figure-width", "84"), "84mm"),
     (("--figure-width", "1mm"), "from 30 to 1000"), (("--figure-font", "No Such Font"), "no font"),
     (("--figure-font", "400pt"), "400 pt")],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(tidegate_command, tmp_path, options, message):
    tidegate.simulate(SMALL, replications=1).save(tmp_path / "r")
    done = tidegate_command("plot", "r", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_figures_have_the_formats_the_width_and_the_font_that_are_asked_for(tmp_path, both):
    both.save(tmp_path / "r")
    output = Output.of("svg,pdf,png", "84mm", "serif, 9pt")
    files = both.plot(tmp_path / "f", output)
    assert {path.suffix for path in files} == {".svg", ".pdf", ".png"}
    assert {path.stem for path in files} == {
        "who-got-what", "delay", "group-heavy", "group-light", "queue-bottleneck",
        "completions-light",
    }  # fmt: skip
    points = 84 / 25.4 * 72
    for path in files:
        if path.suffix == ".svg":
            (width,) = re.findall(r'<svg [^>]*?width="([\d.]+)pt"', path.read_text())
            assert float(width) == pytest.approx(points, abs=0.01)
        if path.suffix == ".pdf":
            content = path.read_bytes()
            (box,) = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", content)
            assert float(box[0]) == pytest.approx(points, abs=0.01)
            assert b"CreationDate" not in content


def test_the_same_result_gives_the_same_files(tmp_path, both):
    output = Output.of("svg,pdf")
    one, two = (both.plot(tmp_path / name, output) for name in "ab")
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


def test_letters_are_as_large_as_asked_and_a_column_has_no_title(monkeypatch, tmp_path, both):
    from tidegate.figures import results

    drawn = {}
    kept_in(monkeypatch, results, drawn)
    both.plot(tmp_path, Output.of(None, "84mm", "9pt"))
    figure = drawn["who-got-what.png"]
    (axes,) = figure.axes
    assert axes.get_title().strip() == ""
    assert axes.xaxis.label.get_fontsize() == pytest.approx(9.0)
    assert {label.get_fontsize() for label in axes.get_xticklabels()} == {9.0}
    assert figure.get_size_inches()[0] == pytest.approx(84 / 25.4)


def test_figures_are_replaced_with_their_result_in_every_format(tmp_path):
    folder = tmp_path / "r"
    first = tidegate.simulate(SMALL, replications=1)
    first.save(folder)
    first.plot(folder, Output.of("svg,pdf"))
    tidegate.simulate(SMALL, replications=2).save(folder)
    assert not [path.name for path in folder.iterdir() if path.suffix in {".svg", ".pdf"}]


@pytest.mark.parametrize("command", ["simulate", "sweep", "analyse"])
def test_figures_come_in_formats_where_they_are_drawn(tidegate_command, command):
    files = {"simulate": ("small.toml", "-r", "1"), "sweep": ("sweep.toml", "-r", "1"),
             "analyse": ("small.toml",)}  # fmt: skip
    done = tidegate_command(command, *files[command], "--out", "r", "--figures", "svg")
    assert done.returncode == 0, done.stderr
    suffixes = {path.suffix for path in (tidegate_command.folder / "r").iterdir()}
    assert ".png" not in suffixes
    assert (".svg" in suffixes) == (command != "analyse" or "stability" in done.stdout)


def test_of_more_than_two_results_a_colour_is_a_result(monkeypatch, tmp_path):
    drawn = {}
    kept_in(monkeypatch, comparisons, drawn)
    results = [
        tidegate.simulate(SMALL, set={"users.heavy.flows": n}, replications=2)
        for n in (1, 2, 4, 6, 8)
    ]
    together = tidegate.compare_results(*results, names=list("abcde"))
    together.plot(tmp_path)
    figure = drawn["compare.png"]
    (legend,) = figure.legends
    assert texts(legend.get_texts()) == list("abcde")
    colours = [look(side).colour for side in range(5)]
    assert [to_hex(line.get_color()).upper() for line in legend.get_lines()] == list(COLOURS[:5])
    _, change, *panels = figure.get_axes()
    metrics = {
        (row.name, row.metric) for row in together.differences
        if row.metric in comparisons.WORDS and not np.isnan(row.relative)
    }  # fmt: skip
    assert len(change.get_yticklabels()) == len(metrics), (
        "a row a metric, not one a metric and result"
    )
    shown_panels = [axes for axes in panels if axes.get_visible()]
    assert [axes.get_title() or axes.get_title("left") for axes in shown_panels] == [
        "heavy",
        "light",
        "bottleneck",
    ]
    for axes in shown_panels:
        assert not axes.collections, "two runs have no band"
        assert [line.get_color() for line in axes.lines] == colours
    renderer = figure.canvas.get_renderer()
    boxes = [label.get_window_extent(renderer) for label in change.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
