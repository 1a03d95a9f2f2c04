"""What the training loop of the Transformer's exercises teaches."""

import pytest
import torch

from lookback.exercises import check, transformer
from lookback.exercises.rnnsearch import strings

pytestmark = pytest.mark.nightly


def test_the_training_loop_teaches():
    torch.manual_seed(0)
    model = transformer.Transformer(30, 16, 2, 32, 1)
    given = strings(64, seed=99)
    loss = transformer.shifted_loss_solution
    before = loss(*given, model).item()
    transformer.train_transformer(model, steps=60)
    assert loss(*given, model).item() < before - 0.05
    assert transformer.write(model, given[0]).shape == given[1].shape


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_learns_to_write_backwards(seed):
    torch.manual_seed(seed)
    model = transformer.Transformer(30, 64, 4, 256, 2)
    transformer.train_transformer(model)
    assert check.writes_backwards(model) is True
    assert torch.equal(
        transformer.write(model, torch.tensor([[20, 8, 17, 4, 12, 3]]), 6),
        torch.tensor([[2, 12, 4, 17, 8, 20, 3]]),
    )
