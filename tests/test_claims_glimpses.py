"""The experiment with three glimpses, and what the chapter says of it."""

import itertools
import json
from functools import partial

import pytest
import torch
from saying import said

from lookback.experiments import glimpses
from lookback.glimpses import (
    JOINS,
    Eye,
    EyeConfig,
    Policy,
    look,
    unseen,
)
from lookback.lab import records

SMALL = {"across": 3, "pixels": 4, "hidden": 5, "vocab": 4}


@pytest.fixture
def small():
    torch.manual_seed(0)
    eye = Eye(EyeConfig("times", **SMALL))
    pixels, which = torch.rand(6, 9, 4), torch.arange(6) % 4
    return eye, (pixels, which)


def test_every_way_to_choose_three_is_tried_once(small):
    eye, seen = small
    three = glimpses.triples(9)
    said("glimpses", "of all 2,300 ways to choose three windows")
    assert len(three) == 84 and len(glimpses.triples(25)) == 2300
    hits = glimpses.every(eye, seen)
    assert hits.shape == (6, 84)
    for n in (0, 40, 83):
        choose = partial(glimpses.in_order, three[n].tolist())
        h, _ = look(eye, seen[0], 3, choose)
        assert torch.equal(eye(h).argmax(1) == seen[1], hits[:, n])
    index = glimpses.column(9)
    for order in itertools.permutations((2, 5, 7)):
        assert three[index[order]].tolist() == [2, 5, 7]


def test_places_at_random_are_three_different_ones(monkeypatch):
    said("glimpses", "Random continues with random windows")
    h, before = torch.zeros(400, 5), torch.zeros(400, 0, dtype=torch.long)
    for _ in range(3):
        before = torch.cat([before, glimpses.anywhere(h, before)[:, None]], 1)
    assert all(len(set(row)) == 3 for row in before.tolist())
    assert before.unique().tolist() == list(range(25))


def test_the_best_table_is_the_best(small):
    """Against all tables of a first place, for a guess that all share."""
    said("glimpses", "the table is found by exhaustive search")
    eye, seen = small
    with torch.no_grad():
        eye.name.weight.zero_()
        eye.name.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0]))
    hits = torch.rand(6, 84) > 0.6  # as if the eye could see
    table = glimpses.tabulate(eye, seen, hits)
    # all guess the first letter, so a table is a fixed triple: the best one
    assert table["right"] == pytest.approx(hits.float().mean(0).max().item())
    choose = glimpses.Table(table, eye)
    _, places = look(eye, seen[0], 3, choose)
    assert len(places.unique(dim=0)) == 1


def test_a_table_follows_both_guesses(small):
    said("glimpses", "Lookup is a table: the same first window for every")
    eye, (pixels, _) = small
    table = {
        "first": 4,
        "second": [0, 1, 2, 3],
        "third": [[5 + (a + b) % 4 for b in range(4)] for a in range(4)],
    }
    _, places = look(eye, pixels, 3, glimpses.Table(table, eye))
    for x, row in zip(pixels, places.tolist(), strict=True):
        h = eye.glimpse(x[4], torch.tensor(4))
        a = int(eye(h).argmax())
        h = h + eye.glimpse(x[a], torch.tensor(a))
        b = int(eye(h).argmax())
        assert row == [4, a, 5 + (a + b) % 4]


@pytest.mark.nightly
def test_the_expected_reward_is_the_sum_over_all_ways_to_look(
    small, monkeypatch
):
    said("glimpses", "Three glimpses are few enough to add up all")
    eye, seen = small
    policy = Policy(eye.config)
    found = glimpses.expected(eye, policy, seen)
    total = 0.0
    for order in itertools.permutations(range(9), 3):
        p, h = torch.ones(6), torch.zeros(6, 5)
        before = torch.zeros(6, 0, dtype=torch.long)
        for place in order:
            chance = unseen(policy(h), before).softmax(1)
            p = p * chance[:, place]
            at = torch.full((6,), place)
            h = h + eye.glimpse(seen[0][:, place], at)
            before = torch.cat([before, at[:, None]], 1)
        total = total + (p * (eye(h).argmax(1) == seen[1])).mean()
    torch.testing.assert_close(found, total)


@pytest.mark.nightly
def test_estimates_meet_the_true_gradient_in_the_mean(small, monkeypatch):
    said("glimpses", "Their mean agrees with the true gradient, as it should")
    monkeypatch.setattr(glimpses, "DRAWS", 400)
    eye, seen = small
    found = glimpses.gradients(eye, Policy(eye.config), seen)
    for way in ("without", "with"):
        assert 0.3 < found[way]["off"] / found[way]["by chance"] < 3
        assert found[way]["by chance"] == found[way]["variance"] / 400


@pytest.mark.nightly
def test_a_policy_learns_where_the_letter_is():
    """Code: One window tells, and the others say nothing."""
    torch.manual_seed(0)
    which = torch.arange(400) % 4
    pixels = torch.zeros(400, 25, 16)
    pixels[torch.arange(400), 7, which] = 1
    eye = Eye(EyeConfig())
    glimpses.practise(eye, glimpses.anywhere, (pixels, which), 150)
    told = glimpses.together(eye, (pixels, which), 200, 1e-2, True)
    choose = partial(glimpses.most_likely, told)
    assert glimpses.right(eye, glimpses.anywhere, (pixels, which)) < 0.6
    assert glimpses.right(eye, choose, (pixels, which)) > 0.95


@pytest.mark.nightly
def test_it_runs_resumes_and_writes_its_record(tmp_path, monkeypatch):
    """Code: a run, at a toy's size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    for name, value in {
        "UPDATES": 2,
        "ON": 2,
        "EACH": 2,
        "TESTS": 2,
        "SEEDS": 2,
        "DRAWS": 3,
        "RATES": (1e-3, 1e-2),
    }.items():
        monkeypatch.setattr(glimpses, name, value)
    glimpses.main([])
    results = records.load("glimpses")["results"]
    assert {*JOINS, "ways", "join"} == set(results)
    for join in JOINS:
        one = results[join]
        assert len(one["right"]["fixed"]["each"]) == 2
        assert ("no baseline" in one["right"]) == (join == "times")
        for run in one["runs"]:
            assert run["tried"]["learned"] and "eyes" not in run
    assert set(results["times"]["eyes"]) == {"random", "fixed"}
    before = (tmp_path / "runs/glimpses/plus-1/result.json").read_text()
    glimpses.main([])
    after = (tmp_path / "runs/glimpses/plus-1/result.json").read_text()
    assert json.loads(before) == json.loads(after)


# What the page says.


@pytest.fixture(scope="module")
def found():
    return records.load("glimpses")["results"]


def test_multiplying_is_ahead_whoever_chooses(found):
    said("glimpses", "is ahead of the adding one in every row")
    for way in ("random", "fixed", "learned", "table"):
        assert min(found["join"][way]["each"]) > 0.05


def test_the_policy_is_not_reliably_ahead_and_the_table_is(found):
    times = found["times"]
    gap = times["gap"]["learned"]
    said("glimpses", "The learned policy is not reliably ahead")
    assert times["ahead"]["learned"] < 5 and gap["mean"] < gap["spread"]
    said(
        "glimpses",
        "which does choose by what was seen, is ahead of the fixed three",
    )
    assert times["ahead"]["table"] == 5
    assert times["gap"]["table"]["mean"] > 3 * times["gap"]["table"]["spread"]
    said("glimpses", "a single order for all letters, in every seed")
    assert found["no place"]["orders"]["learned"]["each"] == [1.0] * 5
    said("glimpses", "without places, the lookup table is worse than the")
    assert found["no place"]["ahead"]["table"] == 0


def test_two_stages_and_two_ways_to_learn(small):
    """REINFORCE updates nothing but the policy."""
    said(
        "glimpses",
        "updates $A$, $a$, the $v_l$ and the classifier. Only the policy is",
        "although it is the best of three runs and the fixed three had only",
        "so no two pictures of an a are the same",
    )
    eye, (pixels, which) = small
    policy = Policy(eye.config)
    sampled = glimpses.Sampled(policy)
    h, _ = look(eye, pixels, 3, sampled)
    reward = (eye(h).argmax(1) == which).float()
    (glimpses.reinforce(sampled.log_p, reward)).backward()
    assert all(part.grad is None for part in eye.parameters())
    assert all(part.grad is not None for part in policy.parameters())
    assert len(glimpses.RATES) == 3
    drawn, _ = glimpses.letters(20, 0)
    assert len(drawn[:20].unique(dim=0)) == 20


def test_five_points_and_a_control_on_a_fixed_order(found):
    times = found["times"]
    shares = times["orders"]["learned"]["each"]
    leads = times["gap"]["learned"]["each"]
    said("glimpses", "The one policy that always looks in the same order is")
    assert [x == 1 for x in shares] == [x < 0 for x in leads]
    assert sum(x < 0 for x in leads) == 1
    said("glimpses", "is one of the two with the largest lead")
    most = sorted(range(5), key=lambda n: -leads[n])[:2]
    assert shares.index(min(shares)) in most
    said("glimpses", "a control warns against that reading: without places,")
    assert found["no place"]["ahead"]["learned"] > 2


def test_with_fixed_windows_plus_is_behind_no_place(found):
    said(
        "glimpses",
        "With the fixed three, the adding model is even behind the one without",
    )
    plus, bare = (
        found[join]["right"]["fixed"]["mean"] for join in ("plus", "no place")
    )
    assert plus < bare - 0.03


def test_fixed_windows_tell_plus_nothing_of_places_and_times_something():
    said("glimpses", "the added places have the same sum for every letter")
    said("glimpses", "still tell which ink came from which window")
    ink, here = torch.rand(3, 16), torch.tensor([3, 12, 18])
    for join in ("plus", "times"):
        torch.manual_seed(0)
        eye = Eye(EyeConfig(join))
        one, other = (eye.glimpse(x, here).sum(0) for x in (ink, ink.flip(0)))
        assert torch.allclose(one, other, atol=1e-5) == (join == "plus")


def test_the_sums_of_the_example():
    """What is multiplied knows which ink belongs to which place."""
    ink = torch.tensor([[2.0, 0, 1], [1, 3, 0]])
    places = torch.tensor([[0.5, -1, 1], [-1, 1, 2]])
    said("glimpses", "the sum becomes $(-1.5, -3, 2)$")
    assert (ink * places).sum(0).tolist() == [0, 3, 1]
    assert (ink * places.flip(0)).sum(0).tolist() == [-1.5, -3, 2]
    said("glimpses", "The sum is $(2.5, 3, 4)$ both times")
    for order in (places, places.flip(0)):
        assert (ink + order).sum(0).tolist() == [2.5, 3, 4]


def test_two_places_by_hand():
    said("glimpses", "Both last columns have the true gradient as their mean")
    p, reward = torch.tensor([0.8, 0.2]), torch.tensor([0.0, 1.0])
    logits = p.log().requires_grad_()
    mean = (logits.softmax(0) * reward).sum()
    (true,) = torch.autograd.grad(mean, logits)
    near = partial(torch.testing.assert_close, atol=1e-6, rtol=0)
    near(true, torch.tensor([-0.16, 0.16]))
    said("glimpses", "same gradient that REINFORCE reaches only on average")
    ink = (logits.softmax(0) * torch.tensor([0.0, 1.0])).sum()
    near(torch.autograd.grad(ink, logits)[0], true)
    slopes = torch.eye(2) - p
    near(slopes, torch.tensor([[0.2, -0.2], [-0.8, 0.8]]))
    for less, rows in (
        (0.0, [[0, 0], [-0.8, 0.8]]),
        (0.2, [[-0.04, 0.04], [-0.64, 0.64]]),
    ):
        samples = (reward - less)[:, None] * slopes
        near(samples, torch.tensor(rows))
        near(p @ samples, true)


def test_the_middle_window_is_among_all_fixed_three(found):
    said(
        "glimpses",
        "with fifteen models, and the middle window is among them every time",
    )
    runs = [run for join in JOINS for run in found[join]["runs"]]
    assert len(runs) == 15 and all(12 in run["fixed"] for run in runs)


def test_a_baseline_takes_variance_and_leaves_the_mean(found):
    start = found["times"]["gradient"]["start"]
    said("glimpses", "without a baseline, its mean squared error is")
    said("glimpses", "A baseline removes … of the squared error")
    assert min(start["saved"]["each"]) > 0.5
    said("glimpses", "Their mean agrees with the true gradient, as it should")
    assert all(0.9 < off < 1.3 for off in start["off"]["each"])
    said(
        "glimpses", "Three glimpses are few enough to add up all … ways to look"
    )
    assert found["ways"] == 25 * 24 * 23
    said("glimpses", "is some thirteen times as long as the gradient itself")
    assert 12.5 < start["without"]["mean"] ** 0.5 < 13.5
    said("glimpses", "and the error is still more than eight times as long")
    assert 8 < start["with"]["mean"] ** 0.5 < 9
    right = found["times"]["right"]
    said("glimpses", "Trained without the baseline, the policy reaches")
    assert right["no baseline"]["mean"] < right["learned"]["mean"]


@pytest.mark.nightly
def test_the_eyes_in_the_page_do_what_the_record_says(found):
    said("glimpses", "From three windows that never change")
    test = glimpses.letters(10, glimpses.HELD_OUT)
    chosen = partial(glimpses.in_order, found["times"]["fixed"])
    assert glimpses.right(glimpses.eye("fixed"), chosen, test) > 0.85
    torch.manual_seed(0)
    share = glimpses.right(glimpses.eye("random"), glimpses.anywhere, test)
    assert 0.4 < share < 0.6


@pytest.mark.nightly
def test_not_even_all_windows_at_random_suffice(found):
    said(
        "glimpses",
        "eight random windows do not come close, and not even all 25 suffice",
    )
    test = glimpses.letters(20, 7)
    chosen = partial(glimpses.in_order, found["times"]["fixed"])
    fixed = glimpses.right(glimpses.eye("fixed"), chosen, test)
    eye, shares = glimpses.eye("random"), {}
    torch.manual_seed(0)
    for looks in (3, 4, 6, 8, 12, 25):
        h, _ = look(eye, test[0], looks, glimpses.anywhere)
        shares[looks] = float((eye(h).argmax(1) == test[1]).float().mean())
    assert shares[8] < fixed - 0.1 and shares[25] < fixed
    said("glimpses", "| fixed three | 94% |", "| all 25 | 92% |")
    assert abs(fixed - 0.94) < 0.01 and abs(shares[25] - 0.92) < 0.01
    said(
        "glimpses", "| 3 at random | 47% | | 4 | 61% | | 6 | 74% | | 8 | 76% |"
    )
    said("glimpses", "| 8 | 76% | | 12 | 87% |")
    read = {3: 0.47, 4: 0.61, 6: 0.74, 8: 0.76, 12: 0.87}
    for looks, share in read.items():  # other samples, a little apart
        assert abs(shares[looks] - share) < 0.06


def test_the_letters_in_the_page_were_never_learned_from():
    """Code: the widget's letters are those of the test."""
    pictures, letters = glimpses.hidden()
    assert len(pictures) == len(letters) == 52
    assert sorted(letters) == sorted(2 * "abcdefghijklmnopqrstuvwxyz")
    own, _ = glimpses.letters(2, 0)
    from lookback.glimpses import windows

    cut = windows(pictures, 5)
    assert not any((own == one).all((1, 2)).any() for one in cut)


def test_the_list_of_a_table_has_703_windows():
    said("glimpses", "It lists 703 windows")
    assert 1 + 26 + 26 * 26 == 703
