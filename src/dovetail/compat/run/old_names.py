"""Modules with the old names of `old_rows`, which only the program's own files get; keywords and members of classes."""

from __future__ import annotations

import functools
import inspect
import pkgutil
import platform
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NamedTuple

from dovetail.compat.run.notices import SAID, say
from dovetail.compat.run.old_rows import ROWS, Around, Elsewhere
from dovetail.compat.run.temporary import replaced
from dovetail.compat.source.sources import starts
from dovetail.compat.source.uses import OPEN, Use

KEY = re.compile(r"(?P<name>[\w.]+)(:(?P<member>\w+))?(\((?P<keyword>\w+)\))?")
ALONE = "scipy.misc"  # a module that is absent as a whole
STRICT = "--strict leaves it an error"


class Row(NamedTuple):
    """A row of a member of a class, or of a keyword."""

    name: str
    member: str | None
    keyword: str | None
    value: Any


def _parsed() -> tuple[set[str], dict[str, dict[str, Any]], list[Row]]:
    """The modules that rows are in, the keywords of functions and classes, and the rows of members."""
    modules, members = set[str](), list[Row]()
    keywords = defaultdict[str, dict[str, Any]](dict)
    for key, value in ROWS.items():
        match = KEY.fullmatch(key)
        assert match, key
        name, member, keyword = match["name"], match["member"], match["keyword"]
        modules.update(starts(name.rpartition(".")[0]))
        if member:
            members.append(Row(name, member, keyword, value))
        elif keyword:
            keywords[name][keyword] = value
    return modules, keywords, members


MODULES, KEYWORDS, MEMBERS = _parsed()


def proxies(uses: Iterable[Use], stack: ExitStack) -> dict[str, Any]:
    """The modules that a program needs instead of NumPy, SciPy and Python's own, since it uses old names of them.

    Args:
        uses: the dotted names in the program.
        stack: until it closes, classes have old members and keywords, once the program imports their package.

    Returns:
        The module for each name, as "numpy" or "collections"; modules without old names are left out.

    Example:
        >>> from dovetail.compat.source.sources import Place
        >>> with ExitStack() as stack:
        ...     numpy = proxies([Use("numpy.float", Place("old.py", 3))], stack)["numpy"]
        >>> numpy.float, numpy.product([2, 3]).item(), round(numpy.pi, 2)
        (<class 'float'>, 6, 3.14)
    """
    SAID.clear()
    uses = [use for use in uses if use.how not in OPEN]
    names = {use.name for use in uses}
    given = {(name, word) for use in uses if use.arguments for name, word in _keywords(use)}
    last = {name.rpartition(".")[2] for name in names}
    imported = {name.partition(".")[0] for name in names}
    members = [row for row in MEMBERS if ((row.member, row.keyword) in given if row.keyword else row.member in last)]
    rows = {name for name in names if name in ROWS or name == ALONE}
    rows |= {name for name, word in given if word in KEYWORDS.get(name, ())} | {row.name for row in members}
    roots = {name.partition(".")[0] for name in rows} & imported
    return {root: _Proxy(root, _Classes(root, members, stack)) for root in sorted(roots)}


def _keywords(use: Use) -> Iterable[tuple[str, str]]:
    """The keywords of a call, each with the function's dotted name, and with its last part."""
    assert use.arguments
    return ((name, word) for name in (use.name, use.name.rpartition(".")[2]) for word in use.arguments[1])


class _Classes:
    """The changes of a package's classes, which begin when the program first asks the package for a name.

    Args:
        root: the package.
        rows: the rows of members that the program uses.
        stack: ends the changes when it closes.
    """

    def __init__(self, root: str, rows: Iterable[Row], stack: ExitStack) -> None:
        self._rows = [row for row in rows if row.name.startswith(f"{root}.")]
        self._stack = stack

    def begin(self) -> None:
        """Give classes the members of the rows."""
        rows, self._rows = self._rows, []
        for name, member, keyword, value in rows:
            try:
                cls = pkgutil.resolve_name(name)
            except (AttributeError, ImportError):  # the installed version has no such class, or needs a library for it
                continue
            own = getattr(cls, member or "", None)
            if keyword and own is not None:
                self.put(cls, str(member), with_keywords(own, {keyword: value}, f"{name}.{member}"))
            elif isinstance(value, Around) and own is not None:
                self.put(cls, str(member), value.make(own))
            elif not keyword and own is None:
                self.put(cls, str(member), _telling(f"{name}.{member}", value))

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute until the program ends."""
        self._stack.enter_context(replaced(owner, name, value))


def _telling(name: str, value: Any) -> Any:
    """A member that says, when it is used, that the installed version lacks it."""
    text = _lacking(name, value)
    make = (lambda self: getattr(self, value)) if isinstance(value, str) else None

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        say(text)
        if isinstance(value, property):
            return value.fget(self)  # type: ignore[misc]
        return make(self)(*args, **kwargs) if make else value(self, *args, **kwargs)

    return property(call) if isinstance(value, property) else call


def with_keywords(function: Callable[..., Any], rows: dict[str, Any], name: str) -> Callable[..., Any]:
    """Wrap a function so that it takes old keywords.

    Args:
        function: the function or method of the installed version.
        rows: old keyword → new one, "" to leave it out, or a function: value → keywords; in `Around` if the
            installed version takes the keyword, and not all old values of it.
        name: the dotted name of the function.
    """
    try:
        taken = {*inspect.signature(function).parameters}
    except ValueError:  # it is not in Python
        taken = set()
    rows = {word: new for word, new in rows.items() if isinstance(new, Around) or word not in taken}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for word in rows.keys() & kwargs.keys():
            value, new = kwargs.pop(word), rows[word]
            new = new.make if isinstance(new, Around) else new
            changed = new(value) if callable(new) else {new: value} if new else {}
            kwargs |= changed  # pyplot gives the new keyword, too
            if word in changed and changed[word] is value:
                continue
            was = f"{word}={value!r}" if word in changed else f"{word}="
            said = " ".join(f"{key}={each!r}" if callable(new) else f"{key}=" for key, each in changed.items())
            does = f"{said} stands for it" if changed else "it is left out"
            say(f"{name} of {_version(name)} takes no {was}: {does}; {STRICT}")
        return function(*args, **kwargs)

    return call if rows else function


def _lacking(name: str, row: Any) -> str:
    """The line about a name that the installed version lacks."""
    stands = f"{row} stands for it" if isinstance(row, (str, Elsewhere)) else "Dovetail has one"
    return f"{_version(name)} has no {name}: {stands}; {STRICT}"


def _version(name: str) -> str:
    """The library of a dotted name, with its version."""
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names:
        return f"Python {platform.python_version()}"
    return f"{root} {getattr(sys.modules.get(root), '__version__', '')}".strip()


class _Proxy(ModuleType):
    """A module with the names that the installed version lacks."""

    def __init__(self, name: str, classes: _Classes) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # other modules may be inside this one
        self._classes = classes

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        value: Any = _Proxy(full, self._classes) if full in MODULES else self._value(full, name)
        if self.__name__ in sys.modules:
            self._classes.begin()
        stands = ROWS.get(full)
        rows = KEYWORDS.get(stands if isinstance(stands, str) else getattr(stands, "name", full))
        if rows and isinstance(value, type):
            made = with_keywords(value.__init__, rows, full)  # type: ignore[misc]
            if made is not value.__init__:  # type: ignore[misc]
                self._classes.put(value, "__init__", made)
        elif rows:
            value = with_keywords(value, rows, full)
        vars(self)[name] = value
        return value

    def _value(self, full: str, name: str) -> Any:
        """The installed value, unless a row has another one."""
        row = ROWS.get(full)
        if isinstance(row, Around):
            return row.make(getattr(pkgutil.resolve_name(self.__name__), name, None))
        if row is None or self._has(name):
            return getattr(pkgutil.resolve_name(self.__name__), name)
        if isinstance(row, Elsewhere):
            value = functools.partial(pkgutil.resolve_name(row.name), **row.defaults)
        else:
            value = pkgutil.resolve_name(row) if isinstance(row, str) else row
        say(_lacking(full, row))
        return value

    def _has(self, name: str) -> bool:
        """Whether the installed version has the name itself, without asking for it, which may warn."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scipy.misc warns that it has no names
                return name in vars(pkgutil.resolve_name(self.__name__))
        except (AttributeError, ModuleNotFoundError):  # as scipy.misc of SciPy 2
            return False
