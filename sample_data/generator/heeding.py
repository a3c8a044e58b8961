"""When does a scripted agent heed a rule? Only added lines count, only the words a pack fixed beforehand, and polarity.

A sentence states a rule (`Heed`) when every group has a word in it. Then the negations are counted from the start of
the sentence to the end of the clause (comma, semicolon, colon, bracket, dash) that holds the last group's first word:
"Do not write a number", "a number must not be written" and "a formula, not a number" have one; "Never finish without
reading back" has two, which cancel out. So turning a rule round always turns the answer round.
"""

from __future__ import annotations

import re

from sample_data.generator.pack import Heed, Pack

_LIST_MARKER = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
_CLAUSE_END = re.compile(r"[,;:()\u2013\u2014]|\s-\s")
_NEGATION = re.compile(
    r"(?<!\w)(?:(?:do|does|must|should|may|can|is|are|would|need)n't|not|cannot|never|no|without|wrong|forbidden"
    r"|avoid\w*|skip\w*|omit\w*|refrain\w*|leave out|instead of|rather than)(?!\w)"
)
_NO_END_BEFORE = re.compile(
    r"(?:do not|don't|never) (?:finish|end|stop|answer|reply|report|close|conclude)\b(.*?)\b(?:before|until|unless)\b"
)


def heeded(pack: Pack, base_text: str, refined_text: str) -> set[str]:
    """The names of the faults whose rule is stated by lines of `refined_text` that are not in `base_text`."""
    sentences = _sentences(_added(base_text, refined_text))
    return {
        fault.name
        for fault in pack.faults
        if any(states(sentence, heed) for sentence in sentences for heed in fault.heeds)
    }


def states(sentence: str, heed: Heed) -> bool:
    """Does this sentence (lower case, no markup) state the rule, with the right polarity?"""
    places = [_first(sentence, group) for group in heed.groups]
    last = places[-1]
    if last is None or None in places:
        return False
    end = _CLAUSE_END.search(sentence, last)
    scope = _NO_END_BEFORE.sub(r"\1", sentence[: end.start() if end else len(sentence)])
    odd = len(_NEGATION.findall(scope)) % 2 == 1
    return odd == (heed.polarity == "avoid")


def _added(base_text: str, refined_text: str) -> list[str]:
    """Added lines, white space folded; an indented line that is no list item continues the added line before it."""
    known = {_folded(line) for line in base_text.splitlines()}
    found: list[str] = []
    continues = False
    for line in refined_text.splitlines():
        added = bool(line.strip()) and _folded(line) not in known
        if added and continues and line[0] in " \t" and not _LIST_MARKER.match(line):
            found[-1] += " " + _folded(line)
        elif added:
            found.append(_folded(_LIST_MARKER.sub("", line, count=1)))
        continues = added
    return found


def _folded(line: str) -> str:
    return " ".join(line.split())


def _sentences(lines: list[str]) -> list[str]:
    plain = (re.sub(r"[`*]", "", line).replace("\u2019", "'").lower() for line in lines)
    return [part.strip() for line in plain for part in _SENTENCE_END.split(line) if part.strip()]


def _first(sentence: str, group: tuple[str, ...]) -> int | None:
    """Where the first word of the group starts, or None."""
    found = (re.search(_pattern(word), sentence) for word in group)
    return min((match.start() for match in found if match), default=None)


def _pattern(word: str) -> str:
    ending = r"\w*" if word.endswith("*") else r"(?!\w)"
    return r"(?<!\w)" + re.escape(word.rstrip("*")) + ending
