"""What each page says of itself, in its head and at its foot."""

import sys
from functools import cache, lru_cache
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

from contents import PAGES, ROOT

sys.path[:0] = [str(ROOT / "book" / "_ext")]

import book_site  # noqa: E402
import page_meta  # noqa: E402

FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"


@lru_cache(maxsize=2)  # tests of one page follow each other
def page(site, name: str) -> BeautifulSoup:
    text = (site / f"{name}.html").read_text("utf-8")
    return BeautifulSoup(text, "lxml")


def head(site, name: str) -> BeautifulSoup:
    """What stands before the page's body, which takes long to parse."""
    text = (site / f"{name}.html").read_text("utf-8").split("</head>")[0]
    return BeautifulSoup(text, "lxml")


@cache
def built(site) -> str:
    """The version that the site's first page names; the number is ours."""
    said = page(site, PAGES[0]).select_one(".version").get_text()
    assert said.split(" (")[0] == page_meta.version().split(" (")[0]
    return said


@pytest.mark.parametrize("name", PAGES)
def test_a_page_presents_itself(site, name):
    found = page(site, name)
    said = {
        tag.get("property") or tag.get("name"): tag["content"]
        for tag in found.select("meta[content]")
    }
    canonical = [one["href"] for one in found.select("link[rel=canonical]")]
    assert [said[key] for key in said if key == "og:url"] == canonical
    assert said["og:title"] == found.find("h1").get_text().rstrip("#")
    assert said["og:description"] == said["description"]
    assert 20 < len(said["description"]) < 400
    [version] = found.select(".extra_footer .version")
    assert version.get_text() == built(site)
    assert found.select("a[rel=license]")


def test_a_page_says_where_it_is_only_if_that_is_known(site):
    assert "http" not in page_meta.card("a", "b", "book/x", "")
    said = page_meta.card("a", "b", "book/x", "https://me.github.io/fork/")
    assert '"https://me.github.io/fork/book/x.html"' in said
    assert f'"https://me.github.io/fork/{page_meta.PICTURE}"' in said
    assert (site / page_meta.PICTURE).is_file()
    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]
    known = book_site.origin(url["url"])
    for name in PAGES:
        links = head(site, name).select("link[rel=canonical]")
        base = known and book_site.site_address(known)
        wanted = [f"{base}{name}.html"] if known else []
        assert [one["href"] for one in links] == wanted


def test_a_doi_is_named_once_there_is_one(tmp_path):
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    cited = yaml.safe_load(text)
    number = page_meta.version().split(" (")[0]
    assert (cited["version"], "doi" in cited) == (number, bool(page_meta.doi()))
    given = text.replace("# doi: 10.5281/zenodo.<number>", "doi: 10.5281/x.7")
    (tmp_path / "CITATION.cff").write_text(given)
    assert yaml.safe_load(given)["doi"] == "10.5281/x.7"
    assert 'href="https://doi.org/10.5281/x.7"' in page_meta.doi(tmp_path)
    (tmp_path / "CITATION.cff").write_text("title: x\n")
    assert page_meta.doi(tmp_path) == ""


def test_descriptions_differ(site):
    said = [
        head(site, name).find("meta", {"name": "description"}) for name in PAGES
    ]
    assert len({one["content"] for one in said}) == len(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_an_error_is_reported_by_a_form_that_knows_the_page(site, name):
    [link] = page(site, name).select("a.report")
    address = urlsplit(link["href"])
    asked = {key: one for key, [one] in parse_qs(address.query).items()}
    assert address.path.endswith("/issues/new")
    assert asked["page"] == name and asked["version"] == built(site)
    form = yaml.safe_load((FORMS / asked["template"]).read_text("utf-8"))
    ids = {part["id"] for part in form["body"]}
    assert {"page", "version"} < ids


@pytest.mark.parametrize(
    "form", sorted(FORMS.glob("*.yml")), ids=lambda f: f.stem
)
def test_forms_are_whole(form):
    asked = yaml.safe_load(form.read_text("utf-8"))
    if form.stem == "config":
        return
    assert asked["name"] and asked["description"] and asked["labels"]
    kinds = {part["type"] for part in asked["body"]}
    assert kinds <= {"input", "textarea"}
    assert all(part["attributes"]["label"] for part in asked["body"])


def test_without_git_the_version_is_the_package_s(tmp_path):
    (tmp_path / "pyproject.toml").write_text('version = "1.2"\n')
    assert page_meta.version(tmp_path) == "1.2"
