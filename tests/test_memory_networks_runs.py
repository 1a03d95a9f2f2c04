"""The experiment of the hops: what its names say, and that it resumes."""

import pytest
import torch

from lookback.experiments import memory_networks, recency
from lookback.lab import records, story_task, weights
from lookback.memory_networks import MemN2N, MemNN, hinge_loss

SMALL = {"STORIES": 30, "TESTS": 6, "UPDATES": 4, "START": 2, "BATCH": 5}


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    for name, value in SMALL.items():
        monkeypatch.setattr(memory_networks, name, value)
    monkeypatch.setattr(memory_networks, "EVERY", 2)
    monkeypatch.setattr(memory_networks, "LENGTHS", (12, 14))
    memory_networks.gather.cache_clear()
    yield
    memory_networks.gather.cache_clear()


def test_networks_are_what_their_names_say():
    for name in memory_networks.NETWORKS:
        model = memory_networks.network(name)
        if name == "memory network":
            assert isinstance(model, MemNN)
            continue
        assert isinstance(model, MemN2N)
        one = name in ("1 hop", "1 wide hop", "no ages")
        few = 1 if one else 2 if name == "2 hops" else 3
        assert len(model.words) == few + 1
        trained = [rows.requires_grad for rows in model.ages]
        silent = [rows.abs().sum() == 0 for rows in model.ages]
        assert all(silent) == (name == "no ages") != all(trained)


def test_the_wide_hop_has_as_many_numbers_as_three_hops():
    wide, three = (
        sum(part.numel() for part in memory_networks.network(name).parameters())
        for name in ("1 wide hop", "3 hops")
    )
    assert wide == three


def test_rates_are_what_their_names_say():
    rates = {
        name: memory_networks.rate_of(name) / memory_networks.RATE
        for name in memory_networks.NETWORKS
    }
    slower = {name: rate for name, rate in rates.items() if rate != 1}
    assert slower == {
        "3 hops, a quarter": 0.25,
        "no start, half the rate": 0.5,
        "no start, a quarter": 0.25,
        "told, a quarter": 0.25,
        "hard, a quarter": 0.25,
    }
    batch = memory_networks.gather(4, 5, 12)
    for name in slower:
        torch.manual_seed(0)
        model, plain = memory_networks.network(name), name.partition(",")[0]
        assert memory_networks.loss(name, model, batch) == memory_networks.loss(
            plain, model, batch
        )
        assert memory_networks.temperature_of(
            name
        ) == memory_networks.temperature_of(plain)


def test_the_kinds_of_question_stand_one_after_another():
    batch = memory_networks.gather(3, 4, 12)
    assert batch.facts.tolist() == [1] * 4 + [2] * 4 + [3] * 4
    shares = memory_networks.by_facts(
        torch.tensor([1.0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0])
    )
    assert shares == {"1": 0.25, "2": 0.5, "3": 0.75}


def test_only_the_long_one_reads_long_stories(monkeypatch):
    monkeypatch.setattr(memory_networks, "STORIES", 30)
    for name in ("3 hops", "gaps", "long"):
        lengths = [
            part.story.shape[1] for part in memory_networks.lessons(name, 0)
        ]
        assert lengths == (
            list(memory_networks.LENGTHS) if name == "long" else [12]
        )
    counts = [len(part.answer) for part in memory_networks.lessons("long", 0)]
    assert counts == [30, 30, 30]  # ten of each kind


def test_losses_are_what_their_names_say():
    batch = memory_networks.gather(4, 5, 12)
    torch.manual_seed(0)
    model = memory_networks.network("3 hops").double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.3)  # no share is so small that it is cut off
    logits, looks = model(batch.story, batch.question)
    plain = torch.nn.functional.cross_entropy(logits, batch.answer)
    torch.testing.assert_close(
        memory_networks.loss("3 hops", model, batch), plain
    )
    cost = 0.0
    for i, support in enumerate(batch.support.tolist()):
        for k, place in enumerate(support):
            if place >= 0:
                cost -= float(looks[k][i, place].log()) / len(batch.answer)
    told = memory_networks.loss("told", model, batch)
    assert float(told) == pytest.approx(float(plain) + cost)
    hard, _ = model(batch.story, batch.question, temperature=0.0)
    torch.testing.assert_close(
        memory_networks.loss("hard", model, batch),
        torch.nn.functional.cross_entropy(hard, batch.answer),
    )
    starts = memory_networks.loss("3 hops", model, batch, starts=True)
    bare, _ = model(batch.story, batch.question, temperature=None)
    torch.testing.assert_close(
        starts, torch.nn.functional.cross_entropy(bare, batch.answer)
    )
    torch.manual_seed(1)
    one, two = (
        float(memory_networks.loss("gaps", model, batch)) for _ in range(2)
    )
    assert one != two != float(plain)  # other ages each time


def test_the_memory_networks_loss_counts_every_fact_once():
    batch = memory_networks.gather(5, 4, 12)
    torch.manual_seed(0)
    model = memory_networks.network("memory network").double()
    scores, looks = model(
        batch.story, batch.question, batch.facts, batch.support
    )
    cost = float(hinge_loss(scores, batch.answer).sum())
    for i, support in enumerate(batch.support.tolist()):
        for k, place in enumerate(support):
            if place >= 0:
                row, at = looks[k][i : i + 1], torch.tensor([place])
                cost += float(hinge_loss(row, at))
    found = memory_networks.loss("memory network", model, batch)
    assert float(found) == pytest.approx(cost / len(batch.answer))


class Knows:
    """Looks where it should, one fact a hop, in the order of need."""

    def __init__(self, batch):
        self.config = memory_networks.MemoryConfig(len(story_task.vocabulary()))
        self.batch = batch

    def __call__(self, story, question, old, temperature):
        looks = []
        for k in range(3):
            at = self.batch.support[:, k].clamp(min=0)
            looks.append(torch.nn.functional.one_hot(at, 12).float())
        words = len(story_task.vocabulary())
        answers = torch.nn.functional.one_hot(self.batch.answer, words)
        return answers.float(), looks


def test_where_it_looked_is_counted(monkeypatch):
    monkeypatch.setattr(memory_networks, "device", lambda: torch.device("cpu"))
    batch = memory_networks.gather(6, 5, 12)
    knows = Knows(batch)
    rows, chained = memory_networks.looked(knows, batch)
    assert chained == {"1": 1.0, "2": 1.0, "3": 1.0}
    for facts in (1, 2, 3):
        for k in range(facts):
            row = rows[str(facts)][k]
            assert row[k] == 1.0 and sum(row) == 1.0
    support = batch.support.clone()
    support[4, 0] = (support[4, 0] + 1) % 12  # it is elsewhere,
    support[14, 2] = (support[14, 2] + 3) % 12  # the third one too
    rows, chained = memory_networks.looked(
        knows, batch._replace(support=support)
    )
    assert chained["1"] < 1 and chained["3"] == pytest.approx(0.8)
    assert rows["3"][2][2] == pytest.approx(0.8)


@pytest.mark.nightly
def test_a_guess_is_as_good_as_chance_makes_it(monkeypatch):
    """With three persons in six places."""
    monkeypatch.setattr(memory_networks, "TESTS", 600)
    for facts in story_task.NAMES:
        assert memory_networks.guess(facts) == pytest.approx(
            1 / 3 + 2 / 3 / 6, abs=0.04
        )


@pytest.mark.nightly
def test_it_runs_resumes_and_writes_its_record(small, tmp_path, monkeypatch):
    memory_networks.main(["--seeds", "2"])
    results = records.load("memory_networks")["results"]
    assert [*results] == [*memory_networks.NETWORKS, "guess"]
    for name in memory_networks.NETWORKS:
        found = results[name]
        assert found["seeds"] == len(found["runs"]) == 2
        assert set(found["right"]) == {"12", "14"}
        assert ("oldest" in found) == (name != "memory network")
        assert [row["updates"] for row in found["runs"][0]["curve"]] == [2, 4]
    model, words, _ = weights.load("memory_networks", MemN2N, tmp_path)
    assert len(words) == len(story_task.vocabulary())
    assert len(model.words) == 4
    monkeypatch.setattr(memory_networks, "teach", None)  # all runs are kept
    memory_networks.main(["--seeds", "2"])
    assert records.load("memory_networks")["results"] == results


class Right(Knows):
    """Right on every question, and on the latest sentence at once."""

    def __call__(self, story, question, old, temperature):
        assert torch.equal(story.cpu(), self.batch.story)
        return super().__call__(story, question, old, temperature)


def test_questions_are_counted_by_what_misleads(tmp_path, monkeypatch):
    """All right but those about a thing that was moved."""
    told = story_task.stories(recency.HELD_OUT, 80, 12, 3)
    kinds = [story_task.outdated(one) or "none" for one in told]
    batch = story_task.collate(told, story_task.vocabulary())
    moved = torch.tensor([kind == "thing" for kind in kinds])
    wrong = batch._replace(answer=batch.answer + moved.long())
    monkeypatch.setattr(memory_networks, "device", lambda: torch.device("cpu"))
    monkeypatch.setattr(recency, "TESTS", 80)
    monkeypatch.setattr(recency, "network", lambda name: Right(wrong))
    monkeypatch.setattr(memory_networks, "teach", lambda *given: None)
    found = recency.run("3 hops", 0, tmp_path)
    assert {kind: one["questions"] for kind, one in found.items()} == {
        kind: kinds.count(kind) for kind in recency.KINDS
    }
    for kind, one in found.items():
        assert one["right"] == (kind != "thing") and one["latest"] == 1
    over = recency.summary({"3 hops": [found, found]})
    assert over["3 hops"]["thing"]["right"]["mean"] == 0
    assert over["questions"]["thing"] == kinds.count("thing") > 0


@pytest.mark.nightly
def test_recency_runs_and_writes_its_record(small, monkeypatch):
    monkeypatch.setattr(recency, "TESTS", 60)
    monkeypatch.setattr(recency, "UPDATES", 2)
    recency.main(["--seeds", "2"])
    results = records.load("recency")["results"]
    assert [*results] == [*recency.NETWORKS, "questions"]
    assert sum(results["questions"].values()) == 60
    for name in recency.NETWORKS:
        assert len(results[name]["thing"]["right"]["each"]) == 2
