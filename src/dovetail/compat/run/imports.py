"""The imports of an old program: its files get other modules for the names of TensorFlow, Keras and Horovod.

These files have builtins of their own, with an `__import__` that maps names.  All other modules, `builtins` and the
entries of `sys.modules` stay as they are.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from dovetail.compat.run import shapes
from dovetail.compat.source.sources import NOT_THE_USERS
from dovetail.core.hooks import hooks

VIEW = "dovetail.compat.tensorflow"
VIEWS = {"tf1": f"{VIEW}.compat.v1"}  # kind → the module that `import tensorflow` gives, if not VIEW
MAPPED = {  # the program's name → the module here; {view} is the view of its kind
    r"tensorflow(?:_core)?\.contrib\.keras(?:\.python\.keras)?(?P<inner>\..+)?": "{view}.keras{inner}",
    r"tensorflow\.contrib\.learn\.python\.learn\.datasets(?P<inner>\..+)?": "{view}.contrib.learn.datasets{inner}",
    r"tensorflow\.contrib\.layers\.python\.layers\.utils": "{view}.contrib.layers.utils",
    r"tensorflow(?:_core)?(?P<inner>\.contrib\.\w+)\.python(?:\..+)?": "{view}{inner}",  # its private modules
    r"tensorflow(?:_core)?\.compat\.v1(?P<inner>\..+)": f"{VIEW}.compat.v1{{inner}}",
    r"tensorflow(?:_core)?(?P<inner>\..+)?": "{view}{inner}",
    r"tensorflow_federated(?P<inner>\..+)?": "{view}.federated{inner}",
    r"(?:tf_)?keras(?P<inner>\..+)?": "keras{inner}",
    r"horovod(?:\.tensorflow)?(?:\.keras)?(?P<inner>\.callbacks)?": "dovetail.compat.horovod{inner}",
}

Change = Callable[[ast.Module], ast.Module]  # a function that changes the syntax tree of a file


class Imports:
    """The mapping of a program's imports.

    Args:
        kind: the kind of the program, which decides the view of TensorFlow.
        folders: the folders whose files, also those below, are the program's.
        packages: packages whose files count as the program's.
        proxies: modules that only the program sees, by name.
        changes: made in each file before it is compiled.
    """

    def __init__(
        self,
        kind: str,
        folders: Iterable[str | os.PathLike[str]] = (),
        packages: Iterable[str] = (),
        proxies: Mapping[str, Any] | None = None,
        changes: Sequence[Change] = (),
    ) -> None:
        self.view = VIEWS.get(kind, VIEW)
        self.folders = [os.path.join(os.path.realpath(folder), "") for folder in folders]
        self.packages, self.changes = set(packages), changes
        self.loaded: list[str] = []  # the program's modules
        self.builtins = ModuleType("builtins", builtins.__doc__)
        vars(self.builtins).update(vars(builtins), __import__=self.import_statement, **shapes.READERS)
        own = ModuleType("importlib", importlib.__doc__)
        vars(own).update(import_module=self.import_module, __getattr__=functools.partial(getattr, importlib))
        self.proxies = {"importlib": own, **(proxies or {})}

    def target(self, name: str) -> str | None:
        """The name of the module here that a dotted name of TensorFlow or Keras means; None for other names."""
        for pattern, target in MAPPED.items():
            found = re.fullmatch(pattern, name)
            if found:
                return target.format(view=self.view, inner=found.groupdict().get("inner") or "")
        return None

    def import_statement(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> Any:
        """Import the module of a statement in the program, with the parameters and the result of `__import__`.

        Raises:
            ImportError: a name of TensorFlow or Keras is not offered; the message says what to write.
        """
        root = name.partition(".")[0]
        if level or (self.target(root) is None and root not in self.proxies):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = self.import_module(name)
        if not fromlist:
            return self._above(module, name)
        for each in fromlist:
            if each != "*":
                self._member(module, name, each)
        return module

    def import_module(self, name: str, package: str | None = None) -> Any:
        """The module of a name, as of `importlib.import_module`."""
        root = name.partition(".")[0]
        if root in self.proxies:
            try:
                return functools.reduce(getattr, name.split(".")[1:], self.proxies[root])
            except AttributeError:  # it is not imported yet
                return importlib.import_module(name)
        target = self.target(name)
        if target is None:
            return importlib.import_module(name, package)
        if target.startswith("keras"):
            hooks.run_keras()
        try:
            return importlib.import_module(target)
        except ModuleNotFoundError as error:
            if not f"{target}.".startswith(f"{error.name}."):
                raise
            raise _absence(name, self._why_not(name), name) from None

    def _above(self, module: Any, name: str) -> Any:
        """The first module of a dotted name, with the last one at its end, also if that is elsewhere here."""
        first, *parts = name.split(".")
        found = self.import_module(first)
        try:
            functools.reduce(getattr, parts, found)
            return found
        except AttributeError:
            for count in range(len(parts), 0, -1):
                above = ".".join([first, *parts[: count - 1]])
                alias = ModuleType(above)
                names = {parts[count - 1]: module, "__getattr__": functools.partial(self._attribute, above)}
                vars(alias).update(names)
                module = alias
            return module

    def _attribute(self, name: str, attribute: str) -> Any:
        return getattr(self.import_module(name), attribute)

    def _why_not(self, name: str) -> str:
        """The reason of the view why it lacks a module."""
        above, _, last = name.rpartition(".")
        try:
            if not above:  # a package beside TensorFlow
                above, _, last = str(self.target(name)).rpartition(".")
                getattr(importlib.import_module(above), last)
            getattr(self.import_module(above), last)
        except (ImportError, AttributeError) as error:
            return str(error)
        return "it is a name, but no module"

    def _member(self, module: Any, name: str, member: str) -> None:
        """Import a module that a `from` statement may mean; refuse a name that the module does not have."""
        try:
            getattr(module, member)
        except AttributeError as problem:
            try:
                importlib.import_module(f"{module.__name__}.{member}")
            except ModuleNotFoundError:
                raise _absence(f"{name}.{member}", str(problem), name) from None

    def compiled(self, code: str | bytes | ast.Module, path: str, last: Change = lambda tree: tree) -> CodeType:
        """Compile a file of the program, after the changes, of which a last one may be given."""
        tree = functools.reduce(lambda found, change: change(found), (*self.changes, last), ast.parse(code, path))
        return compile(tree, path, "exec", dont_inherit=True)

    def covers(self, name: str, place: str) -> bool:
        """Whether a module, with its file or folder, is one of the program's."""
        if name.partition(".")[0] in self.packages:
            return True
        path = os.path.realpath(place)
        inside = next((path[len(folder) :] for folder in self.folders if path.startswith(folder)), None)
        return inside is not None and not {*NOT_THE_USERS}.intersection(inside.split(os.sep))

    def __enter__(self) -> Imports:
        self._finder = Finder(self)
        sys.meta_path.insert(0, self._finder)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self._finder)
        for name in self.loaded:
            sys.modules.pop(name, None)


def _absence(full: str, why: str, module: str) -> ImportError:
    return ModuleNotFoundError(f"No module or name {full!r}: {why}", name=module)


class Finder(MetaPathFinder):
    """The finder that lets the other ones find the program's modules, and gives these another loader."""

    def __init__(self, imports: Imports) -> None:
        self.imports = imports
        self._open: set[tuple[int, str]] = set()  # the searches of threads, which may come back here

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        search = threading.get_ident(), fullname
        if search in self._open:
            return None
        self._open.add(search)
        try:
            finds = [finder.find_spec for finder in sys.meta_path if finder is not self]
            spec = next(filter(None, (find(fullname, path, target) for find in finds)), None)
        finally:
            self._open.discard(search)
        if spec is None:
            return None
        places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
        if places and self.imports.covers(fullname, str(places[0])):
            self.imports.loaded.append(fullname)
            if spec.loader is not None and str(spec.origin).endswith(".py"):
                spec.loader = _Loader(spec.loader, str(spec.origin), self.imports)
        return spec


class _Loader(Loader):
    """A loader that another one does the work for; the module gets the program's builtins."""

    def __init__(self, loader: Any, path: str, imports: Imports) -> None:
        self._loader, self._path, self._imports = loader, path, imports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = vars(self._imports.builtins)
        if not self._imports.changes:
            self._loader.exec_module(module)
        else:
            exec(self.get_code(module.__name__), vars(module))

    def get_code(self, fullname: str) -> CodeType:
        if not self._imports.changes:
            return self._loader.get_code(fullname)
        with open(self._path, "rb") as file:
            source = file.read()
        return self._imports.compiled(source, self._path, functools.partial(self._with_assertions, source))

    def _with_assertions(self, source: bytes, tree: ast.Module) -> ast.Module:
        """The tree with assertions that explain themselves, if pytest loads the file."""
        config = getattr(self._loader, "config", None)
        if config is not None and type(self._loader).__module__.startswith("_pytest."):
            importlib.import_module("_pytest.assertion.rewrite").rewrite_asserts(tree, source, self._path, config)
        return tree
