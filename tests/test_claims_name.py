"""What the chapter `name` says of its ten formulas and its curve."""

import re
from pathlib import Path

import torch
from saying import said

from lookback import lookups
from lookback.lab import records, significance

PAGE = Path(__file__).parents[1] / "book/name.md"
FOUND = {name: lookups.traits(one) for name, (_, one) in lookups.KIN.items()}


def test_what_is_said_of_the_table_of_traits():
    averages = [t.sums_to_one and t.never_negative for t in FOUND.values()]
    said("name", "Eight of the ten have weights that sum to 1")
    assert sum(averages) == 8
    blind = [name for name, t in FOUND.items() if not t.gradient_to_query]
    said(
        "name", "takes one row and ignores the rest, so no gradient comes back"
    )
    assert blind == ["memory network"]
    seers = [name for name, t in FOUND.items() if t.sees_place]
    said("name", "Only the soft window is location-based")
    assert seers == ["soft window"]
    said("name", "the other nine are content-based. None of the ten is both")
    blind = [name for name, t in FOUND.items() if not t.sees_content]
    assert blind == ["soft window"]
    said("name", "Seven of the ten have the same five entries")
    alike = ("kernel regression", "RNNsearch", "scaled dot")
    assert len({FOUND[name] for name in alike}) == 1
    assert [*FOUND.values()].count(FOUND["RNNsearch"]) == 7


def test_the_table_of_traits_is_what_the_experiments_find():
    said("name", "It is better to test each function")
    rows = re.findall(
        r"^\| (\d{4}) ([\w -]+?) \| ([✓–]) \| ([✓–]) \| ([✓–]) \| ([✓–]) \| "
        r"([✓–]) \|$",
        PAGE.read_text("utf-8"),
        re.M,
    )
    assert [(int(year), name) for year, name, *_ in rows] == [
        (year, name) for name, (year, _) in lookups.KIN.items()
    ]
    for _, name, *marks in rows:
        assert [mark == "✓" for mark in marks] == [*FOUND[name]], name


def test_the_table_of_formulas_lists_the_ten_in_their_order():
    said("name", "Here are the ten, each with the chapter that covers it")
    text = PAGE.read_text("utf-8")
    table = text.split("| formula | weight")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (\d{4}) ([\w -]+?) \|", table, re.M)
    assert [(int(year), name) for year, name in rows] == [
        (year, name) for name, (year, _) in lookups.KIN.items()
    ]
    said("name", "Two therefore look the same, end-to-end and dot")
    query, keys = torch.randn(4), torch.randn(5, 4)
    gap = lookups.end_to_end(query, keys) - lookups.dot(query, keys)
    assert gap.abs().max() < 1e-6


def test_the_page_comes_after_its_works():
    """1964 is the oldest formula, 2020 the youngest."""
    said("name", "from the kernel regression of 1964", "a Transformer of 2020")
    years = [year for year, _ in lookups.KIN.values()]
    assert (years[0], years[-1]) == (1964, 2020)


def test_the_three_captions_by_hand():
    said("name", "become the weights 0.35, 0.57 and 0.08", "0.61, 1 and 0.14")
    said("name", "\\approx 72.7")
    keys = torch.tensor([[10.0], [20.0], [40.0]])
    weights = lookups.kernel_regression(torch.tensor([20.0]), keys, 10.0)
    assert [f"{x:.2f}" for x in weights] == ["0.35", "0.57", "0.08"]
    assert f"{weights @ torch.tensor([80.0, 70.0, 60.0]):.1f}" == "72.7"


def test_the_curves_begin_and_end_where_the_picture_is_said_to():
    said("name", "begins at 75% of words right and does not fall below 69%")
    said("name", "begins at 51% and falls to 36%")
    runs = records.load("growth")["results"]
    asked = torch.arange(5, 76, dtype=torch.float64)
    curves = {}
    for model in ("rnnsearch", "fixed"):
        run = runs[f"{model}, joined"]["runs"][0]
        texts = [run["tests"]["test_2016_flickr"]["greedy"]["counts"]]
        texts += [run["long"][number]["counts"] for number in "234"]
        rows = torch.cat([significance.caption_rows(text) for text in texts])
        keys, right = rows[:, 8:].double(), rows[:, 0] / rows[:, 4].double()
        curves[model] = [
            100 * float(lookups.kernel_regression(q[None], keys, 3.0) @ right)
            for q in asked
        ]
    assert round(curves["rnnsearch"][0]) == 75
    assert min(curves["rnnsearch"]) > 69
    assert [round(curves["fixed"][at]) for at in (0, -1)] == [51, 36]
