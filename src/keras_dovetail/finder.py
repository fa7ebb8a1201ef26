"""The import hook for the backend "dovetail": Keras has no registry of backends, but chains of `if backend() == "jax"`.

Each such branch in the syntax tree of six of Keras' modules gets a twin for "dovetail", which imports this package's
modules instead of the modules of Keras' jax backend.  Keras' module of settings gets Dovetail's functions.  Once all of
Keras is imported, ops learn to take its tensors.  One module of Keras imports JAX for a callback; the hook removes this
import, since an engine's library is imported when a program first uses the engine.
"""

from __future__ import annotations

import ast
import copy
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, ModuleType
from typing import Any

BACKEND = "dovetail"
SUPPORTED = ("3.15.1",)  # the versions of Keras that are tested

# Module → the numbers of chains of branches, and of tuples of the names of backends, that must be found.
MODULES = {
    "keras.src.backend": (1, 0),
    "keras.src.layers.layer": (1, 0),
    "keras.src.models.model": (1, 0),
    "keras.src.export.saved_model": (1, 0),
    "keras.src.optimizers.optimizer": (1, 0),
    "keras.src.utils.backend_utils": (1, 1),
}

# This module imports jax at its top, only to give old versions of it a function.
IMPORTS_JAX = "keras.src.callbacks.orbax_checkpoint"

# Module → the function of this package that is called with it once it is executed.
FOLLOWED = {
    "keras": ("keras_dovetail.kinds", "register_kinds"),
    "keras.src.backend.common.dtypes": ("keras_dovetail.settings", "keep_floatx"),
    "keras.src.backend.config": ("keras_dovetail.settings", "share"),
    "keras.src.callbacks.tensorboard": ("keras_dovetail.src.tensorboard", "write_by_dovetail"),
    "keras.src.layers.layer": ("keras_dovetail.src.phase", "follow"),
    "keras.src.saving.serialization_lib": ("keras_dovetail.imported", "wait_for_tensorflow"),
    "keras.src.utils.rng_utils": ("keras_dovetail.imported", "wait_for_tensorflow"),
    "tensorflow": ("keras_dovetail.seeds", "seed_tensorflow"),
}

_TEMPLATE, _PACKAGE = "keras.src.backend.jax", "keras_dovetail.src"


def install() -> None:
    """Import Keras with Dovetail as its backend from now on.

    Raises:
        ImportError: Keras was imported before, on another backend.
    """
    if not any(type(each) is _Finder for each in sys.meta_path):  # it stays when Keras reloads itself
        if "keras" in sys.modules:
            raise ImportError("keras was imported before keras_dovetail, on another backend: import it afterwards.")
        sys.meta_path.insert(0, _Finder())
    os.environ["KERAS_BACKEND"] = BACKEND


def _refusal(problem: str) -> ImportError:
    supported = " and ".join(SUPPORTED)
    return ImportError(f"Dovetail is a backend of Keras {supported}, but {problem}: pip install keras=={SUPPORTED[-1]}")


class _Finder(MetaPathFinder):
    """The finder of the modules that need twin branches, the removal of an import, or a call once they are executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_ours = name in MODULES or name in FOLLOWED or name == IMPORTS_JAX
        spec = PathFinder.find_spec(name, path, target) if is_ours else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """The loader of a module's changed source; it calls the module's follower once the module is executed.

    Python's cached code of the unchanged source is neither read nor written.
    """

    def get_code(self, fullname: str) -> CodeType | None:
        if fullname == IMPORTS_JAX:
            tree = without_jax(ast.parse(self.get_data(self.path)))
        elif fullname in MODULES:
            tree, found = with_twins(ast.parse(self.get_data(self.path)))
            if found != MODULES[fullname]:
                raise _refusal(f'in {fullname} branches of `backend() == "jax"` are not found where they should be')
        else:
            return super().get_code(fullname)
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        if self.name == "keras":
            _check_version()
        with _importing() if self.name == "keras" else nullcontext():
            super().exec_module(module)
            if self.name in FOLLOWED:
                follower, function = FOLLOWED[self.name]
                getattr(import_module(follower), function)(module)


def _importing() -> AbstractContextManager[None]:
    from dovetail.core.garbage import importing  # imported with Keras, not before

    return importing()


def _check_version() -> None:
    try:
        found = version("keras")
    except PackageNotFoundError:
        raise _refusal("of the one here the version is not known") from None
    if found not in SUPPORTED:
        raise _refusal(f"this is Keras {found}")


def without_jax(tree: ast.Module) -> ast.Module:
    """The tree without the statement at its top that tries to import jax.

    Raises:
        ImportError: there is not exactly one such statement.

    Example:
        >>> ast.unparse(without_jax(ast.parse("try:\\n    import jax\\nexcept ImportError:\\n    pass\\nx = 1")))
        'x = 1'
    """
    rest = [node for node in tree.body if not (isinstance(node, ast.Try) and ast.unparse(node.body[0]) == "import jax")]
    if len(rest) != len(tree.body) - 1:
        raise _refusal(f"{IMPORTS_JAX} does not import jax where it should")
    return ast.Module(rest, tree.type_ignores)


def with_twins(tree: ast.Module) -> tuple[ast.Module, tuple[int, int]]:
    """The tree with its twin branches, and the numbers of chains of branches and of tuples of names that got one.

    Example:
        >>> tree, found = with_twins(ast.parse("if backend() == 'jax':\\n    from keras.src.backend.jax import core"))
        >>> print(ast.unparse(tree))
        if backend() == 'dovetail':
            from keras_dovetail.src import core
        elif backend() == 'jax':
            from keras.src.backend.jax import core
    """
    twins = _Twins()
    return ast.fix_missing_locations(twins.visit(tree)), (twins.branches, twins.tuples)


class _Twins(ast.NodeTransformer):
    """The change that gives branches for jax their twins, and adds the name to tuples of the names of backends."""

    branches = tuples = 0

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        match node.test:
            case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value="jax")]):
                self.branches += 1
                twin = copy.deepcopy(node)
                _Renamed().visit(twin.test)
                twin.body = [_Renamed().visit(statement) for statement in twin.body]
                twin.orelse = [node]
                return twin
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.Tuple:
        if any(isinstance(each, ast.Constant) and each.value == "jax" for each in node.elts):
            self.tuples += 1
            node.elts.append(ast.Constant(BACKEND))
        return node


class _Renamed(ast.NodeTransformer):
    """The change of the names of Keras' jax backend, its modules and classes, into Dovetail's names."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        names = {"jax": BACKEND, _TEMPLATE: _PACKAGE}
        return ast.Constant(names.get(node.value, node.value) if isinstance(node.value, str) else node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module == _TEMPLATE:
            node.module = _PACKAGE
        elif (node.module or "").startswith(_TEMPLATE + "."):
            module = (node.module or "").removeprefix(_TEMPLATE)
            node.module = _PACKAGE + (f".ops{module}" if module == ".core" else module)
            for alias in node.names:
                if alias.name.lower().startswith("jax"):
                    alias.name = "Dovetail" + alias.name[len("jax") :]
        return node
