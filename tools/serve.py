"""Serve the built book: `python tools/serve.py _build/html 8000`."""

import functools
import http.server
import sys

LAST = 65535


def bind(folder: str, port: int) -> http.server.ThreadingHTTPServer:
    """A server on this port, or on the next free one of twenty."""
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=folder
    )
    last = min(port + 19, LAST)
    for candidate in range(port, last + 1):
        try:
            return http.server.ThreadingHTTPServer(
                ("127.0.0.1", candidate), handler
            )
        except OSError:
            continue
    sys.exit(f"make: no free port from {port} to {last}")


def main() -> None:
    """Print the address, then serve until Ctrl+C."""
    folder, port = sys.argv[1:]
    if not (port.isdecimal() and len(port) < 6 and int(port) <= LAST):
        sys.exit(f"make: PORT is {port!r}: give a number from 0 to {LAST}")
    with bind(folder, int(port)) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"The book is at {address}   (Ctrl+C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
