"""Every error a user may meet, as one tree. A message says what happened, where, and what to do.

RefinerError
+-- ConfigError            a setting is missing, unknown or contradictory             (exit 2)
+-- UsageError             the command line cannot be understood                       (exit 2)
+-- FormatError            an input file has nothing usable            .path .line
+-- LabelError             outcomes are missing, empty or of the wrong type
+-- OutputError            the output folder holds something else
+-- PromptError            a prompt file and its variables do not match
+-- AnalystError           a reply could not be had        .retryable .systemic
|   +-- RateLimited, Timeout, AuthFailed, BadReply
|   +-- Unreachable        nothing answers at the endpoint's address
|   +-- NotRecorded        a replay has no reply to this prompt
|   +-- Waiting            somebody answers later           .where
+-- BudgetSpent            the next call could exceed the limit of money or tokens  (exit 3)
+-- WaitingForReplies      requests lie open; answer them and go on    .count    (exit 3)
+-- EmbedderError          vectors could not be had                    .retryable
+-- StoreError             the database cannot be used
|   +-- StoreBusy          another process holds the file
|   +-- SchemaTooNew       the file was written by a newer version
+-- SkillError             a skill or an edit cannot be used
|   +-- StaleEdit          an edit's anchor is not in this base
|   +-- Conflict           two accepted edits overlap
+-- JobRunning             a refinement runs already; only one runs at a time
+-- NotReady               a refinement has nothing to review yet
+-- DecisionRefused        a decision does not count                .kind
"""

from __future__ import annotations

from typing import Literal


class RefinerError(Exception):
    """The root: catch this one to show a message instead of a traceback."""

    exit_code = 1


class ConfigError(RefinerError):
    exit_code = 2


class UsageError(RefinerError):
    exit_code = 2


class FormatError(RefinerError):
    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        where = f"{path}:{line}: " if line else f"{path}: " if path else ""
        super().__init__(f"{where}{message}")
        self.path, self.line = path, line


class LabelError(RefinerError):
    pass


class OutputError(RefinerError):
    pass


class PromptError(RefinerError):
    pass


class AnalystError(RefinerError):
    """`systemic`: every other call would fail as well, so the refinement stops there and keeps what it has."""

    retryable = False

    def __init__(self, message: str, *, systemic: bool = False) -> None:
        super().__init__(message)
        self.systemic = systemic


class RateLimited(AnalystError):
    retryable = True


class Timeout(AnalystError):
    retryable = True


class AuthFailed(AnalystError):
    """Always systemic."""

    def __init__(self, message: str) -> None:
        super().__init__(message, systemic=True)


class BadReply(AnalystError):
    pass


class Unreachable(AnalystError):
    retryable = True


class NotRecorded(AnalystError):
    """Always systemic."""

    def __init__(self, message: str) -> None:
        super().__init__(message, systemic=True)


class Waiting(AnalystError):
    """Neither done nor failed: the reply will lie in `where` when the same command is run again."""

    def __init__(self, message: str, where: str) -> None:
        super().__init__(message)
        self.where = where


class BudgetSpent(RefinerError):
    exit_code = 3


class WaitingForReplies(RefinerError):
    exit_code = 3

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class EmbedderError(RefinerError):
    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class StoreError(RefinerError):
    pass


class StoreBusy(StoreError):
    pass


class SchemaTooNew(StoreError):
    pass


class SkillError(RefinerError):
    pass


class StaleEdit(SkillError):
    pass


class Conflict(SkillError):
    pass


class JobRunning(RefinerError):
    pass


class NotReady(RefinerError):
    pass


Refusal = Literal["too_fast", "stale", "needs_reason", "blocked", "conflict"]


class DecisionRefused(RefinerError):
    def __init__(self, message: str, kind: Refusal) -> None:
        super().__init__(message)
        self.kind = kind
