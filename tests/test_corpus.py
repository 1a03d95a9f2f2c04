"""Sentence pairs, vocabularies and batches."""

import os
import random
from itertools import repeat

import pytest

from lookback.lab import corpus
from lookback.lab.corpus import (
    CorpusError,
    Pair,
    batches,
    collate,
    join,
    load,
    read,
)
from lookback.vocabulary import END, PAD, START, UNK, Vocabulary


def files(folder, source: bytes, target: bytes):
    paths = folder / "some.en", folder / "some.fr"
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(data)
    return paths


def refused(folder, source: bytes, target: bytes) -> str:
    with pytest.raises(CorpusError) as caught:
        read(*files(folder, source, target))
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_read(tmp_path):
    pairs = read(*files(tmp_path, b"a  b\nc\n", "é ' \nd e\n".encode()))
    assert pairs == [
        Pair(["a", "b"], ["é", "'"]),
        Pair(["c"], ["d", "e"]),
    ]


def test_read_without_a_newline_at_the_end(tmp_path):
    assert read(*files(tmp_path, b"a\nb", b"c\nd\n")) == [
        Pair(["a"], ["c"]),
        Pair(["b"], ["d"]),
    ]


def test_only_newlines_end_a_line(tmp_path):
    source = "one\u2028line\nb\x85c\n".encode()
    assert len(read(*files(tmp_path, source, b"c\nd\n"))) == 2


def test_a_mark_at_the_start_is_dropped_and_a_carriage_return_is_a_space(
    tmp_path,
):
    source = b"\xef\xbb\xbfa b\r\nc\rd\n"
    assert read(*files(tmp_path, source, b"e\nf\n")) == [
        Pair(["a", "b"], ["e"]),
        Pair(["c", "d"], ["f"]),
    ]


def test_a_nul_is_refused(tmp_path):
    said = refused(tmp_path, b"a\nb\0c\n", b"d\ne\n")
    assert "some.en, line 2 holds a NUL" in said


def test_unequal_length(tmp_path):
    said = refused(tmp_path, b"a\nb\nc\n", b"d\ne\n")
    assert "some.en has 3 lines" in said and "some.fr has 2" in said
    assert "must agree" in said


@pytest.mark.parametrize("line", [b"", b" \t "])
def test_empty_line(tmp_path, line):
    said = refused(tmp_path, b"a\nb\nc\n", b"d\n" + line + b"\nf\n")
    assert "some.fr, line 2 is empty" in said and "remove" in said


def test_not_utf_8(tmp_path):
    said = refused(tmp_path, "a\nété\n".encode("latin-1"), b"d\ne\n")
    assert "some.en" in said and "UTF-8" in said


@pytest.mark.parametrize(
    "name", ["x" * 5000, "a\0b", "some.fr/x", "pipe", "folder"], ids=len
)
def test_what_is_no_file(tmp_path, name):
    good, _ = files(tmp_path, b"a\n", b"b\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CorpusError, match="cannot read") as caught:
        read(good, tmp_path / name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 900


def test_missing_file(tmp_path):
    paths = files(tmp_path, b"a\n", b"b\n")
    paths[1].unlink()
    with pytest.raises(CorpusError, match="some.fr"):
        read(*paths)


def test_load_refuses_what_there_is_not():
    with pytest.raises(CorpusError, match="both 'fr': choose two languages"):
        load("val", "fr", "fr")
    with pytest.raises(CorpusError, match="unknown language 'es'"):
        load("val", "en", "es")
    with pytest.raises(CorpusError, match="unknown split 'dev'"):
        load("dev")


def test_load_takes_the_direction_asked_for(tmp_path, monkeypatch):
    for language in ("en", "de"):
        (tmp_path / f"val.{language}").write_text(f"some {language}\n")
    monkeypatch.setattr(
        corpus, "file", lambda split, x: tmp_path / f"{split}.{x}"
    )
    assert load("val", "de", "en") == [Pair(["some", "de"], ["some", "en"])]


@pytest.mark.multi30k
@pytest.mark.parametrize(
    ("split", "count"),
    [("train", 29_000), ("val", 1_014), ("test_2016_flickr", 1_000)],
)
def test_the_real_corpus_has_its_sizes(split, count):
    for source, target in (("en", "fr"), ("de", "en")):
        assert len(load(split, source, target)) == count


PAIRS = [Pair([f"s{i}"], [f"t{i}", "x"]) for i in range(10)]


def test_join_groups_of_one_size_and_drops_a_short_end():
    joined = join(PAIRS, repeat(3))
    assert [pair.source for pair in joined] == [
        ["s0", "s1", "s2"],
        ["s3", "s4", "s5"],
        ["s6", "s7", "s8"],
    ]
    assert joined[0].target == ["t0", "x", "t1", "x", "t2", "x"]


def test_join_one_by_one_changes_nothing():
    assert join(PAIRS, repeat(1)) == PAIRS


def test_join_random_sizes_uses_every_pair_in_order():
    dice = random.Random(1)
    sizes = [dice.randint(1, 4) for _ in range(20)]
    joined = join(PAIRS, iter(sizes))
    assert [len(p.source) for p in joined] == sizes[: len(joined)]
    words = [word for pair in joined for word in pair.source]
    assert words == [f"s{i}" for i in range(len(words))]
    assert len(PAIRS) - len(words) < 4


def test_join_when_sizes_run_out():
    with pytest.raises(ValueError, match="ran out"):
        join(PAIRS, [3, 3, 3])
    assert len(join(PAIRS, [5, 5])) == 2  # both end together


@pytest.mark.parametrize("size", [0, -1])
def test_join_refuses_groups_of_nothing(size):
    with pytest.raises(ValueError, match="sizes is .*from 1 up"):
        join(PAIRS, [2, size, 2, 2, 2, 2])


def test_vocabulary_counts():
    sentences = [["b", "a", "a"], ["c", "b", "a"], ["d", "c"]]
    vocabulary = Vocabulary.count(sentences, least=2)
    specials = ["<pad>", "<unk>", "<start>", "<end>"]
    assert vocabulary.words == [*specials, "a", "b", "c"]
    assert len(vocabulary) == 7
    assert [vocabulary.index[s] for s in specials] == [PAD, UNK, START, END]
    assert len(Vocabulary.count(sentences, least=1)) == 8


def test_vocabulary_there_and_back():
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.encode(["b", "zebra", "a"]) == [5, UNK, 4]
    assert vocabulary.decode([5, UNK, END, 4]) == ["b", "<unk>"]


def test_vocabulary_refuses_a_word_twice():
    for words in (["a", "b", "a"], ["<pad>"]):
        with pytest.raises(ValueError, match="twice"):
            Vocabulary(words)


def test_collate():
    source, target = Vocabulary(["a", "b"]), Vocabulary(["x", "y"])
    batch = collate(
        [Pair(["a", "b"], ["x"]), Pair(["q"], ["y", "y", "x"])],
        source,
        target,
    )
    assert batch.source.tolist() == [[4, 5, END], [UNK, END, PAD]]
    assert batch.target_in.tolist() == [[START, 4, PAD, PAD], [START, 5, 5, 4]]
    assert batch.target_out.tolist() == [[4, END, PAD, PAD], [5, 5, 4, END]]


def many(count=1000):
    dice = random.Random(0)
    return [
        Pair([f"s{i}"] * dice.randint(1, 30), [f"t{i}"] * dice.randint(1, 30))
        for i in range(count)
    ]


def test_batches_hold_every_pair_exactly_once():
    pairs = many()
    for size in (1, 7, 64, 2000):
        found = [pair for part in batches(pairs, size, 3) for pair in part]
        assert sorted(found) == sorted(pairs)
        assert len([*batches(pairs, size, 3)]) == -(-len(pairs) // size)


def test_batches_are_the_same_for_a_seed_and_differ_between_seeds():
    pairs = many()
    assert [*batches(pairs, 64, 3)] == [*batches(pairs, 64, 3)]
    assert [*batches(pairs, 64, 3)] != [*batches(pairs, 64, 4)]
    assert pairs == many()  # and the caller's list is left alone


def test_a_batch_holds_sentences_of_about_one_length():
    spans = [
        max(len(p.target) for p in part) - min(len(p.target) for p in part)
        for part in batches(many(2000), 50, 0)
    ]
    assert sum(spans) / len(spans) < 3  # about 28 if they were not sorted


def test_batches_do_not_come_in_the_order_of_length():
    means = [
        sum(len(p.target) for p in part) / len(part)
        for part in batches(many(), 50, 0)
    ]
    assert means != sorted(means)


def test_text_is_what_a_reader_sees():
    assert corpus.text(["l", "&apos;", "été"]) == "l ' été"
