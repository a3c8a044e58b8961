"""How users take things: corrections, approvals, interruptions, answers and new requests, in several languages."""

from __future__ import annotations

import pytest

from refiner import reactions


def kind(text: str, answers: str = "Done.") -> str:
    return reactions.read(text, answers=answers).kind


@pytest.mark.parametrize(
    "text",
    [
        "No, the total must be a formula.",
        "no that's the wrong sheet",
        "That's not what I asked for",
        "Thanks, but it still fails with the same error",
        "Great. But you forgot the header.",
        "I said column C",
        "undo that please",
        "Wait, use the other table",
        "it doesn't compile",
        "The tests are still failing",
        "Nein, das ist falsch",
        "Danke, aber es funktioniert immer noch nicht",
        "Du hast die Kopfzeile vergessen",
        "non, ce n'est pas ça",
        "No, eso no es lo que quería",
        "no, non funziona",
        "Não, está errado",
        "不对，应该是第三列",
        "違います。B列です",
    ],
)
def test_a_correction(text: str) -> None:
    assert kind(text) == "correction"


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "thank you so much, no problem at all",
        "Perfect, that works now",
        "LGTM",
        "No, that's all, thanks.",
        "yes, that's exactly it",
        "Danke, passt",
        "merci, c'est parfait",
        "gracias",
        "grazie mille",
        "obrigado!",
        "谢谢",
        "ありがとうございます",
    ],
)
def test_an_approval(text: str) -> None:
    assert kind(text) == "approval"


@pytest.mark.parametrize(
    "text",
    [
        "Add a chart of the totals",
        "No tests exist for the parser; add some",
        "Now rename the sheet",
        "Stop the server on port 80 when the script ends",
        "Notify me by mail when it is done",
        "Wrongly spelled words should be underlined",
        "How do I open a second window?",
        "Mach eine Liste aller Dateien",
        "",
    ],
)
def test_a_new_request_is_no_reaction(text: str) -> None:
    assert kind(text) == "request"


def test_an_approval_names_what_it_asks_for_next() -> None:
    assert reactions.read("Great! Thanks. Can you also sort it?").rest == "Can you also sort it?"
    assert reactions.read("Great! Thanks.").rest == ""


@pytest.mark.parametrize("text", ["continue", "yes", "Go ahead.", "ja, bitte", "oui", "sí", "继续", "はい", "/compact"])
def test_going_on_is_no_reaction(text: str) -> None:
    assert kind(text) == "continuation"


def test_no_is_an_answer_when_the_agent_asked() -> None:
    assert kind("No", answers="Shall I delete the old file?") == "continuation"
    assert kind("the second one", answers="Which table do you mean?") == "continuation"
    assert kind("No", answers="I deleted the old file.") == "correction"


def test_a_long_yes_that_bids_go_on_is_an_answer_too() -> None:
    said = "Yes, that's correct. Please proceed with " + "all of the bookings that we spoke about " * 5
    assert kind(said, answers="I will change three bookings. Please confirm (yes/no).") == "continuation"
    assert kind("Yes, that's perfect, thanks!", answers="Is this what you meant?") == "approval"


def test_an_offer_of_more_help_is_no_question_about_the_task() -> None:
    assert kind("Sort the table", answers="Done. Is there anything else I can do?") == "request"


def test_an_interruption_is_told_by_its_marker() -> None:
    assert kind("[Request interrupted by user]") == "interruption"
    assert kind("<turn_aborted>\nstopped\n</turn_aborted>") == "interruption"
    assert kind("[Request interrupted by user for tool use]\nonly look in src") == "interruption"


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user] is what the log of last night says; find out when",
        "Request interrupted by a proxy: handle it as a timeout",
        "Find out why this stands in the log:\n[Request interrupted by user]\n12:00 done",
    ],
)
def test_a_quoted_interruption_is_none(text: str) -> None:
    assert kind(text) == "request"


def test_pictures_say_nothing_and_hide_nothing() -> None:
    assert kind("[image png 386 KB]") == kind("! git diff") == "continuation"
    assert kind("[Image #1] no, that's wrong") == kind("[image png 3 KB]\nno, that's wrong") == "correction"


def test_only_the_opening_of_a_long_turn_is_read() -> None:
    assert (
        kind("Read this log and tell me what it is about. " + "all is fine here; " * 20 + "that is wrong") == "request"
    )
