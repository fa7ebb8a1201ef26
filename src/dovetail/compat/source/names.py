"""The names of K and TensorFlow, and the meaning of a project's names across its files."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path

from dovetail.compat.source.scopes import Binder, Bound, Scope
from dovetail.compat.source.sources import Source

OF_K = re.compile(  # K, or something in it, of any Keras
    r"""(?: (?: (?:tensorflow|tensorflow_core) (?:\.\w+)*? \.keras | tf_keras | keras )
            (?:\.(?:api|src|python|legacy|keras|_impl|_v1|_v2))* | dovetail )
        \.backend (?:\.(?:(?:tensorflow|theano|cntk|mxnet)_backend|common|experimental))?
        (?:\.(?!__)(?P<name>\w+)(?:\.\w+)*)?""",
    re.VERBOSE,
)
OF_KERAS_3 = re.compile(r"keras\.src\.backend\.(core|image|linalg|math|nn|numpy|random|rnn)(\..+)?")  # modules there
OF_TENSORFLOW = re.compile(r"tensorflow(?:\.(?:compat\.v[12]|_api\.v[12]))*(?:\.(?P<name>[\w.]+))?")

_DOVETAIL = Path(__file__).parents[2]
_NAMES_OF_K = _DOVETAIL / "backend" / "support.json"  # of the functions that K has, or had in some Keras
_NAMES_OF_TENSORFLOW = _DOVETAIL / "compat" / "tensorflow" / "public_names.txt"  # a kind and a name a line


SESSIONS = {  # names that only TensorFlow 1's graphs and sessions need
    *("ConfigProto", "GPUOptions", "Graph", "InteractiveSession", "Session", "placeholder"),
    *("get_default_graph", "get_default_session", "reset_default_graph"),
    *("global_variables_initializer", "initialize_all_variables", "variables_initializer"),
    *("disable_eager_execution", "disable_v2_behavior"),
}


@functools.cache
def functions_of_k() -> frozenset[str]:
    """The names of functions that K has, or had in some Keras, and of the module `tf` in it."""
    return frozenset((*json.loads(_NAMES_OF_K.read_text())["functions"], "tf"))


@functools.cache
def names_of_version_1() -> frozenset[str]:
    """The public names of `tf.compat.v1` that are not names of TensorFlow 2."""
    lines = map(str.split, _NAMES_OF_TENSORFLOW.read_text().splitlines())
    return frozenset(name for kind, name, *mark in lines if mark and kind != "module")


def k_name(path: str) -> str | None:
    """The function of K that a dotted name means; "" for K itself, None for other names.

    Example:
        >>> k_name("tensorflow.keras.backend.square"), k_name("keras.backend.tensorflow_backend.set_session")
        ('square', 'set_session')
        >>> k_name("keras.backend"), k_name("numpy.square")
        ('', None)
    """
    match = None if OF_KERAS_3.fullmatch(path) else OF_K.fullmatch(path)
    return None if match is None else match["name"] or ""


def tf_name(path: str) -> str | None:
    """The name inside TensorFlow of a dotted path; "" for TensorFlow itself, None for other paths.

    K's functions also give None; `k_name` knows them.

    Example:
        >>> tf_name("tensorflow.nn.relu"), tf_name("tensorflow.compat.v1.placeholder"), tf_name("numpy.abs")
        ('nn.relu', 'placeholder', None)
    """
    match = OF_TENSORFLOW.fullmatch(path)
    return None if match is None or k_name(path) is not None else match["name"] or ""


def keras_name(path: str) -> str | None:
    """The name inside `keras` of a dotted path; None for other paths, and for K's functions.

    Example:
        >>> keras_name("keras.layers.Dense"), keras_name("keras.backend.square")
        ('layers.Dense', None)
    """
    root, _, name = path.partition(".")
    return name if root in ("keras", "tf_keras") and k_name(path) is None else None


def of_sessions(path: str) -> bool:
    """Whether a dotted path is a name of TensorFlow 1's graphs and sessions."""
    return path.startswith("tensorflow.") and path.rpartition(".")[2] in SESSIONS


class Project:
    """The files of a project, and the names bound in them.

    Attributes:
        binders: path → the names bound in that file.
    """

    def __init__(self, sources: Iterable[Source]):
        self.binders: dict[str, Binder] = {}
        self._modules: dict[str, Binder] = {}
        self._told: dict[tuple[Scope, str], str | None] = {}
        self._open: list[tuple[Scope, str]] = []  # the name that was asked for, then the names on the way to it
        for source in sources:
            binder = self.binders[source.path] = Binder(source.package)
            for _, tree in source.parts:
                binder.visit(tree)
            self._modules.update(dict.fromkeys(source.modules, binder))

    def resolve(self, node: ast.expr, scope: Scope, binder: Binder) -> str | None:
        """The dotted name of an expression's value; None if it is unknown."""
        match node:
            case ast.Name(name):
                return self._lookup(name, scope, binder)
            case ast.Attribute(value, attribute) if attribute != "__dict__":
                return self._member(value, attribute, scope, binder) or self._assigned(node, binder)
            case ast.Subscript(
                ast.Attribute(owner, "__dict__") | ast.Call(ast.Name("vars"), [owner]), ast.Constant(str(name))
            ):
                return self._member(owner, name, scope, binder)
            case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(name)), *_]):
                return self._member(owner, name, scope, binder)
            case ast.Call(ast.Attribute(_, "import_module") | ast.Name("import_module"), [ast.Constant(str(module))]):
                return module
            case ast.Subscript(ast.Attribute(ast.Name("sys"), "modules"), ast.Constant(str(module))):
                return module
            case ast.NamedExpr(_, value):
                return self.resolve(value, scope, binder)
        return None

    def _member(self, owner: ast.expr, name: str, scope: Scope, binder: Binder) -> str | None:
        base = self.resolve(owner, scope, binder)
        return self._through(f"{base}.{name}") if base else None

    def _assigned(self, node: ast.Attribute, binder: Binder) -> str | None:
        """The meaning of `self.K` after `self.K = K`."""
        if node.attr not in binder.attributes or not isinstance(node.ctx, ast.Load):
            return None
        path = self.resolve(*binder.attributes[node.attr], binder)
        return path if path and k_name(path) == "" else None

    def _lookup(self, name: str, scope: Scope, binder: Binder) -> str | None:
        """The meaning of a name in a scope."""
        owner = scope.owner(name)
        asked = (owner or binder.file, name)
        if asked in self._told:
            return self._told[asked]
        self._told[asked] = None  # ends the recursion of x = x.y and of files that import each other
        self._open.append(asked)
        if owner is None:
            meaning = self._from_star(name, binder)
        else:
            meaning = _common([self._meaning(bound, binder) for bound in owner.names[name]])
        self._told[asked] = meaning
        if asked is self._open[0]:
            if meaning:  # names that met this one half-resolved may have a meaning after all
                for other in self._open:
                    if self._told[other] is None:
                        del self._told[other]
            self._open.clear()
        return meaning

    def _meaning(self, bound: Bound, binder: Binder) -> str | None:
        if bound is None:
            return None
        return self._through(bound) if isinstance(bound, str) else self.resolve(*bound, binder)

    def _from_star(self, name: str, binder: Binder) -> str | None:
        """The meaning of a name that only `from module import *` can have bound."""
        for module in binder.stars:
            path = self._through(f"{module}.{name}")
            is_there = name in functions_of_k() if k_name(module) == "" else k_name(path) is not None
            if is_there:
                return path
        return None

    def _through(self, path: str) -> str:
        """Follow a dotted name through the project's files: `utils.K` is `keras.backend` if utils.py imports it so."""
        parts = path.split(".")
        for count in range(len(parts) - 1, 0, -1):
            binder = self._modules.get(".".join(parts[:count]))
            if binder is not None and k_name(path) is None:
                meaning = self._lookup(parts[count], binder.file, binder)
                return ".".join([meaning, *parts[count + 1 :]]) if meaning else path
        return path


def _common(meanings: list[str | None]) -> str | None:
    """The meaning of a name with several: K, if one of them is; a function of K, if all are that function."""
    of_k = [path for path in meanings if path is not None and k_name(path) is not None]
    whole = next((path for path in of_k if k_name(path) == ""), None)
    if whole or not of_k:
        return whole or next(filter(None, meanings), None)
    return of_k[0] if len(of_k) == len(meanings) and len(set(map(k_name, of_k))) == 1 else None
