"""The doctor finds what is missing, says what would be used and why, and names the fix."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refiner import compile_cache, doctor
from refiner.doctor import Check


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_this_machine_is_set_up() -> None:
    found = by_name(doctor.checks(os.environ))
    missing = [check for check in found.values() if check.needed and not check.ok]
    assert missing == []
    assert [found[name].fix for name in ("python", "packages", "analyst", "embedder")] == [""] * 4


def test_an_old_interpreter_is_named_with_the_way_out() -> None:
    check = doctor.python_version((3, 10, 4))
    assert (check.ok, check.needed) == (False, True)
    assert check.detail.startswith("3.10.4") and "3.11" in check.fix


def lock(folder: Path, *lines: str) -> Path:
    file = folder / "requirements.lock"
    file.write_text("# a comment\n" + "".join(f"{line} \\\n    --hash=sha256:00\n" for line in lines))
    return file


def test_packages_that_differ_or_lack_are_named(tmp_path: Path) -> None:
    installed = f"pytest=={pytest.__version__}"
    check = doctor.packages(lock(tmp_path, installed, "numpy==0.0.1", "no-such-thing==1.0"))
    assert not check.ok and check.fix == "make setup"
    assert "1 of 3 as locked" in check.detail
    assert "numpy is " in check.detail and "locked is 0.0.1" in check.detail
    assert "no-such-thing 1.0 is missing" in check.detail


def test_packages_for_other_machines_are_not_asked_for(tmp_path: Path) -> None:
    check = doctor.packages(lock(tmp_path, "no-such-thing==1.0 ; sys_platform == 'nowhere'"))
    assert check.ok and check.detail == "0 of 0 as locked"


def test_a_missing_lock_file_is_a_missing_checkout(tmp_path: Path) -> None:
    assert not doctor.packages(tmp_path / "none.lock").ok


def test_an_incomplete_sample_names_the_files(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("x")
    check = doctor.sample_data(tmp_path)
    assert not check.ok and check.needed
    assert check.detail.endswith("lacks traces.jsonl, binary_rewards.json, feedback.json")


def test_an_empty_compile_cache_is_a_hint_not_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compile_cache.FOLDER_VARIABLE, str(tmp_path))
    empty = doctor.compile_cache()
    assert (empty.ok, empty.needed) == (False, False) and "compile_cache" in empty.fix
    folder = compile_cache.default_folder() / "umap"
    folder.mkdir(parents=True)
    (folder / "one.nbi").touch()
    assert doctor.compile_cache().ok


def test_by_default_nothing_leaves_the_machine_and_the_doctor_says_so() -> None:
    found = by_name(doctor.readers({}))
    assert found["analyst"].detail == "offline (default): no key, no network"
    assert found["embedder"].detail == "packaged model (preset standard): no network"


def test_an_endpoint_is_named_with_its_host_and_where_each_setting_came_from(tmp_path: Path) -> None:
    toml = tmp_path / "refiner.toml"
    toml.write_text('embedding_model = "some-model"\n')
    environ = {"EMBEDDING_BASE_URL": "https://host.example/v1", "EMBEDDING_API_KEY": "hush-hush"}
    found = by_name(doctor.readers(environ, toml))
    detail = found["embedder"].detail
    assert "some-model at host.example, with a key" in detail
    assert "model: refiner.toml" in detail and "address: environment variable EMBEDDING_BASE_URL" in detail
    assert "sent there" in detail
    assert "hush-hush" not in " ".join(check.detail for check in found.values())
    assert found["settings"].detail == "settings of refiner.toml"


def test_a_bad_setting_is_a_failure_with_the_message_of_the_setting(tmp_path: Path) -> None:
    toml = tmp_path / "refiner.toml"
    toml.write_text("sed = 1\n")
    (check,) = doctor.readers({}, toml)
    assert (check.ok, check.needed) == (False, True)
    assert 'unknown setting "sed"; did you mean "seed"?' in check.detail


def test_a_folder_that_cannot_be_written_names_the_way_out(tmp_path: Path) -> None:
    assert doctor.database_folder(tmp_path).ok
    check = doctor.database_folder(tmp_path / "none")
    assert not check.ok and check.needed and "--db" in check.fix


def test_a_browser_is_found_on_the_search_path_and_never_needed(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert doctor.browser({"PATH": str(tmp_path)}).detail == str(program)
    none = doctor.browser({"PATH": str(tmp_path / "none")})
    assert (none.ok, none.needed) == (False, False) and "apt-get install chromium" in none.fix
