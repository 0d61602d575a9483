"""Damaged folders: what is read is what was written, or it is an error in a line.

Bits are flipped at fixed seeds. A flip may leave the same numbers, where a byte means nothing.
"""

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table
from support import SMALL, SWEEP

import tidegate
from tidegate.results.manifests import _seal
from tidegate.results.places import check_place

FLIPS = 20
"""In each file."""
SHORT = SMALL.replace('"2 s"', '"0.2 s"').replace('"1 s"', '"0.1 s"')
SHORT_SWEEP = SWEEP.replace('"2 s"', '"0.2 s"').replace('"1 s"', '"0.1 s"')


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Folders of a result, of a comparison and of a sweep."""
    root = tmp_path_factory.mktemp("kept")
    tidegate.simulate(SHORT, replications=2).save(root / "result")
    against = {"bottleneck.differentiation.kind": "none"}
    tidegate.compare(SHORT, against=against, replications=2).save(root / "comparison")
    tidegate.sweep(SHORT_SWEEP, out=root / "sweep", replications=2)
    return root


@pytest.fixture
def folder(kept, tmp_path):
    """Copies of them, to be damaged."""
    shutil.copytree(kept, tmp_path / "copies")
    return tmp_path / "copies"


def tables_of(place):
    """All numbers of a folder, and the names under which they stand."""
    if place.name == "sweep":
        sweep = tidegate.load_sweep(place)
        whole = [(point.settings, point.digests) for point in sweep.points]
        return whole, sweep.summary(), [one.tables for _, one in sweep.results()]
    found = tidegate.load(place)
    if not isinstance(found, tidegate.Comparison):
        found = {"": found}
    return [
        (name, one.tables, one.kind, one.wall_s, one.scenario.to_toml())
        for name, one in found.items()
    ]


def flipped(content, dice):
    changed = bytearray(content)
    changed[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("name", ["result", "comparison", "sweep"])
def test_a_flipped_bit_never_reads_as_other_numbers(folder, name):
    place = folder / name
    whole = tables_of(place)
    dice = random.Random(name)
    noticed = tried = 0
    for path in sorted(path for path in place.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for _ in range(FLIPS):
            tried += 1
            path.write_bytes(flipped(content, dice))
            try:
                assert tables_of(place) == whole, path
            except tidegate.ResultError as error:
                noticed += "\n" not in str(error)
        path.write_bytes(content)
    assert tables_of(place) == whole
    assert noticed > tried / 2, "most flips are in what is read"


def test_a_sweep_computes_anew_what_a_flipped_bit_has_damaged(kept, tmp_path):
    whole = tables_of(kept / "sweep")
    names = sorted(path.relative_to(kept) for path in (kept / "sweep").rglob("*.*"))
    dice = random.Random(1)
    refused = []
    for number, name in enumerate(names * 3):
        copy = tmp_path / str(number)
        shutil.copytree(kept / "sweep", copy / "sweep")
        (copy / name).write_bytes(flipped((copy / name).read_bytes(), dice))
        try:
            tidegate.sweep(SHORT_SWEEP, out=copy / "sweep", replications=2)
        except tidegate.ResultError as error:
            refused.append(str(error))
        else:
            assert tables_of(copy / "sweep") == whole, name
    assert len(refused) < 3, "only what may be somebody else's is refused"
    assert not any("\n" in output for output in refused)


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def emptied(path):
    path.write_bytes(b"")


def grown(path):
    path.write_bytes(path.read_bytes() + b"\n")


def foreign(path):
    if path.suffix == ".parquet":
        write_table(pa.table({"a": [1, 2]}), path)
    else:
        path.write_bytes(b"\x89PNG and what else there may be")


def turned_into_a_folder(path):
    path.unlink()
    path.mkdir()


def linked(path):
    real = path.with_name(f"real-{path.name}")
    path.rename(real)
    path.symlink_to(real)


def turned_into_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def endless(path):
    path.unlink()
    path.symlink_to("/dev/zero")


DAMAGES = (cut, emptied, grown, foreign, turned_into_a_folder, linked, turned_into_a_pipe, endless)
FILES = (
    "result/manifest.json", "result/scenario.toml", "result/flows.parquet",
    "comparison/variant-1/manifest.json", "comparison/variant-1/groups.parquet",
    "sweep/manifest.json", "sweep/scenario.toml", "sweep/catalogue.sqlite",
)  # fmt: skip


@pytest.mark.parametrize("name", [*FILES, "sweep/runs"])
@pytest.mark.parametrize("damage", [*DAMAGES, os.unlink])
def test_any_damage_is_told_in_a_line(folder, name, damage):
    path = folder / name
    if path.is_dir():
        path = next(path.glob("*.parquet"))
    damage(path)
    place = folder / name.partition("/")[0]
    if damage is grown and path.suffix in {".json", ".sqlite"} and "variant" not in name:
        assert tables_of(place), "what follows the end means nothing there"
        return
    with pytest.raises(tidegate.ResultError) as reported:
        tables_of(place)
    assert "\n" not in str(reported.value)
    assert str(place) in str(reported.value)


def test_a_file_in_the_place_of_a_folder_is_told(folder):
    for name in ("comparison/variant-0", "sweep/runs", "result"):
        shutil.rmtree(folder / name)
        (folder / name).write_text("a file")
        with pytest.raises(tidegate.ResultError) as reported:
            tables_of(folder / name.partition("/")[0])
        assert "\n" not in str(reported.value)


def test_folders_that_lead_elsewhere_are_refused(folder):
    for name in ("comparison/variant-0", "sweep/runs"):
        (folder / name).rename(folder / "elsewhere")
        (folder / name).symlink_to(folder / "elsewhere")
        with pytest.raises(tidegate.ResultError, match=r"symbolic link|is not a folder"):
            tables_of(folder / name.partition("/")[0])
        (folder / "elsewhere").rename(folder / f"from-{name.replace('/', '-')}")


@pytest.mark.parametrize("unit", ["[" * 100_000, '{"a":' * 50_000, "1" * 10_000, "\ud800"])
def test_a_manifest_that_json_cannot_bear_is_told(folder, unit):
    text = '{"schema_version": ' + unit + "}"
    (folder / "result/manifest.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(tidegate.ResultError, match="damaged"):
        tidegate.load(folder / "result")


WRONG = {
    "kind": (None, [], 1, "sweeps", "comparison", "sweep"),
    "files": (None, [], {"flows.parquet": 3}, {"flows.parquet": {"size": -1, "sha256": ""}}, {}),
    "runs": (None, {}, [1], [{"seed": "5"}], [{"seed": 1.5}], "runs"),
    "wall_s": (None, "long", []),
    "variants": (None, [], [{}], [{"name": "a", "folder": "../other"}], [{"name": "a"}]),
    "schema_version": (None, 1, 3, "2", [], {}),
    "scenario_hash": (None, 5, []),
}


@pytest.mark.parametrize("key", WRONG)
def test_a_manifest_of_another_type_is_told(folder, key):
    """Even where its checksum is right: somebody made it so."""
    place = folder / "result"
    manifest = json.loads((place / "manifest.json").read_text())
    for value in WRONG[key]:
        content = {**manifest, key: value}
        sealed = {**content, "sha256": _seal(content)}
        (place / "manifest.json").write_text(json.dumps(sealed))
        with pytest.raises(tidegate.ResultError) as reported:
            tidegate.load(place)
        assert "\n" not in str(reported.value)
        if value != 1:  # an older tidegate's says what may be replaced
            with pytest.raises(tidegate.ResultError, match="left alone"):
                check_place(place, ())


def test_a_table_of_other_types_is_told_though_its_checksum_is_right(tmp_path):
    result = tidegate.simulate(SHORT, replications=1)
    texts = pa.array(["1"] * result.flows.num_rows)
    at = result.flows.column_names.index("throughput_bps")
    for flows, what in (
        (result.flows.set_column(at, "throughput_bps", texts), "'throughput_bps' is string"),
        (pa.table({"a": [1]}), "no column 'replication'"),
    ):
        result.__dict__["flows"] = flows
        with pytest.raises(tidegate.ResultError, match=what):
            tidegate.load(result.save(tmp_path / what))


def test_a_variant_of_another_comparison_is_told(folder):
    shutil.rmtree(folder / "comparison/variant-0")
    tidegate.simulate(SHORT, replications=2, seed=7).save(folder / "comparison/variant-0")
    with pytest.raises(tidegate.ResultError, match=r"variant-0/manifest\.json is damaged"):
        tidegate.load(folder / "comparison")


def change(catalogue, statement, *values):
    with closing(sqlite3.connect(catalogue)) as db, db:
        db.execute(statement, values)


def everything(place):
    return {path: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


NAMES = (
    "../../victim.txt", "/etc/passwd", "..", ".", "", "a/b.parquet", "victim.parquet", "x" * 300,
    f"{'0' * 32}.parquet\n", f"../runs/{'0' * 32}.parquet", None, 7, b"\xff",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_of_others_is_refused_and_nothing_is_touched(folder, name):
    place, victim = folder / "sweep", folder / "victim.txt"
    victim.write_text("precious")
    catalogue = place / "catalogue.sqlite"
    if name is None:
        change(
            catalogue, "create trigger foreign_ after insert on runs begin delete from runs; end"
        )
    else:
        statement = "insert into files (name, size, sha256) values (?, 1, ?)"
        change(catalogue, statement, name, "0" * 64)
    before = everything(folder)
    for use in (
        lambda: tidegate.sweep(SHORT_SWEEP, out=place, replications=2),
        lambda: tidegate.load_sweep(place),
    ):
        with pytest.raises(tidegate.ResultError, match="left alone"):
            use()
    assert everything(folder) == before


def test_links_in_a_sweep_of_others_are_not_written_through(folder):
    victim = folder / "victim.txt"
    victim.write_text("precious")
    place = folder / "sweep"
    for name in ("scenario.toml", "summary.parquet", "manifest.json", "runs/.token"):
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(victim)
    for group in ("heavy", "light"):
        (place / f"sweep-{group}.png").symlink_to(victim)
    tidegate.sweep(SHORT_SWEEP, out=place, replications=3).plot(place)
    assert victim.read_text() == "precious"
    assert tidegate.load_sweep(place).summary().num_rows
    for name in ("catalogue.sqlite", "catalogue.sqlite-journal", "runs"):
        path = place / name
        kept = path.rename(folder / "kept") if path.exists() else None
        path.symlink_to(victim)
        with pytest.raises(tidegate.ResultError):
            tidegate.sweep(SHORT_SWEEP, out=place, replications=3)
        path.unlink()
        if kept:
            kept.rename(path)
    assert victim.read_text() == "precious"


def test_figures_are_not_written_through_links(folder):
    victim = folder / "victim.txt"
    victim.write_text("precious")
    for name in ("who-got-what.png", "group-heavy.png", "queue-bottleneck.png"):
        (folder / "result" / name).symlink_to(victim)
    tidegate.load(folder / "result").plot(folder / "result")
    assert victim.read_text() == "precious"


def test_a_journal_that_names_a_file_removes_none(folder):
    """SQLite removes what a hot journal calls its super-journal, wherever that is."""
    place, victim = folder / "sweep", folder / "victim.txt"
    victim.write_text("precious")
    (place / "catalogue.sqlite-journal").write_bytes(hot_journal(place, str(victim)))
    before = everything(folder)
    with pytest.raises(tidegate.ResultError, match="written by another program; it was left"):
        tidegate.sweep(SHORT_SWEEP, out=place, replications=2)
    with pytest.raises(tidegate.ResultError, match="written by another program; it was left"):
        tidegate.load_sweep(place)
    assert everything(folder) == before


def hot_journal(place, names):
    """A journal that would put back the first page (https://sqlite.org/fileformat2.html, 3)."""
    content = (place / "catalogue.sqlite").read_bytes()
    size = int.from_bytes(content[16:18])
    page, magic = content[:size], bytes.fromhex("d9d505f920a163d7")
    numbers = (1, 1234, len(content) // size, 512, size)
    head = magic + b"".join(number.to_bytes(4) for number in numbers)
    check = 1234 + sum(page[at] for at in range(size - 200, 0, -200))
    record = (1).to_bytes(4) + page + check.to_bytes(4)
    name = names.encode()
    last = (0x40000000 // size + 1).to_bytes(4) + name + len(name).to_bytes(4)
    return head.ljust(512, b"\0") + record + last + sum(name).to_bytes(4) + magic
