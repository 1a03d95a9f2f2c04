"""One body and its four masks: against torch's own layers and slow loops."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lookback.attention import causal
from lookback.families import (
    FAMILIES,
    MASK,
    MASKED,
    Body,
    BodyConfig,
    ViT,
    ViTConfig,
    attention_mask,
    generate,
    gibbs_sample,
    mask_tokens,
    masked_words,
    next_words,
    patches,
    rescore,
    sampling_probs,
    spans,
)
from lookback.vocabulary import END, PAD, SPECIALS, START, Vocabulary

TOKENS = torch.tensor([[START, 7, 8, 9, END], [START, 6, END, PAD, PAD]])


@pytest.fixture
def body() -> Body:
    torch.manual_seed(0)
    return Body(BodyConfig(30, 16, 4, 3, 24, longest=12)).eval()


def test_mask_is_the_first_word_of_a_body_s_vocabulary():
    assert Vocabulary([MASKED, "a"]).index[MASKED] == MASK == len(SPECIALS)


def by_loop(family: str, row: list[int], prefix: int) -> list[list[bool]]:
    """Who may see whom, said slowly."""

    def may(i: int, j: int) -> bool:
        if row[j] == PAD:
            return False
        if family in ("BERT", "ViT") or j <= i:
            return True
        return family == "T5" and j < prefix

    return [[may(i, j) for j in range(len(row))] for i in range(len(row))]


@pytest.mark.parametrize("family", FAMILIES)
def test_who_sees_whom(family):
    prefix = torch.tensor([3, 1])
    found = attention_mask(TOKENS, family, prefix)
    assert found.shape == (2, 1, 5, 5)
    for mask, row, n in zip(
        found, TOKENS.tolist(), prefix.tolist(), strict=True
    ):
        assert mask[0].tolist() == by_loop(family, row, n)


def test_another_family_is_refused():
    with pytest.raises(ValueError, match="ELMo.*GPT, BERT, T5, ViT"):
        attention_mask(TOKENS, "ELMo")


def theirs(body: Body) -> nn.TransformerEncoder:
    """torch's own stack, with the body's weights."""
    c = body.config
    layer = nn.TransformerEncoderLayer(
        c.d_model,
        c.heads,
        c.d_ff,
        0.0,
        "gelu",
        batch_first=True,
        norm_first=True,
    )
    stack = nn.TransformerEncoder(
        layer, c.layers, nn.LayerNorm(c.d_model), enable_nested_tensor=False
    )
    for one, ours in zip(stack.layers, body.layers, strict=True):
        a, f = ours.attention, ours.feedforward
        maps = (a.W_Q, a.W_K, a.W_V)
        one.self_attn.in_proj_weight.data = torch.cat([m.weight for m in maps])
        one.self_attn.in_proj_bias.data = torch.cat([m.bias for m in maps])
        one.self_attn.out_proj.load_state_dict(a.W_O.state_dict())
        one.linear1.load_state_dict(f.W_1.state_dict())
        one.linear2.load_state_dict(f.W_2.state_dict())
        one.norm1.load_state_dict(ours.around_attention.norm.state_dict())
        one.norm2.load_state_dict(ours.around_feedforward.norm.state_dict())
    stack.norm.load_state_dict(body.last.state_dict())
    return stack.eval()


@pytest.mark.parametrize("family", ["GPT", "BERT"])
def test_the_body_is_torchs_encoder_with_a_mask(body, family):
    for module in body.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.bias)
    row = TOKENS[:1]
    words = body.embedding.words.weight
    x = words[row] * math.sqrt(16) + body.embedding.learned.table[:5]
    mask = None if family == "BERT" else ~causal(5)
    truth = theirs(body)(x, mask=mask) @ words.T
    torch.testing.assert_close(
        body(row, attention_mask(row, family)), truth, rtol=1e-4, atol=1e-5
    )


def test_levels_are_one_more_than_layers(body):
    levels = body.hidden_states(TOKENS, attention_mask(TOKENS, "GPT"))
    assert len(levels) == body.config.layers + 1
    torch.testing.assert_close(levels[0], body.embedding(TOKENS))
    both = body.logits(levels[-1]), body(TOKENS, attention_mask(TOKENS, "GPT"))
    torch.testing.assert_close(*both)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_place_depends_on_what_it_may_see_and_on_nothing_else(body, family):
    prefix = torch.tensor([3, 1])
    mask = attention_mask(TOKENS, family, prefix)
    x = body.embedding(TOKENS).detach().requires_grad_()

    def top(place: int):
        y = x
        for layer in body.layers:
            y = layer(y, mask)
        return y[0, place].sum()

    for place in range(5):
        (gradient,) = torch.autograd.grad(top(place), x)
        touched = (gradient[0].abs().sum(-1) > 0).tolist()
        assert touched == mask[0, 0, place].tolist()


def test_padding_changes_nothing(body):
    short = TOKENS[1:, :3]
    for family in ("GPT", "BERT"):
        torch.testing.assert_close(
            body(TOKENS, attention_mask(TOKENS, family))[1, :3],
            body(short, attention_mask(short, family))[0],
        )


def test_gpt_s_question_is_the_next_word(body):
    found = next_words(body, TOKENS)
    logits = body(TOKENS, attention_mask(TOKENS, "GPT")).log_softmax(-1)
    truth = [-logits[0, i, TOKENS[0, i + 1]] for i in range(4)]
    truth += [-logits[1, i, TOKENS[1, i + 1]] for i in range(2)]
    torch.testing.assert_close(found, torch.stack(truth))


def test_bert_s_question_is_the_chosen_words_and_no_other(body):
    corrupted = TOKENS.clone()
    corrupted[0, 2] = MASK
    chosen = torch.zeros_like(TOKENS, dtype=torch.bool)
    chosen[0, 2] = chosen[1, 1] = True  # the second was left as it is
    found = masked_words(body, corrupted, TOKENS, chosen)
    logits = body(corrupted, attention_mask(corrupted, "BERT")).log_softmax(-1)
    truth = torch.stack([-logits[0, 2, 8], -logits[1, 1, 6]])
    torch.testing.assert_close(found, truth)


def test_masking_takes_fifteen_in_a_hundred_and_80_10_10_of_these():
    torch.manual_seed(0)
    tokens = torch.randint(5, 1000, (400, 102))
    tokens[:, 0], tokens[:, 50], tokens[:, 51:] = START, END, PAD
    corrupted, chosen = mask_tokens(tokens, 1000)
    word = (tokens > MASK) | (tokens == 1)
    assert not chosen[~word].any() and (corrupted == tokens)[~chosen].all()
    assert float(chosen[word].float().mean()) == pytest.approx(0.15, abs=0.01)
    now, was = corrupted[chosen], tokens[chosen]
    assert float((now == MASK).float().mean()) == pytest.approx(0.8, abs=0.03)
    assert float((now == was).float().mean()) == pytest.approx(0.1, abs=0.02)
    assert int(now.min()) == MASK  # never a special word


def test_spans_as_the_paper_s_figure_has_them():
    """Raffel et al. 2019, figure 2."""
    words = "Thank you for inviting me to your party last week .".split()
    source, target = spans(words, [(2, 2), (8, 1)])
    assert source == "Thank you <X> me to your party <Y> week .".split()
    assert target == "<X> for inviting <Y> last <Z>".split()
    assert spans(words, []) == (words, ["<X>"])
    with pytest.raises(ValueError, match="3 spans and 3 marks"):
        spans(words, [(0, 1), (2, 1), (4, 1)])


def test_patches_are_squares_row_by_row():
    pictures = torch.arange(2 * 36.0).view(2, 6, 6)
    found = patches(pictures, 2)
    assert found.shape == (2, 9, 4)
    for n in range(2):
        for i in range(9):
            y, x = 2 * (i // 3), 2 * (i % 3)
            square = pictures[n, y : y + 2, x : x + 2]
            assert found[n, i].tolist() == square.flatten().tolist()
    with pytest.raises(ValueError, match="squares of 4"):
        patches(pictures, 4)


def test_patches_are_torchs_unfold():
    pictures = torch.randn(3, 24, 24)
    truth = F.unfold(pictures[:, None], 6, stride=6).transpose(1, 2)
    torch.testing.assert_close(patches(pictures, 6), truth)


def test_embedding_patches_is_a_convolution_that_does_not_overlap():
    torch.manual_seed(0)
    vit = ViT(ViTConfig())
    pictures = torch.randn(2, 24, 24)
    kernel = vit.embed.weight.view(-1, 1, 6, 6)
    truth = F.conv2d(pictures[:, None], kernel, vit.embed.bias, stride=6)
    found = vit.embed(patches(pictures, 6))
    truth = truth.flatten(2).transpose(1, 2)
    torch.testing.assert_close(found, truth, rtol=1e-4, atol=1e-5)


def test_without_positions_a_vit_sees_a_bag_of_patches():
    torch.manual_seed(0)
    pictures = torch.randn(2, 24, 24)
    squares = patches(pictures, 6)[:, torch.randperm(16)]
    mixed = squares.view(2, 4, 4, 6, 6).transpose(2, 3).reshape(2, 24, 24)
    for positions in (False, True):
        vit = ViT(ViTConfig(positions=positions)).eval()
        same = torch.allclose(vit(pictures), vit(mixed), atol=1e-4)
        assert same is not positions


def test_shape_by_hand():
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    assert sampling_probs(logits, top_k=2).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )
    # Half is not 0.6: the second word is needed, and the third is not.
    assert sampling_probs(logits, top_p=0.6).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )
    assert sampling_probs(logits, top_p=0.01).tolist() == [1, 0, 0, 0]
    cold = (logits / 0.5).softmax(0)
    torch.testing.assert_close(sampling_probs(logits, 0.5), cold)
    assert sampling_probs(logits, 0.0).tolist() == [1, 0, 0, 0]
    for wrong in ({"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}):
        with pytest.raises(ValueError, match="top_k of 1 or more"):
            sampling_probs(logits, **wrong)


def test_shape_leaves_the_order_of_words_alone():
    torch.manual_seed(0)
    logits = torch.randn(3, 20)
    found = sampling_probs(logits, 0.7, 8, 0.8)
    assert found.sum(-1).tolist() == pytest.approx([1] * 3)
    kept = found > 0
    for row, some in zip(logits, kept, strict=True):
        assert row[some].min() > row[~some].max()


def test_a_gpt_goes_on_until_the_end(body):
    torch.manual_seed(0)
    for _ in range(5):
        written = generate(body, [START, 7], 6)
        assert written[:2] == [START, 7] and len(written) <= 8
        assert not {PAD, 1, START, MASK} & set(written[1:])
        assert END not in written[:-1]
    greedy = [generate(body, [START], 6, top_k=1) for _ in range(2)]
    assert greedy[0] == greedy[1]
    assert len(generate(body, [START], 99)) <= body.config.longest


def test_gibbs_sampling_leaves_the_ends_and_writes_words(body):
    torch.manual_seed(0)
    blank = torch.tensor([[START, MASK, MASK, MASK, END]])
    rows = torch.tensor([[START, MASK, MASK, END, PAD], blank[0].tolist()])
    shorter = gibbs_sample(body, rows, 2)[0]
    assert shorter[-2:].tolist() == [END, PAD] and min(shorter[1:3]) > MASK
    written = gibbs_sample(body, blank, 2)
    assert blank[0, 1] == MASK  # the caller's is left alone
    assert (written[0, 0], written[0, -1]) == (START, END)
    assert int(written[0, 1:-1].min()) > MASK


def test_rescoring_is_the_chain_rule(body):
    body.train()  # the dropout must not count
    row = TOKENS[0]
    tried = torch.tensor([8, 10, 11])
    left, whole = rescore(body, row, 2, tried)
    for i, word in enumerate(tried):
        one = row.clone()
        one[2] = word
        nats = next_words(body, one[None]).detach()
        assert float(left[i]) == pytest.approx(-float(nats[1]), abs=1e-4)
        assert float(whole[i]) == pytest.approx(
            -float(nats[1:].sum()), abs=1e-4
        )


def test_the_sizes_of_2018():
    """110 M and 117 M in the papers; the counts are the chapter budget's."""
    bert = BodyConfig(30_522, 768, 12, 12, 3072, longest=512)
    with torch.device("meta"):
        count = sum(p.numel() for p in Body(bert).parameters())
    # without BERT's two kinds of sentence, its norm below, and its pooler
    published = 109_482_240
    without = 2 * 768 + (768**2 + 768)
    assert count == published - without


@pytest.mark.parametrize("family", ["GPT", "BERT"])
def test_a_body_learns_a_tiny_language(family):
    """b follows a, d follows c: three layers of nothing are enough."""
    torch.manual_seed(0)
    body = Body(BodyConfig(10, 16, 2, 1, 32, 0.0, 8))
    tokens = torch.tensor([[START, 5, 6, END], [START, 7, 8, END]])
    adam = torch.optim.Adam(body.parameters(), 1e-2)
    chosen = torch.zeros_like(tokens, dtype=torch.bool)
    chosen[:, 2] = True
    corrupted = tokens.masked_fill(chosen, MASK)
    for _ in range(60):
        if family == "GPT":
            loss = next_words(body, tokens).mean()
        else:
            loss = masked_words(body, corrupted, tokens, chosen).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert float(loss) < 0.3
