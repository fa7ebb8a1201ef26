"""Mutation check of the trunk: whether a file's own tests notice one changed operator, comparison, constant or branch.

    python tests/mutants.py                     # 200 random mutants of all files below, on numpy
    python tests/mutants.py --only execute/ --seed 1 --engines numpy,torch

A forked child compiles each mutant from a changed syntax tree, and runs the tests of that file's package. No file on
disk changes. A mutant is killed when a test fails or does not end. The survivors are listed for review: either a test
is missing, or nobody can observe the change. Such mutants stand in `EQUIVALENT` with the reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.machinery
import importlib.util
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis  # noqa: F401  # here, so that the children need not import these
import numpy as np  # noqa: F401
import pytest
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dovetail"

RUNNING = ["tests/execute", "tests/functions", "tests/choose"]

# source file or folder → its own tests, quick ones first; before them, the file's doctests and the tests of its name
TRUNK = {
    "core/base/cache.py": ["tests/core/values/test_signature.py", "tests/trace/test_trace.py"],
    "core/calls/dispatch.py": [
        "tests/core/values/test_arguments.py",
        "tests/core/base/test_errors.py",
        "tests/autodiff/test_tape.py",
        "tests/core/calls/test_gradients.py",
        "tests/trace/test_trace.py",
        "tests/ops/math/test_arithmetic.py",
    ],
    "core/rules.py": ["tests/core/test_rules.py", "tests/engines/test_rules.py"],
    "core/values/signature.py": ["tests/core/values/test_signature.py", "tests/core/calls/test_dispatch.py"],
    "core/calls/static_types.py": ["tests/core/calls/test_static_types.py"],
    "core/values/structure.py": ["tests/core/values/test_structure.py"],
    "core/values/variable.py": ["tests/core/values/test_variable.py", "tests/test_copies.py", "tests/test_threads.py"],
    "core/values/state.py": ["tests/core/values/test_variable.py", *RUNNING, "tests/test_threads.py"],
    "core/base/locks.py": [*RUNNING, "tests/test_threads.py", "tests/test_copies.py"],
    "autodiff": ["tests/autodiff"],
    "graph": ["tests/graph"],
    "passes": ["tests/passes"],
    "functions/function.py": ["tests/functions/test_function.py", "tests/test_copies.py"],
    "functions/concrete.py": ["tests/functions", "tests/choose"],
    "execute/placement.py": ["tests/execute/test_placement.py"],
    "execute/schedule.py": RUNNING,
    **{room: [f"tests/{room}"] for room in ("execute", "choose", "functions", "observe")},
}

_LIMIT = "a limit that saves time or memory; where it stands is arbitrary"
_ONLY_KEPT = "what is kept only saves time: it is made anew, and is the same"
# (file, a mutant's description as the table shows it) → why nobody can observe it
EQUIVALENT: dict[tuple[str, str], str] = {
    ("autodiff/control_gradients.py", "new → True"): "a scan that keeps nothing new gets a copy of its own body",
    (
        "core/values/state.py",
        "0 in deque(map(setattr, variables, repeat('_buffer'), buffers), 0) → "
        "1 in deque(map(setattr, variables, repeat('_buffer'), buffers), 0)",
    ): "the deque is thrown away, with the None that it would keep",
    ("core/values/state.py", "variable.followers → True"): "where there are no followers, nobody is told",
    ("execute/buffers.py", "engine.out_rules → True"): "without out rules no operation can be planned",
    ("execute/optimize.py", "4 → 5"): "programs compute the same after any number of rounds",
    (
        "execute/plan.py",
        "buffer is None or buffer.engine is not engine or buffer.claimed or (... → True",
    ): "`buffer_on` gives back the buffer where it is at the place already",
    (
        "execute/plan.py",
        "device is not None and buffer.device != device → device is not None or buffer.device != device",
    ): "`buffer_on` gives back the buffer where it is at the place already",
    (
        "execute/plan.py",
        "not self.variables and self._guard is None → False",
    ): "what comes after does the same where there are no variables",
    (
        "passes/constant_folding.py",
        "news → True in propagate(inner, news) if news else 0",
    ): "the pass comes to the subgraph anyway, and folds there what it would fold here",
    (
        "passes/constant_folding.py",
        "tensor in refined → True",
    ): "a shape that is inferred again without need comes out as it was",
    (
        "passes/constant_folding.py",
        "np.abs(value) <= dtype.max → np.abs(value) < dtype.max",
    ): "what is not folded is computed when the program runs",
    (
        "passes/simplify.py",
        "part is a or part is b or type(part) in (int, float) → "
        "part is a and part is b and (type(part) in (int, float))",
    ): "the types that a rule needs only say early that it does not match",
    (
        "passes/simplify.py",
        "2 in {'float16': 1, 'bfloat16': 1, 'float32': 2, 'complex64': 2, 'f... → "
        "3 in {'float16': 1, 'bfloat16': 1, 'float32': 2, 'complex64': 2, 'f...",
    ): "no integers have 3 bytes",
    (
        "passes/simplify.py",
        "4 in {'float16': 1, 'bfloat16': 1, 'float32': 2, 'complex64': 2, 'f... → "
        "5 in {'float16': 1, 'bfloat16': 1, 'float32': 2, 'complex64': 2, 'f...",
    ): "no integers have 5 bytes",
    ("edit/inference.py", "size <= LARGEST → size < LARGEST"): _LIMIT,
    (
        "edit/inference.py",
        "tensor.dtype.is_integer and (size is None or size <= LARGEST) → "
        "tensor.dtype.is_integer or (size is None or size <= LARGEST)",
    ): "more is inferred again, with what it had before as the result",
    ("graph/order.py", "1 in 1 << 40 → 2 in 1 << 40"): "only how much room there is between positions",
    ("graph/order.py", "40 in 1 << 40 → 41 in 1 << 40"): "only how much room there is between positions",
    ("graph/order.py", "1 in 1 << bits - 1 → 2 in 1 << bits - 1"): "only how much room a renumbered range has",
    (
        "graph/order.py",
        "position >> bits << bits → position >> bits >> bits",
    ): "only which range is renumbered; positions grow along it all the same",
    ("graph/order.py", "count < _DENSITY ** bits → count <= _DENSITY ** bits"): "only how full a range may be",
    (
        "graph/order.py",
        "count < _DENSITY ** bits and count < 1 << bits - 1 → count < _DENSITY ** bits or count < 1 << bits - 1",
    ): "only how full a range may be",
    ("graph/shape_values.py", "64 → 65"): _LIMIT,
    (
        "graph/shape_values.py",
        "value.size <= LARGEST → True in value.astype(np.float64) if value.size <= LARGEST else None",
    ): "the limit saves time; what is known of larger constants is as true",
    ("graph/shape_values.py", "value.size <= LARGEST → value.size < LARGEST"): _LIMIT,
    ("graph/shape_values.py", "size <= LARGEST → size < LARGEST"): _LIMIT,
    ("graph/shape_values.py", "depth < DEEPEST → depth <= DEEPEST"): _LIMIT,
    ("graph/shape_values.py", "1 in depth + 1 → 2 in depth + 1"): _LIMIT,
    ("trace/trace.py", "20000 → 20001"): _LIMIT,
    ("trace/trace.py", "5000 → 5001"): _LIMIT,
    ("trace/trace.py", "len(_calls) > _CALLS_LIMIT → len(_calls) >= _CALLS_LIMIT"): _LIMIT,
    ("trace/trace.py", "len(_calls) > _CALLS_LIMIT → True"): _ONLY_KEPT,
    ("trace/trace.py", "len(_bodies) > _BODIES_LIMIT → len(_bodies) >= _BODIES_LIMIT"): _LIMIT,
    ("trace/trace.py", "len(_bodies) > _BODIES_LIMIT → True"): _ONLY_KEPT,
}

OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        file: relative to the package.
        number: the number of the file's change, in the order of `changes`.
        line: the number of the line.
        text: the code before and after.
    """

    file: str
    number: int
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.text}"


# -- changing a syntax tree -------------------------------------------------------------------------------------------


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """The possible changes of an expression."""
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            if type(op) in OPERATORS:
                new = copy.deepcopy(node)
                new.ops[index] = OPERATORS[type(op)]()
                yield new
    elif type(getattr(node, "op", None)) in OPERATORS:
        new = copy.copy(node)
        new.op = OPERATORS[type(node.op)]()  # type: ignore[attr-defined]
        yield new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every change of one place in a syntax tree: (parent, field, index in the field or None, the new node)."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for field, value in ast.iter_fields(node):
        # Annotations do not run, the words of a message decide nothing, and zip's `strict` only asserts.
        if (
            field in ("annotation", "returns")
            or isinstance(value, ast.JoinedStr)
            or getattr(node, "arg", "") == "strict"
        ):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST):
                continue
            if field == "test" and isinstance(node, (ast.If, ast.IfExp)):
                yield from ((node, field, index, ast.Constant(taken)) for taken in (True, False))
            yield from ((node, field, index, new) for new in variants(child))
            yield from changes(child)


def mutants_of(file: str) -> list[Mutant]:
    """All mutants of one source file."""
    found = []
    for number, (parent, field, index, new) in enumerate(changes(ast.parse((SOURCE / file).read_text()))):
        old = getattr(parent, field)
        old = old if index is None else old[index]
        line = getattr(old, "lineno", getattr(parent, "lineno", 0))
        found.append(Mutant(file, number, line, f"{_short(old, parent)} → {_short(new, parent)}"))
    return found


def _short(node: ast.AST, parent: ast.AST) -> str:
    """The code of an expression; for a small one, with the code around it."""
    text = ast.unparse(node)
    if isinstance(node, ast.Constant) and not isinstance(parent, (ast.stmt, ast.arguments)):
        text = f"{text} in {ast.unparse(parent)}"
    return text if len(text) <= 70 else f"{text[:67]}..."


def mutated(mutant: Mutant) -> ast.Module:
    """The file's syntax tree with the change."""
    tree = ast.parse((SOURCE / mutant.file).read_text())
    for number, (parent, field, index, new) in enumerate(changes(tree)):
        if number == mutant.number:
            if index is None:
                setattr(parent, field, new)
            else:
                getattr(parent, field)[index] = new
            break
    return ast.fix_missing_locations(tree)


# -- running tests against a changed module ---------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """A loader of a module from a changed syntax tree."""

    tree: ast.Module

    def get_code(self, fullname: str) -> Any:  # it neither reads nor writes the cache of bytecode
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder:
    """A finder of one changed module; all others are found as usual."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = ".".join(("dovetail", *Path(mutant.file).with_suffix("").parts)).removesuffix(".__init__")
        self.loader = _Loader(self.name, str(SOURCE / mutant.file))
        self.loader.tree = mutated(mutant)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)
        return None


def tests_of(file: str) -> list[str]:
    """The tests that have to kill a file's mutants."""
    own = next(tests for part, tests in TRUNK.items() if file == part or file.startswith(f"{part}/"))
    mirrored = Path("tests", file).with_name(f"test_{Path(file).name}")
    found = [SOURCE / file, *(ROOT / test for test in dict.fromkeys([str(mirrored), *own]))]
    return [str(path) for path in found if path.exists()]


def _child(mutant: Mutant | None, tests: list[str], log: str) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if mutant is not None:
        finder = _Finder(mutant)
        sys.meta_path.insert(0, finder)
        importlib.import_module(finder.name)  # now, since pytest imports modules with doctests by their path
    os._exit(pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]))


def killed(mutant: Mutant | None, tests: list[str], seconds: float, log: str) -> bool:
    """Whether a test fails, or does not end in time."""
    child = multiprocessing.get_context("fork").Process(target=_child, args=(mutant, tests, log))
    child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        child.join()
    return child.exitcode != 0


# -- the command ------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="how many mutants, drawn at random; 200")
    parser.add_argument("--seed", type=int, default=0, help="which ones; 0")
    parser.add_argument("--only", default="", help="those whose line in the list contains this: a file, file:line")
    parser.add_argument("--engines", default="numpy", help="the engines that the tests use; numpy")
    parser.add_argument("--log", default="/tmp/mutant.log", help="where the output of a mutant's tests goes")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    os.environ |= {"DOVETAIL_TEST_ENGINES": options.engines, "DOVETAIL_TEST_PART": "room"}
    os.chdir(ROOT)
    files = sorted({str(path.relative_to(SOURCE)) for part in TRUNK for path in _files(part)})
    every = [mutant for file in files for mutant in mutants_of(file) if options.only in str(mutant)]
    drawn = random.Random(options.seed).sample(every, min(options.number, len(every)))
    limits: dict[tuple[str, ...], float] = {}  # list of tests → the seconds that a mutant gets
    counts: dict[str, Counter[str]] = {}
    for mutant in tqdm(sorted(drawn, key=str), unit="mutant", disable=not sys.stderr.isatty()):
        tests = tests_of(mutant.file)
        if tuple(tests[1:]) not in limits:
            start = time.monotonic()
            if killed(None, tests, 3600, options.log):
                print(f"the tests of {mutant.file} fail without any mutant; see {options.log}")
                return 2
            limits[tuple(tests[1:])] = 30 + 5 * (time.monotonic() - start)
        if (mutant.file, mutant.text) in EQUIVALENT:
            outcome = "changes nothing"
        else:
            outcome = "killed" if killed(mutant, tests, limits[tuple(tests[1:])], options.log) else "survived"
        counts.setdefault(mutant.file, Counter())[outcome] += 1
        if outcome != "killed":
            tqdm.write(f"{outcome}: {mutant}")
            sys.stdout.flush()
    return report(counts, options)


def _files(part: str) -> list[Path]:
    path = SOURCE / part
    return [path] if path.is_file() else sorted(path.glob("*.py"))


def report(counts: dict[str, Counter[str]], options: argparse.Namespace) -> int:
    """Print the table, and return 1 if fewer than nine in ten were killed."""
    print(f"\n{options.number} mutants, seed {options.seed}, engines {options.engines}\n")
    print("| file | mutants | killed | survived | change nothing |\n| --- | --- | --- | --- | --- |")
    total: Counter[str] = Counter()
    for name, outcomes in [*sorted(counts.items()), ("all", total)]:
        row = [outcomes["killed"], outcomes["survived"], outcomes["changes nothing"]]
        print(f"| {name} | {sum(row)} | {row[0]} | {row[1]} | {row[2]} |")
        if outcomes is not total:
            total += outcomes
    share = total["killed"] / max(1, total["killed"] + total["survived"])
    print(f"\n{share:.1%} killed")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
