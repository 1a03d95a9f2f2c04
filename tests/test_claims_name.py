"""What the chapter `name` says of its ten formulas."""

from saying import said

from lookback import lookups


def test_what_is_said_of_the_table_of_traits():
    found = {
        name: lookups.traits(look) for name, (_, look) in lookups.KIN.items()
    }
    averages = [t.sums_to_one and t.never_negative for t in found.values()]
    said("name", "Eight of the ten have weights that sum to 1")
    assert sum(averages) == 8
    blind = [name for name, t in found.items() if not t.gradient_to_query]
    said(
        "name", "takes one row and ignores the rest, so no gradient comes back"
    )
    assert blind == ["memory network"]
    seers = [name for name, t in found.items() if t.sees_place]
    said("name", "The window alone sees places, and it alone sees no content")
    assert seers == ["soft window"]
    said("name", "No look of the ten sees both")
    assert not any(t.sees_place and t.sees_content for t in found.values())
    said("name", "Seven of the ten answer all five questions alike")
    alike = ("kernel regression", "RNNsearch", "scaled dot")
    assert len({found[name] for name in alike}) == 1
    assert [*found.values()].count(found["RNNsearch"]) == 7


def test_the_page_comes_after_its_works():
    """1964 is the oldest look, 2020 the youngest."""
    said("name", "from a statistics paper of 1964 to a Transformer of 2020")
    years = [year for year, _ in lookups.KIN.values()]
    assert (years[0], years[-1]) == (1964, 2020)
