"""The parser of command lines, whose errors name the command or option that is most like an unknown one."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from dovetail.core.base.errors import did_you_mean


class Parser(argparse.ArgumentParser):
    """A parser that says what an unknown command or option may mean."""

    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Print a message with the usage and what may be meant, and exit with status 2."""
        options = self._option_string_actions
        named = (text.partition("=")[0] for text in self.given)
        unknown = [name for name in named if name.startswith("--") and name not in options]
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            message += ". " + did_you_mean(choice[1], choice[2].replace("'", "").split(", "))
        elif unknown:
            message += f". {did_you_mean(unknown[0], options)}"
        super().error(message.rstrip(" ."))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; all have to be known."""
        self.given = sys.argv[1:] if args is None else args
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown
