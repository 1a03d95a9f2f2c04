"""What the chapter `name` says of its ten formulas and its curve."""

import math
import re
from itertools import pairwise
from pathlib import Path

import torch
from saying import said
from torch.nn import functional as F

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
    said("name", "begins at 75% of correct words and does not fall below 69%")
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


def features(x, degree):
    """Every product of fewer than `degree` entries of x, n of them times
    1 / √n!: the dot product of two is the Taylor series of e^(x · y)."""
    parts = [torch.ones(1).to(x)]
    for n in range(1, degree):
        parts.append(torch.outer(parts[-1], x).flatten() / math.sqrt(n))
    return torch.cat(parts)


def memory(d, source=9):
    draw = torch.Generator().manual_seed(0)
    numbers = torch.randn(source + 1, d, generator=draw, dtype=torch.float64)
    return numbers[0], numbers[1:]


def test_the_softmax_of_2017_is_the_quotient_in_a_limit():
    said("name", "the later we stop, the better they are")
    said("name", "only with a $\\varphi$ of infinitely many entries")
    query, keys = memory(2)
    truth = lookups.scaled_dot(query, keys)
    gaps = []
    for degree in (2, 4, 8, 12, 15):
        q, *mapped = (
            features(x / len(query) ** 0.25, degree) for x in (query, *keys)
        )
        raw = lookups.fast_weights(q, torch.stack(mapped))
        gaps.append(float((raw / raw.sum() - truth).abs().max()))
    assert all(later < gap / 4 for gap, later in pairwise(gaps))
    assert gaps[0] > 0.05 and gaps[-1] < 1e-9


def test_no_finite_map_gives_the_softmax_of_2017_exactly():
    """The table of e^(q · k) has as many ranks as there are vectors."""
    said("name", "the table of their $e^{q \\cdot k}$ has full rank")
    said("name", "so with no matrix of fixed size")
    said("name", "dividing each row by its sum leaves the rank as it is")
    for source in (3, 6, 9):
        _, keys = memory(2, source)
        table = (keys @ keys.T / math.sqrt(2)).exp()
        assert torch.linalg.matrix_rank(table) == source
        assert torch.linalg.matrix_rank(table / table.sum(1, True)) == source
        low = (F.elu(keys) + 1) @ (F.elu(keys) + 1).T
        assert torch.linalg.matrix_rank(low) == 2


def test_no_map_at_all_gives_rnnsearch():
    """With e^(a(q, k)) in place of φ(q) · φ(k), times what may depend on q,
    Cauchy and Schwarz want a(q, q) + a(k, k) ≥ a(q, k) + a(k, q)."""
    said("name", "with the matrices of our function and the same $\\varphi$")
    said("name", "our function and one $\\varphi$ for query and keys")

    def slack(score, q, k):
        return score(q, q) + score(k, k) - score(q, k) - score(k, q)

    W, U, V = lookups.drawn(3, torch.zeros(6, dtype=torch.float64))

    def additive(q, k):
        return float(torch.tanh(W @ q + U @ k) @ V[0])

    def dot(q, k):
        return float(q @ k)

    query, keys = memory(6, 30)
    weights = lookups.rnnsearch(query, keys)
    own = torch.tensor([additive(query, k) for k in keys]).softmax(0)
    assert (weights - own).abs().max() < 1e-6
    assert min(slack(additive, query, k) for k in keys) < -0.1
    assert min(slack(dot, query, k) for k in keys) >= 0
    said("name", "One pair that breaks this is enough")
    torch.manual_seed(0)  # the page's query and its first key
    query = torch.randn(6, dtype=torch.float64)
    keys = torch.randn(9, 6, dtype=torch.float64)
    assert slack(additive, query, keys[0]) < -0.1


def test_the_kernel_is_the_scaled_dot_product_for_any_equal_length():
    said("name", "all keys are of equal length (norm) and $b^2 = \\sqrt{d}$")
    query, keys = memory(6)
    for length in (1, 3):
        alike = length * F.normalize(keys, dim=-1)
        found = lookups.kernel_regression(query, alike, 6**0.25)
        assert (found - lookups.scaled_dot(query, alike)).abs().max() < 1e-12
