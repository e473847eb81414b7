"""A chat server on loopback whose weights can be exchanged behind its name and address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Checkpoint:
    """What is served now. `fails_after` replies, every question is an error that does not heal."""

    def __init__(self) -> None:
        self.says = "Yes"
        self.model: str | None = "m"
        self.fingerprint: str | None = None
        self.entry: dict[str, object] | None = None
        self.asked = 0
        self.fails_after = 1_000_000
        self.base_url = ""

    def spec(self, **options: object) -> str:
        """The spec of a reader of this server."""
        words = "&".join(f"{name}={value}" for name, value in options.items())
        return f"openai:m@{self.base_url}?concurrency=1&{words}"


@contextmanager
def checkpoint() -> Iterator[Checkpoint]:
    served = Checkpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or every answer waits for an acknowledgement of its head

        def do_GET(self) -> None:
            known = self.path == "/v1/models" and served.entry is not None
            self._say(200 if known else 404, {"data": [served.entry]})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if served.asked >= served.fails_after:
                self._say(400, {"error": {"message": "out of order"}})
                return
            served.asked += 1
            answer = {"choices": [{"message": {"content": served.says}}], "model": served.model}
            self._say(200, answer | {"system_fingerprint": served.fingerprint})

        def _say(self, status: int, body: dict[str, object]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
