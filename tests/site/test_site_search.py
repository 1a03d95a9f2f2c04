"""The search: numbers, both spellings, and first the chapter that explains."""

import pytest

FIRST = {
    "attention mechanism": "rnnsearch",
    "self-attention": "attention",
    "multi-head attention": "heads",
    "scaled dot-product attention": "attention",
    "additive attention": "rnnsearch",
    "GQA": "modern_gpt",
    "KV cache": "serial",
    "RLHF": "modern_gpt",
    "sequence-to-sequence": "bottleneck",
    "seq2seq": "bottleneck",
    "randomization test": "bottleneck",
    "permutation test": "bottleneck",
    "LSTM": "recurrence",
    "vanishing gradients": "recurrence",
    "embedding": "bottleneck",
    "BLEU": "bottleneck",
    "beam search": "rnnsearch",
    "softmax": "recurrence",
    "transducer": "transducer",
    "Neural Turing Machine": "ntm",
    "RoPE": "positions",
    "positional embedding": "positions",
    "residual connection": "residual",
    "layer normalization": "residual",
    "layer normalisation": "residual",
    "mixture of experts": "feedforward",
    "label smoothing": "bottleneck",
    "byte-pair encoding": "transformer",
    "1409.0473": "bibliography",
    "26.75": "rnnsearch",
    "34.16": "rnnsearch",
    "nucleus sampling": "families",
    "top-p": "families",
    "teacher forcing": "bottleneck",
    "perplexity": "bottleneck",
    "MLP": "feedforward",
    "hard attention": "glimpses",
    "content-based addressing": "ntm",
    "BPE": "transformer",
    "ResNet": "residual",
    "Attention Is All You Need": "transformer",
    "flash attention": "modern_gpt",
    "Elman network": "recurrence",
}
# The pages that a reader of the search finds, the first one first.
FOUND = """(queries) => queries.map((query) =>
  Search._performSearch(...Search._parseQuery(query)).reverse()
    .map(([page]) => page.replace("book/", "")))"""


@pytest.fixture
def found(visit):
    """What the search lists, of many queries on one page."""
    one = visit("search", place="?q=attention")
    one.page.wait_for_selector("#search-results li")
    return lambda *queries: one.page.evaluate(FOUND, list(queries))


def test_the_chapter_that_explains_a_term_is_first(found):
    pages = found(*FIRST)
    first = {
        query: some[0] if some else None
        for query, some in zip(FIRST, pages, strict=True)
    }
    assert first == FIRST


def test_attention_mechanism(found):
    """RNNsearch and the chapter called Attention, before all others."""
    (pages,) = found("attention mechanism")
    assert list(dict.fromkeys(pages))[:2] == ["rnnsearch", "attention"]


def test_chapters_stand_before_lists(found):
    """The glossary, the exercises, the questions say less than a chapter."""
    lists = {"glossary", "exercises", "questions", "bibliography", "teachers"}
    for pages in found("RLHF", "KV cache", "seq2seq", "quantization", "26.75"):
        assert pages and pages[0] not in lists


def test_years(found):
    for pages in found("2014", "1964"):
        assert {"timeline", "bibliography"} <= set(pages)


def test_spelled_as_in_america(found):
    here, there = found("neighbour colour", "neighbor color")
    assert here and here == there


def test_from_disk_nothing_is_fetched_in_vain(visit):
    """A page of a folder may not read another: the browser says so, in red."""
    one = visit("search", place="?q=attention", from_disk=True)
    one.page.wait_for_selector("#search-results li")
    one.settle()
    assert not one.troubles
