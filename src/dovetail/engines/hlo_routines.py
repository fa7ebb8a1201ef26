"""The instructions of a program of XLA: what each is, and the fusion or custom call that computes it."""

from __future__ import annotations

import re
from typing import NamedTuple

_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = \S.*?[\])}] ([a-z][\w\-]*)\((.*)$")
_CALLS = re.compile(r"\bcalls=%?([\w.\-]+)")
_OPERAND = re.compile(r"%([\w.\-]+)")
_APPLIED = re.compile(r"\bto_apply=%?([\w.\-]+)")  # functions of two elements, of reductions
_TARGET = re.compile(r'\bcustom_call_target="([^"]*)"')
_KINDS = re.compile(r'\bkind=(\w+)|"fusion_config":\{"kind":"(\w+)"')
_NAME = re.compile(r'\bop_name="([^"]*)"')
_IDLE = {"parameter", "constant", "broadcast", "bitcast", "tuple", "get-tuple-element", "reshape", "copy", "fusion"}


class Instruction(NamedTuple):
    """An instruction that computes something.

    Attributes:
        text: its kind and its name, as `dot %dot_general.0`.
        routine: the fusion or the custom call of which it is a part.
        path: the path of scopes in which it was made; "" if it has none.
    """

    text: str
    routine: str
    path: str


def instructions(text: str) -> list[Instruction]:
    """The instructions of a module that compute something.

    Example:
        >>> text = '''
        ... %fused (p: f32[4]) -> f32[4] {
        ...   ROOT %tanh.0 = f32[4]{0} tanh(%p), metadata={op_name="jit(f)/dt0.Tanh/tanh"}
        ... }
        ... ENTRY %main (x: f32[4]) -> f32[4] {
        ...   ROOT %one = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
        ... }'''
        >>> instructions(text)
        [Instruction(text='tanh %tanh.0', routine='fusion %one (kLoop)', path='jit(f)/dt0.Tanh/tanh')]
    """
    lines: list[tuple[str, str, str, str]] = []  # computation, instruction, kind, the rest of the line
    computation = ""
    for line in text.splitlines():
        if (begun := _COMPUTATION.match(line)) is not None:
            computation = begun[1]
        elif (made := _INSTRUCTION.match(line)) is not None:
            lines.append((computation, made[1], made[2], made[3]))
    fusions = {called: (name, _fusion(name, rest)) for _, name, _, rest in lines for called in _CALLS.findall(rest)}
    applied = {name for *_, rest in lines for name in _APPLIED.findall(rest)}
    paths = _paths(lines, {computation: name for computation, (name, _) in fusions.items()})
    return [
        Instruction(f"{kind} %{name}", _routine(kind, rest, fusions.get(computation, ("", ""))[1]), paths[name])
        for computation, name, kind, rest in lines
        if kind not in _IDLE and computation not in applied
    ]


def _paths(found: list[tuple[str, str, str, str]], fusions: dict[str, str]) -> dict[str, str]:
    """The path of each instruction; if a pass of XLA made it without, the path of its consumer."""
    paths: dict[str, str] = {}
    takers: dict[str, str] = {}  # instruction → the last one that takes it
    for computation, name, _, rest in reversed(found):  # takers and fusions come after the others
        named = _NAME.search(rest)
        paths[name] = named[1] if named else paths.get(takers.get(name) or fusions.get(computation, ""), "")
        takers |= dict.fromkeys(_OPERAND.findall(rest.partition(")")[0]), name)
    return paths


def _fusion(name: str, rest: str) -> str:
    kinds = ", ".join(kind[1] or kind[2] for kind in _KINDS.finditer(rest))
    return f"fusion %{name} ({kinds})" if kinds else f"fusion %{name}"


def _routine(kind: str, rest: str, fusion: str) -> str:
    target = _TARGET.search(rest)
    return f"custom call {target[1]}" if target else fusion or f"XLA {kind}, in no fusion"
