"""The bibliography holds what the pages cite, and nothing else."""

import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
ENTRY = re.compile(r"^@\w+\{([^,\s]+),", re.MULTILINE)


def test_every_work_is_cited_and_every_citation_is_known():
    pages = [path.read_text("utf-8") for path in ROOT.glob("book/*.md")]
    roles = [keys for page in pages for keys in CITED.findall(page)]
    cited = {key.strip() for keys in roles for key in keys.split(",")}
    with (ROOT / "book/timeline.csv").open(encoding="utf-8") as file:
        events = list(csv.DictReader(file))
    cited |= {key for row in events for key in row["works"].split()}
    known = ENTRY.findall((ROOT / "book/references.bib").read_text("utf-8"))
    assert len(known) == len(set(known))
    assert sorted(cited - set(known)) == []  # cited, and not in the file
    assert sorted(set(known) - cited) == []  # in the file, and cited nowhere
