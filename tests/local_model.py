"""A real model on loopback: `python local_model.py PACKAGES GGUF` prints its address and ends with its standard input.

PACKAGES is the folder that holds `xllamacpp`, which is no dependency of the product. Its server answers; what stands
before it here only keeps replies short, since a model this small fills every reply to its limit.
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError

CONTEXT, LONGEST_REPLY = 4096, 500


def started(packages: str, weights: str) -> object:
    sys.path.insert(0, packages)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_ctx, params.n_parallel, params.port = CONTEXT, 1, 0
    params.cpuparams.n_threads = 1  # threads that wait for each other crawl on a busy machine
    params.sampling.penalty_repeat, params.sampling.penalty_last_n = 1.3, 512
    return xllamacpp.Server(params)


class Shortened(BaseHTTPRequestHandler):
    """Passes requests on with a lower limit for the reply."""

    behind = ""
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body["max_tokens"] = min(body.get("max_tokens", LONGEST_REPLY), LONGEST_REPLY)
        asked = urllib.request.Request(
            self.behind + self.path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked) as answered:
                self._pass(answered.status, answered.read())
        except HTTPError as refused:
            self._pass(refused.code, refused.read())

    def _pass(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def main(packages: str, weights: str) -> None:
    model = started(packages, weights)
    Shortened.behind = model.listening_address  # type: ignore[attr-defined]
    front = ThreadingHTTPServer(("127.0.0.1", 0), Shortened)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{front.server_address[1]}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
