"""What every check is made of: take the answer, compare it, give a hint.

Inputs come in the reader's default dtype, so that a plain `torch.zeros` fits
them; what is right is computed in float64, by another road than the solution.
"""

import torch


class Hint(Exception):
    """The first thing wrong with an answer, said as a teacher would."""


class NotAttempted(Exception):
    """There is nothing to check yet."""


def random_inputs(seed, *shapes):
    """One tensor of normal numbers for each shape, the same every time."""
    draw = torch.Generator(device="cpu").manual_seed(seed)
    return [torch.randn(shape, generator=draw) for shape in shapes]


def as_numbers(answer, count, what):
    """A hand-found answer as float64 [count], or the hint that it is not."""
    if isinstance(answer, torch.Tensor) or hasattr(answer, "tolist"):
        answer = answer.tolist()
    given = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    given = [n.tolist() if hasattr(n, "tolist") else n for n in given]
    if all(number is None or number is ... for number in given):
        raise NotAttempted(f"Give {what}.")
    if any(number is None or number is ... for number in given):
        raise Hint(f"A part of your answer is still open. Give {what}.")
    if not all(isinstance(number, (int, float)) for number in given):
        raise Hint(f"Give {what} as plain numbers, not text or nested lists.")
    if count == 1 and len(given) == 2:
        raise Hint("Two numbers: Python writes decimals with a point, 0.25.")
    if len(given) != count:
        raise Hint(f"You gave {len(given)} numbers; give {what}.")
    return torch.tensor(given, dtype=torch.float64)


def as_tensor(result, shape, axes, known=None):
    """A result as float64 on the CPU, once its type and shape are right.

    `known` maps a telling wrong shape to its hint.
    """
    if not isinstance(result, torch.Tensor):
        raise Hint(
            f"Your function gives back {type(result).__name__}; "
            f"give back a torch tensor {axes}."
        )
    if tuple(result.shape) != tuple(shape):
        general = (
            f"Shape first: your result has shape {list(result.shape)}, "
            f"and {axes} is {list(shape)} here."
        )
        special = (known or {}).get(tuple(result.shape))
        raise Hint(f"{general} {special}" if special else general)
    return result.detach().cpu().to(torch.float64)


def expect(found, truth, mistakes, given="", tolerance=1e-4, otherwise=None):
    """Nothing if `found` is `truth`; else the hint of the mistake it shows.

    `mistakes` maps a hint to the value that this mistake gives; `otherwise`
    is said if none fits, in place of the first value that is wrong.
    """
    if _close(found, truth, tolerance):
        return
    for hint, wrong in mistakes.items():
        if _close(found, torch.as_tensor(wrong), tolerance):
            raise Hint(hint)
    if otherwise:
        raise Hint(otherwise)
    if found.is_floating_point() and not found.isfinite().all():
        raise Hint(f"Your result holds NaN or infinity {given}.")
    gap = (found.double() - truth.double()).abs()
    at = [int(i) for i in torch.unravel_index(gap.argmax(), gap.shape)]
    spot = f" at {at}" if at else ""
    raise Hint(
        f"The shape is right, a value is not: {given and given + ' '}yours is "
        f"{found[tuple(at)].item():.4g}{spot}, and it should be "
        f"{truth[tuple(at)].item():.4g}."
    )


def _close(found, value, tolerance):
    return found.shape == value.shape and torch.allclose(
        found.double(), value.double(), rtol=tolerance, atol=tolerance
    )
