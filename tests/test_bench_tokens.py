"""The bench of prompt tokens says plainly when it has nothing to measure."""

from __future__ import annotations

import pytest

from tests.bench import bench_tokens
from tests.bench.__main__ import BENCHES, as_table


def test_without_the_real_corpora_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFINER_CORPORA", raising=False)
    assert "tokens" in BENCHES
    assert "not measured: set REFINER_CORPORA" in as_table(bench_tokens.run())
