"""The edit distance, for the tests of what models write."""


def edits(one: str, other: str) -> int:
    """How many letters are changed, left out or added: Levenshtein's way."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
    return row[-1]
