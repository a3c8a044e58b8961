"""Every error a user may meet, as one tree. A message says what happened, where, and what to do.

RefinerError
+-- ConfigError            a setting is missing, unknown or contradictory             (exit 2)
+-- UsageError             the command line cannot be understood                       (exit 2)
+-- FormatError            an input file has nothing usable            .path .line
+-- LabelError             outcomes are missing, empty or of the wrong type
+-- OutputError            the output folder holds something else
+-- PromptError            a prompt file and its variables do not match
+-- AnalystError           a reply could not be had                    .retryable
|   +-- RateLimited, Timeout, AuthFailed, BadReply
+-- EmbedderError          vectors could not be had                    .retryable
+-- StoreError             the database cannot be used
|   +-- StoreBusy          another process holds the file
|   +-- SchemaTooNew       the file was written by a newer version
+-- SkillError             a skill or an edit cannot be used
    +-- StaleEdit          an edit's anchor is not in this base
    +-- Conflict           two accepted edits overlap
"""

from __future__ import annotations


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
    retryable = False


class RateLimited(AnalystError):
    retryable = True


class Timeout(AnalystError):
    retryable = True


class AuthFailed(AnalystError):
    pass


class BadReply(AnalystError):
    pass


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
