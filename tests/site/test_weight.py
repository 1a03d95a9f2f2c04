"""How heavy each page is: a report, and no budget in a test."""

import gzip
from pathlib import Path
from urllib.parse import urlsplit

from contents import PAGES


def weigh(site: Path, paths: set[str]) -> int:
    """Bytes of these files as a server would send them, gzipped."""
    total = 0
    for path in paths:
        data = (site / path.lstrip("/")).read_bytes()
        # Fonts and pictures are compressed already.
        packed = path.endswith((".woff2", ".png"))
        total += len(data) if packed else len(gzip.compress(data))
    return total


def test_weight_of_every_page_is_reported(visit, site):
    lines = []
    for name in PAGES:
        one = visit(name)
        one.walk_down()
        own = {
            urlsplit(url).path
            for url in one.loaded
            if url.startswith(one.base) and one.loaded[url] == 200
        }
        bytes_loaded = weigh(site, own)
        lines.append(f"{name:24} {bytes_loaded / 1000:8.1f} kB gzipped")
        assert bytes_loaded > 0
    report = site.parent / "page-weight.txt"
    report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(report.read_text().splitlines()) == len(PAGES)
