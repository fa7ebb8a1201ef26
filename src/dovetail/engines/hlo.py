"""The instructions of a program of XLA: what each is, and the fusion or custom call that computes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = \S.*?[\])}] ([a-z][\w\-]*)\((.*)$")
_CALLS = re.compile(r"\bcalls=%?([\w.\-]+)")
_OPERAND = re.compile(r"%([\w.\-]+)")
_APPLIED = re.compile(r"\bto_apply=%?([\w.\-]+)")  # functions of two elements, of reductions
_TARGET = re.compile(r'\bcustom_call_target="([^"]*)"')
_KINDS = re.compile(r'\bkind=(\w+)|"fusion_config":\{"kind":"(\w+)"')
_NAME = re.compile(r'\bop_name="([^"]*)"')
_FRAME = re.compile(r"\bstack_frame_id=(\d+)")
_IDLE = {"parameter", "constant", "broadcast", "bitcast", "tuple", "get-tuple-element", "reshape", "copy", "fusion"}


class Instruction(NamedTuple):
    """An instruction that computes something.

    Attributes:
        text: its kind and its name, as `dot %dot_general.0`.
        routine: the fusion or the custom call of which it is a part.
        op_name: the name of the operation of the library that it was made for; "" if it has none.
        frame: the number of its stack frame; 0 if it has none.
    """

    text: str
    routine: str
    op_name: str
    frame: int


def instructions(text: str) -> list[Instruction]:
    """The instructions of a module that compute something.

    Example:
        >>> text = '''
        ... %fused (p: f32[4]) -> f32[4] {
        ...   ROOT %tanh.0 = f32[4]{0} tanh(%p), metadata={op_name="jit(f)/tanh" stack_frame_id=3}
        ... }
        ... ENTRY %main (x: f32[4]) -> f32[4] {
        ...   ROOT %one = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
        ... }'''
        >>> instructions(text)
        [Instruction(text='tanh %tanh.0', routine='fusion %one (kLoop)', op_name='jit(f)/tanh', frame=3)]
    """
    found: list[tuple[str, str, str, str]] = []  # computation, instruction, kind, the rest of the line
    computation = ""
    for line in text.splitlines():
        if (begun := _COMPUTATION.match(line)) is not None:
            computation = begun[1]
        elif (made := _INSTRUCTION.match(line)) is not None:
            found.append((computation, made[1], made[2], made[3]))
    fusions = {called: (name, _fusion(name, rest)) for _, name, _, rest in found for called in _CALLS.findall(rest)}
    applied = {name for *_, rest in found for name in _APPLIED.findall(rest)}
    origins = _origins(found, {computation: name for computation, (name, _) in fusions.items()})
    return [
        Instruction(f"{kind} %{name}", _routine(kind, rest, fusions.get(computation, ("", ""))[1]), *origins[name])
        for computation, name, kind, rest in found
        if kind not in _IDLE and computation not in applied
    ]


def _origins(found: list[tuple[str, str, str, str]], fusions: dict[str, str]) -> dict[str, tuple[str, int]]:
    """The name and the frame of each instruction; an instruction without them has those of its consumer."""
    origins: dict[str, tuple[str, int]] = {}
    takers: dict[str, str] = {}  # instruction → the last one that takes it
    for computation, name, _, rest in reversed(found):  # takers and fusions come after the others
        origin = _metadata(rest)
        if not any(origin):
            taker = takers.get(name) or fusions.get(computation, "")
            origin = origins.get(taker, origin)
        origins[name] = origin
        takers |= dict.fromkeys(_OPERAND.findall(rest.partition(")")[0]), name)
    return origins


def _fusion(name: str, rest: str) -> str:
    kinds = ", ".join(found[1] or found[2] for found in _KINDS.finditer(rest))
    return f"fusion %{name} ({kinds})" if kinds else f"fusion %{name}"


def _routine(kind: str, rest: str, fusion: str) -> str:
    target = _TARGET.search(rest)
    return f"custom call {target[1]}" if target else fusion or f"XLA {kind}, in no fusion"


def _metadata(rest: str) -> tuple[str, int]:
    name, frame = _NAME.search(rest), _FRAME.search(rest)
    return name[1] if name else "", int(frame[1]) if frame else 0


class Frames:
    """The stack frames in the text of a module: the lines of files from which an instruction comes."""

    def __init__(self, text: str) -> None:
        listed = text.partition("\nFileNames\n")[2].partition("\n\n")[0]
        files = dict(re.findall(r'^(\d+) "(.*)"$', listed, re.MULTILINE))
        located = re.findall(r"^(\d+) \{file_name_id=(\d+) .*?\bline=(\d+)", text, re.MULTILINE)
        lines = {number: (files.get(file, ""), int(line)) for number, file, line in located}
        framed = re.findall(r"^(\d+) \{file_location_id=(\d+)(?: parent_frame_id=(\d+))?", text, re.MULTILINE)
        first = int(framed[0][2] or 0) if framed else 0  # versions of XLA number the parents from 1 or from 0 on
        self._frames = {int(n): (lines.get(at, ("", 0)), int(parent or 0) - first) for n, at, parent in framed}

    def lines(self, frame: int) -> Iterator[tuple[str, int]]:
        """The file and line of a frame, and of the frames that called it."""
        seen: set[int] = set()
        while frame in self._frames and frame not in seen:
            seen.add(frame)
            place, frame = self._frames[frame]
            yield place
