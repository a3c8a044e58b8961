"""The one place that makes an `openai` client: no default address, nothing from the environment, no redirects."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from refiner.transports.address import Address

_CONNECT_SECONDS = 10.0
# What a request may carry. Everything else the client would add (headers and accounts named by OPENAI_* variables,
# details about this machine) stays here; the one exception is how the client itself knows a streamed response.
_SENT = {
    *("host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length"),
    *("transfer-encoding", "x-stainless-raw-response"),
}
_STREAMED = "X-Stainless-Raw-Response"


def open_client(address: Address, key: str, timeout: float) -> Any:
    """A client for this address and key only; safe to share between threads."""
    import httpx2
    import openai

    logging.getLogger("httpx2").setLevel(
        logging.WARNING
    )  # it logs whole addresses, with what follows the question mark

    def guard(request: Any) -> None:
        for name in list(request.headers):
            if name.lower() not in _SENT:
                del request.headers[name]
        request.headers["host"] = address.host
        if key:
            request.headers["authorization"] = f"Bearer {key}"

    limits = openai.Timeout(timeout, connect=min(_CONNECT_SECONDS, timeout))
    return openai.OpenAI(
        api_key=key or "none",
        admin_api_key="",
        base_url=address.url,
        organization="",
        project="",
        webhook_secret="",
        default_query=dict(address.query),
        timeout=limits,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(
            verify=httpx2.create_ssl_context(),  # a company's own certificates (SSL_CERT_FILE) still count
            trust_env=False,
            follow_redirects=False,
            timeout=limits,
            event_hooks={"request": [guard]},
        ),
    )


def post(client: Any, path: str, body: dict[str, Any]) -> Any:
    """Sends `body` and returns the response with its body unread; close it. Raises what the client raises.

    This is the client's way for requests of one's own making. Its `chat.completions.create` takes twice the time, most
    of it for rebuilding arguments that are right already and for a reply record that is not used here.
    """
    import httpx2

    return client.post(path, cast_to=httpx2.Response, body=body, options={"headers": {_STREAMED: "stream"}})


def get(client: Any, path: str) -> Any:
    """Like `post`, for what is only looked up."""
    import httpx2

    return client.get(path, cast_to=httpx2.Response, options={"headers": {_STREAMED: "stream"}})


def read_body(response: Any, most: int, late: Callable[[], bool]) -> bytes:
    """The whole body of an open response. Raises TimeoutError once `late`, however steadily it comes.

    Raises ValueError for one of more than `most` bytes, without reading on.
    """
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > most:
            raise ValueError(f"more than {most // 1_000_000} MB")
        if late():
            raise TimeoutError
    return bytes(body)
