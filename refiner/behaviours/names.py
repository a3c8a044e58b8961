"""What a tool call is called: the tool's own name, or for a shell its programs and sub-commands (`Bash:git commit`).

Nothing here looks at results, outcomes or other calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_SHELL_NAMES = (
    "bash shell execute_bash run_command terminal run_terminal_cmd exec_command run_shell_command execute_command "
    "local_shell shell_command"
)
_LAYERED = (
    "git npm npx pnpm yarn pip pip3 uv poetry conda cargo rustup go docker podman kubectl helm terraform aws gcloud az "
    "apt apt-get brew systemctl gh make dotnet mvn gradle bundle gem rails composer flutter bazel just tox nox"
)
_PREPARING = "cd export source . set pushd popd unset umask true :"
_PASSING_ON = "sudo env time nohup exec command builtin do then else if while until ! { ("
_SHELLS = frozenset(_SHELL_NAMES.split())
_WITH_SUB_COMMAND = frozenset(_LAYERED.split())
_PREPARES = frozenset(_PREPARING.split())
_PASSES_ON = frozenset(_PASSING_ON.split())
_MAX_NAMES = 8
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'", re.S)
_BREAK = re.compile(r"&&|\|\||[;\n]")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_PROGRAM = re.compile(r"[\w.+/~-]*[A-Za-z][\w.+-]*")
_SUB_COMMAND = re.compile(r"[a-z][a-z0-9:_-]{1,30}")


def clean(name: str) -> str:
    """A name as a skill may carry it: signs of the grammar, back-ticks and invisible characters become `_`."""
    folded = re.sub(r"[,();`]", "_", " ".join(name.split()))
    return "".join(char if char.isprintable() else "_" for char in folded) or "_"


def call_names(tool: str, arguments: str) -> tuple[str, ...]:
    """The names of one call in the order of execution: several when a shell line runs several programs."""
    name = clean(tool)
    if name.lower() not in _SHELLS:
        return (name,)
    programs = dict.fromkeys(_programs(_command(arguments)))
    return tuple(f"{name}:{clean(program)}" for program in list(programs)[:_MAX_NAMES]) or (name,)


def _command(arguments: str) -> str:
    try:
        value: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if isinstance(value, dict):
        value = value.get("command", value.get("cmd", ""))
    if isinstance(value, list):
        parts = [str(part) for part in value]
        is_wrapped = len(parts) == 3 and parts[1] in {"-c", "-lc"}
        value = parts[2] if is_wrapped else " ".join(parts)
    return value if isinstance(value, str) else ""


def _programs(command: str) -> list[str]:
    bare = _QUOTED.sub("_", command).split("<<", 1)[0]
    found = (_program(part.split("|", 1)[0].split()) for part in _BREAK.split(bare))
    return [program for program in found if program]


def _program(tokens: Sequence[str]) -> str | None:
    """`git commit` of `sudo FOO=1 /usr/bin/git -C x commit -m _`; None for a part that only prepares the next."""
    rest = [token.lstrip("(") for token in tokens]
    while rest and (rest[0] in _PASSES_ON or _ASSIGNMENT.fullmatch(rest[0])):
        rest = rest[1:]
    if rest and rest[0] == "timeout":
        rest = rest[2:]
    if not rest or rest[0] in _PREPARES or not _PROGRAM.fullmatch(rest[0]):
        return None
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", rest[0].rsplit("/", 1)[-1])
    if program == "python" and len(rest) > 2 and rest[1] == "-m":
        return f"python -m {rest[2]}"
    sub_command = _sub_command(rest[1:]) if program in _WITH_SUB_COMMAND else None
    return f"{program} {sub_command}" if sub_command else program


def _sub_command(tokens: Sequence[str]) -> str | None:
    skip = False
    for token in tokens:
        if skip or token.startswith("-"):
            skip = not skip and token in {"-C", "-c"}
            continue
        return token if _SUB_COMMAND.fullmatch(token) else None
    return None
