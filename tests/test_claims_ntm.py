"""The copying experiment, and what the chapter `ntm` says of its record."""

import json
from copy import deepcopy

import pytest
import torch
from saying import BOOK, said

from lookback.experiments import ntm
from lookback.lab import records
from lookback.ntm import NTM, NTMConfig, content, sharpen, shift
from lookback.widgets.copier import LETTERS, inputs


def test_a_string_is_marks_bits_and_silence():
    said("ntm", "the answer is due at the step after the end mark")
    torch.manual_seed(0)
    given, bits = ntm.strings(5, 3)
    assert given.shape == (5, 1 + 3 + 1 + 3, 8) and bits.shape == (5, 3, 6)
    assert given[:, 0, ntm.START].eq(1).all() and given[:, 0].sum() == 5
    assert given[:, 4, ntm.END].eq(1).all() and given[:, 4].sum() == 5
    assert torch.equal(given[:, 1:4, :6], bits)
    assert given[:, 5:].sum() == 0 and set(bits.unique().tolist()) == {0, 1}


def twin(name):
    """One of the models, and the whole one with the same weights."""
    torch.manual_seed(0)
    whole = ntm.network("tape")
    held = ntm.network(name)
    held.load_state_dict(whole.state_dict())
    return held.double(), whole.double()


def test_content_only_is_the_ntm_without_its_other_stages():
    said("ntm", "has $g$ fixed at 1, and neither shifts nor sharpens")
    held, whole = twin("content only")
    given, _ = ntm.strings(3, 4)
    now = whole.blank(3, 9)
    _, addressing, weights = ntm.follow(held, given.double(), 9)
    for t, x in enumerate(given.double().unbind(1)):
        found = content(addressing[t].key, addressing[t].strength, now.memory)
        torch.testing.assert_close(weights[:, t], found)
        now = held.step(x, now)[1]


def test_location_only_never_consults_the_memory():
    said("ntm", "location only has $g$ fixed at 0")
    held, _ = twin("shift only")
    given, _ = ntm.strings(3, 4)
    _, addressing, weights = ntm.follow(held, given.double(), 9)
    before = held.blank(3, 9).weights
    for t in range(given.shape[1]):
        before = sharpen(
            shift(before, addressing[t].moves), addressing[t].gamma
        )
        torch.testing.assert_close(weights[:, t], before)


def test_two_heads_that_only_shift():
    said("ntm", "location only again, but with two heads, one that reads")
    model = ntm.network(ntm.TWO)
    assert isinstance(model, ntm.ShiftOnly) and model.config.heads == 2
    given, _ = ntm.strings(3, 4)
    _, addressing, _ = ntm.follow(model, given, 9)
    assert all(one.gate.shape == (3, 2, 1) for one in addressing)
    assert all(one.gate.eq(0).all() for one in addressing)


def test_the_lstm_has_its_bias_and_no_memory_of_slots():
    said("ntm", "a 1 in the bias of its forget gate")
    torch.manual_seed(0)
    model = ntm.network("LSTM")
    plain = torch.nn.LSTM(8, ntm.HIDDEN, batch_first=True)
    part = slice(ntm.HIDDEN, 2 * ntm.HIDDEN)
    gate = model.layer.bias_ih_l0[part].mean()
    bias = plain.bias_ih_l0[part].mean()
    assert (gate - bias).item() > 0.9
    given, bits = ntm.strings(2, 3)
    assert ntm.said(model, given, 3, 5).shape == bits.shape
    assert torch.equal(model(given, 5), model(given, 50))


@pytest.mark.parametrize("name", ntm.MODELS)
def test_models_side_by_side_say_what_each_says(name):
    """Code: models side by side."""
    torch.manual_seed(0)
    models = [ntm.network(name).double() for _ in range(3)]
    given = torch.stack([ntm.strings(4, 3)[0].double() for _ in models])
    found = ntm.together(models, given, 3, 9)
    for model, x, logits in zip(models, given, found, strict=True):
        torch.testing.assert_close(ntm.said(model, x, 3, 9), logits)


@pytest.mark.nightly
def test_models_side_by_side_learn_what_each_learns(monkeypatch):
    """Code: Each at its own rate, and clipped by its own gradient."""
    monkeypatch.setattr(ntm, "LIMIT", 0.1)
    monkeypatch.setattr(ntm, "BATCH", 2)
    bits = torch.randint(2, (3, 6)).float().double()

    def strings(count, length):  # the same for all
        given = torch.zeros(count, 8, 8).double()
        given[:, 0, 6] = given[:, 4, 7] = 1
        given[:, 1:4, :6] = bits
        return given, bits.expand(count, 3, 6)

    monkeypatch.setattr(ntm, "strings", strings)

    def after(*rates):
        torch.manual_seed(0)
        first = ntm.network("tape").double()
        models = [deepcopy(first) for _ in rates]
        found = ntm.teach(models, rates, updates=4, longest=3)
        return [one["curve"] for one in found], models

    curves, both = after(1e-3, 1e-2)
    for rate, curve, mine in zip((1e-3, 1e-2), curves, both, strict=True):
        [lone], [other] = after(rate)
        assert curve == lone
        for a, b in zip(mine.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a, b)
    slow, fast = both
    assert not torch.allclose(slow.addressing.weight, fast.addressing.weight)


def test_what_was_packed_is_unpacked():
    """Code: the record's weights."""
    torch.manual_seed(0)
    model = NTM(NTMConfig())
    found = ntm.unpacked(ntm.packed(model))
    for name, part in model.state_dict().items():
        assert torch.equal(found[name], part.half().float()), name


def test_a_score_counts_bits_and_whole_strings(monkeypatch):
    """Code: the scores of the record."""
    monkeypatch.setattr(ntm, "STRINGS", 50)

    class Half(torch.nn.Module):
        """Right on bits 0 to 2, and always 1 on the others."""

        def __init__(self):
            super().__init__()
            self.one = torch.nn.Parameter(torch.ones(1))

        def forward(self, given, slots):
            steps = (given.shape[1] - 2) // 2
            said = given.clone()[..., :6] - 0.5
            said[:, -steps:] = said[:, 1 : steps + 1]
            said[..., 3:] = 1
            return said

    torch.manual_seed(0)
    found = ntm.score(Half(), 9, 4)
    assert 0.6 < found["bits"] < 0.9 and found["whole"] < 0.1


@pytest.mark.nightly
def test_it_runs_resumes_and_writes_its_record(tmp_path, monkeypatch):
    """Code: a run, at a toy's size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    for name, value in {
        "UPDATES": 2,
        "STRINGS": 3,
        "SEEDS": 3,
        "TOGETHER": 2,
        "TESTS": {8: (2,), 9: (2, 3)},
        "LONG": 9,
    }.items():
        monkeypatch.setattr(ntm, name, value)
    monkeypatch.setattr(ntm.addressing_of, "__defaults__", (3,))
    ntm.trained.cache_clear()
    ntm.main([])
    results = records.load("ntm")["results"]
    others = {ntm.BLUNT, "addressing", "shown", "model"}
    assert {*ntm.MODELS, *others} == set(results)
    assert len(results["tape"]["scores"]["9"]["3"]["each"]) == 3
    assert len(results["addressing"]) == 3
    for name in ntm.MODELS:
        runs = [
            json.loads(path.read_text())["rates"]
            for path in sorted(tmp_path.glob(f"runs/ntm/{name}-*/result.json"))
        ]
        lowest = [
            min(run, key=lambda one: one["curve"][-1])["curve"] for run in runs
        ]
        assert results[name]["curve"] == lowest
        assert set(results[name]["by rate"]) == {"0.005", "0.01", "0.02"}
    sizes = sum(part.numel() for part in ntm.recorded().parameters())
    assert sizes == results["tape"]["weights"]
    ntm.trained.cache_clear()
    monkeypatch.setattr(ntm, "teach", None)  # all runs are kept
    ntm.main([])
    assert records.load("ntm")["results"] == results


# What the page says of the record


@pytest.fixture(scope="module")
def found():
    return records.load("ntm")["results"]


def test_five_seeds_stand_behind_the_table(found):
    said("ntm", "five seeds each")
    assert records.load("ntm")["seeds"] == [0, 1, 2, 3, 4]
    for name in (*ntm.MODELS, ntm.BLUNT):
        assert len(found[name]["updates"]) == 5, name
        assert set(found[name]["rates"]) <= set(ntm.RATES), name


def without_a_mistake(one, slots, length):
    """How many seeds copy nearly every string of a length."""
    return sum(x > 0.97 for x in one["scores"][slots][length]["whole"])


def test_the_ntm_learns_and_four_of_five_generalize(found):
    one = found["tape"]
    said("ntm", "All five seeds learned it, the median one after … updates")
    assert one["learned"] == 5
    assert without_a_mistake(one, "32", "8") == 5
    said("ntm", "four of the five copy strings of 60 without an error")
    said("ntm", "Four of our five NTMs, trained to copy at most … vectors")
    for n in ("20", "40", "60"):
        assert without_a_mistake(one, "128", n) == 4, n
    said("ntm", "and three of them strings of 120, fifteen times as long")
    assert without_a_mistake(one, "128", "120") == 3
    said("ntm", "The fifth copies strings of 8 and fails at 20")
    for slots in ("32", "128"):
        assert min(one["scores"][slots]["20"]["each"]) < 0.6


def test_on_the_training_memory_three_copy_until_it_is_full(found):
    row = found["tape"]["scores"]["32"]
    full = [
        all(row[n]["whole"][i] > 0.97 for n in row if n != "32")
        for i in range(5)
    ]
    said("ntm", "three of the five are right at every tested length up to 31")
    assert sum(full) == 3
    said("ntm", "A fourth, which copies 60 on the longer memory, fails at 28")
    long = found["tape"]["scores"]["128"]["60"]["whole"]
    fourth = [i for i in range(5) if long[i] == 1 and not full[i]]
    assert len(fourth) == 1 and row["28"]["whole"][fourth[0]] < 0.1
    said("ntm", "At 32 the head has come round the ring, and all five fail")
    assert max(row["32"]["whole"]) < 0.1


def test_half_of_the_addressing_does_not_learn_with_a_single_head(found):
    said("ntm", "neither kind of addressing alone learned to copy")
    said("ntm", "With a single head, neither kind alone learned to copy")
    for name in ("content only", "shift only", "LSTM"):
        one = found[name]
        assert set(one["by rate"].values()) == {0}, name
        assert max(one["scores"]["32"]["8"]["whole"]) < 0.1, name
        assert max(one["scores"]["128"]["40"]["each"]) < 0.6, name
    said("ntm", "Content only does not learn strings of 8")
    for name in ("content only", "shift only"):
        assert found[name]["scores"]["32"]["8"]["bits"] < 0.8, name
        assert found[name]["weights"] == found["tape"]["weights"]
    said("ntm", "in every seed the loss was lower at the end than halfway")
    left = [
        curve[-1] / curve[len(curve) // 2 - 1]
        for curve in found["shift only"]["curve"]
    ]
    assert max(left) < 0.85 and min(left) == pytest.approx(0.25, abs=0.01)


def test_two_heads_need_no_content(found):
    one = found[ntm.TWO]
    said("ntm", "Three of the five seeds learned to copy, and these copy")
    said("ntm", "So it is not true that copying needs content-based addressing")
    said("ntm", "alone was enough in three models of five")
    assert one["learned"] == 3
    assert without_a_mistake(one, "128", "60") == 3
    said("ntm", "two of them do so at 120 as well")
    assert without_a_mistake(one, "128", "120") == 2
    assert min(one["scores"]["128"]["60"]["whole"][:3]) == 1
    said("ntm", "The other two seeds get … of the bits of strings of 8")
    assert all(x == pytest.approx(0.99, abs=0.005) for x in eight(one)[3:])
    said("ntm", "of the bits of strings of 8 right, and fail at 20")
    assert max(one["scores"]["128"]["20"]["each"][3:]) < 0.6


def eight(one):
    """The bits right of strings of 8, for each seed, on the long memory."""
    return one["scores"]["128"]["8"]["each"]


def test_the_rate_matters(found):
    said("ntm", "at the lowest, one seed of the NTM learned to copy")
    assert list(found["tape"]["by rate"].values()) == [1, 4, 4]


def test_a_small_key_strength_learns_later_and_in_fewer_attempts(found):
    said("ntm", "Trained from 0.7, but otherwise like the NTM of the table")
    sharp, blunt = found["tape"], found[ntm.BLUNT]
    assert blunt["learned"] < sharp["learned"]
    said("ntm", "four of five seeds learned to copy, and these copy every")
    assert blunt["learned"] == 4
    learned = [i for i in range(5) if blunt["updates"][i]]
    trained = blunt["scores"]["32"]["8"]["whole"]
    assert len(learned) == 4 and all(trained[i] == 1 for i in learned)
    said("ntm", "only one of the four still copies every string, and the other")
    on_long = blunt["scores"]["128"]
    assert [
        all(row["whole"][i] == 1 for row in on_long.values()) for i in range(5)
    ].count(True) == 1
    assert sum(on_long["8"]["whole"][i] < 1 for i in learned) == 3
    said("ntm", "If the fifth counts as the slowest, the median is")
    for one in (sharp, blunt):
        needed = sorted(n or 1e9 for n in one["updates"])
        assert one["median"] == needed[2]
    assert blunt["median"] > 2 * sharp["median"]
    fresh = [ntm.network(name) for name in (ntm.BLUNT, "tape")]
    low, high = (
        model.set_addressing(torch.zeros(1, 64)).strength.item()
        for model in fresh
    )
    assert low == pytest.approx(0.7, abs=0.2)
    assert high == pytest.approx(4, abs=0.3)


def test_the_lstm_was_still_learning(found):
    one = found["LSTM"]
    said(
        "ntm", "The LSTM, with seventeen times the weights, was still learning"
    )
    assert one["weights"] // found["tape"]["weights"] == 17
    said("ntm", "in every seed the loss of the last updates was less than half")
    for curve in one["curve"]:
        assert curve[-1] < curve[len(curve) // 2 - 1] / 2
    said("ntm", "of the bits of strings of 8 right, and soon falls to guessing")
    assert one["scores"]["128"]["8"]["bits"] > 0.9
    assert max(one["scores"]["128"]["40"]["each"]) < 0.55


def test_the_model_of_the_page_is_the_first_that_copies_all(found):
    said("ntm", "is the first of those that copied every long string")
    all_right = [
        all(
            one["whole"][i] == 1
            for one in found["tape"]["scores"]["128"].values()
        )
        for i in range(5)
    ]
    assert all_right.index(True) == found["shown"] == 1


def test_the_widgets_text_is_copied():
    model = ntm.recorded()
    said("ntm", "Equal letters do no harm")
    said("ntm", "A text needs one slot more than it has letters")
    for text in ("Looking back at the tape", 24 * "a"):
        assert copied(model, text, 64) == text
        assert copied(model, text, len(text) + 1) == text  # and the mark
    lost = copied(model, "Looking back at the tape", 22)
    said("ntm", "With 22 slots the beginning is lost")
    said("ntm", "The copy starts with king back at the ta, three letters late")
    said("ntm", "and its last five letters are nonsense")
    assert lost.startswith("king back at the ta") and "tape" not in lost
    said("ntm", "The last three letters come from slots on which the head")
    with torch.no_grad():
        head = ntm.follow(model, inputs("Looking back at the tape"), 22)[2]
    at = head[0, :, 0].argmax(-1).tolist()
    assert at[-5:] == [0, 1, 2, 3, 4]
    assert at[25:28] == [2, 3, 4]  # at the end mark, and in the answer
    said("ntm", "now that was the start mark or an old letter")
    assert at[21:25] == [20, 21, 0, 1] and at[0] == 21  # t, a, p, e; the mark
    assert at[1] == 0  # L


def test_p_and_e_are_copied_if_the_controller_sees_a_blank():
    """With 22 slots; at every step of the string it sees what a blank holds."""
    said("ntm", "Shown a blank instead, the model copies p and e, too")
    text, model = "Looking back at the tape", ntm.recorded()
    tape, bits = model.blank(1, 22), []
    blank = tape.found
    with torch.no_grad():
        for i, x in enumerate(inputs(text).unbind(1)):
            if i <= len(text):
                tape = tape._replace(found=blank)
            logits, tape, _ = model.step(x, tape)
            bits.append(logits[0] > 0)
    copy = spelled(torch.stack(bits)[-len(text) :])
    assert copy[:21] == "king back at the tape"


def copied(model, text, slots):
    with torch.no_grad():
        logits = model(inputs(text), slots)[0, -len(text) :]
    return spelled(logits > 0)


def spelled(bits):
    """The letters of six bits each."""
    codes = (bits.int() * 2 ** torch.arange(6)).sum(-1)
    return "".join(LETTERS[code] for code in codes)


def test_the_addressing_of_the_model_of_the_page(found):
    one = found["addressing"][found["shown"]]
    said("ntm", "the head moves one slot back and writes. Over the string")
    assert one["start"]["moves"][0] > 0.9  # one back
    said("ntm", 'the gate is near 0 and the shift is "one on"')
    for phase in ("writing", "answer"):
        assert one[phase]["gate"] < 0.05 and one[phase]["moves"][2] > 0.9
    said("ntm", "the head jumps to the start mark and stays")
    assert one["end"]["gate"] > 0.75 and one["end"]["moves"][1] > 0.75
    others = [one[k]["strength"] for k in ("start", "writing", "answer")]
    said("ntm", "the gate opens and the key strength rises")
    assert one["end"]["strength"] > 2 * max(others)
    said("ntm", "and every vector is read where it was written")
    assert one["same place"] > 0.99


def test_some_walk_backwards(found):
    said("ntm", "Others move backwards, one slot back for every vector")
    back = [one["answer"]["moves"][0] > 0.9 for one in found["addressing"]]
    on = [one["answer"]["moves"][2] > 0.9 for one in found["addressing"]]
    assert sum(back) >= 2 and sum(on) >= 2


@pytest.mark.nightly
def test_where_the_head_goes_step_by_step():
    model = ntm.recorded()
    torch.manual_seed(0)
    given, _ = ntm.strings(100, 8)
    with torch.no_grad():
        at = ntm.follow(model, given, 64)[2][:, :, 0].argmax(-1)
    usual = at.mode(dim=0).values.tolist()
    said("ntm", "to slot 63, since the memory is a ring")
    said("ntm", "the head jumps to the slot where the start mark was written")
    assert usual == 2 * [63, *range(8)]  # the mark, or the jump to it


def held_by_the_exercise():
    """Its class, the gate held in one phase."""
    page = (BOOK / "ntm.md").read_text(encoding="utf-8")
    code = page[page.index("class Held(NTM)") :].partition("\n\n\nfor ")[0]
    names = {"NTM": NTM, "ntm": ntm, "torch": torch}
    exec(code, names)
    return names["Held"](NTMConfig())


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("phase", "gate", "low", "high"),
    [
        ("string", 0.0, 0.97, 1.0),
        ("string", 1.0, 0.4, 0.7),
        ("end", 0.0, 0.4, 0.6),
        ("end", 1.0, 0.99, 1.0),
        ("answer", 0.0, 0.99, 1.0),
        ("answer", 1.0, 0.4, 0.7),
    ],
)
def test_which_part_finds_the_start(phase, gate, low, high):
    said("ntm", "only one of the three phases needs the gate open")
    model = held_by_the_exercise()
    model.load_state_dict(ntm.recorded().state_dict())
    model.phases, model.held = (phase,), gate
    torch.manual_seed(0)
    assert low <= ntm.score(model, 32, 8)["bits"] <= high


@pytest.mark.nightly
def test_the_trained_model_held_to_content_fails():
    said(
        "ntm",
        "restricted to the first, the trained model only guesses",
    )
    model = ntm.recorded()
    held = ntm.ContentOnly(model.config)
    held.load_state_dict(model.state_dict())
    torch.manual_seed(0)
    assert ntm.score(held, 32, 8)["bits"] < 0.7
    assert ntm.score(model, 32, 8)["bits"] > 0.99


def test_the_model_is_an_ntm_of_the_recorded_size(found):
    said("ntm", "A model with … weights copies your text")
    model = NTM(NTMConfig())
    assert (
        sum(p.numel() for p in model.parameters()) == found["tape"]["weights"]
    )
