"""A real model on loopback: `python local_model.py PACKAGES GGUF` prints its address and ends with its standard input.

PACKAGES is the folder that holds `xllamacpp`, which is no dependency of the product.
"""

from __future__ import annotations

import sys

CONTEXT = 3072
"""Tokens of a prompt with its reply: enough for the prompts of an 8,000-token window, and an end to endless replies."""


def main(packages: str, weights: str) -> None:
    sys.path.insert(0, packages)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_ctx, params.n_parallel = CONTEXT, 1
    params.port = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
