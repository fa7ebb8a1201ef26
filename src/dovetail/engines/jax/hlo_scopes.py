"""The text of HLO: its instructions, and the scopes of the operations that each computes."""

from __future__ import annotations

import math
import re

_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*)$")
_SHAPE = re.compile(r"([a-z]+)(\d*)\w*\[([\d,]*)\]")
_SCOPE = re.compile(r'op_name="([^"]*)"')
_CALLED = re.compile(r"\b(?:calls|to_apply)=%?([\w.\-]+)")


def instructions(text: str) -> dict[str, tuple[list[str], int]]:
    """The instructions of a module, by name.

    A fusion, and a call, have the scopes of all instructions inside.  A loop has its own alone, since its body's
    instructions run, and are traced, by themselves.

    Args:
        text: the text of the module.

    Returns:
        name → the scopes, as `jit(program)/dense/dot_general`, and the bytes of the result.

    Example:
        >>> text = '''HloModule example
        ... %inner (p: f32[2]) -> f32[2] {
        ...   %p = f32[2]{0} parameter(0)
        ...   ROOT %t = f32[2]{0} tanh(%p), metadata={op_name="jit(f)/a/tanh"}
        ... }
        ... ENTRY %main (x: f32[2]) -> f32[2] {
        ...   %x = f32[2]{0} parameter(0)
        ...   ROOT %fusion = f32[2]{0} fusion(%x), kind=kLoop, calls=%inner, metadata={op_name="jit(f)/b/exp"}
        ... }'''
        >>> instructions(text)["fusion"]
        (['jit(f)/b/exp', 'jit(f)/a/tanh'], 8)
    """
    computations: dict[str, list[str]] = {}
    lines: dict[str, str] = {}
    current: list[str] = []
    for line in text.splitlines():
        if match := _INSTRUCTION.match(line):
            lines[match[1]] = match[2]
            current.append(match[1])
        elif match := _COMPUTATION.match(line):
            current = computations.setdefault(match[1], [])

    known: dict[str, list[str]] = {}

    def scopes(name: str) -> list[str]:
        if name not in known:
            known[name] = []  # no computation calls itself; a damaged text might say so
            called = [i for other in _CALLED.findall(lines[name]) for i in computations.get(other, ())]
            inside = [scope for i in called for scope in scopes(i)]
            known[name] = list(dict.fromkeys([*_SCOPE.findall(lines[name]), *inside]))
        return known[name]

    return {name: (scopes(name), _bytes(line)) for name, line in lines.items()}


def _bytes(line: str) -> int:
    """The bytes of the first shape of a line, which is the result's; of a tuple, of its first part."""
    match = _SHAPE.search(line)
    if match is None:
        return 0
    bits = int(match[2] or 8)  # `pred[4]` has no number
    return math.prod(int(n) for n in match[3].split(",") if n) * bits // 8
