"""TensorFlow 1's names for a program's own arguments: `tf.flags`, and `tf.app.run`, which parses them.

With absl installed, flags are absl's, as in TensorFlow 1.5 and later.  Else argparse parses them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from dovetail.compat.tensorflow.entries import lazy, value
from dovetail.core.base.errors import op_error
from dovetail.core.base.optional_api import spec_of

KINDS: dict[str, type] = {"string": str, "integer": int, "float": float, "boolean": bool, "bool": bool}
OF_ABSL = (  # further names of absl.flags
    "DEFINE_alias DEFINE_enum DEFINE_list DEFINE_multi_float DEFINE_multi_integer DEFINE_multi_string "
    "DEFINE_spaceseplist FlagValues ValidationError mark_flag_as_required mark_flags_as_required register_validator"
)


class Absl:
    """Flags that absl parses.

    Args:
        values: absl's `FlagValues`; the process' own if they are not given.
    """

    def __init__(self, values: Any = None) -> None:
        self._flags: Any = import_module("absl.flags")
        self._values = self._flags.FLAGS if values is None else values

    def define(self, kind: str, name: str, default: Any, text: str, **options: Any) -> None:
        """Define a flag; like TensorFlow before 1.5, take any default, such as an infinite integer."""
        define = getattr(self._flags, f"DEFINE_{kind}")
        given = {"flag_values": self._values} | options
        try:
            define(name, default, text, **given)
        except self._flags.IllegalFlagValueError:
            define(name, None, text, **given)
            self._values[name].value = default

    def parse(self, arguments: Sequence[str]) -> list[str]:
        return list(self._values([sys.argv[0], *arguments], known_only=True)[1:])

    def values(self) -> dict[str, Any]:
        return {name: self._values[name].value for name in self._values}

    def set(self, name: str, value: Any) -> None:
        setattr(self._values, name, value)


class Argparse:
    """Flags that argparse parses."""

    def __init__(self) -> None:
        self._parser = argparse.ArgumentParser(allow_abbrev=False)
        self._values: dict[str, Any] = {}

    def define(self, kind: str, name: str, default: Any, text: str, **options: Any) -> None:
        self._values[name] = default
        type = KINDS[kind]
        if type is bool:
            self._parser.add_argument(f"--{name}", nargs="?", const=True, default=default, type=_truth, help=text)
            self._parser.add_argument(f"--no{name}", action="store_false", dest=name)
        else:
            self._parser.add_argument(f"--{name}", default=default, type=type, help=text)

    def parse(self, arguments: Sequence[str]) -> list[str]:
        flags, rest = self._parser.parse_known_args(arguments)
        self._values.update(vars(flags))
        return rest

    def values(self) -> dict[str, Any]:
        return self._values

    def set(self, name: str, value: Any) -> None:
        self._values[name] = value


def _truth(text: str) -> bool:
    return text.lower() in ("true", "t", "1", "yes")


class Flags:
    """The flags of a program.  The command line is parsed when a value is first asked for.

    Args:
        make: makes what keeps and parses them.

    Source: `tf.flags.FLAGS`.
    """

    def __init__(self, make: Callable[[], Absl | Argparse]) -> None:
        self.__dict__.update(_make=make, _is_parsed=False)

    @cached_property
    def _keeper(self) -> Absl | Argparse:
        return self._make()  # absl is imported when a flag is defined

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Parse a command line, `sys.argv` if none is given, and return the arguments that are no flags."""
        self.__dict__["_is_parsed"] = True
        rest: list[str] = self._keeper.parse(sys.argv[1:] if args is None else args)
        return rest

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__flags":
            raise AttributeError(name)
        if not self._is_parsed:
            self._parse_flags()
        values = self._keeper.values()
        if name == "__flags":
            return values
        if name not in values:
            problem = f"no flag {name!r} is defined; there are {', '.join(sorted(values)) or 'none'}."
            raise op_error(AttributeError, "tf.flags.FLAGS", problem)
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._keeper.set(name, value)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        return name in self._keeper.values()

    def __iter__(self) -> Any:
        return iter(self._keeper.values())

    def flag_values_dict(self) -> dict[str, Any]:
        """The values by name."""
        return {name: self[name] for name in self}


FLAGS = Flags(Absl if spec_of("absl") else Argparse)


def _definer(kind: str) -> Callable[..., None]:
    def define(name: str, default: Any = None, help: str = "", **options: Any) -> None:
        given = {"flag_name": name, "default_value": default, "docstring": help} | options
        title, first, text = (given.pop(key) for key in ("flag_name", "default_value", "docstring"))
        FLAGS._keeper.define(kind, title, first, text, **given)

    define.__doc__ = f"""Define a flag whose value is of the kind {kind}.

    Args:
        name: of the flag, without dashes.
        default: its value if the command line gives none.
        help: what it means.

    Source: `tf.flags.DEFINE_{kind}`.
    """
    return define


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the flags, call the function `main` of the program with the arguments that are left, and exit.

    Args:
        main: the function; that of the module `__main__` if it is not given.
        argv: the command line with the program's name; `sys.argv` if it is not given.

    Raises:
        SystemExit: with the result of the function as the status.

    Source: `tf.app.run`.
    """
    program, *arguments = sys.argv if argv is None else argv
    rest = FLAGS._parse_flags(arguments)
    sys.exit((main or sys.modules["__main__"].main)([program, *rest]))


def _of_absl(name: str) -> Any:
    return getattr(import_module("absl.flags"), name)


for _kind in KINDS:
    value(f"flags.DEFINE_{_kind} app.flags.DEFINE_{_kind}", _definer(_kind), "v1")
for _name in OF_ABSL.split():
    lazy(f"flags.{_name} app.flags.{_name}", partial(_of_absl, _name))
value("flags.FLAGS app.flags.FLAGS", FLAGS, "v1")
value("app.run", run, "v1")
