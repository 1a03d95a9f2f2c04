"""What the chapter `cursors` says of its records."""

from lookback.lab import records

FOUND = records.load("cursors")["results"]
SEEDS = range(3)


def clauses(name, count):
    """BLEU at so many clauses, one for each seed."""
    runs = FOUND[name]["runs"]
    place = [1, 2, 4, 6, 8].index(count)
    assert all(run["by_clauses"][place]["clauses"] == count for run in runs)
    return [run["by_clauses"][place]["bleu"] for run in runs]


def kinds(name, kind):
    """Of words of this kind, the share that is right, for each seed."""
    rows = [run["by_kind"][kind] for run in FOUND[name]["runs"]]
    return [row["right"] / row["words"] for row in rows]


def test_every_machine_has_three_seeds_and_as_many_weights():
    sizes = [found["parameters"] for found in FOUND.values()]
    assert all(len(found["runs"]) == 3 for found in FOUND.values())
    assert max(sizes) < 1.02 * min(sizes)


def test_long_sentences_are_the_cursors():
    """In every seed, and the diagonal is before every soft look."""
    for count in (6, 8):
        others = [clauses(n, count) for n in ("rnnsearch", "inside", "outside")]
        best = max(max(each) for each in others)
        assert min(clauses("cursors", count)) > best + 20
        assert min(clauses("cursors", count)) > 90
        assert min(clauses("diagonal", count)) > best


def test_as_long_as_in_training_the_two_are_level():
    assert (
        abs(
            FOUND["cursors"]["clauses"]["2"]["mean"]
            - FOUND["rnnsearch"]["clauses"]["2"]["mean"]
        )
        < 2
    )
