"""Say where the built book lies: `python tools/show.py _build/html`."""

import sys
from pathlib import Path


def main() -> None:
    """Print the folder, the file's address, and how to serve it."""
    page = Path(sys.argv[1]).resolve() / "index.html"
    if not page.exists():
        sys.exit(f"make: {page} was not built")
    print(f"\nThe book stands in {page.parent}")
    print(f"Open it from disk: {page.as_uri()}")
    print("Or serve it:       make serve")


if __name__ == "__main__":
    main()
