"""The process of the app's server: streamlit, and the modules of the first screen. Opens no database.

What takes time happens while others work: streamlit is loaded while the parent looks at the database, the workspace
while a browser starts. The parent says when, by a byte each.
"""

from __future__ import annotations

import runpy
import sys
from importlib import import_module
from threading import Thread


def main() -> None:
    """Runs streamlit with the arguments given, once the parent says so."""
    import_module("streamlit.web.bootstrap")
    if not told():
        return
    Thread(target=load, daemon=True).start()
    sys.argv[0] = "streamlit"
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


def load() -> None:
    """Loads the workspace once the server answers; earlier, it would keep the server from answering."""
    if told():
        import_module("refiner.workspace.desk")


def told() -> bool:
    """Waits for the parent's word; False when the parent is gone."""
    return bool(sys.stdin.buffer.read(1))


if __name__ == "__main__":
    main()
