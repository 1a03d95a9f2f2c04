"""How good is a translation, and how good is an alignment.

BLEU (Papineni et al. 2002) is sacreBLEU's (Post 2018), on text that is
already tokenised. Alignment error rate: Och & Ney 2003.
"""

import os
from collections.abc import Collection, Sequence

from sacrebleu.metrics import BLEU, CHRF
from torch import Tensor

from lookback.lab import arguments

Links = Collection[tuple[int, int]]


def bleu(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    resamples: int = 0,
) -> dict[str, float]:
    """Corpus BLEU, 0–100, with a 95 % bootstrap interval if asked for.

    Returns {"bleu"} and, with resamples, {"low", "high"} too. The interval
    says how much the score hangs on the choice of test sentences; it does not
    say how much it hangs on the seed of the training run.
    Raises ValueError for no sentences or unequal numbers of them, and for
    resamples that are neither 0 nor at least 2; TypeError for what is no list
    of lists of words.
    """
    texts, truths = matched(hypotheses, references)
    if arguments.whole("resamples", resamples, 0) == 1:
        raise ValueError("resamples is 1: give 0, or 2 and more")
    os.environ.setdefault("SACREBLEU_SEED", "12345")
    score = BLEU(tokenize="none", force=True).corpus_score(
        texts, [truths], n_bootstrap=resamples or 1
    )
    answer = {"bleu": score.score}
    if resamples:
        answer["low"] = score._mean - score._ci
        answer["high"] = score._mean + score._ci
    return answer


def counts(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> list[list[int]]:
    """What BLEU counts, one row a sentence.

    Runs of one, two, three and four words that the reference has too, the
    words of the translation, the words of the reference. BLEU is computed
    from the rows' sum. Raises what `bleu` raises.
    """
    texts, truths = matched(hypotheses, references)
    scorer, rows = BLEU(tokenize="none", force=True, effective_order=True), []
    for text, truth in zip(texts, truths, strict=True):
        found = scorer.sentence_score(text, [truth])
        rows.append([*found.counts, found.sys_len, found.ref_len])
    return rows


def chrf(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> float:
    """Corpus chrF2 (Popović 2015), 0–100: runs of letters, not of words.

    Raises what `bleu` raises.
    """
    texts, truths = matched(hypotheses, references)
    return CHRF().corpus_score(texts, [truths]).score


def matched(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Both as text; ValueError if they are none or not equally many."""
    arguments.sentences("hypotheses", hypotheses)
    arguments.sentences("references", references)
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(
            f"there are {len(hypotheses)} hypotheses and {len(references)}"
            " references: give at least one of each and equally many"
        )
    return [" ".join(w) for w in hypotheses], [" ".join(w) for w in references]


def bleu_by_length(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    lengths: Sequence[int],
    edges: Sequence[int],
    resamples: int = 1000,
) -> list[dict[str, int | float]]:
    """BLEU of the sentences whose source length lies in [edge, next edge).

    One row per bin that holds at least one sentence: from, to, sentences,
    mean_length, and what `bleu` returns.
    Raises ValueError for edges that do not rise and for unequal numbers.
    """
    for name, value in (("lengths", lengths), ("edges", edges)):
        for i, each in enumerate(
            arguments.listed(name, value, "whole numbers")
        ):
            arguments.whole(f"{name}[{i}]", each, 0)
    arguments.sentences("hypotheses", hypotheses)
    arguments.sentences("references", references)
    if not len(hypotheses) == len(references) == len(lengths):
        raise ValueError(
            f"there are {len(hypotheses)} hypotheses, {len(references)}"
            f" references and {len(lengths)} lengths: give equally many"
        )
    if list(edges) != sorted(set(edges)) or len(edges) < 2:
        raise ValueError(f"edges {list(edges)} must rise, and be two or more")
    rows = []
    for low, high in zip(edges, edges[1:], strict=False):
        chosen = [i for i, n in enumerate(lengths) if low <= n < high]
        if not chosen:
            continue
        rows.append(
            {
                "from": low,
                "to": high,
                "sentences": len(chosen),
                "mean_length": sum(lengths[i] for i in chosen) / len(chosen),
                **bleu(
                    [hypotheses[i] for i in chosen],
                    [references[i] for i in chosen],
                    resamples,
                ),
            }
        )
    return rows


def links(weights: Tensor) -> set[tuple[int, int]]:
    """For each target word the source word with the largest weight.

    `weights` is [target, source]; links are (source, target) positions.
    Raises ValueError for another shape, and for NaN.
    """
    give = "the weights of one sentence, a tensor [target, source]"
    arguments.kind("weights", weights, Tensor, give)
    if weights.ndim != 2 or not weights.shape[1]:
        raise ValueError(f"weights is {arguments.shown(weights)}: give {give}")
    if weights.isnan().any():
        raise ValueError(f"weights holds NaN: give {give}")
    return {(int(j), i) for i, j in enumerate(weights.argmax(dim=-1))}


def alignment_error_rate(
    found: Sequence[Links],
    sure: Sequence[Links],
    possible: Sequence[Links] | None = None,
) -> float:
    """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); 0 is perfect, 1 is worst.

    A are the links found, S the sure and P ⊇ S the possible ones (P = S if
    not given), summed over the corpus. Raises ValueError for unequal numbers
    of sentences and for a corpus without links.
    """
    possible = sure if possible is None else possible
    for name, each in zip(
        ("found", "sure", "possible"), (found, sure, possible), strict=True
    ):
        check_links(name, each)
    if not len(found) == len(sure) == len(possible):
        raise ValueError(
            f"{len(found)}, {len(sure)} and {len(possible)} sentences: give"
            " equally many of found, sure and possible links"
        )
    hits = total = 0
    for a, s, p in zip(found, sure, possible, strict=True):
        a, s = set(a), set(s)
        hits += len(a & s) + len(a & (set(p) | s))
        total += len(a) + len(s)
    if not total:
        raise ValueError("no links at all: there is nothing to measure")
    return 1 - hits / total


def check_links(name: str, value: Sequence[Links]) -> None:
    """Raise TypeError, which names it, for what has no links a sentence."""
    of = "links, for each sentence a set of (source, target)"
    for i, links in enumerate(arguments.listed(name, value, of)):
        each = f"{name}[{i}]"
        arguments.kind(each, links, Collection, "a set of (source, target)")
        for link in links:
            if not (
                isinstance(link, tuple) and [*map(type, link)] == [int, int]
            ):
                raise arguments.wrong(
                    f"a link of {each}", link, "(source, target), two places"
                )
