"""The field's words come first, and a chapter ends before its reader does.

A private word may follow its term as an image. It never names a thing: not in
a heading, a table's head, a goal, or a hint.
"""

import ast
import re
from pathlib import Path

import pytest
from saying import seen

ROOT = Path(__file__).parents[1]

# The chapters that are in their second edition.
PAGES = (
    "recurrence",
    "bottleneck",
    "rnnsearch",
    "transducer",
    "handwriting",
    "ntm",
    "memory_networks",
    "glimpses",
    "scores",
    "attention",
    "serial",
    "heads",
    "positions",
    "feedforward",
    "residual",
    "transformer",
    "opened",
    "ladder",
    "ablations",
    "families",
    "probing",
    "explanation",
    "fastweights",
    "modern_gpt",
    "name",
)

# The pages around the chapters, for which only the words count.
OTHERS = (
    "index",
    "translate",
    "way-back",
    "timeline",
    "questions",
    "myths",
    "notation",
    "accessibility",
    "bibliography",
)

# What only this book says, and the term that has to have stood before.
TERMS = {
    r"machines?": r"model",
    r"rounds(?! of)": r"epoch",
    r"the looks?|a look|its looks?": r"attention",
    r"soft look": r"soft attention",
    r"hard look": r"hard attention",
    r"shares?(?= of (?:the )?(?:attention|look))": r"attention weights?",
    r"belt": r"cell state",
    r"new content": r"candidate",
    r"side paths?": r"recurrent connections?",
    r"fingers?": r"encoder|monotonic|aligned",
    r"bells?": r"gaussians?",
    r"ellips(?:e|es)": r"gaussians?",
    r"coins|tosses|toss of a coin": r"randomization test",
    r"rulers?": r"baselines?|interval|test",
    r"verdicts?": r"significance|significant(?:ly)?|interval",
    r"the vote of five": r"ensemble",
    r"two readers": r"bidirectional",
    r"dials?": r"addressing",
    r"slopes?": r"gradients?|derivatives?",
    r"likeness": r"similarity",
    r"not told": r"weak supervision|weakly supervised",
    r"bends?": r"nonlinearity|activation function",
    r"tape": r"memory",
    r"spoil(?:ed|s)?": r"corrupt(?:ed|s)?|mask(?:ed|s)?",
    r"fires?": r"active|activation",
    r"loud(?:er|ness)?|quiet(?:er)?": r"scale|norm|RMS",
    r"melt(?:ing|s)?": r"rank collapse|oversmoothing",
    r"thousand million": r"billion",
}
# Verbs, stories and quotations in which such a word is no name.
ALLOWED = re.compile(
    r"Turing machines?|machine (?:translation|learning)|translation machines?",
    re.I,
)
# In headings, tables' heads, goals and hints these never stand.
NEVER = (
    r"the looks?|soft look|hard look|belt|new content|side paths?"
    r"|fingers?|bells?|coins|rulers?|verdicts?|the vote of five|two readers"
    r"|dials?|likeness|bends?|thousand million|shares"
)
FENCE = re.compile(r"^(`{3,}|:{3,})(.*)$")


def before_exercises(page: str) -> str:
    """The page's text, front matter and exercises left out."""
    text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"^# .*$", "", text, count=1, flags=re.M)
    return re.split(r"^## Exercises", text, flags=re.M)[0]


def prose(text: str) -> str:
    """What is read as sentences: no code, formula, table or option."""
    lines, inside = [], None
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if inside:
            inside = None if line.startswith(inside) else inside
        elif fence and re.match(
            r"\{?(?:code-cell|literalinclude|math|python|widget|list-table"
            r"|card|toctree|chapter-strip|text|console)|$",
            fence[2],
        ):
            inside = fence[1] if fence[2] else None
        elif not re.match(
            r"\s*(?:\||:\w[\w-]*:|```|:::|\(\w+[\w-]*\)=|\+\+\+)", line
        ):
            lines.append(line)
    text = re.sub(r"\$\$.*?\$\$", " ", "\n".join(lines), flags=re.S)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
    return re.sub(r"\{cite\w*\}`[^`]*`", "", text)


def words(page: str) -> int:
    """How many words of prose stand before the exercises."""
    return len(
        re.findall(r"[^\W_][\w'’.-]*", seen(prose(before_exercises(page))))
    )


def named(text: str, pattern: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.I)


def hints(chapter: str) -> list[str]:
    """Every sentence of a chapter's checks."""
    path = ROOT / "src/lookback/exercises" / f"{chapter}.py"
    if not path.exists():
        return []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.count(" ") > 3
        and not node.value.lstrip().startswith(("def ", "return "))
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_chapter_has_at_most_3500_words_before_its_exercises(
    page: str,
) -> None:
    assert words(page) <= 3500, f"{page}: {words(page)} words"


@pytest.mark.parametrize("page", (*PAGES, *OTHERS))
def test_a_private_word_follows_its_term(page: str) -> None:
    text = ALLOWED.sub("", seen(prose(before_exercises(page))))
    wrong = []
    for private, term in TERMS.items():
        first = named(text, private)
        standard = named(text, term)
        if first and (standard is None or standard.start() > first.start()):
            around = text[max(0, first.start() - 40) : first.end() + 40]
            wrong.append(f"{first[0]!r} before {term!r}: …{around}…")
    assert not wrong, "\n".join([page, *wrong])


@pytest.mark.parametrize("page", (*PAGES, *OTHERS))
def test_no_private_word_names_a_thing(page: str) -> None:
    text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    heads += re.findall(r"^\|(.*)\|\n\|[ :|-]+\|$", text, re.M)
    heads += re.findall(r"^    exercise-[\w-]+: (.*)$", text, re.M)
    title, *heads = [ALLOWED.sub("", seen(head)) for head in heads]
    wrong = [head for head in heads if named(head, NEVER)]
    wrong += [
        hint for hint in hints(page) if named(ALLOWED.sub("", hint), NEVER)
    ]
    assert not wrong, "\n".join([page, *wrong])


@pytest.mark.parametrize("page", PAGES)
def test_a_chapter_closes_with_the_names_in_the_literature(page: str) -> None:
    text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
    last = text.split("## Names in the literature")
    assert len(last) == 2, f"{page}: no “Names in the literature”"
    assert re.search(r"^\|.*\|\n\|[ :|-]+\|\n(?:\|.*\|\n){3}", last[1], re.M), (
        page
    )
