"""What an endpoint's refusal means, what to do about it, and whether asking again can help. Sends nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from refiner.errors import AuthFailed, BadReply, ConfigError, RateLimited, Timeout, Unreachable
from refiner.transports.capability import names_the_form
from refiner.transports.envelope import error_code, said
from refiner.transports.retry import UNTOLD, Failed, Refused, Taken, wished

RATE_ATTEMPTS = 8
SERVER_ATTEMPTS = 6
FIRST_CONTACT_ATTEMPTS = 3
CUT_OFF_ATTEMPTS = 3
SLOW_ATTEMPTS = 2
UNUSABLE_ATTEMPTS = 2
LATER = "run the same command again later"

_QUOTA = re.compile(r"insufficient[_ ](quota|credit|balance|funds)|billing|exceeded your current quota", re.IGNORECASE)
_MODERATION = re.compile(r"moderation|flagged|content[_ ]?(filter|policy)", re.IGNORECASE)
_MODEL = re.compile(
    r"(not a valid|invalid|unknown|no such) model|model.{0,80}(not exist|not found|unknown)|model_not_found",
    re.IGNORECASE,
)


def of_status(status: int, headers: Mapping[str, str], body: str, where: str, now: float) -> Failed | Refused:
    """The failure behind a status. `where` names endpoint and model for the message; `body` must hold no secret."""
    words = said(body)
    answered = f"{where} answered {status}" + (f" ({words})" if words else "")
    if status in (400, 422) or (status in (404, 500, 501) and names_the_form(words)):
        return _form(status, words, body, answered)
    if status in (401, 402, 403, 429):
        return _limits(status, headers, body, answered, now)
    if status in (404, 405) or 300 <= status < 400:
        return _not_there(status, words, answered)
    if status in (408, 409, 425) or status >= 500:
        wish = wished(headers, now)
        error = Unreachable(f"{answered}: it has trouble of its own{_asking(wish)}; {LATER}")
        return Failed(error, "busy", attempts=SERVER_ATTEMPTS, wish=wish)
    advice = "the prompt is too long for it; lower `window`" if status == 413 else "it does not take this request"
    return Failed(BadReply(f"{answered}: {advice}"), "prompt")


def _form(status: int, words: str, body: str, answered: str) -> Failed | Refused:
    if _MODEL.search(words) or "model_not_found" in error_code(body):
        return Failed(ConfigError(f"model: {answered}; check the name of the model"), "model")
    error = BadReply(f"{answered}: it does not take this request; the prompt may be too long (lower `window`)")
    return Refused(status, words, Failed(error, "prompt"))


def _limits(status: int, headers: Mapping[str, str], body: str, answered: str, now: float) -> Failed:
    words = said(body)
    if status == 403 and _MODERATION.search(words):
        return Failed(BadReply(f"{answered}: its own rules refuse this prompt"), "prompt")
    if status == 402 or _QUOTA.search(words) or _QUOTA.search(error_code(body)):
        return Failed(AuthFailed(f"{answered}: the quota is spent; renew it and run the same command again"), "key")
    if status == 429:
        wish = wished(headers, now)
        error = RateLimited(f"{answered}: too many calls{_asking(wish)}; {LATER}", systemic=True)
        return Failed(error, "busy", attempts=RATE_ATTEMPTS, wish=wish)
    return Failed(AuthFailed(f"{answered}: check LLM_API_KEY and what it may use"), "key")


def _asking(wish: float | None) -> str:
    return f", and it asks for a wait of {wish:g} s" if wish else ""


def _not_there(status: int, words: str, answered: str) -> Failed:
    if status == 404 and "model" in words.lower():
        return Failed(ConfigError(f"model: {answered}; check the name of the model"), "model")
    advice = "it sends requests on to another address; set that one" if status < 400 else "it usually ends in /v1"
    return Failed(ConfigError(f"base_url: {answered}; check LLM_BASE_URL ({advice})"), "url")


def unreachable(where: str, why: str, *, met_before: bool) -> Failed:
    """Nobody answered the connection."""
    error = Unreachable(f"{where} cannot be reached ({why}): start it, or check LLM_BASE_URL")
    return Failed(error, "url", attempts=SERVER_ATTEMPTS if met_before else FIRST_CONTACT_ATTEMPTS, nobody=True)


def broken_off(where: str, why: str, *, began: bool) -> Failed:
    """The connection ended before the reply did; one that had begun may be paid for, so fewer attempts are made."""
    error = Unreachable(f"{where} broke off before its reply was complete ({why}); {LATER}")
    attempts = CUT_OFF_ATTEMPTS if began else SERVER_ATTEMPTS
    return Failed(error, "busy", attempts=attempts, taken=UNTOLD if began else None)


def too_slow(where: str, seconds: float) -> Failed:
    error = Timeout(f"{where} did not finish a reply within {seconds:g} s; run the same command again, or allow more")
    return Failed(error, "busy", attempts=SLOW_ATTEMPTS, taken=UNTOLD)


def unusable(where: str, why: str, taken: Taken = UNTOLD) -> Failed:
    """A reply that is no chat completion."""
    error = BadReply(f"{where} sent a reply that cannot be used ({why}): check LLM_BASE_URL")
    return Failed(error, "url", attempts=UNUSABLE_ATTEMPTS, taken=taken)
