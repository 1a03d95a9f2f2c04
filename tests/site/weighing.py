"""How heavy a page is; `tests/conftest.py` makes a report of it."""

import gzip
from pathlib import Path
from urllib.parse import urlsplit

from watching import Visit


def weigh(one: Visit, site: Path) -> int:
    """Bytes of all that the page loaded, gzipped as a server would send it."""
    total = 0
    for url, status in one.loaded.items():
        if status == 200 and url.startswith(one.base):
            path = urlsplit(url).path
            data = (site / path.lstrip("/")).read_bytes()
            # Fonts and pictures are compressed already.
            packed = path.endswith((".woff2", ".png", ".bin"))
            total += len(data) if packed else len(gzip.compress(data))
    return total
