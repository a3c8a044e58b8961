"""What is taken out of a text before it is sent, and that equal values stay recognisable as equal."""

from __future__ import annotations

import pickle
import re

import pytest

from refiner.analysts.model.redaction import TOKEN, Redactor, counts, restore

KEY = "AKIA" + "IOSFODNN7EXAMPLF"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlc2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        (f"use {KEY} now", KEY, "secret"),
        ("token ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "secret"),
        (
            "slack xoxb-123456789012-1234567890123-abcdefghijkl",
            "xoxb-123456789012-1234567890123-abcdefghijkl",
            "secret",
        ),
        ("key sk-proj-abcdefghijklmnopqrstuvwxyz", "sk-proj-abcdefghijklmnopqrstuvwxyz", "secret"),
        (f"Cookie: {JWT}", JWT, "secret"),
        (f"a\n{PEM}\nb", "MIIEow", "secret"),
        ('{"password": "hunter2"}', "hunter2", "secret"),
        ('"{\\"api_key\\": \\"zz-11-abc\\"}"', "zz-11-abc", "secret"),
        ("client_secret=abc123def", "abc123def", "secret"),
        ("Authorization: Bearer abcdefghijklmnop1234", "abcdefghijklmnop1234", "secret"),
        ("https://bob:opensesame@host.example/x", "opensesame", "secret"),
        ("write to ann.lee+x@mail.example.org.", "ann.lee+x@mail.example.org", "e-mail"),
        ("open /home/annlee/notes/a.py", "annlee", "user"),
        ("open C:\\\\Users\\\\annlee\\\\a.py", "annlee", "user"),
        ("open /Users/annlee", "annlee", "user"),
    ],
)
def test_secrets_addresses_and_home_folders_do_not_leave(text: str, secret: str, kind: str) -> None:
    redactor = Redactor()
    sent = redactor(text)
    assert secret not in sent and secret in text
    assert counts(redactor.tokens()) == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "the password is required; password: null, token: string, api_key: <your key>",
        "password = os.environ['PASSWORD'] and api_key: ${API_KEY}",
        "reservation XEWRD9 of mia_li_3668 on 2024-05-15, order #W2378156, =SUM(A1:B2)",
        "/home/user/x and /Users/Shared/y",
        "call read_range(range='B2:C9') at https://host.example/path?q=1",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor()(text) == text


def test_equal_values_have_equal_tokens_in_every_text_and_other_values_others() -> None:
    one, other = Redactor(), Redactor()
    first = one("ann@host.example and bob@host.example")
    tokens = re.findall(r"\[e-mail \d{6}\]", first)
    assert len(set(tokens)) == 2
    assert other("again: bob@host.example") == f"again: {tokens[1]}"


def test_redacting_twice_changes_nothing() -> None:
    redactor = Redactor()
    once = redactor(f"password: hunter2 ann@host.example {KEY} /home/ann/x")
    assert redactor(once) == once


def test_a_password_that_reads_like_an_identifier_is_found_wherever_it_stands() -> None:
    assert Redactor()("password: tr0ub4dor&3 and later tr0ub4dor&3").count("tr0ub4dor") == 0


def test_the_strict_level_takes_numbers_and_addresses_out_too() -> None:
    text = "call +44 20 7946 0958 from 10.11.12.13, card 4111 1111 1111 1111"
    assert Redactor()(text) == text
    strict = Redactor("strict")
    assert TOKEN.sub("", strict(text)) == "call  from , card "
    assert counts(strict.tokens()) == {"address": 1, "number": 1, "phone": 1}


def test_what_stands_for_a_token_is_put_back_only_where_it_came_from() -> None:
    redactor = Redactor()
    sent, values = redactor.found("Write to help@host.example.")
    foreign = redactor("ann@other.example")
    assert restore(sent, values) == "Write to help@host.example."
    assert restore(f"Ask {foreign}.", values) == "Ask <e-mail>."


def test_a_redactor_travels_without_what_it_has_seen() -> None:
    redactor = Redactor("strict")
    redactor("ann@host.example")
    again = pickle.loads(pickle.dumps(redactor))
    assert (again, again.tokens()) == (redactor, [])


@pytest.mark.parametrize("sign", ["a", "=", "eyJ", "password", "1 ", "a.", "-----BEGIN PRIVATE KEY-----", "AKIA", "x@"])
def test_hostile_texts_take_no_longer_than_their_length(sign: str) -> None:
    import time

    started = time.perf_counter()
    Redactor("strict")(sign * (60_000 // len(sign)))
    assert time.perf_counter() - started < 5.0
