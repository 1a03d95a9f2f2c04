"""Which word translates which: IBM model 1, by expectation and maximization.

Brown, Della Pietra, Della Pietra & Mercer 1993, "The Mathematics of Statistical
Machine Translation", section 4.1.

    p(f | e) = Π_i Σ_j t(f_i | e_j) / (n + 1)              e_0 is nothing
    p(a_i = j | f, e) = t(f_i | e_j) / Σ_k t(f_i | e_k)    expectation
    t(f | e) ∝ Σ over all pairs of p(a_i = j | f, e)       maximization
               where f_i = f and e_j = e

The order of the words plays no part. A French word is made by one English word
or by none, an English word may make several French ones or none.
"""

from collections.abc import Sequence

import torch

from lookback.lab import arguments
from lookback.lab.corpus import Pair

NOTHING = "<nothing>"  # e_0, before the first word of every sentence
Table = dict[tuple[str, str], float]  # t(f | e), by (e, f)


def learn(pairs: Sequence[Pair], rounds: int = 5) -> Table:
    """t(f | e) after so many rounds, from t that is the same for all.

    Raises ValueError for no pairs, and for rounds below 1.
    """
    arguments.pairs("pairs", arguments.some("pairs", pairs, "sentence pairs"))
    arguments.whole("rounds", rounds, 1)
    english, french = {NOTHING: 0}, {}
    code, word, at = [], [], 0  # of every e_j and f_i that meet
    for pair in pairs:
        source = [0, *(english.setdefault(w, len(english)) for w in pair[0])]
        target = [french.setdefault(w, len(french)) for w in pair[1]]
        e, f = torch.tensor(source), torch.tensor(target)
        code.append((e + (f[:, None] << 32)).flatten())
        place = torch.arange(at, at + len(f))
        word.append(place.repeat_interleave(len(e)))
        at += len(f)
    word = torch.cat(word)  # which f_i it is, of all in the corpus
    known, entry = torch.cat(code).unique(return_inverse=True)
    e = known & 0xFFFFFFFF
    t = torch.ones(len(known), dtype=torch.float64)
    for _ in range(rounds):
        share = t[entry]
        share /= torch.bincount(word, share)[word]  # p(a_i = j | f, e)
        count = torch.bincount(entry, share)
        t = count / torch.bincount(e, count)[e]
    words = list(english), list(french)
    return {
        (words[0][i], words[1][j]): p
        for i, j, p in zip(
            e.tolist(), (known >> 32).tolist(), t.tolist(), strict=True
        )
    }


def align(table: Table, pair: Pair) -> list[int | None]:
    """For every target word the likeliest source word's place, or None.

    Of equals it is the first; None is for what nothing makes likeliest.
    """
    arguments.kind("table", table, dict, "what `learn` returns")
    arguments.pair("pair", pair)
    found = []
    for f in pair.target:
        chances = [table.get((e, f), 0.0) for e in (NOTHING, *pair.source)]
        best = chances.index(max(chances))
        found.append(best - 1 if best else None)
    return found
