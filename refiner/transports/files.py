"""Files that several threads and people read and write at once. Knows nothing of what is in them."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes a file, and the folders above it, so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)
