"""A chapter's exercises as an assignment for otter-grader.

Of a student's notebook the exercises that have a check, each followed by
`grader.check("<its name>")`, and a test file for each in Otter's own form: the
book's check, whose hint is what a wrong answer is told. An exercise is worth as
many points as it has stars.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from to_notebook.labels import Book
from to_notebook.myst import Page

from notebooks import written

EXERCISE = re.compile(r"^### Exercise \d+: (★+) ", re.MULTILINE)
CHECK = re.compile(r"^check\.(\w+)\((\w+)\)$", re.MULTILINE)
HEAD = """# {title}: assignment

From the book [{book}]({address}). A cell with `grader.check` says
whether what stands above it is right, and if not, why not."""
BEGIN = """# otter-grader: pip install otter-grader
import otter

grader = otter.Notebook(tests_dir="tests")"""
TEST = """OK_FORMAT = False
name = "{name}"
points = {points}

from otter.test_files import test_case

from lookback.exercises import check


@test_case(name="{name}")
def test_{name}({answer}):
    right, said = check.{name}.verdict({answer})
    assert right, said
"""
README = """An assignment for each chapter, for otter-grader,
https://otter-grader.readthedocs.io

Students get a chapter's folder. To grade what they hand in:

    pip install otter-grader[grading] -r requirements.txt
    cd residual
    otter generate -t tests -r ../requirements.txt -o autograder.zip
    otter run -a autograder.zip path/to/a/submission.ipynb

Gradescope takes the same autograder.zip.
"""


def graded(cells: list[NotebookNode]) -> tuple[list[NotebookNode], str, str]:
    """An exercise's cells with Otter's check, its name, and what it checks.

    What is found by hand is called `answer` in every exercise of the book; here
    each has a name of its own, since Otter may ask for it at the end.
    """
    made, name, answer = [], "", ""
    for cell in cells:
        found = cell.cell_type == "code" and CHECK.search(cell.source)
        if not found:
            made.append(cell)
            continue
        name, answer = found.groups()
        stub = CHECK.sub("", cell.source).strip()
        if answer == "answer":
            answer = f"{name}_answer"
            stub = re.sub(r"^answer\b", answer, stub, flags=re.MULTILINE)
        made += [new_code_cell(stub)] if stub else []
        made += [new_code_cell(f'grader.check("{name}")')]
    return made, name, answer


def assignment(book: Book, page: Page, student: NotebookNode) -> dict[str, str]:
    """The files of a chapter's assignment: its notebook and its tests."""
    stem = page.docname.split("/")[-1]
    sources = [cell.source for cell in student.cells]
    [start] = (i for i, one in enumerate(sources) if "## Exercises" in one)
    [end] = (i for i, one in enumerate(sources) if "## Further reading" in one)
    groups: list[list[NotebookNode]] = [[]]
    for cell in student.cells[start + 1 : end]:
        if EXERCISE.match(cell.source):
            groups.append([])
        groups[-1].append(cell)
    title, address = book.titles[page.docname], book.url(page.docname)
    head = HEAD.format(title=title, book=book.title, address=address)
    cells = [new_markdown_cell(head), student.cells[0], new_code_cell(BEGIN)]
    cells += [cell for cell in groups[0] if cell.cell_type == "code"]
    files = {}
    for group in groups[1:]:
        made, name, answer = graded(group)
        if name:
            cells += made
            points = len(EXERCISE.match(group[0].source)[1])
            test = TEST.format(name=name, points=points, answer=answer)
            files[f"{stem}/tests/{name}.py"] = test
    notebook = NotebookNode({**student, "cells": cells})
    for number, cell in enumerate(cells):
        cell.id = f"{stem}-{number}"
    return {f"{stem}/{stem}.ipynb": written(notebook), **files}
