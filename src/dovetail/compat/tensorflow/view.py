"""Views of the table: modules whose names are looked up when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import ABSENT, VIEWS, Lazy

ROOT = "dovetail.compat.tensorflow"


# TensorFlow's private modules that programs import from → what their names begin with in the table.
PRIVATE = {
    "python": ("",),
    "python.framework": (),
    "python.framework.ops": ("", "math."),
    "python.framework.dtypes": ("dtypes.",),
    "python.framework.graph_util": ("graph_util.",),
    "python.framework.tensor_shape": ("",),
    "python.framework.constant_op": ("",),
    "python.framework.random_seed": ("",),
    "python.framework.errors": ("errors.",),
    "python.framework.function": ("",),
    "python.ops": ("",),
    "python.ops.math_ops": ("", "math.", "linalg."),
    "python.ops.array_ops": ("",),
    "python.ops.nn_ops": ("nn.", "math."),
    "python.ops.nn": ("nn.", "math."),
    "python.ops.nn_impl": ("nn.", "math."),
    "python.ops.linalg_ops": ("linalg.", ""),
    "python.ops.image_ops": ("image.",),
    "python.ops.random_ops": ("", "random."),
    "python.ops.init_ops": ("",),
    "python.ops.clip_ops": ("",),
    "python.ops.check_ops": ("", "debugging."),
    "python.ops.control_flow_ops": ("",),
    "python.ops.gradients_impl": ("",),
    "python.ops.gradients": ("",),
    "python.ops.state_ops": ("",),
    "python.ops.variables": ("",),
    "python.ops.variable_scope": ("",),
    "python.ops.resource_variable_ops": ("",),
    "python.ops.tensor_array_ops": ("",),
    "python.ops.script_ops": ("",),
    "python.ops.functional_ops": ("",),
    "python.ops.map_fn": ("",),
    "python.training": ("train.",),
    "python.training.moving_averages": ("train.",),
    "python.training.training_util": ("train.",),
    "python.training.optimizer": ("train.",),
    "python.util": (),
    "python.util.nest": ("nest.",),
    "python.platform": (),
    "python.platform.gfile": ("gfile.", "io.gfile."),
    "python.platform.tf_logging": ("logging.",),
    "python.client": (),
    "python.client.device_lib": ("config.",),
}


class View(ModuleType):
    """A module of TensorFlow, as `tf`, `tf.math` or `tf.compat.v1.nn`.

    Args:
        name: as it is imported.
        view: whose words its functions take first, "v1" or "v2".
        prefixes: what its names may begin with in the table, as "math.".
    """

    def __init__(self, name: str, view: str, prefixes: Sequence[str] = ("",)) -> None:
        super().__init__(name, f"TensorFlow's names of {name.removeprefix(ROOT)[1:]}, as Dovetail has them.")
        self.__path__: list[str] = []  # others may be inside of it
        self._view, self._prefixes = view, tuple(prefixes)

    def __getattr__(self, name: str) -> Any:
        return find(self._view, self._prefixes, name, self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *members(self._prefixes)})


def find(view: str, prefixes: Sequence[str], name: str, module: ModuleType) -> Any:
    """What a name stands for, in one view or, where it is not in that, in the other; parts of the table are modules.

    Raises:
        AttributeError: it is not offered; says why and what to write, or which name is like it.
    """
    for table in (VIEWS[view], *VIEWS.values()):
        for prefix in prefixes:
            if prefix + name in table:
                found = table[prefix + name]
                return found.make() if type(found) is Lazy else found
    if name.startswith("_"):  # Python and tools ask for such names, of any module
        raise AttributeError(name, name=name, obj=module)
    part = sys.modules.get(f"{module.__name__}.{name}")
    if part is None:
        within = module.__name__.removeprefix(ROOT)[1:].removeprefix("compat.v1.")
        full = (prefixes[0] if prefixes else f"{within}.") + name
        raise AttributeError(f"tf.{full} is not offered. {advice(full)}", name=name, obj=module)
    return part


def members(prefixes: Sequence[str]) -> set[str]:
    """The names of a module."""
    pairs = [(prefix, name) for table in VIEWS.values() for name in table for prefix in prefixes]
    return {name.removeprefix(prefix).partition(".")[0] for prefix, name in pairs if name.startswith(prefix)}


def advice(full: str) -> str:
    """Why a name is not offered, and what to write."""
    parts = full.split(".")
    for count in range(len(parts), 0, -1):
        known = ".".join(parts[:count])
        for key in (known, f"{known}."):
            if key in ABSENT and (key.endswith(".") or count == len(parts)):
                return ABSENT[key]
    names = sorted({*VIEWS["v1"], *VIEWS["v2"]})
    same = [name for name in names if name.rpartition(".")[2] == parts[-1]]
    close = same or get_close_matches(full, names, 1) or get_close_matches(parts[-1], names, 1)
    hint = f"Did you mean tf.{close[0]}? " if close else ""
    if parts[-1] in ops.__all__:
        return f"{hint}Dovetail has dovetail.ops.{parts[-1]}."
    return f"{hint}dovetail.ops and dovetail.backend (K) have more functions."


def install() -> None:
    """Makes the modules, which programs may also import by their dotted names."""
    for root, view in {ROOT: "v2", f"{ROOT}.compat.v1": "v1", f"{ROOT}.compat.v2": "v2"}.items():
        for part in ["", *sorted(modules())]:
            name = f"{root}.{part}".rstrip(".")
            sys.modules.setdefault(name, View(name, view, [part and f"{part}."]))
    sys.modules.setdefault(f"{ROOT}.compat", View(f"{ROOT}.compat", "v2", ["compat."]))
    for root in (ROOT, f"{ROOT}.compat.v1"):
        for path, prefixes in PRIVATE.items():
            sys.modules.setdefault(f"{root}.{path}", View(f"{root}.{path}", "v1", prefixes))


def modules() -> set[str]:
    """The modules that have names: "math", "config", "config.experimental"."""
    found = set()
    for full in {*VIEWS["v1"], *VIEWS["v2"]}:
        parts = full.split(".")[:-1]
        found |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return found
