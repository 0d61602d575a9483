import numpy as np
import pytest
from support import ROOT, SMALL

import tidegate
from tidegate.results.batch import Batch, by_seed, derived, numbered
from tidegate.results.summary import measures
from tidegate.results.tables import run_tables
from tidegate.runs.batches import batches, run_batch
from tidegate.scenarios.reading import load_scenario

SHORT = {"warm_up": "1 s", "duration": "4 s"}

MANY_GROUPS = "\n".join(
    [
        'version = 1\nwarm_up = "0.2 s"\nduration = "1 s"',
        '[bottleneck]\nrate = "20 Mb/s"\ndelay = "5 ms"\nbuffer = "50 kB"',
        *(f"[users.g{number:02}]\nflows = {number % 3 + 1}" for number in range(20)),
    ]
)
"""More groups than numpy adds one after the other."""


def scenarios():
    few = {"users.light.count": 1}, {"users.light.count": 5}
    return {
        "small": [load_scenario(SMALL)] * 3,
        "other users": [load_scenario(SMALL, set=one) for one in few for _ in range(2)],
        "many groups": [load_scenario(MANY_GROUPS)] * 2,
        **{
            name: [load_scenario(ROOT / f"scenarios/{name}.toml", set=SHORT)] * 2
            for name in (
                "evening-peak",
                "conex",
                "parking-lot",
                "incast",
                "heavy-tailed-flows",
                "voip-beside-uploads",
            )
        },
    }


@pytest.mark.parametrize("name", scenarios())
def test_runs_in_one_call_have_the_tables_of_runs_alone(name):
    wanted = scenarios()[name]
    batch, failed = run_batch([(one, 7 + number) for number, one in enumerate(wanted)])
    alone = [
        Batch.of_runs([run_tables(one.run(7 + number), one)], [one])
        for number, one in enumerate(wanted)
    ]
    assert not failed
    assert batch.seeds == [7 + number for number in range(len(wanted))]

    together = numbered(derived(batch))
    every = numbered(Batch.joined([derived(one) for one in alone]))
    assert together.keys() == every.keys()
    for table, rows in every.items():
        assert together[table].schema.equals(rows.schema, check_metadata=True)
        assert together[table].equals(rows), table

    for one, (own,) in zip(measures(batch), map(measures, alone), strict=True):
        assert one.labels == own.labels
        assert one.values.tobytes() == own.values.tobytes()


def test_a_batch_in_pieces_is_put_together_by_seed():
    scenario = load_scenario(SMALL)
    whole, _ = run_batch([(scenario, seed) for seed in range(5, 12)])
    mixed, _ = run_batch([(scenario, seed) for seed in (10, 11, 5, 6)])
    rest, _ = run_batch([(scenario, seed) for seed in (7, 8, 9)])
    one, other = derived(by_seed([whole])), derived(by_seed([mixed, rest]))
    assert one.rows == other.rows
    assert all(other.tables[name].equals(table) for name, table in one.tables.items())


def test_batches_are_of_one_kind_and_take_nothing_ahead_of_the_first():
    taken = []

    def tasks():
        for number in range(100):
            taken.append(number)
            yield number

    found = batches(tasks(), alike=lambda number: number < 30)
    assert next(found) == [0]
    assert taken == [0], "a long run goes alone"
    every = [[0], *found]
    assert [number for batch in every for number in batch] == list(range(100))
    assert len(every) < 20, "short ones go together"
    assert all((batch[0] < 30) == (batch[-1] < 30) for batch in every)


def test_all_replications_have_the_same_statistics_in_any_number_of_threads():
    one, two = (tidegate.simulate(SMALL, replications=30, jobs=jobs) for jobs in (1, 2))
    for name, table in one.tables.items():
        assert table.equals(two.tables[name]), name
    assert one.summary().equals(two.summary())


def test_quantiles_are_those_of_numpy():
    from tidegate.results.completions import quantile

    random = np.random.default_rng(1)
    for size in (1, 2, 3, 19, 20, 21, 99, 100, 101, 1000):
        values = np.sort(random.random(size))
        for share in (0.5, 0.95, 0.99, 1.0):
            expected = np.quantile(values, share, method="inverted_cdf")
            assert quantile(values, share) == expected
