"""Draw each SVG of the book as a PNG, for the notebooks: `make notebooks`.

A notebook holds its pictures, and Colab shows neither SVG nor attachments in a
text cell. Only what has changed is drawn anew: a PNG names the digest of its
SVG. It has one and a half dots for each of the SVG, for sharp screens.
"""

import hashlib
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin
from playwright.sync_api import sync_playwright
from zopfli import png

ROOT = Path(__file__).resolve().parent.parent
DRAWINGS = ROOT / "book" / "_static" / "drawings"
sys.path.insert(0, str(ROOT / "tests" / "site"))

from browsers import launch  # noqa: E402


def stale() -> list[Path]:
    """The drawings whose PNG is missing, or of an earlier SVG."""
    return [
        path
        for path in sorted(DRAWINGS.glob("*.svg"))
        if not path.with_suffix(".png").exists()
        or digest(path).encode() not in path.with_suffix(".png").read_bytes()
    ]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    if not (paths := stale()):
        return
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = launch(playwright, Path(home))
        page = browser.new_page(device_scale_factor=1.5)
        for path in paths:
            page.set_content(path.read_text("utf-8"))
            shot = io.BytesIO(page.locator("svg").screenshot())
            info = PngImagePlugin.PngInfo()
            info.add_text("svg", digest(path))
            picture = Image.open(shot).convert("RGB").quantize(12)
            image, kept = io.BytesIO(), path.with_suffix(".png")
            picture.save(image, "png", pnginfo=info)
            kept.write_bytes(
                png.optimize(image.getvalue(), keepchunks=["tEXt"])
            )
            print(kept.relative_to(ROOT))
        browser.close()


if __name__ == "__main__":
    main()
