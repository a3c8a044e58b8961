"""`refiner skills`: installed skills and their versions, kept beside each in `.refiner/`. Needs no database."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from refiner.cli import skills_text as text
from refiner.cli.console import safe
from refiner.errors import Conflict, UsageError
from refiner.skills.loading import FOREIGN_HISTORY

if TYPE_CHECKING:
    from refiner.installs.store import Store
    from refiner.installs.threeway import Choice

TARGET = "a folder of skills, a skill's own folder, or claude, codex, agents, project (default: all four)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="ACTION", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        made.add_argument("--target", metavar="DIR", help=TARGET)
        made.set_defaults(action=run)
        return made

    def reading(name: str, run: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        made = command(name, run, words)
        made.add_argument("name", nargs="?", metavar="SKILL", help="its name, or its folder")
        made.add_argument("--json", action="store_true", help="print JSON")
        return made

    listed = command("list", _list, "the skills that are installed, and the folders where agents look")
    listed.add_argument("--json", action="store_true", help="print JSON")
    shown = reading("show", _show, "the text of a skill, as it is or as it was")
    shown.add_argument("--version", type=int, metavar="N", help="a version instead of what lies there now")
    shown.add_argument("--file", default="SKILL.md", metavar="PATH", help="another file of it (default: SKILL.md)")
    reading("log", _log, "the versions of a skill, newest first")
    reading("status", _status, "the newest version, and what was edited by hand since")
    compared = reading("diff", _diff, "what differs: by default since the last version, else between the last two")
    compared.add_argument("--from", dest="first", type=int, metavar="N", help="the older version")
    compared.add_argument("--to", dest="last", type=int, metavar="N", help="the newer one (default: what lies there)")
    back = command("rollback", _rollback, "bring an earlier version back, as a new one")
    back.add_argument("name", nargs="?", metavar="SKILL")
    back.add_argument("--to", type=int, required=True, metavar="N", help="the version to bring back")
    _add_merge(command("merge", _merge, "put one skill into another; lines that both say are said once"))
    taken = command("import", _import, "take in the history that another tool kept, .skillup/history.jsonl")
    taken.add_argument("source", type=Path, metavar="SOURCE", help="that file, or the skill by name or folder")
    taken.add_argument("--name", metavar="SKILL", help="the skill it belongs to (default: the folder it lies in)")
    given = command("export", _export, "write the versions as such a history")
    given.add_argument("name", nargs="?", metavar="SKILL")
    given.add_argument("--out", type=Path, metavar="FILE", help="default: .skillup/history.jsonl beside the skill")
    _add_install(command("install", _install, "install a skill, on top of what was edited by hand"))


def run(arguments: argparse.Namespace) -> int:
    done: int = arguments.action(arguments)
    return done


def _add_merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", help="the skill whose lines are taken; it stays as it is")
    parser.add_argument("destination", metavar="DST", help="the skill that gets them")
    parser.add_argument("--delete-source", action="store_true", help="remove the source's folder afterwards")
    parser.add_argument(
        "--similarity", type=float, default=0.75, metavar="X", help="from 0 to 1: lines this alike are one (0.75)"
    )


def _add_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", type=Path, nargs="?", metavar="SOURCE",
        help="a skill's folder, a zip of one, or the --out folder of `refiner refine`",
    )  # fmt: skip
    parser.add_argument(
        "--self", action="store_true", dest="own", help="the skill that teaches an agent to use refiner"
    )
    parser.add_argument("--take", choices=("mine", "theirs", "both"), help="decides every place changed on both sides")
    parser.add_argument("--resolve", default="", metavar="N=CHOICE,...", help="decides single places: 1=mine,2=both")
    parser.add_argument("--override", default="", metavar="REASON", help="install against the held-out tasks; recorded")
    parser.add_argument("--note", default="", help="a word for the log")


def _open(arguments: argparse.Namespace) -> Store:
    from refiner.installs.places import pick
    from refiner.installs.store import store_of

    return store_of(pick(arguments.name, arguments.target).folder)


def _list(arguments: argparse.Namespace) -> int:
    from refiner.installs.listing import listing

    found = listing(arguments.target)
    print(text.as_json(text.plain_listing(found)) if arguments.json else text.listing(found))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from refiner.installs.looking import look
    from refiner.installs.records import numbered

    store = _open(arguments)
    wanted = arguments.version
    files = look(store).tree.files if wanted is None else store.files(numbered(store.versions(), wanted))
    if arguments.file not in files:
        raise UsageError(f"the skill has no file {arguments.file}; it has {', '.join(sorted(files)) or 'none'}")
    body = files[arguments.file].decode("utf-8", "replace")
    if arguments.json:
        shown = {"folder": str(store.folder), "version": wanted, "files": sorted(files)}
        print(text.as_json({**shown, "file": arguments.file, "text": body}))
    else:
        print(safe(body.replace("\r\n", "\n")), end="" if body.endswith("\n") else "\n")
    return 0


def _log(arguments: argparse.Namespace) -> int:
    versions = _open(arguments).versions()
    print(text.as_json([one.plain() for one in reversed(versions)]) if arguments.json else text.log(versions))
    return 0


def _status(arguments: argparse.Namespace) -> int:
    from refiner.installs.installing import status

    store = _open(arguments)
    found = status(store)
    print(text.as_json(text.plain_status(store.folder, found)) if arguments.json else text.status(store.folder, found))
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    from refiner.installs.listing import compared

    found = compared(_open(arguments), arguments.first, arguments.last)
    if arguments.json:
        print(text.as_json({"from": found.first, "to": found.last, "diff": found.diff}))
    else:
        print(safe(found.diff or f"No difference between {found.first} and {found.last}.\n"), end="")
    return 0


def _rollback(arguments: argparse.Namespace) -> int:
    from refiner.installs.installing import rollback

    store = _open(arguments)
    print(text.written(store.folder, rollback(store, arguments.to), "is what it was already"))
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    from refiner.installs.joining import join
    from refiner.installs.places import pick
    from refiner.installs.store import store_of

    if not 0 < arguments.similarity <= 1:
        raise UsageError(f"--similarity {arguments.similarity}: give a number above 0 and up to 1")
    source, destination = (
        store_of(pick(name, arguments.target).folder) for name in (arguments.source, arguments.destination)
    )
    done = join(source, destination, similarity=arguments.similarity, delete_source=arguments.delete_source)
    print(text.joined(source.folder, destination.folder, done))
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from refiner.installs.foreign import history_file, import_history, read_history
    from refiner.installs.places import pick, where_to
    from refiner.installs.store import store_of

    source = arguments.source
    file = history_file(source if source.exists() else pick(str(source), arguments.target).folder)
    inside = file.parent.parent if file.parent.name == FOREIGN_HISTORY else None
    if arguments.target:
        folder = where_to(arguments.name or (inside or file.parent).resolve().name, arguments.target)
    elif inside is not None and arguments.name is None:
        folder = inside
    else:
        folder = pick(arguments.name, None).folder
    print(text.imported(folder, import_history(store_of(folder), read_history(file))))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from refiner.installs.foreign import export_history

    file, count = export_history(_open(arguments), arguments.out)
    print(safe(f"Written: {file}, {count} version{'s' * (count != 1)}"))
    return 0


def _install(arguments: argparse.Namespace) -> int:
    from refiner.installs.installing import install, outlook
    from refiner.installs.package import own_package, read_package
    from refiner.installs.places import where_to
    from refiner.installs.store import store_of

    if arguments.own == bool(arguments.source):
        raise UsageError("name one thing to install: a SOURCE, or --self for the skill that teaches refiner itself")
    package = own_package(_command()) if arguments.own else read_package(arguments.source)
    store = store_of(where_to(package.name, arguments.target))
    choices = _choices(arguments, [hunk.number for hunk in outlook(store, package).woven.hunks])
    try:
        done = install(store, package, choices=choices, override=arguments.override, note=arguments.note)
    except Conflict as conflict:
        print(text.hunks(outlook(store, package).woven.hunks))
        how = "--take mine, theirs or both decides all of them, --resolve 1=mine,2=both single ones"
        raise Conflict(f"{conflict}. Nothing was written; {how}") from conflict
    print(text.written(store.folder, done, "holds this already"))
    return 0


def _command() -> str:
    """How this program is called here: by its name where that leads to it, else by its path."""
    own = Path(sys.executable).with_name("refiner")
    found = shutil.which("refiner")
    if found and Path(found).resolve() == own.resolve():
        return "refiner"
    return shlex.quote(str(own)) if own.exists() else f"{shlex.quote(sys.executable)} -m refiner"


def _choices(arguments: argparse.Namespace, open_: list[int]) -> dict[int, Choice]:
    """The decision on each place. Raises UsageError for one that is not there or cannot be read."""
    found: dict[int, Choice] = dict.fromkeys(open_, arguments.take) if arguments.take else {}
    for part in filter(None, arguments.resolve.split(",")):
        number, _, choice = (word.strip() for word in part.partition("="))
        if not number.isdigit() or int(number) not in open_ or choice not in ("mine", "theirs", "both"):
            there = f"the places are 1 to {len(open_)}" if open_ else "no place was changed on both sides"
            raise UsageError(f"--resolve {part}: write NUMBER=mine, theirs or both; {there}")
        found[int(number)] = choice
    return found
