"""The benches are named where they are looked for; that of prompt tokens says when it has nothing to measure."""

from __future__ import annotations

import pytest

from refiner.resources import ROOT
from tests.bench import bench_tokens
from tests.bench.__main__ import BENCHES, as_table, main


def test_without_the_real_corpora_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFINER_CORPORA", raising=False)
    assert "tokens" in BENCHES
    assert "not measured: set REFINER_CORPORA" in as_table(bench_tokens.run())


def test_every_bench_is_named_in_the_readme_and_by_help(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert [name for name in BENCHES if name not in told or name not in readme[readme.index("make bench    #") :]] == []
    with pytest.raises(SystemExit):
        main(["nope"])
    assert "choose from planted" in capsys.readouterr().err
    made = {path.stem.removeprefix("bench_") for path in (ROOT / "tests" / "bench").glob("bench_*.py")}
    assert made == set(BENCHES)
