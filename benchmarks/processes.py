"""Scripts that compare processes: each script is also its server, which answers lines with lines of JSON."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

SERVE = "--serve"  # with this option a script is a server


def as_installed() -> dict[str, str]:
    """The environment of a process that finds bytecode, as users' processes do, and that logs errors alone."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3"}


class Server:
    """A process of a script that holds a model on a backend of Keras, or on Dovetail with an engine."""

    def __init__(self, backend: str, engine: str, script: str, more: Mapping[str, str] = {}) -> None:
        environment = {**as_installed(), "KERAS_BACKEND": backend, **more}
        command = [sys.executable, script, SERVE, engine]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, cwd=Path.cwd())

    def ask(self, action: str) -> Any:
        """The answer to one line."""
        self._process.stdin.write(f"{action}\n")  # type: ignore[union-attr]  # a pipe
        self._process.stdin.flush()  # type: ignore[union-attr]
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError(f"the process of {self._process.args} ended.")
        return json.loads(line)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: Any) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()


def answer(value: Any) -> None:
    """Answer a line, as a server."""
    print(json.dumps(value), flush=True)


def command_line(
    doc: str | None,
    names: Iterable[str],
    count: tuple[str, int, str],
    main: Callable[[list[str], int], None],
    serve: Callable[[str], None],
    what: str = "the models",
) -> None:
    """The command line of a script.

    Args:
        doc: its description, for the help.
        names: the things to measure; all of them if the command line names none.
        count: an option with a number: its name, its default, and its meaning.
        main: compares; takes the names and the number.
        serve: runs the server; takes the thing to serve.
        what: a noun for the names, for the help.
    """
    option, default, counts = count
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*names, []], help=f"{what} (all)")
    parser.add_argument(option, dest="count", type=int, default=default, help=f"{counts} (%(default)s)")
    parser.add_argument(SERVE, dest="served", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.served is None:
        main(options.names, options.count)
    else:
        serve(options.served)
