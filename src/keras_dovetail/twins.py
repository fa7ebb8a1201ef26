"""Twins of branches, for Keras 3.15, which has no list of pluggable backends but chains of `if backend() == "jax"`.

Each such branch in the syntax tree of five of Keras' modules gets a twin for "dovetail", which imports this package's
modules instead of the modules of Keras' jax backend.

In both versions, one module of Keras imports JAX for a callback.  This import goes, since an engine's library is
imported when a program first uses the engine.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

BACKEND = "dovetail"

# Module → the numbers of chains of branches, and of tuples of the names of backends, that must be found.
MODULES = {
    "keras.src.backend": (1, 0),
    "keras.src.layers.layer": (1, 0),
    "keras.src.models.model": (1, 0),
    "keras.src.export.saved_model": (1, 0),
    "keras.src.utils.backend_utils": (1, 1),
}

# This module imports jax at its top, only to give old versions of it a function.
IMPORTS_JAX = "keras.src.callbacks.orbax_checkpoint"

_TEMPLATE, _PACKAGE = "keras.src.backend.jax", "keras_dovetail.src"
_FLAT = "keras_dovetail.flat"  # for the template itself
_CLASSES = {
    "JaxLayer": "BackendLayer",
    "JAXTrainer": "Trainer",
    "JaxExportArchive": "SavedModelExportArchive",
}


def changed(name: str, source: bytes) -> ast.Module:
    """The syntax tree of one of these modules of Keras, changed for the backend.

    Raises:
        LookupError: the source is not as in the versions that are tested.
    """
    if name == IMPORTS_JAX:
        return without_jax(ast.parse(source))
    tree, twins = with_twins(ast.parse(source))
    if twins != MODULES[name]:
        raise LookupError(f'in {name} branches of `backend() == "jax"` are not found where they should be')
    return tree


def without_jax(tree: ast.Module) -> ast.Module:
    """The tree without the statement at its top that tries to import jax.

    Example:
        >>> ast.unparse(without_jax(ast.parse("try:\\n    import jax\\nexcept ImportError:\\n    pass\\nx = 1")))
        'x = 1'
    """
    rest = [node for node in tree.body if not (isinstance(node, ast.Try) and ast.unparse(node.body[0]) == "import jax")]
    return ast.Module(rest, tree.type_ignores)


def with_twins(tree: ast.Module) -> tuple[ast.Module, tuple[int, int]]:
    """The tree with its twin branches, and the numbers of chains of branches and of tuples of names that got one.

    Example:
        >>> tree, found = with_twins(ast.parse("if backend() == 'jax':\\n    from keras.src.backend.jax import core"))
        >>> print(ast.unparse(tree))
        if backend() == 'dovetail':
            from keras_dovetail.flat import core
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
        names = {"jax": BACKEND, _TEMPLATE: _FLAT}
        return ast.Constant(names.get(node.value, node.value) if isinstance(node.value, str) else node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        package, _, module = (node.module or "").partition(_TEMPLATE)
        if not package and node.module:
            node.module = _PACKAGE + (f".ops{module}" if module == ".core" else module) if module else _FLAT
            for alias in node.names:
                alias.name = _CLASSES.get(alias.name, alias.name)
        return node
