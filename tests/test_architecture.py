"""The shape of the code: who may import whom, what importing a module costs, and where printing and SQL may live.

The layer drawing itself is checked by import-linter (pyproject.toml); here is what it cannot see.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from refiner.resources import ROOT

FILES = sorted(path for package in ("refiner", "storage") for path in (ROOT / package).rglob("*.py"))
HEAVY = {
    *("umap", "hdbscan", "numba", "llvmlite", "pynndescent", "sklearn", "scipy", "pandas"),
    *("openai", "wordllama", "tokenizers", "safetensors", "streamlit", "plotly", "openpyxl", "playwright"),
}
MAX_LINES = 300


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = [name for name in map(module_name, FILES) if not name.endswith("__main__")]
UPPER = ("storage", "refiner.workspace", "refiner.cli")
PROBE = """
import importlib, json, sys
for name in sys.argv[1:]:
    before = set(sys.modules)
    importlib.import_module(name)
    print(json.dumps([name, sorted({loaded.partition(".")[0] for loaded in set(sys.modules) - before})]))
"""


@cache
def brought_by(*names: str) -> dict[str, set[str]]:
    """What each import in turn, in one clean interpreter, adds to its top-level packages."""
    done = subprocess.run([sys.executable, "-c", PROBE, *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: set(packages) for name, packages in map(json.loads, done.stdout.splitlines())}


def bringers(found: dict[str, set[str]], unwanted: set[str]) -> dict[str, set[str]]:
    return {name: packages & unwanted for name, packages in found.items() if packages & unwanted}


def test_importing_any_module_pays_for_no_heavy_library() -> None:
    assert bringers(brought_by(*MODULES), HEAVY) == {}


def test_the_engine_is_free_of_the_database() -> None:
    lower = [name for name in MODULES if not name.startswith(UPPER)]
    assert bringers(brought_by(*lower), {"duckdb", "storage"}) == {}


@pytest.mark.parametrize("name", ["refiner", "refiner.cli"])
def test_the_help_of_the_command_costs_neither_database_nor_numerics(name: str) -> None:
    assert bringers(brought_by(name), {"duckdb", "storage", "numpy", "pyarrow"}) == {}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[str]:
    """Every absolute import of a file, those inside functions included."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def importers(package: str) -> set[str]:
    return {module_name(path) for path in FILES for name in imports(path) if name.partition(".")[0] == package}


def test_only_the_storage_imports_the_database() -> None:
    assert {name.partition(".")[0] for name in importers("duckdb")} == {"storage"}


def test_only_the_workspace_imports_the_storage() -> None:
    outside = {name for name in importers("storage") if not name.startswith("storage")}
    assert {".".join(name.split(".")[:2]) for name in outside} == {"refiner.workspace"}


def test_no_user_interface_below_the_pages() -> None:
    assert importers("streamlit") | importers("plotly") == set()


def test_every_library_in_use_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[=<>~!;\[ ]", entry)[0].lower() for entry in project["dependencies"]}
    provided = packages_distributions()
    used = {name.partition(".")[0] for path in FILES for name in imports(path)}
    foreign = used - set(sys.stdlib_module_names) - {"refiner", "storage", "compression"}  # 3.14 brings it
    assert {name for name in foreign if not declared & {one.lower() for one in provided.get(name, [name])}} == set()


def printing(path: Path) -> list[int]:
    calls = (node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return [call.lineno for call in calls if call.func.id == "print"]  # type: ignore[attr-defined]


def under_main_guard(path: Path) -> range:
    for node in tree(path).body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return range(0)


def test_only_the_command_line_prints() -> None:
    talkative = {
        module_name(path): lines
        for path in FILES
        if not module_name(path).startswith("refiner.cli")
        and (lines := [line for line in printing(path) if line not in under_main_guard(path)])
    }
    assert talkative == {}


def test_a_module_stays_short_enough_to_read() -> None:
    lines = {module_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_a_module_says_what_it_is_for() -> None:
    assert [module_name(path) for path in FILES if not ast.get_docstring(tree(path))] == []


def test_every_part_of_the_package_has_its_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    drawn = set(re.findall(r"refiner\.\w+", " ".join(contracts[0]["layers"])))
    parts = {name for name in MODULES if name.count(".") == 1 and name.startswith("refiner.")}
    assert parts - drawn == set()
