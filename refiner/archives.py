"""`zipfile` as of Python 3.14, which unpacks Zstandard as well, and what a damaged archive raises."""

from __future__ import annotations

import sys
import zlib

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

__all__ = ["DAMAGED", "is_gzip", "zipfile"]

DAMAGED = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, ZstdError)
_GZIP = b"\x1f\x8b\x08"


def is_gzip(head: bytes) -> bool:
    """Whether a file that begins like this is one file, packed."""
    return head.startswith(_GZIP)
