"""The exercises of `rnnsearch`: each check beside its reference solution.

What is right comes from plain loops over sentences, positions and links, and
for RNNsearch from a blank file from the book's own, never from the solution.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Answer,
    Hint,
    as_module,
    as_number,
    as_tensor,
    exercise,
    expect,
    fill,
    float64,
    random_inputs,
)
from lookback.rnnsearch import RNNsearch, RNNsearchConfig, annotate
from lookback.vocabulary import END, PAD, START

_ENERGIES = (2, 1, 0)
_ANNOTATIONS = ((4, -2), (1, 3), (-2, 4))


def context_by_hand_solution():
    """c = Σ_j α_j h_j with α = softmax(2, 1, 0)."""
    shares = [math.exp(e) for e in _ENERGIES]  # 7.389, 2.718, 1
    alpha = [share / sum(shares) for share in shares]  # 0.665, 0.245, 0.090
    return [
        sum(a * h for a, h in zip(alpha, column, strict=True))
        for column in zip(*_ANNOTATIONS, strict=True)
    ]  # 2.725, -0.236


def _other_context(draw):
    """Three energies, the last one 0, and three annotations."""
    e = (*draw.sample((-1, 1, 2, 3), 2), 0)
    return {
        "e": e,
        "H": tuple(tuple(draw.sample(range(-4, 6), 2)) for _ in e),
    }


@by_hand(
    context_by_hand_solution,
    "the two numbers of c",
    ["c₁", "c₂"],
    known={
        3: "Three numbers are the weights. The context has as many as an "
        "annotation, two: Σ α_j h_j."
    },
    vary=("the energies e = {e} and the annotations {H}", _other_context),
)
def context_by_hand(e=_ENERGIES, H=_ANNOTATIONS):
    """Softmax of three energies and the context; the answer is c."""
    e, H = map(float64, (e, H))
    alpha = torch.softmax(e, 0)
    truth = alpha @ H
    nearly = (alpha * 100).round() / 100 @ H
    shares = "{:.3f}, {:.3f} and {:.3f}".format(*alpha)
    slips = {
        "Your weights are exp(e), not yet divided by their sum: three "
        "weights must sum to 1.": e.exp(),
        "Your weights are e / Σ e, without exp. Exponentiate first, "
        "then divide; even the energy 0 then gets a share.": e / e.sum(),
        "All three annotations weigh the same in your context: that is "
        "their plain mean, and the energies are not used.": [1 / 3] * 3,
        "You raised 2 to the energies; softmax takes e = 2.718….": (
            2**e / (2**e).sum()
        ),
        "That is the annotation with the highest energy alone: a hard "
        "choice. The soft search takes a little of each.": (
            e == e.max()
        ).double(),
        "You multiplied the annotations by the energies themselves; "
        "softmax comes between.": e,
        "Your weights run backwards, the lowest energy gets the most: "
        "exp(e), not exp(−e).": torch.softmax(-e, 0),
        "The weights are right, but you divided by three as well. They "
        "sum to 1: the sum is already a mean.": torch.softmax(e, 0) / 3,
    }
    mistakes = {hint: float64(weights) @ H for hint, weights in slips.items()}
    mistakes |= {
        "The energy 0 has a share, too: e⁰ is 1, not 0.": (
            e[:2].softmax(0) @ H[:2]
        ),
        "Nearly: you rounded the weights to two decimals before you used "
        "them. Keep three, and round c at the end.": nearly,
        "The two numbers are exchanged.": truth.flip(0),
    }
    otherwise = (
        f"This is no slip that the check knows. The weights are {shares}; "
        "c takes that share of each annotation."
    )
    return (
        f"both numbers of c, from weights {shares}.",
        stage(truth, mistakes, otherwise, around(0.012)),
    )


def additive_scores_solution(s, H, W, U, v):
    """e_ij = v · tanh(W s + U h_j), for every sentence and position j."""
    query = (s @ W.T).unsqueeze(1)  # [batch, 1, align]
    keys = H @ U.T  # [batch, source, align]
    return torch.tanh(query + keys) @ v


def _loop(s, H, W, U, v, score):
    """`score`(W s, U h, v) for one sentence and position after another."""
    return torch.stack(
        [
            torch.stack([score(W @ s_b, U @ h, v) for h in H_b])
            for s_b, H_b in zip(s, H, strict=True)
        ]
    )


_SCORED_WRONG = {
    "tanh is missing: v · tanh(W s + U h).": lambda q, k, v: v @ (q + k),
    "tanh stands around the finished score; it belongs inside, before v: "
    "v · tanh(W s + U h).": lambda q, k, v: torch.tanh(v @ (q + k)),
    "You took tanh of W s and of U h apart. Add them first: only inside one "
    "tanh can query and key act on each other.": (
        lambda q, k, v: v @ (torch.tanh(q) + torch.tanh(k))
    ),
    "v is missing: you sum over the align axis with weight 1 each.": (
        lambda q, k, v: torch.tanh(q + k).sum()
    ),
    "v is missing: you average over the align axis.": (
        lambda q, k, v: torch.tanh(q + k).mean()
    ),
    "You multiply W s with U h; additive scores add them.": (
        lambda q, k, v: v @ torch.tanh(q * k)
    ),
    "You subtract where the score adds: W s + U h.": (
        lambda q, k, v: v @ torch.tanh(q - k)
    ),
    "You used σ in place of tanh.": lambda q, k, v: v @ torch.sigmoid(q + k),
    "The query s is not in your scores: every target word would look at the "
    "same place.": lambda q, k, v: v @ torch.tanh(k),
}


@exercise(additive_scores_solution)
def additive_scores(mine):
    """v · tanh(W s + U h_j), batched."""
    # one sentence; as many sentences as positions; every size different
    sizes = ((1, 3, 4, 4, 5), (3, 3, 4, 4, 5), (2, 3, 6, 4, 5))
    for seed, (batch, source, query, key, align) in enumerate(sizes):
        given = random_inputs(
            seed,
            (batch, query),
            (batch, source, key),
            (align, query),
            (align, key),
            (align,),
        )
        axes = (batch, source)
        known = {
            (batch, source, align): "The align axis is still there: v turns "
            "its numbers into one score.",
            (batch, source, 1): "Drop the last axis: squeeze(-1).",
            (source, batch): "Yours is [source, batch].",
            (batch, align): "You summed over the positions; each position "
            "keeps its own score.",
        }
        found = as_tensor(mine(*given), axes, "[batch, source]", known)
        s, H, W, U, v = exact = [*map(float64, given)]
        truth = _loop(*exact, lambda q, k, v: v @ torch.tanh(q + k))
        mistakes = {
            hint: _loop(*exact, score) for hint, score in _SCORED_WRONG.items()
        }
        mistakes[
            "Those are weights, each row sums to 1. The scores come "
            "before softmax."
        ] = truth.softmax(1)
        if query == key:
            mistakes[
                "U is applied to s as well; the query has its own matrix, W."
            ] = _loop(s, H, U, U, v, lambda q, k, v: v @ torch.tanh(q + k))
            mistakes[
                "W and U are exchanged: W is for the query s, U for "
                "the annotations H."
            ] = _loop(s, H, U, W, v, lambda q, k, v: v @ torch.tanh(q + k))
        if batch == source:
            mixed = (H @ U.T + s @ W.T).tanh() @ v
            mistakes[
                "You add the query of sentence j to POSITION j of every "
                "sentence. Make room for the source axis first: "
                "(s @ W.T).unsqueeze(1)."
            ] = mixed
        expect(found, truth, mistakes)
    return (
        "shape; equal to a loop over sentences and positions on three "
        "batches; each query stays with its own sentence."
    )


def masked_softmax_solution(scores, mask):
    """exp(e_j) / Σ_k exp(e_k) over the places where mask is True."""
    none = ~mask.any(dim=-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -torch.inf)
    top = hidden.amax(dim=-1, keepdim=True).masked_fill(none, 0)
    shares = torch.exp(hidden - top)
    return shares / shares.sum(dim=-1, keepdim=True).masked_fill(none, 1)


def _masked_loop(scores, mask):
    """Masked softmax, one row at a time."""
    rows = []
    for energies, allowed in zip(scores.tolist(), mask.tolist(), strict=True):
        kept = [e for e, may in zip(energies, allowed, strict=True) if may]
        total = sum(math.exp(e - max(kept)) for e in kept)
        rows.append(
            [
                math.exp(e - max(kept)) / total if may else 0.0
                for e, may in zip(energies, allowed, strict=True)
            ]
        )
    return float64(rows)


def _masked_gone_wrong(e, mask):
    """What each likely mistake in a masked softmax gives, by its hint."""
    plain = e.softmax(1)
    return {
        "Your weights sum to 1 over the batch, not over the source axis: "
        "dim=-1, not dim=0.": e.masked_fill(~mask, -torch.inf).softmax(0),
        "You masked after the softmax: the padding has already taken its "
        "share, so the rows no longer sum to 1. Mask the scores first.": (
            plain * mask
        ),
        "You set masked scores to 0, and exp(0) = 1: padding still gets "
        "weight. The score that gets none is −infinity.": (
            (e * mask).softmax(1)
        ),
        "True and False are swapped: mask is True where the decoder MAY "
        "look.": e.masked_fill(mask, -torch.inf).softmax(1),
        "The mask is not used: padding gets weight.": plain,
        "Those are logarithms of weights: softmax, not log_softmax.": (
            e.masked_fill(~mask, -torch.inf).log_softmax(1)
        ),
        "You divide by the sum over the whole batch; each sentence has its "
        "own sum.": (e.exp() * mask / (e.exp() * mask).sum()),
        "Those are exp(scores), not yet divided by their sum.": e.exp() * mask,
        "exp is missing: you divide the scores by their sum.": (
            e * mask / (e * mask).sum(1, keepdim=True)
        ),
    }


_LOW = (
    "A masked place got weight beside very low scores: the number that you "
    "use for −infinity is not low enough. Use -torch.inf."
)
_OWN = (
    "You subtract the maximum of the whole batch. Beside a row of 1000 every "
    "exp of a row of −1000 is 0, and 0/0 is no weight: each row has its own "
    "maximum, amax(dim=-1, keepdim=True)."
)
_OPEN = (
    "With scores near −1000 every exp is 0, and 0/0 is no weight. Subtract "
    "the maximum first, taken over the places that may be looked at."
)
_OVERFLOW = (
    "Scores of 1000 overflow in exp. Subtract the row's maximum first: the "
    "weights stay the same."
)
# Rows of hard scores, and what is said of each row that is wrong; the last
# place is masked. A masked place that has weight is named first.
_HARD = (
    ([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -1002.0]], (_OVERFLOW, _OWN)),
    ([[-1000.0, -1001.0, 0.0], [1.0, 2.0, 3.0]], (_OPEN, _OPEN)),
    ([[-20000.0, -20001.0, 0.0], [1.0, 2.0, 3.0]], (_OPEN, _OPEN)),
)


@exercise(masked_softmax_solution)
def masked_softmax(mine):
    """Softmax over the places where mask is True."""
    e = torch.tensor([[1.0, 2.0, 5.0], [3.0, 1.0, 4.0]]).log() + 0.5
    mask = torch.tensor([[True, True, False], [True, False, True]])
    axes = "[batch, source]"
    found = as_tensor(mine(e, mask), e.shape, axes)
    e = e.double()
    expect(found, _masked_loop(e, mask), _masked_gone_wrong(e, mask))
    for rows, hints in _HARD:
        scores, mask = (
            torch.tensor(rows),
            torch.tensor([[True, True, False]] * 2),
        )
        found = as_tensor(mine(scores, mask), scores.shape, axes)
        if (found[:, 2] > 1e-4).any():
            raise Hint(_LOW)
        truth = _masked_loop(scores, mask)
        for row, right, hint in zip(found, truth, hints, strict=True):
            expect(row, right, {}, otherwise=hint)
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    mask = torch.tensor([[False, False], [True, True]])
    found = as_tensor(mine(scores, mask), scores.shape, axes)
    if found[0].isnan().any():
        raise Hint(
            "A row that is masked everywhere gives NaN (0/0, or −inf minus "
            "−inf). Nothing to look at means no weight: a row of zeros."
        )
    if found[0].abs().sum() > 0:
        raise Hint(
            "A row that is masked everywhere still gets weights: with a "
            "finite number for −infinity softmax shares 1 among the padding. "
            "Nothing to look at means a row of zeros."
        )
    expect(found[1:], _masked_loop(scores[1:], mask[1:]), {})
    return (
        "each row sums to 1 over what may be looked at, masked places are "
        "exactly 0, scores of ±1000 are safe, a fully masked row is zeros."
    )


def context_solution(weights, H):
    """c = Σ_j α_j h_j."""
    return torch.einsum("bs,bsd->bd", weights, H)


def _context_loop(weights, H):
    """The weighted sum, one sentence and one position at a time."""
    rows = []
    for shares, vectors in zip(weights.tolist(), H.tolist(), strict=True):
        row = [0.0] * len(vectors[0])
        for share, vector in zip(shares, vectors, strict=True):
            row = [c + share * x for c, x in zip(row, vector, strict=True)]
        rows.append(row)
    return float64(rows)


def _context_gone_wrong(w, H):
    """What each likely mistake in the context gives, by its hint."""
    mistakes = {
        "That is the plain mean of the annotations: the weights are not "
        "used.": H.mean(1),
        "That is the plain sum of the annotations: the weights are not "
        "used.": H.sum(1),
        "You divide by the number of words as well. The weights sum to 1: "
        "their sum is already a mean.": torch.einsum("bs,bsd->bd", w, H)
        / H.shape[1],
        "You took softmax of the weights again; they are weights already.": (
            torch.einsum("bs,bsd->bd", w.softmax(1), H)
        ),
        "You took the annotation with the largest weight alone; the soft "
        "search averages all of them.": H[range(len(H)), w.argmax(1)],
        "Every sentence is averaged with the weights of the first one.": (
            torch.einsum("s,bsd->bd", w[0], H)
        ),
    }
    if w.shape[0] == H.shape[1] == H.shape[2]:
        mistakes |= {
            "The weights met the wrong axis: give them a last axis, "
            "weights.unsqueeze(-1), so that they run along source.": (
                (w * H).sum(1)
            ),
            "The weights are transposed: row b holds the weights of "
            "sentence b.": torch.einsum("sb,bsd->bd", w, H),
        }
    return mistakes


@exercise(context_solution)
def context(mine):
    """The context: annotations averaged with the weights."""
    for batch, source, d in ((2, 3, 4), (3, 3, 3), (1, 5, 2)):
        w, H = random_inputs(7, (batch, source), (batch, source, d))
        w = w.softmax(1)
        known = {
            (batch, source, d): "Weighted, but not summed yet: sum over the "
            "source axis.",
            (batch, source): "You summed over the numbers of each "
            "annotation; sum over the source axis.",
            (batch, 1, d): "Drop the middle axis: squeeze(1).",
            (batch, batch, d): "Each sentence's weights met every sentence's "
            "annotations: weights.unsqueeze(1) @ H keeps them apart.",
            (d,): "The batch axis is gone: one context for each sentence.",
        }
        found = as_tensor(mine(w, H), (batch, d), "[batch, d]", known)
        w, H = map(float64, (w, H))
        expect(found, _context_loop(w, H), _context_gone_wrong(w, H))
    return "shape, and equal to a loop over words on three batches."


def alignment_error_rate_solution(links, sure, possible):
    """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|)."""
    hits = len(links & sure) + len(links & possible)
    return 1 - hits / (len(links) + len(sure))


def _error_gone_wrong(A, S, P):
    """What each likely mistake in the error rate gives, by its hint."""
    in_sure = sum(link in S for link in A)
    in_possible = sum(link in P for link in A)
    both, size = in_sure + in_possible, len(A) + len(S)
    precision, recall = in_possible / len(A), in_sure / len(S)
    return {
        "That is the share that is right; the error rate is 1 minus it.": (
            both / size
        ),
        "You divide by |A| + |P|. Missing a possible link is no error: "
        "divide by |A| + |S|.": 1 - both / (len(A) + len(P)),
        "You count hits among the sure links only; a link that is merely "
        "possible is no error either: |A∩S| + |A∩P|.": 1 - 2 * in_sure / size,
        "You took the sure links out of P. Every sure link is possible too, "
        "and counts in |A∩S| and in |A∩P|.": 1
        - (in_sure + sum(link in P and link not in S for link in A)) / size,
        "You count hits among the possible links only: |A∩S| + |A∩P|.": (
            1 - 2 * in_possible / size
        ),
        "That is 1 − precision: it never asks which sure links are missing.": 1
        - precision,
        "That is 1 − recall: it never asks how many links are wrong.": (
            1 - recall
        ),
        "That is 1 − F1, the harmonic mean of precision and recall. AER "
        "adds up the counts first: (|A∩S| + |A∩P|) / (|A| + |S|).": (
            1 - 2 * precision * recall / (precision + recall)
        ),
        "You divide by |A| alone; the definition has |A| + |S|.": (
            1 - both / len(A)
        ),
        "You divide by |S| alone; the definition has |A| + |S|.": (
            1 - both / len(S)
        ),
        "You divide by the union; the definition adds the two sizes, "
        "|A| + |S|.": 1 - both / len(set(A) | set(S)),
        "Those are per cent; give a fraction between 0 and 1.": (
            100 - 100 * both / size
        ),
    }


@exercise(alignment_error_rate_solution)
def alignment_error_rate(mine):
    """Och and Ney's alignment error rate, from three sets of links."""
    S = {(0, 0), (1, 2), (5, 5), (6, 6)}
    P = S | {(2, 1), (2, 2), (3, 2), (4, 5)}
    A = {(0, 0), (1, 2), (5, 5), (2, 1), (3, 3), (4, 4)}
    cases = (
        (A, S, P, 0.3, "for six links, four sure, eight possible,"),
        (S, S, P, 0, "when the links are just the sure ones"),
        (P, S, P, 0, "when all possible links are there, and none wrong,"),
        ({(9, 9)}, S, P, 1, "when no link is right"),
        (set(), S, P, 1, "when there are no links at all"),
    )
    for links, sure, possible, truth, given in cases:
        found = as_number(mine(links, sure, possible))
        slips = _error_gone_wrong(links, sure, possible) if links is A else {}
        expect(found, truth, slips, given)
    return "five cases: mixed, perfect twice, all wrong, and no links."


def without_tanh_solution(S, H, W, U, v):
    """softmax_j of v · (W s_i + U h_j), a row for each query s_i."""
    scores = (S @ W.T).unsqueeze(1) + (H @ U.T).unsqueeze(0)
    return torch.softmax(scores @ v, dim=-1)


@exercise(without_tanh_solution)
def without_tanh(mine):
    """Weights of several queries on one sentence, with tanh removed."""
    given = random_inputs(5, (4, 3), (6, 5), (7, 3), (7, 5), (7,))
    known = {
        (6,): "One row for each of the four queries, please: that they come "
        "out alike is what you want to see.",
        (6, 4): "Yours is [source, target].",
        (4, 6, 7): "v has still to turn the align axis into one score.",
    }
    found = as_tensor(mine(*given), (4, 6), "[target, source]", known)
    S, H, W, U, v = map(float64, given)
    q, k = (S @ W.T)[:, None], (H @ U.T)[None]
    sums = (q + k) @ v
    with_tanh = (torch.tanh(q + k) @ v).softmax(1)
    alone = float64([math.exp(v @ (U @ h)) for h in H])
    truth = (alone / alone.sum()).expand(4, 6)
    mistakes = {
        "tanh is still there, and your rows differ. Take it out: "
        "v · (W s + U h).": with_tanh,
        "tanh has moved outside, around the score. It still bends the sum, "
        "and the rows differ. Take it out.": torch.tanh(sums).softmax(1),
        "tanh is still around U h: take it out there as well.": (
            ((q + torch.tanh(k)) @ v).softmax(1)
        ),
        "Those are scores. Take softmax over the source axis and compare "
        "the rows then.": sums,
        "Your softmax runs over the queries (dim=0); the weights of one "
        "query sum to 1 over the source: dim=-1.": sums.softmax(0),
        "You multiply W s with U h. Then they do act on each other; the "
        "additive score adds them.": ((q * k) @ v).softmax(1),
        "All your weights are 1/6: the annotations are not in the score.": (
            torch.full((4, 6), 1 / 6)
        ),
    }
    expect(found, truth, mistakes)
    spread = (with_tanh.amax(0) - with_tanh.amin(0)).max().item()
    return (
        "the four queries differ and their weights do not. With tanh the "
        f"same weights differ by up to {spread:.2f} from query to query."
    )


def strings(count, seed):
    """Random strings of 5 to 10 letters, and the same backwards.

    source [count, 11] and target [count, 12] hold the letters a to z as the
    numbers 4 to 29. Both end in <end>, 3, and are padded with 0; the target
    begins with <start>, 2.
    """
    draw = torch.Generator().manual_seed(seed)
    length = torch.randint(5, 11, (count, 1), generator=draw)
    letters = torch.randint(4, 30, (count, 11), generator=draw)
    place = torch.arange(11)
    ends = END * (place == length)
    source = letters.where(place < length, ends)
    backwards = letters.gather(1, (length - 1 - place).clamp_min(0))
    target = backwards.where(place < length, ends)
    return source, F.pad(target, (1, 0), value=START)


class SoftSearch(nn.Module):
    """RNNsearch: annotations, an additive look before each word, a GRU."""

    def __init__(self, vocab, embed, hidden):
        super().__init__()
        self.source_embedding = nn.Embedding(vocab, embed)
        self.target_embedding = nn.Embedding(vocab, embed)
        self.encoder = nn.GRU(
            embed, hidden, batch_first=True, bidirectional=True
        )
        self.W = nn.Linear(hidden, hidden, bias=False)
        self.U = nn.Linear(2 * hidden, hidden)
        self.v = nn.Parameter(torch.zeros(hidden))
        self.bridge = nn.Linear(hidden, hidden)
        self.decoder = nn.GRUCell(embed + 2 * hidden, hidden)
        self.maxout = nn.Linear(hidden + embed + 2 * hidden, 2 * hidden)
        self.output = nn.Linear(hidden, vocab)

    def look(self, s, h, keys, mask):
        """c_i = Σ_j α_ij h_j with α = softmax(v · tanh(W s + U h)); and α."""
        e = torch.tanh(self.W(s).unsqueeze(1) + keys) @ self.v
        weights = e.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return torch.einsum("bs,bsd->bd", weights, h), weights

    def forward(self, source, target):
        mask = source != PAD
        h = annotate(self.encoder, self.source_embedding(source), mask)
        keys = self.U(h)
        s = torch.tanh(self.bridge(h[:, 0].chunk(2, dim=-1)[1]))  # ←h_1
        logits, looks = [], []
        for y in self.target_embedding(target).unbind(dim=1):
            c, weights = self.look(s, h, keys, mask)
            s = self.decoder(torch.cat([y, c], dim=-1), s)
            t = self.maxout(torch.cat([s, y, c], dim=-1))
            t = t.unflatten(-1, (-1, 2)).amax(dim=-1)
            logits.append(self.output(t))
            looks.append(weights)
        return torch.stack(logits, dim=1), torch.stack(looks, dim=1)


def train_search(model, steps=600):
    """Teach the model to write strings backwards; new strings each step."""
    adam = torch.optim.Adam(model.parameters())
    bar = tqdm(range(steps))
    for step in bar:
        adam.param_groups[0]["lr"] = 1e-3 * (1 - step / steps)
        source, target = strings(64, seed=step)
        logits, _ = model(source, target[:, :-1])
        loss = F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")


def _search(book, source, target, slip=None):
    """Logits and weights of the book's parts in a loop, with one slip."""
    mask = source != PAD
    words = book.source_embedding(source)
    h = annotate(book.encoder, words, mask)
    if slip == "padding":
        h = book.encoder(words)[0]
    forward, backward = h.chunk(2, dim=-1)
    ends = forward[torch.arange(len(h)), mask.sum(1) - 1]
    first = {
        "last": ends,
        "padded": forward[:, -1],
        "past": book.encoder(words)[0][:, -1].chunk(2, -1)[0],
        "forward": forward[:, 0],
        "end": backward[:, -1],
    }
    s = book.bridge(first.get(slip, backward[:, 0]))
    s = torch.zeros_like(s) if slip == "zero" else s
    s = s if slip == "straight" else torch.tanh(s)
    logits, looks = [], []

    def look(s):
        asked = book.attention.W(s).unsqueeze(1) + book.attention.U(h)
        asked = asked if slip == "no tanh" else torch.tanh(asked)
        e = asked @ book.attention.v
        if slip != "unmasked":
            e = e.masked_fill(mask if slip == "inverted" else ~mask, -1e9)
        weights = e.softmax(0 if slip == "axis" else 1)
        return (weights.unsqueeze(-1) * h).sum(1), weights

    context = torch.zeros_like(h[:, 0])
    for y in book.target_embedding(target).unbind(1):
        c, weights = look(s)
        before = s
        c = context if slip == "luong" else c
        if slip == "late":
            c, weights = look(book.decoder(torch.cat([y, c], -1), s))
        s = book.decoder(torch.cat([c, y] if slip == "fed" else [y, c], -1), s)
        if slip in ("luong", "again"):
            c, weights = look(s)
            context = c
        seen = {
            "readout": [y, s, c],
            "old": [before, y, c],
        }.get(slip, [s, y, c])
        t = book.readout.maxout(torch.cat(seen, -1))
        halves = t.chunk(2, -1)
        pairs = t.unflatten(-1, (-1, 2))
        t = {
            "halves": torch.maximum(*halves),
            "mean": pairs.mean(-1),
            "relu": pairs[..., 0].relu(),
        }.get(slip, pairs.amax(-1))
        logits.append(book.readout.output(t))
        looks.append(weights)
    return torch.stack(logits, 1), torch.stack(looks, 1)


_SEARCHED_WRONG = {
    "The backward reader begins in the padding. It must begin at each "
    "sentence's own end: annotate of this chapter sees to that.": "padding",
    "The padding gets weight: give its energies −infinity before softmax.": (
        "unmasked"
    ),
    "Your mask is inverted: padding is looked at, and the words are not.": (
        "inverted"
    ),
    "Softmax runs over the sentences of the batch. It belongs over the source "
    "words, dim=-1.": "axis",
    "tanh is missing in your energies: v · tanh(W s + U h).": "no tanh",
    "You look with the state after the GRU, as Luong did. Here s_{i−1} asks, "
    "before the GRU has read y_{i−1}.": "late",
    "You look after the GRU, with s_i, and the GRU is fed the context of the "
    "word before. Look first: s_{i−1} asks, and the GRU reads c_i.": "luong",
    "You look twice. The c_i that s_{i−1} found, before the GRU, goes into the "
    "readout too, and its weights are wanted.": "again",
    "s_0 comes from the forward reader's last state; the paper takes the "
    "backward one at word 1.": "last",
    "s_0 comes from the forward reader at the last place, which is padding in "
    "a short sentence. Take the backward reader, at word 1.": "padded",
    "s_0 comes from a forward reader that has run on into the padding. Take "
    "the backward one, at word 1.": "past",
    "s_0 comes from the first half of h_1, the forward reader. Take the "
    "second half: the backward reader has seen the whole sentence there.": (
        "forward"
    ),
    "s_0 comes from the backward reader at the last place, where it has only "
    "begun. Take word 1.": "end",
    "Your decoder starts from zeros: s_0 = tanh(W_s ←h_1), and W_s is "
    "`bridge`.": "zero",
    "tanh is missing around the bridge: s_0 = tanh(W_s ←h_1).": "straight",
    "The GRU is fed [c; y]; it should be [y; c].": "fed",
    "The readout is given [y; s; c]; it should be [s; y; c].": "readout",
    "The readout sees s_{i−1}; give it s_i, which the GRU has just made.": (
        "old"
    ),
    "Maxout takes the larger of two NEIGHBOURS, numbers 0 and 1, then 2 and "
    "3; you compared the first half with the second.": "halves",
    "You took the mean of each pair; maxout takes the larger one.": "mean",
    "You used ReLU; maxout takes the larger of each pair of neighbours.": (
        "relu"
    ),
}
_NOTHING_TO_LOOK_AT = (
    "NaN: somewhere every place is masked, and its softmax is 0/0. Is the "
    "mask the right way round? True = may be looked at, so "
    "masked_fill(~mask, -torch.inf)."
)


def _two(result, sizes):
    """Logits and weights in float64, or the hint that they are not that."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise Hint(
            "Give back two tensors, logits and weights; yours is of type "
            f"{type(result).__name__}."
        )
    batch, target, vocab, source = sizes
    known = {
        (target, batch, vocab): "Stack along dim=1, behind the batch.",
        (batch, vocab, target): "Stack along dim=1, not behind the words.",
        (batch, vocab): "Collect the logits of every target word.",
    }
    axes = "[batch, target, vocab]"
    logits = as_tensor(result[0], (batch, target, vocab), axes, known)
    known = {
        (target, batch, source): "Stack along dim=1, behind the batch.",
        (batch, source, target): "A row belongs to a target word: transpose.",
        (batch, source): "Collect the weights of every target word.",
    }
    axes = "[batch, target, source]"
    return logits, as_tensor(result[1], (batch, target, source), axes, known)


def _book_search(seed, vocab, embed, hidden):
    """The book's RNNsearch with random numbers in every parameter."""
    config = RNNsearchConfig(
        vocab, vocab, embed, hidden, hidden, hidden, dropout=0.0
    )
    with torch.random.fork_rng(devices=[]):
        book = RNNsearch(config).double()
    shapes = [tensor.shape for tensor in book.parameters()]
    drawn = random_inputs(seed, *shapes)
    for own, numbers in zip(book.parameters(), drawn, strict=True):
        own.data.copy_(0.7 * numbers)
    return book


def _by_name(book):
    """The tensors of each part of the book's model, flat, for `fill`."""
    parts = dict(book.named_children())
    parts |= parts.pop("attention").named_children()
    parts |= parts.pop("readout").named_children()
    del parts["dropout"]
    named = {name: [*part.parameters()] for name, part in parts.items()}
    return named | {"v": [book.attention.v]}


@exercise(SoftSearch)
def soft_search(mine):
    """The reader's RNNsearch against the book's, with the same weights."""
    source = torch.tensor([[4, 5, 6, 3], [6, 4, 3, 0], [5, 3, 0, 0]])
    target = torch.tensor([[2, 6, 5, 4], [2, 4, 6, 0], [2, 5, 0, 0]])
    for seed, sizes in enumerate(((7, 4, 6), (9, 6, 4))):
        module = as_module(mine, *sizes)
        book = _book_search(seed, *sizes)
        fill(module, _by_name(book))
        speak = Answer(module.forward, ["source", "target"])
        with torch.no_grad():
            found = _two(speak(source, target), (3, 4, sizes[0], 4))
            if any(each.isnan().any() for each in found):
                raise Hint(_NOTHING_TO_LOOK_AT)
            wrong = {
                hint: _search(book, source, target, slip)
                for hint, slip in _SEARCHED_WRONG.items()
            }
            memory = book.encode(source)
            state, looks = book.start(memory), []
            for token in target.unbind(1):
                _, state, weights = book.step(token, state, memory)
                looks.append(weights)
            truth = book(source, target), torch.stack(looks, 1)
        for i, what in ((1, "in the weights,"), (0, "in the logits,")):
            mistakes = {hint: both[i] for hint, both in wrong.items()}
            expect(found[i], truth[i], mistakes, what)
    return (
        "weights and logits are those of the book's RNNsearch, word by word, "
        "with the same numbers in both models, on sentences with padding."
    )


UNSEEN = 2**40  # a seed that no training step has
WANTED = 0.9  # the share of new strings that must come out without a mistake


def written_backwards(speak):
    """How many new strings a trained model reverses without a mistake.

    `speak` gives logits for (source, target so far). Raises the hint of what
    went wrong if the share is below WANTED.
    """
    source, target = strings(200, UNSEEN)
    written = target[:, :1]
    for _ in range(target.shape[1] - 1):
        word = speak(source, written)[:, -1:].argmax(-1)
        written = torch.cat([written, word], dim=1)
    padding = target == PAD
    share = ((written == target) | padding).all(1).double().mean().item()
    if share >= WANTED:
        return share
    told = speak(source, target[:, :-1])
    later = target.clone()
    later[:, 6:] = 4
    if not torch.allclose(told[:, :6], speak(source, later[:, :-1])[:, :6]):
        raise Hint(
            "The decoder sees the words that it must still say: change them, "
            "and what it says before them changes. In training it had only to "
            "copy. Is the causal mask there, and the right way round?"
        )
    words = (target > END)[:, 1:-1]
    length = words.sum(1, keepdim=True)
    place = torch.arange(words.shape[1])

    def like(other):
        """The share of letters that are as `other` has them."""
        return (written[:, 1:-1] == other)[words].double().mean().item()

    again = (told.argmax(-1) == target[:, :-1])[:, 1:]
    if again[words].double().mean() > 0.5:
        raise Hint(
            "Your model repeats the word that it has just been given. Shift: "
            "target[:, :-1] goes in, target[:, 1:] must come out."
        )
    if (written == written[:1]).all():
        raise Hint(
            "Your model writes the same, whatever the string: it is untrained, "
            "or nothing of the source reaches the decoder. Call zero_grad, "
            "backward and step in every round, and give the optimiser this "
            "model's parameters."
        )
    if like(source[:, :-1]) > 0.5:
        raise Hint(
            "Your model copies the string forwards. Train it on the target "
            "that strings gives."
        )
    if like(target[:, 1:-1]) > 0.9:
        raise Hint(
            "The letters are right, and then it does not stop: <end> is a word "
            "that the loss must count. Only padding, 0, is left out."
        )
    mirrored = source.gather(1, (length - 1 - place).clamp_min(0))
    mirrored = F.pad(mirrored, (0, 1)).where(F.pad(words, (0, 1)), source)
    if torch.allclose(told, speak(mirrored, target[:, :-1]), atol=1e-4):
        raise Hint(
            "Your model does not notice in which order the letters stand: "
            "positions are missing on the source side."
        )
    letters = "".join(chr(number + 93) for number in source[0] if number > END)
    said = "".join(chr(n + 93) if n > END else "·" for n in written[0, 1:])
    raise Hint(
        f"{share:.0%} of 200 new strings come out without a mistake, and "
        f"{WANTED:.0%} should. {letters} became {said}. Does the loss still "
        "fall? Train for longer, or with another learning rate; 0.001 with "
        "Adam is a good start."
    )


def _rule(source, target):
    """Logits and weights of a machine that knows the rule by heart."""
    length = (source > END).sum(1, keepdim=True)
    at = length - 1 - torch.arange(target.shape[1])
    at = at.where(at >= 0, length)  # <end>, when all letters are written
    weights = F.one_hot(at, source.shape[1]).to(torch.get_default_dtype())
    return 9 * F.one_hot(source.gather(1, at), 30).to(weights), weights


def looks_backwards_solution(source, target):
    """What a perfectly trained model would say, and where it would look."""
    return _rule(source, target)


@exercise(looks_backwards_solution)
def looks_backwards(mine):
    """A trained RNNsearch that reverses strings along the anti-diagonal."""

    def both(source, target):
        sizes = (*target.shape, 30, source.shape[1])
        with torch.no_grad():
            return _two(mine(source, target), sizes)

    share = written_backwards(lambda *given: both(*given)[0])
    source, target = strings(200, UNSEEN)
    weights = both(source, target[:, :-1])[1]
    words = target[:, 1:] > END
    if not torch.allclose(weights.sum(-1), float64(1.0), atol=1e-4):
        raise Hint(
            "The strings are right. But your weights do not sum to 1 over the "
            "source words: give back what softmax gave, and not the energies."
        )
    if weights.masked_select((source == PAD).unsqueeze(1)).max() > 1e-6:
        raise Hint("The strings are right. But padding gets weight: mask it.")
    best = weights.argmax(-1)
    anti = words.sum(1, keepdim=True) - 1 - torch.arange(words.shape[1])

    def along(places):
        return (best == places)[words].double().mean().item()

    for by, when in ((1, "a word late"), (-1, "a word early")):
        if along(anti + by) > 0.7:
            raise Hint(
                f"The strings are right, and your rows come {when}: row i must "
                "hold the weights that made the context for word i."
            )
    if along(anti) < WANTED:
        raise Hint(
            "The strings are right, but the largest weight lies on the letter "
            f"to be written for only {along(anti):.0%} of the letters, and "
            f"{WANTED:.0%} are wanted. A model may also look beside its "
            "letter, whose neighbours know of it: train a fresh one with a "
            "smaller learning rate, 0.001 with Adam."
        )
    return (
        f"{share:.0%} of 200 new strings reversed without a mistake, and "
        f"{along(anti):.0%} of the letters written where the largest weight "
        "lies on the anti-diagonal."
    )
