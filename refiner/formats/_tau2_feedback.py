"""What the checks of a tau2-bench simulation found, in words. Reads the reward and the spans, writes text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refiner.formats import _tau_feedback
from refiner.formats._common import json_text, text_of
from refiner.formats._messages import as_dict, as_list
from refiner.types import Span


def lines(reward: dict[str, Any], spans: tuple[Span, ...]) -> Iterator[str]:
    """One line for each check that was missed, of those that the reward rests on.

    Actions are compared where the final state differs or where they count themselves: other ways to the same state
    are no fault.
    """
    basis = as_list(reward.get("reward_basis")) or ["DB", "ACTION", "COMMUNICATE", "NL_ASSERTION", "ENV_ASSERTION"]
    missed = "DB" in basis and as_dict(reward.get("db_check")).get("db_match") is False
    actions = _actions(reward, spans) if missed or "ACTION" in basis else []
    yield from actions
    if missed and not actions:
        yield "Final state of the database differs from the expected one"
    if "COMMUNICATE" in basis:
        yield from _unmet(reward, "communicate_checks", "info", "Expected output not given")
    if "NL_ASSERTION" in basis:
        yield from _unmet(reward, "nl_assertions", "nl_assertion", "Assertion not met")
    if "ENV_ASSERTION" in basis:
        yield from _unmet(reward, "env_assertions", "env_assertion", "State not reached")


def _actions(reward: dict[str, Any], spans: tuple[Span, ...]) -> list[str]:
    """The agent's own actions against the expected ones, in the words that tau-bench traces have."""
    expected = [as_dict(as_dict(check).get("action")) for check in as_list(reward.get("action_checks"))]
    own = [action for action in expected if action.get("requestor") != "user"]
    gold = [{"name": action.get("name"), "kwargs": action.get("arguments")} for action in own]
    return (_tau_feedback.diff({"task": {"actions": gold}}, spans) or "").splitlines()


def _unmet(reward: dict[str, Any], key: str, subject: str, words: str) -> Iterator[str]:
    for check in as_list(reward.get(key)):
        if as_dict(check).get("met") is not False:
            continue
        what = check.get(subject)
        said = json_text(what) if key == "communicate_checks" else _stated(what)
        why = "" if key == "communicate_checks" else text_of(check.get("justification"))
        yield " ".join(f"{words}: {said}{f' ({why})' if why else ''}".split())


def _stated(what: Any) -> str:
    """An assertion: its words, or the function and arguments that test it."""
    if not isinstance(what, dict):
        return text_of(what)
    name = text_of(what.get("func_name") or what.get("name"))
    return f"{name}({json_text(as_dict(what.get('arguments')))})" if name else json_text(what)
