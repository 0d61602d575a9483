"""Every paper's explanations are about cells and claims that there are."""

import pytest

from tidegate.studies.explanations import StudyExplanation, read_explanations
from tidegate.studies.load import load_study, study_names
from tidegate.studies.points import series_key


@pytest.fixture(params=study_names())
def paper(request):
    return load_study(request.param)


def explanations(paper):
    return read_explanations(paper.folder / "explanations.toml", StudyExplanation)


def test_explanations_name_existing_cells_and_claims(paper):
    known = {claim.id for e in paper.experiments.values() for claim in e.claims}
    cells = [cell for e in paper.experiments.values() for cell in e.cells]
    traits = [{"experiment": c.experiment, "metric": c.metric, **c.levels} for c in cells]
    for one in explanations(paper):
        assert set(one.claims) <= known, one.id
        for entry in one.cells:
            alone = StudyExplanation(id=one.id, text="", cells=[entry], derived_in="a test")
            assert any(alone.covers(cell) for cell in traits), entry


@pytest.mark.parametrize(
    ("name", "explained", "read_otherwise"), [("conex", 6, 20), ("re-ecn", 2, 5)]
)
def test_a_claim_is_explained_by_a_derivation_or_one_open_parameter_alone(
    name, explained, read_otherwise
):
    """The rest is held by other policers, other networks or several changes at once."""
    listed = explanations(load_study(name))
    counts = [
        sum(len(one.claims) for one in listed if one.explains is kind) for kind in (True, False)
    ]
    assert counts == [explained, read_otherwise]


def test_every_cell_that_another_assumption_is_tried_on_is_measured_with_it(paper):
    series = {
        (experiment.name, name): one
        for experiment in (*paper.experiments.values(), *filter(None, [paper.sensitivity]))
        for name, one in experiment.series.items()
    }

    def levels(one, metric):
        """The levels of a series' points; of stars, those of the rivals that they rank."""
        if one.ranking is None:
            return [setting.levels for setting in one.settings]
        ranked = series[series_key(one.ranking.of[metric]["series"], "")]
        rivals = dict.fromkeys(setting.levels[one.ranking.rivals] for setting in ranked.settings)
        return [{one.ranking.rivals: rival} for rival in rivals]

    for one in explanations(paper):
        for cell in (c for e in paper.experiments.values() for c in e.cells if one.covers_cell(c)):
            there = [own for key in one.measured_in for own in levels(series[key], cell.metric)]
            points = [own for own in there if cell.levels.items() <= own.items()]
            assert len(points) == bool(one.assuming), (one.id, cell.id)
