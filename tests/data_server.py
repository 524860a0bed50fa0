"""A real HTTP server on 127.0.0.1 that misbehaves on request."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Files by path and, by path, how each request in turn is answered (then always well).

    Manners: good, whole (ignores ranges), half (announces all, sends half), drop (closes the
    connection), 503, 404.
    """

    def __init__(self, files: dict[str, bytes], manners: dict[str, list[str]]) -> None:
        self.files, self.manners = files, manners
        self.seen: list[tuple[str, str | None]] = []
        self.url = ""


@contextlib.contextmanager
def serving(
    files: dict[str, bytes], manners: dict[str, list[str]] | None = None
) -> Iterator[Server]:
    state = Server(files, manners or {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.seen.append((self.path, wanted))
            turns = state.manners.get(self.path, [])
            manner = turns.pop(0) if turns else "good"
            if manner == "drop":
                self.close_connection = True
                return
            if manner.isdigit() or self.path not in state.files:
                self.send_error(int(manner) if manner.isdigit() else 404)
                return
            body = state.files[self.path]
            start = 0
            if wanted and manner != "whole":
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
                if start >= len(body):
                    self.send_error(416)
                    return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            rest = body[start:]
            self.wfile.write(rest[: len(rest) // 2] if manner == "half" else rest)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
