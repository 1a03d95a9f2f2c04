"""Serve the built book: `python tools/serve.py _build/html 8000`."""

import functools
import http.server
import sys


def bind(folder: str, port: int) -> http.server.ThreadingHTTPServer:
    """A server on this port, or on the next free one of twenty."""
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=folder
    )
    for candidate in range(port, port + 20):
        try:
            return http.server.ThreadingHTTPServer(
                ("127.0.0.1", candidate), handler
            )
        except OSError:
            continue
    sys.exit(f"make: no free port from {port} to {port + 19}")


def main() -> None:
    """Print the address, then serve until Ctrl+C."""
    folder, port = sys.argv[1], int(sys.argv[2])
    with bind(folder, port) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"The book is at {address}   (Ctrl+C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
