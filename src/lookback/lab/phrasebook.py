"""A small English-French grammar that knows which word translates which.

The rules of `lookback.lab.grammar` build both sentences at once from the
words of `lookback.lab.lexicon` and keep count of which French word came from
which English word, so each pair carries its gold alignment. Here the choices
are made, by a seeded generator: nothing is downloaded, the stream never ends,
a seed always gives the same sentences. Tokens are cut as in Multi30k:
"l'" and "'s" stand alone (its files write the apostrophe as "&apos;").

Alignment: links (source index, target index), all of them sure; every word
of either side has at least one. A contraction has the links of both its parts
(du: of, the); French words that share one English word each link to it
(because: parce, que; arrived: est, arrivé; not: ne, pas); "does" and "did"
link to the French verb that shows the tense; the article that French puts
before an owned thing links to "'s".

Not covered: questions, the first and second person, object pronouns, the
future, the subjunctive, unknown words, and sense. A word has one translation;
agreement, tense, the next sound and a pronoun's antecedent choose its form.
"""

import random
from collections.abc import Iterator
from itertools import islice

from lookback.lab import arguments, grammar, lexicon
from lookback.lab.grammar import Pair, Phrase, rule
from lookback.lab.lexicon import ADJECTIVE, DETERMINER, NOUN, VERB, words

__all__ = ["Pair", "sample", "sentences", "words"]

ANY = {*DETERMINER[False], *DETERMINER[True]}
BE = ("is", "are", "was", "were")
NOT_SOME = ANY - {"some"}  # after de
OWN = ("his", "her")  # not of people: sa femme is his wife
NEW = {"a", "some", "two", "three"}  # after there is
SURE = ANY - {"a", "some"}  # after a verb with not
LENGTHS = {None: (4, 30), "short": (4, 8), "medium": (9, 15), "long": (16, 30)}
NEVER = ("new", "former")  # these do not stand after is
ANY_OF = {"before": 0.3, "colour": 0.25, "nation": 0.2}
# what a union, council or area is called: often two words that French mirrors
UNION = {"before": 0.2, "nation": 0.5, "domain": 0.6}


class _Writer:
    """Chooses rules and words; what was mentioned decides on pronouns."""

    def __init__(self, seed: int):
        self.random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, items):
        items = list(items)
        return items[int(self.random() * len(items))]

    def sentence(self, clauses: int) -> Phrase:
        """Clauses, as many as asked, all in the past or all in the present."""
        self.past, self.timed = self.chance(0.4), False
        self.used, self.mentions, self.topics = set(), [], []
        text, last = self.clause(), ""
        for _ in range(clauses - 1):
            banned = {last, "while" if self.past else ""}
            last = self.pick(w for w in lexicon.LINK if w not in banned)
            text = grammar.connect(text, last, self.clause())
        if self.timed or not self.chance(0.12):
            return text
        time = self.time()
        return rule([time, ",", text], [time, (",", 1), text])

    def clause(self, within: bool = False) -> Phrase:
        """Someone does or is something; someone says so; there is one."""
        roll = self.random()
        if roll < 0.08:
            self.topics = []
            noun = self.noun_phrase("pcat", NEW, simple=True)
            return self.around(grammar.exist(noun, self.past))
        if roll < 0.16 and not within:
            verb = self.pick(v for v in VERB if VERB[v][1] == "+")
            subject = self.subject(VERB[verb][0], simple=True)
            says = grammar.conjugate(verb, subject)
            rest = self.clause(within=True)
            order = [subject, says, ("que", 2), rest]
            return rule([subject, says, "that", rest], order)
        subject = self.subject("ppccrraaauuutl")
        rest = self.predicate(subject)
        text = rule([subject, rest], [subject, rest], subject)
        acts = subject.kind in "pcra" and rest.english[0] not in BE
        return self.around(text) if acts else self.dated(text)

    def around(self, text: Phrase) -> Phrase:
        """Perhaps add where, perhaps when."""
        if self.chance(0.35):
            parts = [text, self.place()]
            text = rule(parts, parts)
        return self.dated(text)

    def dated(self, text: Phrase) -> Phrase:
        if self.timed or not self.chance(0.15):
            return text
        time = self.time()
        return rule([text, time], [text, time])

    def time(self) -> Phrase:
        self.timed = True
        fits = ("any", "past" if self.past else "now")
        times = lexicon.TIME.items()
        return grammar.when(self.pick(t for t, row in times if row[0] in fits))

    def place(self) -> Phrase:
        name = self.pick(lexicon.PLACE)
        allowed = {"at": ("the", "this", "these"), "near": NOT_SOME}
        noun = self.noun_phrase("l", allowed.get(name, ANY), simple=True)
        return grammar.place(name, noun)

    def subject(self, kinds: str, simple: bool = False) -> Phrase:
        """A pronoun where only one antecedent can be meant, else a noun."""
        clear = [n for n in self.topics if n.kind in kinds and self.clear(n)]
        if clear and self.chance(0.5):
            return grammar.pronoun(self.pick(clear))
        kind = self.pick(kinds)
        noun = self.noun_phrase(kind, ANY, simple)
        if not simple and self.chance(0.08):
            other = self.noun_phrase(kind, ANY, simple=True)
            noun = grammar.coordinate(noun, other)
            self.mentions.append(noun)
        self.topics = [noun]
        return noun

    def clear(self, noun: Phrase) -> bool:
        """No noun so far shares its English pronoun but not its French."""
        mine = grammar.pronoun(noun)
        said = [grammar.pronoun(other) for other in self.mentions]
        same = [p for p in said if p.english == mine.english]
        return all(p.french == mine.french for p in same)

    def noun_phrase(self, kinds: str, allowed, simple: bool) -> Phrase:
        """A new noun with its adjectives, article and, if not simple, more."""
        names = [name for name in NOUN if NOUN[name][0] in kinds]
        name = self.pick([n for n in names if n not in self.used] or names)
        self.used.add(name)
        kind = NOUN[name][0]
        adjectives = self.adjectives(kind)
        core = grammar.nominal(name, self.chance(0.35), adjectives)
        if not simple and kind in "at" and self.chance(0.12):
            noun = grammar.own(self.noun_phrase("pcr", ANY, True), core)
        else:
            banned = OWN if kind in "pc" else ()
            fits = (d for d in DETERMINER[core.plural] if d in allowed)
            fits = [d for d in fits if d not in banned]
            the = "the" in fits and self.chance(0.5)
            noun = grammar.determine("the" if the else self.pick(fits), core)
        self.mentions.append(noun)
        if not simple and kind in "tlu" and self.chance(0.15):
            part = self.noun_phrase(kind.replace("t", "l"), NOT_SOME, True)
            return grammar.join(noun, "of", "de", part)
        return noun if simple or self.chance(0.88) else self.relative(noun)

    def adjectives(self, kind: str) -> list[str]:
        chances = UNION if kind == "u" else ANY_OF
        chosen = []
        for place, probability in chances.items():
            rows = ((a, row) for a, row in ADJECTIVE.items() if kind in row[1])
            fits = [a for a, row in rows if row[0] == place]
            if fits and self.chance(probability):
                chosen.append(self.pick(fits))
        return chosen

    def relative(self, noun: Phrase) -> Phrase:
        """Who and that as subject (qui), that as object (que)."""
        if noun.kind in "pcra" and self.chance(0.5) or noun.kind == "u":
            who = "who" if noun.kind in "pcr" else "that"
            rest = self.predicate(noun, simple=True)
            return grammar.join(noun, who, "qui", rest)
        verb = self.pick(v for v in VERB if noun.kind in VERB[v][1])
        subject = self.noun_phrase(VERB[verb][0], ANY, simple=True)
        does = grammar.conjugate(verb, subject)
        order = [noun, ("que", 1), subject, does]
        return rule([noun, "that", subject, does], order, noun)

    def predicate(self, subject: Phrase, simple: bool = False) -> Phrase:
        """What the subject does, to whom, or what it is."""
        verbs = [v for v in VERB if subject.kind in VERB[v][0]]
        alone = [v for v in verbs if VERB[v][1] == "-"]
        on = [v for v in verbs if VERB[v][1] not in "-+"]
        how = "not" if self.chance(0.12) else ""
        if not alone or self.chance(0.2):
            return self.state(subject, bool(how))
        if not (how or self.past) and self.chance(0.12):
            how = "often"
        verb = self.pick(on if on and self.chance(0.65) else alone)
        does = grammar.conjugate(verb, subject, self.past, how)
        if verb in alone:
            return does
        allowed = SURE if how == "not" else ANY
        noun = self.noun_phrase(VERB[verb][1], allowed, simple)
        if not simple:
            self.topics = [*self.topics, noun]
        return rule([does, noun], [does, noun])

    def state(self, subject: Phrase, negated: bool) -> Phrase:
        """Is old, is old and red: of no class that the subject has shown."""
        shown = {ADJECTIVE[w][0] for w in subject.english if w in ADJECTIVE}
        shown.add("domain")
        rows = [(a, r) for a, r in ADJECTIVE.items() if subject.kind in r[1]]
        fits = [a for a, row in rows if row[0] not in shown and a not in NEVER]
        chosen = [self.pick(fits or ["small"])]
        shown = {ADJECTIVE[chosen[0]][0], "before"}
        others = [a for a in fits if ADJECTIVE[a][0] not in shown]
        if others and not negated and self.chance(0.25):
            chosen.append(self.pick(others))
        what = grammar.describe(subject, chosen)
        return grammar.be(subject, what, self.past, negated)


def sentences(
    seed: int = 0, length: str | None = None, clauses: int | None = None
) -> Iterator[Pair]:
    """An endless stream of pairs, the same for the same arguments.

    `length` counts English tokens: "short" 4 to 8, "medium" 9 to 15, "long"
    16 to 30, None 4 to 30. Or `clauses` sets how many are strung together,
    however long. ValueError: a seed that is no whole number from 0 up, an
    unknown length, clauses below 1, or both length and clauses.
    """
    arguments.whole("seed", seed, 0)
    if length is not None:
        arguments.choice("length", length, [*LENGTHS][1:])
    if clauses is not None:
        arguments.whole("clauses", clauses, 1)
    if clauses and length:
        raise ValueError("give length or clauses, not both")
    return _stream(_Writer(seed), LENGTHS[length], clauses)


def _stream(writer: _Writer, limits, clauses: int | None) -> Iterator[Pair]:
    while True:
        count = clauses or writer.pick((1, 1, 1, 1, 1, 1, 2, 2, 2, 3))
        pair = grammar.complete(writer.sentence(count))
        if clauses or limits[0] <= len(pair.source) <= limits[1]:
            yield pair


def sample(n: int, seed=0, length=None, clauses=None) -> list[Pair]:
    """The first n pairs of `sentences`; ValueError for n below 0 too."""
    arguments.whole("n", n, 0)
    return list(islice(sentences(seed, length, clauses), n))
