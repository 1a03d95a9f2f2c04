"""The tape: each stage against a slow loop or torch's own, and the machine."""

import pytest
import torch
from torch.nn import functional as F

from lookback.ntm import (
    BLANK,
    NTM,
    Addressing,
    NTMConfig,
    address,
    content,
    read,
    sharpen,
    shift,
    write,
)

BATCH, SLOTS, D = 3, 7, 4


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def weights(seed=0):
    return numbers(BATCH, 2, SLOTS, seed=seed).softmax(-1)


def test_content_is_a_softmax_of_torchs_cosines():
    key, memory = numbers(BATCH, 2, D), numbers(BATCH, SLOTS, D, seed=1)
    strength = numbers(BATCH, 2, 1, seed=2).exp()
    cosine = F.cosine_similarity(key[:, :, None], memory[:, None], dim=-1)
    truth = (strength * cosine).softmax(-1)
    torch.testing.assert_close(content(key, strength, memory), truth)


def test_content_knows_no_place_and_no_length():
    key, memory = numbers(BATCH, 2, D), numbers(BATCH, SLOTS, D, seed=1)
    strength = torch.full((BATCH, 2, 1), 3.0, dtype=torch.float64)
    found = content(key, strength, memory)
    order = torch.tensor([2, 0, 1, 6, 5, 4, 3])
    moved = content(5 * key, strength, 0.1 * memory[:, order])
    torch.testing.assert_close(moved, found[:, :, order])


def test_shift_is_the_circular_sum():
    before, moves = weights(), numbers(BATCH, 2, 3, seed=1).softmax(-1)
    found = shift(before, moves)
    for b in range(BATCH):
        for head in range(2):
            for i in range(SLOTS):
                truth = sum(
                    before[b, head, (i - by) % SLOTS] * moves[b, head, by + 1]
                    for by in (-1, 0, 1)
                )
                torch.testing.assert_close(found[b, head, i], truth)


def test_a_shift_goes_round_the_end():
    last = torch.zeros(1, 1, SLOTS)
    last[..., -1] = 1
    on = torch.tensor([[[0.0, 0.0, 1.0]]])
    assert shift(last, on)[0, 0].tolist() == [1.0] + (SLOTS - 1) * [0.0]
    assert torch.equal(shift(shift(last, on), on.flip(-1)), last)


def test_sharpen_is_a_power_and_sums_to_1():
    before = weights()
    gamma = 1 + numbers(BATCH, 2, 1, seed=1).exp()
    raised = before**gamma
    truth = raised / raised.sum(-1, keepdim=True)
    torch.testing.assert_close(sharpen(before, gamma), truth)
    torch.testing.assert_close(sharpen(before, torch.ones_like(gamma)), before)


def test_sharpen_survives_where_every_power_would_be_0():
    flat = torch.full((1, 1, 128), 1 / 128)
    flat.requires_grad_()
    found = sharpen(flat, torch.tensor([[[60.0]]]))
    torch.testing.assert_close(found, flat)
    found[0, 0, 0].backward()
    assert flat.grad.isfinite().all()


def addressing(gate, moves, gamma=1.0):
    def all_of(x):
        return torch.full((BATCH, 2, 1), x, dtype=torch.float64)

    spread = torch.tensor(moves, dtype=torch.float64).expand(BATCH, 2, 3)
    key = numbers(BATCH, 2, D, seed=3)
    return Addressing(key, all_of(4.0), all_of(gate), spread, all_of(gamma))


def test_the_gate_chooses_between_content_and_place():
    memory, before = numbers(BATCH, SLOTS, D), weights(4)
    still = addressing(1.0, (0.0, 1.0, 0.0))
    found = content(still.key, still.strength, memory)
    torch.testing.assert_close(address(memory, before, still), found)
    on = addressing(0.0, (0.0, 0.0, 1.0))
    torch.testing.assert_close(address(memory, before, on), before.roll(1, -1))
    half = addressing(0.5, (0.0, 0.0, 1.0), 2.0)
    mixed = ((found + before) / 2).roll(1, -1) ** 2
    torch.testing.assert_close(
        address(memory, before, half), mixed / mixed.sum(-1, keepdim=True)
    )


def test_reading_and_writing_slot_by_slot():
    memory, w = numbers(BATCH, SLOTS, D), weights()[:, 0]
    erase, add = numbers(BATCH, D, seed=1).sigmoid(), numbers(BATCH, D, seed=2)
    found, after = read(memory, w), write(memory, w, erase, add)
    for b in range(BATCH):
        mean = sum(w[b, i] * memory[b, i] for i in range(SLOTS))
        torch.testing.assert_close(found[b], mean)
        for i in range(SLOTS):
            rest = memory[b, i] * (1 - w[b, i] * erase[b])
            torch.testing.assert_close(after[b, i], rest + w[b, i] * add[b])


def test_erased_and_added_whole_a_slot_holds_what_was_added():
    memory, ink = numbers(1, SLOTS, D), numbers(1, D, seed=1)
    one = torch.zeros(1, SLOTS, dtype=torch.float64)
    one[0, 2] = 1
    after = write(memory, one, torch.ones_like(ink), ink)
    torch.testing.assert_close(read(after, one), ink)
    assert torch.equal(after[0, 3:], memory[0, 3:])


def machine(heads=2):
    torch.manual_seed(0)
    sizes = {"inputs": 5, "outputs": 3, "hidden": 9, "d": D}
    return NTM(NTMConfig(**sizes, heads=heads)).double()


def test_the_dials_keep_their_ranges():
    model, h = machine(), 5 * numbers(BATCH, 9)
    found = model.set_addressing(h)
    assert found.key.shape == (BATCH, 2, D)
    assert (found.strength > 0).all() and (found.gamma >= 1).all()
    assert ((found.gate >= 0) & (found.gate <= 1)).all()
    total = found.moves.sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_a_blank_tape():
    memory, at, found = machine().blank(2, SLOTS)
    assert memory.shape == (2, SLOTS, D) and (memory == BLANK).all()
    assert at[:, :, 0].eq(1).all() and at.sum() == 4
    assert torch.equal(found, memory[:, 0])


def test_forward_is_one_step_after_another():
    model, inputs = machine(), numbers(BATCH, 6, 5)
    tape, said = model.blank(BATCH, SLOTS), []
    for t in range(6):
        logits, tape, _ = model.step(inputs[:, t], tape)
        said.append(logits)
        ones = tape.weights.sum(-1)
        torch.testing.assert_close(ones, torch.ones_like(ones))
    torch.testing.assert_close(model(inputs, SLOTS), torch.stack(said, 1))


@pytest.mark.parametrize("heads", [1, 2])
def test_it_reads_before_it_writes(heads):
    model, x = machine(heads), numbers(BATCH, 5)
    first = model.step(x, model.blank(BATCH, SLOTS))[1]
    torch.testing.assert_close(first.found, torch.full_like(first.found, BLANK))
    assert (first.memory - BLANK).abs().max() > 0.01


def test_what_is_written_reaches_the_answer_and_every_weight_is_used():
    model, inputs = machine(), numbers(BATCH, 6, 5).requires_grad_()
    model(inputs, SLOTS)[:, -1].sum().backward()
    assert inputs.grad[:, 0].abs().min() > 0
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name


def test_of_two_heads_the_first_reads_and_the_last_writes():
    model, x = machine(2), numbers(BATCH, 5)
    tape = model.blank(BATCH, SLOTS)._replace(memory=numbers(BATCH, SLOTS, D))
    after = model.step(x, tape)[1]
    truth = read(tape.memory, after.weights[:, 0])
    torch.testing.assert_close(after.found, truth)
    moved = (after.memory - tape.memory).norm(dim=-1)
    order = after.weights[:, 1].argsort(-1)
    assert moved.gather(1, order[:, -1:]).min() > 0


@pytest.mark.parametrize("slots", [SLOTS, 3 * SLOTS])
def test_the_same_weights_serve_a_tape_of_any_length(slots):
    assert machine()(numbers(BATCH, 6, 5), slots).shape == (BATCH, 6, 3)
