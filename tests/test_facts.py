"""What pages say of themselves, and what is made of it."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import assets  # noqa: E402
import facts  # noqa: E402
import notation  # noqa: E402
import overview  # noqa: E402
import route  # noqa: E402
from drawing import SVG  # noqa: E402
from to_notebook.myst import SourceError  # noqa: E402

PAGE = """\
---
kernelspec:
  name: python3
lookback:
  minutes: 40
  needs: a little courage
  plan-10: week 3, ★★ but exercise-swim
  goals:
    exercise-swim: swim a length
---

# Tides

```{chapter-strip}
```

:label: exercise-swim
"""


def test_a_page_says_its_facts():
    said = facts.parse(PAGE, Path("book/tides.md"))
    assert said["minutes"] == 40
    assert said["goals"] == {"exercise-swim": "swim a length"}
    week = facts.WEEK.fullmatch(said["plan-10"])
    assert week.group("week", "part") == ("3", "★★ but exercise-swim")
    assert facts.WEEK.fullmatch("week 3, in one minute")["part"] is None
    assert facts.parse("# No facts", Path("book/x.md")) == {}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("  needs: a little courage\n", "", "“needs” is missing"),
        ("minutes: 40", "minuets: 40", "“minuets” is not known"),
        ("minutes: 40", "minutes: forty", "“minutes” is not a whole number"),
        ("a little courage", "[courage]", "“needs” is not text"),
        ("a little courage", "courage: much", "mapping values"),
        ("week 3, ★★", "week 3,★★", "“plan-10” is not like “week 2, ★★”"),
        ("exercise-swim\n  g", "exercise-sw\n  g", "the page has no “exercise"),
        ("    exercise-swim:", "    exercise-sink:", "no “exercise-sink”"),
        ("lookback:\n  minutes: 40", "lookback: 40\nx:", "it has no keys"),
        ("lookback:", "facts:", "“minutes” is missing"),
    ],
)
def test_a_wrong_fact_is_told_with_its_page_and_key(old, new, fault):
    assert old in PAGE
    with pytest.raises(SourceError) as error:
        facts.parse(PAGE.replace(old, new, 1), Path("book/tides.md"))
    assert re.match(rf"book/tides.md:\d: lookback: .*{fault}", str(error.value))


def test_every_page_s_facts_can_be_read():
    assert sum(bool(facts.read(page)) for page in notation.pages()) > 20


def test_former_names_lead_to_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "STAGED", tmp_path)
    pages = notation.pages()
    names = facts.formerly(pages)
    assert {"hops": "memory_networks", "since": "modern_gpt"}.items() <= {
        old: page.stem for old, page in names.items()
    }.items()
    assert not names.keys() & {page.stem for page in [*pages, Path("index")]}
    assets.stage_moved("https://me.github.io/book/")
    for old, page in names.items():
        html = (tmp_path / f"extra/book/{old}.html").read_text("utf-8")
        address = f"https://me.github.io/book/book/{page.stem}.html"
        assert f'<link rel="canonical" href="{address}">' in html
        assert html.count(f'"{page.stem}.html"') == 2  # script, link
        assert f'content="0; url={page.stem}.html"' in html
        assert '<meta charset="utf-8">' in html  # where the policy goes


@pytest.mark.parametrize("sides", [1, 3, 4, 5])
@pytest.mark.parametrize("first", [2, 3], ids=["left", "right"])
def test_a_route_has_every_stop_inside_its_frame(first, sides):
    """The side path leaves from a stop on either side."""
    way = [([f"Stop {n}", "a line", "another", "p.html"], []) for n in range(7)]
    way[first][1].extend(
        [[f"Side {n}", "beside", "q.html"] for n in range(sides)]
    )
    drawn = ElementTree.fromstring(route.svg(way))
    _, _, width, height = map(float, drawn.get("viewBox").split())
    dots = [
        (float(one.get("cx")), float(one.get("cy")))
        for one in drawn.iter(f"{{{SVG}}}circle")
    ]
    assert len(set(dots)) == 7 + sides
    assert all(60 < x < width - 60 and 0 < y < height for x, y in dots)
    names = [one.text for one in drawn.iter(f"{{{SVG}}}text")]
    assert {"Stop 6", f"Side {sides - 1}", "another", "beside"} <= set(names)
    links = [one.get("href") for one in drawn.iter(f"{{{SVG}}}a")]
    assert links.count("p.html") == 7 and links.count("q.html") == sides
    assert f"From Stop {first} a dotted side path" in route.alt(way)


def test_the_route_has_the_chapters_in_the_order_of_the_book():
    way = route.stops(notation.pages())
    names = [stop[0] for stop, _ in way]
    assert len(names) == len(set(names)) > 15
    for name, *_, link in [
        stop for stop, side in way for stop in (stop, *side)
    ]:
        text = (ROOT / "book" / link).with_suffix(".md").read_text("utf-8")
        assert f"\n# {name}" in text  # what the sidebar says


def test_readme_and_contributing_list_every_module():
    assert not overview.listings(ROOT), "run `make notebooks`"
    names = overview.modules(ROOT / "src" / "lookback")
    lines = overview.listed(ROOT).splitlines()
    said = dict(re.findall(r"^- `(\w+)` – (.+)$", line)[0] for line in lines)
    assert sorted(said) == names and len(lines) == len(names)
    assert all(re.fullmatch(r"[A-Z].{20,}[.?]", one) for one in said.values())
    assert {*names} <= set(overview.drawn(ROOT).split())


def test_a_list_is_written_between_its_marks_alone(tmp_path):
    book, package = tmp_path / "book", tmp_path / "src" / "lookback"
    book.mkdir()
    package.mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text("parts: [{chapters: [{file: book/b}]}]")
    (book / "b.md").write_text(PAGE + "lookback.aid", "utf-8")
    for name in ("a", "b", "aid", "translator", "vocabulary"):
        (package / f"{name}.py").write_text(f'"""The {name}:\na part."""\n')
    assert overview.ideas(tmp_path) == ["b", "aid", "a"]
    readme = tmp_path / "README.md"
    readme.write_text("# R\n<!-- modules -->\nold\n<!-- end -->\nrest\n")
    [(path, text)] = overview.listings(tmp_path).items()
    assert path == readme
    listed = [f"- `{name}` – The {name}: a part." for name in ("b", "aid", "a")]
    assert text.split("\n")[2:5] == listed
    assert text.startswith("# R\n") and text.endswith("\nrest\n")
