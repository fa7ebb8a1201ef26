"""The imports of an old program: its files get other modules for the names of TensorFlow, Keras and Horovod.

These files have builtins of their own, with an `__import__` that maps names.  All other modules, `builtins` and the
entries of `sys.modules` stay as they are.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dovetail.compat.run import shapes
from dovetail.compat.source.outside import OURS, folders, takes_keras
from dovetail.compat.source.sources import NOT_THE_USERS, starts
from dovetail.core.base.hooks import hooks

VIEW = "dovetail.compat.tensorflow"
VIEWS = {"tf1": f"{VIEW}.compat.v1"}  # kind → the module that `import tensorflow` gives, if not VIEW
MAPPED = {  # the program's name → the module here; {view} is the view of its kind
    r"tensorflow(?:_core)?\.contrib\.keras(?:\.python\.keras)?(?P<inner>\..+)?": "{view}.keras{inner}",
    r"tensorflow\.contrib\.learn\.python\.learn\.datasets(?P<inner>\..+)?": "{view}.contrib.learn.datasets{inner}",
    r"tensorflow\.contrib\.layers\.python\.layers\.utils": "{view}.contrib.layers.utils",
    r"tensorflow(?:_core)?(?P<inner>\.contrib\.layers\.python(?:\.layers(?:\..+)?)?)": "{view}{inner}",
    r"tensorflow(?:_core)?\.contrib\.slim\.python\.slim(?P<inner>\.nets(?:\..+)?)": "{view}.contrib.slim{inner}",
    r"tensorflow(?:_core)?\.contrib\.slim\.python\.slim\.data(?P<inner>\..+)": "{view}.contrib.slim{inner}",
    r"tensorflow(?:_core)?(?P<inner>\.contrib\.\w+)\.python(?:\..+)?": "{view}{inner}",  # its private modules
    r"tensorflow(?:_core)?\.compat\.v1(?P<inner>\..+)": f"{VIEW}.compat.v1{{inner}}",
    r"tensorflow(?:_core)?(?P<inner>\..+)?": "{view}{inner}",
    r"tensorflow_federated(?P<inner>\..+)?": "{view}.federated{inner}",
    r"(?:tf_)?keras(?P<inner>\..+)?": "keras{inner}",
    r"keras_preprocessing(?P<inner>\..+)?": "keras.preprocessing{inner}",
    r"horovod(?:\.tensorflow)?\.keras": "dovetail.compat.horovod.keras",
    r"horovod(?:\.tensorflow)?\.keras(?P<inner>\.callbacks)": "dovetail.compat.horovod{inner}",
    r"horovod(?:\.tensorflow(?:\.(?:compression|functions|mpi_ops))?)?": "dovetail.compat.horovod",
}

# Layers of Keras 3 that Keras 2.3 lacked: `from keras.layers import *` does not replace the program's own of the name.
NEW_LAYERS = {
    "AdditiveAttention", "Attention", "CategoryEncoding", "CenterCrop", "DepthwiseConv1D", "Discretization",
    "EinsumDense", "GroupNormalization", "Hashing", "Identity", "LayerNormalization", "MultiHeadAttention",
    "Normalization", "RMSNormalization", "Rescaling", "Resizing", "SpectralNormalization", "StringLookup",
    "TextVectorization", "UnitNormalization",
}  # fmt: skip

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
        self._places = {*sys.path}
        self.loaded: list[str] = []  # the program's modules
        self.builtins = ModuleType("builtins", builtins.__doc__)
        vars(self.builtins).update(vars(builtins), __import__=self.import_statement, **shapes.READERS)
        util = _beside(importlib.util, spec_from_file_location=self._spec_of_file)
        machinery = _beside(importlib.machinery, SourceFileLoader=functools.partial(_Loader, imports=self))
        own = _beside(importlib, import_module=self.import_module, util=util, machinery=machinery)
        self.proxies = {"importlib": own, **(proxies or {})}

    def target(self, name: str) -> str | None:
        """The name of the module here that a dotted name of TensorFlow or Keras means; None for other names."""
        for pattern, target in MAPPED.items():
            match = re.fullmatch(pattern, name)
            if match:
                return target.format(view=self.view, inner=match.groupdict().get("inner") or "")
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
            try:
                return builtins.__import__(name, globals, locals, fromlist or (), level)
            except ImportError as error:
                self._tell(error)
                raise
        module = self.import_module(name)
        if not fromlist:
            return self._above(module, name)
        kept = NEW_LAYERS & (globals or {}).keys() if "*" in fromlist and name.startswith("keras.") else None
        if kept:
            names = getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]
            return _beside(module, __all__=[each for each in names if each not in kept])
        for each in fromlist:
            if each != "*":
                try:
                    self.member(module, name, each)
                except AttributeError as problem:
                    raise _absence(f"{name}.{each}", str(problem), name) from None
        return module

    def import_module(self, name: str, package: str | None = None) -> Any:
        """The module of a name, as of `importlib.import_module`."""
        root, *parts = name.split(".")
        if root in self.proxies:
            try:
                importlib.import_module(name)  # pickle looks for it in sys.modules
            except ModuleNotFoundError as error:
                if not str(error.name).startswith(f"{root}."):  # else only older versions had the module
                    raise
            try:
                return functools.reduce(getattr, parts, self.proxies[root])
            except AttributeError:
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
        try:
            root, *parts = target.split(".")
            functools.reduce(getattr, parts, importlib.import_module(root))
        except AttributeError as problem:
            raise _absence(name, str(problem), name) from None
        raise _absence(name, "it is a name, but no module", name)

    def member(self, module: ModuleType, name: str, member: str) -> Any:
        """Something in a module, which the program knows by a name, or a module inside of it.

        Raises:
            AttributeError: there is none; the message says what to write.
        """
        try:
            return getattr(module, member)
        except AttributeError:
            paths = f"{module.__name__}.{member}", f"{name}.{member}"
            for load, path in zip((importlib.import_module, self.import_module), paths, strict=True):
                try:
                    return load(path)
                except ModuleNotFoundError as error:
                    if not f"{path}.".startswith(f"{error.name}."):
                        raise
            raise

    def _spec_of_file(self, name: str, location: Any = None, **options: Any) -> ModuleSpec | None:
        """`importlib.util.spec_from_file_location`, whose module is the program's if its file is."""
        if location is not None and str(location).endswith(".py") and self.covers(name, str(location)):
            options.setdefault("loader", _Loader(name, os.path.abspath(location), imports=self))
        return importlib.util.spec_from_file_location(name, location, **options)

    def _tell(self, error: ImportError) -> None:
        """Name the package, in an error about TensorFlow or Keras that it imports by itself, and the option for it."""
        trace, package = error.__traceback__, ""
        while trace is not None:
            name = str(trace.tb_frame.f_globals.get("__name__"))
            root = name.partition(".")[0]
            if root not in (*OURS, "importlib") and self.target(root) is None:
                package = "" if name in (*self.loaded, "__main__") else root
            trace = trace.tb_next
        about = (error.name or "").partition(".")[0]
        if package and self.target(about) and not hasattr(error, "__notes__"):
            error.add_note(f"{package} imports {about} by itself; `dovetail run --map {package}` gives it Dovetail's.")

    def _above(self, module: Any, name: str) -> Any:
        """The first module of a dotted name, with the last one at its end, also if that is elsewhere here."""
        first, *parts = name.split(".")
        outermost = self.import_module(first)
        try:
            functools.reduce(getattr, parts, outermost)
            return outermost
        except AttributeError:
            for above, part in zip([*starts(name)][-2::-1], reversed(parts), strict=True):
                module = _beside(self.import_module(above), **{part: module})
            return module

    def compiled(self, code: str | bytes | ast.Module, path: str, last: Change = lambda tree: tree) -> CodeType:
        """Compile a file of the program, after the changes, of which a last one may be given."""
        tree = functools.reduce(lambda found, change: change(found), (*self.changes, last), ast.parse(code, path))
        return compile(tree, path, "exec", dont_inherit=True)

    def covers(self, name: str, place: str) -> bool:
        """Whether a module, with its file or folder, is one of the program's."""
        root = name.partition(".")[0]
        if root in self.packages or root in OURS:
            return root not in OURS
        path = os.path.realpath(place)
        inside = [path[len(folder) :] for folder in self.folders if path.startswith(folder)]
        added = [folder for folder in sys.path if folder not in self._places]  # by the program
        inside += [path for folder in added if path.startswith(os.path.join(os.path.realpath(folder), ""))]
        if inside:
            return {*NOT_THE_USERS}.isdisjoint(inside[0].split(os.sep))
        return any(takes_keras(_package(folder, path)) for folder in folders() if path.startswith(folder))

    def __enter__(self) -> Imports:
        self._finder = Finder(self)
        sys.meta_path.insert(0, self._finder)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self._finder)
        for name in self.loaded:
            sys.modules.pop(name, None)


def _package(folder: str, path: str) -> Path:
    """The package, or the module, of a file somewhere below a folder of `sys.path`."""
    return Path(folder, path[len(folder) :].partition(os.sep)[0])


def _beside(module: ModuleType, **names: Any) -> ModuleType:
    """A module with other values of some names, and all else of a module."""
    copy = ModuleType(module.__name__, module.__doc__)
    vars(copy).update(names, __getattr__=functools.partial(getattr, module))
    return copy


def _absence(full: str, why: str, module: str) -> ImportError:
    return ModuleNotFoundError(f"No module or name {full!r}: {why}", name=module)


class Finder(MetaPathFinder):
    """The finder that lets those behind it find the program's modules, and gives these another loader."""

    def __init__(self, imports: Imports) -> None:
        self.imports = imports

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :]
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in behind)), None)
        if spec is None:
            return None
        places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
        if places and self.imports.covers(fullname, str(places[0])):
            self.imports.loaded.append(fullname)
            if str(spec.origin).endswith(".py"):
                spec.loader = _Loader(fullname, str(spec.origin), self.imports, spec.loader)
        return spec


class _Loader(SourceFileLoader):
    """A loader whose modules get the program's builtins, and the changes."""

    def __init__(self, name: str, path: str, imports: Imports, found: Any = None) -> None:
        super().__init__(name, path)
        self._imports = imports
        self._rewriting = found if type(found).__module__.startswith("_pytest.") else None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = vars(self._imports.builtins)
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType | None:
        if not self._imports.changes and self._rewriting is None:
            return super().get_code(fullname)
        source = self.get_data(self.path)
        return self._imports.compiled(source, self.path, functools.partial(self._with_assertions, source))

    def _with_assertions(self, source: bytes, tree: ast.Module) -> ast.Module:
        """The tree with assertions that explain themselves, if pytest loads the file."""
        if self._rewriting is not None:
            rewrite = importlib.import_module("_pytest.assertion.rewrite").rewrite_asserts
            rewrite(tree, source, self.path, self._rewriting.config)
        return tree
