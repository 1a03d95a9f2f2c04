r"""Paired randomisation: is one translator better, or were its captions lucky?

BLEU (Papineni et al. 2002) adds up over all captions before it divides:

    BLEU = 100 exp(min(0, 1 − r / c)) · exp(¼ Σ_n ln(m_n / t_n)),  n = 1 … 4

m_n of the t_n runs of n words stand in the reference too; c and r are the
words of the translations and of the references. So a caption is nine numbers,
and two translators can be compared by letting the captions' rows change
places at random (approximate randomisation, as sacreBLEU offers it).
"""

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor


def caption_rows(text: str) -> Int[Tensor, "captions 9"]:
    """m_1…m_4, t_1…t_4 and r of each caption.

    The text holds m_1…m_4, the words of the translation and r for each
    caption, as `lab.metrics.counts` gives them, captions divided by commas.
    Raises ValueError for a caption that has not six whole numbers.
    """
    found = torch.tensor([[*map(int, r.split())] for r in text.split(",")])
    if found.shape[1] != 6:
        raise ValueError(f"{found.shape[1]} numbers a caption: give six")
    totals = (found[:, 4:5] - torch.arange(4)).clamp(min=0)  # t_n = c − n + 1
    return torch.cat([found[:, :4], totals, found[:, 5:]], dim=1)


def bleu(sums: Real[Tensor, "*batch 9"]) -> Float[Tensor, "*batch"]:
    """BLEU, 0–100, from rows that were added up; 0 where an m_n is 0."""
    sums = sums.double()
    m, t, r = sums[..., :4], sums[..., 4:8].clamp(min=1), sums[..., 8]
    brevity = (1 - r / t[..., 0]).clamp(max=0)
    return 100 * (brevity + (m / t).log().mean(dim=-1)).exp()


def factors(
    sums: Real[Tensor, "*batch 9"],
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """BLEU's two: the precision, 0–100, and the brevity penalty, at most 1.

    They multiply to BLEU. Are the words right, and are there enough of them?
    """
    sums = sums.double()
    brevity = (1 - sums[..., 8] / sums[..., 4].clamp(min=1)).clamp(max=0).exp()
    return bleu(sums) / brevity, brevity


def swapped_gaps(
    one: Int[Tensor, "captions 9"],
    two: Int[Tensor, "captions 9"],
    coins: Bool[Tensor, "trials captions"] | Float[Tensor, "trials captions"],
) -> Float[Tensor, " trials"]:
    """BLEU of the second minus the first, after each trial's swaps.

    Where a coin is True, or 1, that caption's two rows have changed places.
    """
    moved = coins.double() @ (two - one).double()
    return bleu(two.sum(0) - moved) - bleu(one.sum(0) + moved)


def resampled_gaps(
    one: Int[Tensor, "captions 9"],
    two: Int[Tensor, "captions 9"],
    times: Real[Tensor, "trials captions"],
) -> Float[Tensor, " trials"]:
    """BLEU of the second minus the first, on test sets drawn from this one.

    `times` says how often each caption was drawn (the paired bootstrap of
    Koehn 2004).
    """
    drawn = times.double()
    return bleu(drawn @ two.double()) - bleu(drawn @ one.double())


def p_value(gap: Float[Tensor, ""], gaps: Float[Tensor, " trials"]) -> float:
    """The share of trials that beat the true gap, that gap counted as one.

    Where there is no gap to beat it is 1.
    """
    if gap.abs() < 1e-9:
        return 1.0
    larger = (gaps.abs() > gap.abs() + 1e-9).sum().item()
    return (larger + 1) / (len(gaps) + 1)
