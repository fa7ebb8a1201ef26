"""The report of an audit, as text and as JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from dovetail.cli.audit.k_verdict import DIFFERS, FAILS, STATES, UNTESTED, WORKS, Verdict
from dovetail.compat.source.sources import Place, Source, Unread
from dovetail.compat.source.uses import Use
from dovetail.core.base.texts import table

SHOWN = 3  # the most places to list of one kind, without --verbose
SAID = {
    WORKS: ("works", "work"),
    DIFFERS: ("works with a difference", "work with a difference"),
    FAILS: ("does not", "do not"),
    UNTESTED: ("is untested", "are untested"),
}
HEADINGS = {FAILS: "does not work", DIFFERS: "works with a difference", UNTESTED: "untested on some engine"}
NEXT = "`dovetail run FILE` runs the program as it is."
HINTS = {  # how a name is used → what to know of it
    "past": "TensorFlow's sessions and graphs are used past K; `dovetail run` gives them, too: {}",
    "handed on": "K as a whole is handed on, so its uses there are not seen: {}",
    "dynamic": "The name of a function is known only when the program runs: {}",
    "assumed": "Nothing shows that this K is Keras', but it is counted: {}",
}


class Report:
    """The uses that an audit found, with their verdicts.

    Args:
        sources, unread: the files that were read, and the files and cells that could not be.
        found: the uses, and those without a name that give hints.
        verdicts: the verdict on each name.
        subject: the module that the names belong to, as programs call it.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        unread: Sequence[Unread],
        found: Sequence[Use],
        verdicts: dict[str, Verdict],
        subject: str = "K",
    ) -> None:
        self.sources, self.unread, self.found, self.verdicts = sources, unread, found, verdicts
        self.subject = subject
        self.uses: dict[str, list[Use]] = defaultdict(list)
        for use in found:
            if use.name:
                self.uses[use.name].append(use)

    def in_state(self, state: str) -> list[str]:
        """The functions whose worst state on any engine is this one."""
        return sorted(name for name, verdict in self.verdicts.items() if verdict.worst == state)

    def summary(self) -> str:
        """The first line.

        For example: `42 uses of 17 functions in 5 files: 16 work, 1 works with a difference, 0 do not.`
        """
        uses = [use for use in self.found if use.name]
        files = len({use.place.path for use in uses})
        if not files:
            return f"{self.subject} is not used in {_count(len(self.sources), 'file')}."
        counts = {state: len(self.in_state(state)) for state in (WORKS, DIFFERS, FAILS, UNTESTED)}
        said = [f"{n} {SAID[state][n != 1]}" for state, n in counts.items() if n or state != UNTESTED]
        functions = _count(len(self.verdicts), "function")
        return f"{_count(len(uses), 'use')} of {functions} in {_count(files, 'file')}: {', '.join(said)}."

    def as_text(self, verbose: bool, is_part: bool = False) -> str:
        """The whole report, with every place if `verbose` is true; a part of a larger one is shorter."""
        parts = [self.summary(), self._table(verbose) if verbose or not is_part else ""]
        parts += [self._notes(state, verbose) for state in HEADINGS]
        parts += [self._hints(verbose), self._not_read(), NEXT if self.uses and not is_part else ""]
        return "\n\n".join(part for part in parts if part)

    def _table(self, verbose: bool) -> str:
        if not self.verdicts:
            return ""
        engines = list(next(iter(self.verdicts.values())).states)
        names = [name for state in reversed(STATES[:3]) for name in self.in_state(state)] + self.in_state(UNTESTED)
        rows = [[name, str(len(self.uses[name])), *self.verdicts[name].states.values()] for name in names]
        lines = table([["function", "uses", *engines], *rows]).splitlines()
        if verbose:
            for name, row in zip(reversed(names), range(len(lines) - 1, 1, -1), strict=True):
                lines[row + 1 : row + 1] = [f"    {_at(use)}" for use in self.uses[name]]
        return "\n".join(lines)

    def _notes(self, state: str, verbose: bool) -> str:
        lines = []
        for name in self.in_state(state):
            places = "" if verbose else f" ({some(use.place for use in self.uses[name])})"
            lines += [
                f"  {self.subject}.{name}{places}",
                *(f"    {_sentence(note)}" for note in self.verdicts[name].notes),
            ]
        return "\n".join([HEADINGS[state], *lines]) if lines else ""

    def _hints(self, verbose: bool) -> str:
        by_hint = {text: self._places(how) for how, text in HINTS.items()}
        return "\n".join(
            text.format(some(places, len(places) if verbose else SHOWN)) for text, places in by_hint.items() if places
        )

    def _places(self, how: str) -> list[Place]:
        return [use.place for use in self.found if use.how == how and (how == "assumed" or not use.name)]

    def _not_read(self) -> str:
        lines = [f"  {unread.place}  {unread.why}" for unread in self.unread]
        return "\n".join([f"not read: {_count(len(lines), 'file or cell', 'files or cells')}", *lines]) if lines else ""

    def as_json(self) -> str:
        """The report for programs to read, with every place."""
        return json.dumps(self.as_data(), indent=2)

    def as_data(self) -> dict[str, object]:
        """The report as plain data."""
        functions = [
            {
                "name": name,
                "state": verdict.worst,
                "engines": verdict.states,
                "notes": [_sentence(note) for note in verdict.notes],
                "places": [{**_json(use.place), "how": use.how} for use in self.uses[name]],
            }
            for name, verdict in sorted(self.verdicts.items())
        ]
        return {
            "summary": self.summary(),
            "functions": functions,
            **{how.replace(" ", "_"): [*map(_json, self._places(how))] for how in ("handed on", "dynamic", "past")},
            "unread": [{**_json(unread.place), "why": unread.why} for unread in self.unread],
        }


def _count(number: int, one: str, more: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {more or one + 's'}"


def some(things: Iterable[object], shown: int = SHOWN) -> str:
    """The first of some things, and the number of the others."""
    texts = list(dict.fromkeys(map(str, things)))
    more = f" and {len(texts) - shown} more" if len(texts) > shown else ""
    return ", ".join(texts[:shown]) + more


def _at(use: Use) -> str:
    return f"{use.place}" if use.how == "used" else f"{use.place}  {use.how}"


def _sentence(note: str) -> str:
    return note if "." in note.partition(" ")[0] else note[:1].upper() + note[1:]  # names as tf.nn keep their case


def _json(place: Place) -> dict[str, object]:
    cell = {} if place.cell is None else {"cell": place.cell}
    return {"file": place.path, **cell, "line": place.line}
