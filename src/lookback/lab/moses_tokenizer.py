"""English as people type it, cut into words as the corpus has them.

Multi30k comes lower-cased, its quotes made plain, and cut by Moses (Koehn et
al. 2007): marks stand alone, `man's` is `man` and `'s`, `t-shirt` stays one,
and &, ', " and the like are written as in HTML. The same rules run in the
page: widgets/moses_tokenizer.js.
"""

import re
import unicodedata

from lookback.lab import arguments

# Each becomes the other: what keyboards write, and what the corpus has.
PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
    }
)
BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]+")
ESCAPED = {
    "&": "&amp;",
    "|": "&#124;",
    "<": "&lt;",
    ">": "&gt;",
    "'": "&apos;",
    '"': "&quot;",
    "[": "&#91;",
    "]": "&#93;",
}
# In this order: initials, a title that a name may follow, a word with hyphens
# and dots inside it or commas inside its digits, what an apostrophe begins,
# three dots, any other mark.
WORD = re.compile(
    r"(?<!\w)(?:\w\.){2,}(?!\w)"
    r"|(?<!\w)(?:mr|mrs|ms|dr|st)\.(?= [^ ])"
    r"|\w+(?:(?:[-.]|(?<=\d)[,:](?=\d))\w+)*"
    r"|(?<=\w)'\w+"
    r"|'(?:s|t|re|ve|ll|d|m)(?!\w)"
    r"|\.\.\.|[^ ]"
)


def words(text: str) -> list[str]:
    """The words of a sentence, lower-cased, as Multi30k writes them."""
    arguments.kind("text", text, str, "a sentence as text")
    text = unicodedata.normalize("NFKC", text.translate(PLAIN)).lower()
    text = BLANK.sub(" ", text)
    return [
        "".join(ESCAPED.get(letter, letter) for letter in word)
        for word in WORD.findall(text)
    ]
