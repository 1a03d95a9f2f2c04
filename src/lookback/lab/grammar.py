"""Rules that build an English phrase and its French at once.

A synchronous grammar: each rule orders the same parts twice, once for each
language, and every French word keeps the places of the English words that it
translates. So word order, agreement and alignment come from one description.

The rules are plain functions of English words, so that a page can say
`determine("the", nominal("area", False, ["european", "economic"]))`.
"""

from itertools import pairwise
from typing import NamedTuple

from lookback.lab.lexicon import (
    ADJECTIVE,
    CONTRACTION,
    DETERMINER,
    ELISION,
    LINK,
    NOUN,
    PLACE,
    PLURAL,
    TIME,
    VERB,
    agree,
    vowel,
)


class Pair(NamedTuple):
    """A sentence, its translation and which word translates which."""

    source: list[str]
    target: list[str]
    alignment: frozenset[tuple[int, int]]


class Phrase(NamedTuple):
    """A piece of both sentences; each French word knows its English words."""

    english: tuple[str, ...]
    french: tuple[tuple[str, frozenset[int]], ...]
    kind: str = ""
    feminine: bool = False
    plural: bool = False


def rule(english: list, french: list, head: Phrase | None = None) -> Phrase:
    """Build both sides of a phrase from its parts.

    English parts are phrases or words; a French part is one of those phrases
    or (words, k, ...), which translate the k-th English part. The result
    takes kind, gender and number from `head`.
    """
    words: list[str] = []
    spans = []
    for part in english:
        new = part.split() if isinstance(part, str) else part.english
        spans.append(range(len(words), len(words) + len(new)))
        words += new
    out: list[tuple[str, frozenset[int]]] = []
    for part in french:
        if isinstance(part, Phrase):
            at = next(k for k, item in enumerate(english) if item is part)
            first = spans[at].start
            out += [(w, frozenset(first + i for i in s)) for w, s in part[1]]
        else:
            links = frozenset(i for k in part[1:] for i in spans[k])
            out += [(word, links) for word in part[0].split()]
    return Phrase(tuple(words), tuple(out), *(head[2:] if head else ()))


def nominal(noun: str, plural: bool, adjectives: list[str]) -> Phrase:
    """Noun and adjectives: those behind the French noun stand mirrored."""
    kind, gender, english, french = NOUN[noun]
    head = Phrase((), (), kind, gender == "f", plural)
    before, behind, sound = [], [], french[plural]
    for k, adjective in reversed([*enumerate(adjectives)]):
        if ADJECTIVE[adjective][0] == "before":
            sound = agree(adjective, head.feminine, plural, sound)
            before.insert(0, (sound, k))
        else:
            behind.append((agree(adjective, head.feminine, plural), k))
    middle = (french[plural], len(adjectives))
    parts = [*adjectives, english[plural]]
    return rule(parts, [*before, middle, *behind], head)


def determine(determiner: str, core: Phrase) -> Phrase:
    """The old tree: le vieil arbre. (Some old trees: de vieux arbres.)"""
    word = DETERMINER[core.plural][determiner][core.feminine]
    if word == "des" and core.french[0][1] != {len(core.english) - 1}:
        word = "de"  # an adjective stands before the noun
    return rule([determiner, core], [(word, 0), core], core)


def own(owner: Phrase, core: Phrase) -> Phrase:
    """The man 's old tree: le vieil arbre de l' homme."""
    last = owner.english[-1]
    mark = "'" if owner.plural and last.endswith("s") else "'s"
    article = DETERMINER[core.plural]["the"][core.feminine]
    french = [(article, 1), core, ("de", 1), owner]
    return rule([owner, mark, core], french, core)


def join(one: Phrase, english: str, french: str, other: Phrase) -> Phrase:
    """Two phrases in one order, a word between them; the first is the head."""
    return rule([one, english, other], [one, (french, 1), other], one)


def connect(one: Phrase, link: str, other: Phrase) -> Phrase:
    """Two clauses: with a comma before but, without before the others."""
    if link != "but":
        return join(one, link, LINK[link], other)
    french = [one, (",", 1), (LINK[link], 2), other]
    return rule([one, ",", link, other], french)


def coordinate(one: Phrase, other: Phrase) -> Phrase:
    """The man and the woman: plural, feminine only if both are."""
    both = join(one, "and", "et", other)
    return both._replace(feminine=one.feminine and other.feminine, plural=True)


def pronoun(noun: Phrase) -> Phrase:
    """The subject pronoun that stands for a noun phrase."""
    he, she = ("he", "she") if noun.kind in "pcr" else ("it", "it")
    english = "they" if noun.plural else she if noun.feminine else he
    french = ("elle" if noun.feminine else "il") + "s" * noun.plural
    return rule([english], [(french, 0)], noun)


def conjugate(verb: str, subject: Phrase, past=False, how="") -> Phrase:
    """The verb for its subject, plain or with `how`: "not" or "often"."""
    _, _, base, third, before, one, many, auxiliary, participle = VERB[verb]
    present = many if subject.plural else one
    if auxiliary == "est":
        participle += "e" * subject.feminine + "s" * subject.plural
    if subject.plural:
        auxiliary = PLURAL[auxiliary]
    if past and how == "not":
        french = [("ne", 1), (auxiliary, 0), ("pas", 1), (participle, 2)]
        return rule(["did", "not", base], french)
    if past:
        return rule([before], [(auxiliary, 0), (participle, 0)])
    if how == "not":
        do = "do" if subject.plural else "does"
        french = [("ne", 1), (present, 0, 2), ("pas", 1)]
        return rule([do, "not", base], french)
    english = base if subject.plural else third
    if how == "often":
        return rule(["often", english], [(present, 1), ("souvent", 0)])
    return rule([english], [(present, 0)])


def be(subject: Phrase, rest: Phrase, past=False, negated=False) -> Phrase:
    """The verb to be, and what follows it."""
    english = [["is", "are"], ["was", "were"]][past][subject.plural]
    french = ["est", "était"][past]
    french = PLURAL[french] if subject.plural else french
    if not negated:
        return rule([english, rest], [(french, 0), rest])
    order = [("ne", 1), (french, 0), ("pas", 1), rest]
    return rule([english, "not", rest], order)


def exist(noun: Phrase, past: bool) -> Phrase:
    """There is a bird: il y a un oiseau."""
    verb = [["is", "are"], ["was", "were"]][past][noun.plural]
    french = ("il y avait" if past else "il y a", 0, 1)
    return rule(["there", verb, noun], [french, noun])


def describe(subject: Phrase, adjectives: list[str]) -> Phrase:
    """One or two adjectives that agree with the subject, after "is"."""
    words = [agree(a, subject.feminine, subject.plural) for a in adjectives]
    parts = [
        rule([a], [(w, 0)]) for a, w in zip(adjectives, words, strict=True)
    ]
    return parts[0] if len(parts) == 1 else coordinate(*parts)


def place(preposition: str, noun: Phrase) -> Phrase:
    """Near the garden: près du jardin."""
    return rule([preposition, noun], [(PLACE[preposition], 0), noun])


def when(time: str) -> Phrase:
    """In august: en août. Last week: la semaine dernière."""
    items = [item.split("/") for item in TIME[time][1]]
    return rule(time.split(), [(w, *map(int, at)) for w, at in items])


def complete(phrase: Phrase) -> Pair:
    """Add the full stop, then let each word yield to the next one's sound."""
    source = [*phrase.english, "."]
    for i, (word, after) in enumerate(pairwise(source)):
        if word == "a" and after[0] in "aeiou":
            source[i] += "n" * (after not in ("european", "union"))
    french = [*phrase.french, (".", frozenset([len(source) - 1]))]
    target: list[str] = []
    links: list[frozenset[int]] = []
    for k, (word, at) in enumerate(french):
        if k + 1 < len(french) and vowel(french[k + 1][0]):
            word = ELISION.get(word, word)
        if target and (target[-1], word) in CONTRACTION:
            target[-1] = CONTRACTION[target[-1], word]
            links[-1] |= at
        else:
            target.append(word)
            links.append(at)
    pairs = frozenset((i, j) for j, at in enumerate(links) for i in at)
    return Pair(source, target, pairs)
