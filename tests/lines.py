"""Logical lines of code: what the tokenizer ends by NEWLINE, without docstrings, by room.

python -m tests.lines
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = (
    *("core", "ops", "engines", "graph", "trace", "edit", "batching", "autodiff", "passes"),
    *("execute", "choose", "functions", "observe", "sessions", "backend", "keras_dovetail"),
)


def logical_lines(text: str) -> int:
    """The logical lines of a module, without its docstrings."""
    lines = sum(token.type == tokenize.NEWLINE for token in tokenize.generate_tokens(io.StringIO(text).readline))
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return lines - sum(
        ast.get_docstring(node) is not None for node in ast.walk(ast.parse(text)) if isinstance(node, holders)
    )


def of_room(name: str) -> int:
    """The logical lines of a folder of the source."""
    folder = SOURCE / name if name.startswith("keras_") else SOURCE / "dovetail" / name
    return sum(logical_lines(path.read_text()) for path in folder.rglob("*.py"))


if __name__ == "__main__":
    counts = {name: of_room(name) for name in ROOMS}
    for name, count in counts.items():
        print(f"{name:15} {count:6,}")
    print(f"{'together':15} {sum(counts.values()):6,}")
