"""The sample calls on Keras' numpy backend and on one of Dovetail's engines: the same values, dtypes and shapes.

The arguments are the engine and `every`: each nth call runs.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

import dovetail as dt
from tests.keras_backends import main
from tests.keras_dovetail.ops.calls import Call
from tests.keras_dovetail.ops.tables import FUNCTIONS, MODULES, PARAMETERS, TABLE, is_there, sample

HELPERS = {"unstack", "numpy_scan"}  # helpers of Keras' rnn, which Keras uses nowhere else
ELSEWHERE = {  # functions that return functions or random numbers, or raise errors, have their own checks
    "beta", "bidirectional_gru", "bidirectional_lstm", "binomial", "categorical", "dropout", "elastic_transform",
    "gamma", "gru", "jvp", "lstm", "normal", "randint", "shuffle", "sobel_edges", "truncated_normal", "uniform",
    "vectorize",
}  # fmt: skip


def theirs_of(module: str) -> Any:
    """A module of Keras' numpy backend, imported so that the backend does not replace Dovetail's functions."""
    with patch.object(keras.src.backend, "numpy", create=True):  # Keras 3.16 has it under `ops`
        return importlib.import_module(f"keras.src.backend.numpy.{folder_of(module)}{module}")


def folder_of(module: str) -> str:
    """The folder of a module of functions in Keras' own backends."""
    is_in_ops = find_spec("keras.src.backend.numpy.ops") and module not in ("random", "rnn")
    return "ops." if is_in_ops else ""


def ours_of(module: str) -> Any:
    """The module of `keras_dovetail` for a module of Keras' numpy backend."""
    folder = "" if module in ("random", "rnn") else "ops."
    return importlib.import_module(f"keras_dovetail.src.{folder}{module}")


def leaves(x: Any) -> list[Any]:
    """The values in tuples and lists."""
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def functions(module: Any) -> dict[str, Any]:
    """The public functions that a module of Keras defines."""
    mine = {name: f for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    return {name: f for name, f in mine.items() if not name.startswith("_") and name not in HELPERS}


def check_same(call: Call, engine: str) -> None:
    wanted = getattr(theirs_of(call.module), call.name)(*call.args, **call.options)
    with dt.engine(engine):
        found = getattr(ours_of(call.module), call.name)(*call.args, **call.options)
    found, wanted = leaves(found), leaves(wanted)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        value = np.asarray(ours)
        assert value.shape == np.shape(theirs), f"shape {value.shape}, not {np.shape(theirs)}"
        if call.same_dtype:
            assert value.dtype == np.asarray(theirs).dtype, f"dtype {value.dtype}, not {np.asarray(theirs).dtype}"
        tolerance = 5e-3 if value.dtype == "float16" else call.tolerance
        np.testing.assert_allclose(value, theirs, rtol=tolerance, atol=tolerance)


def check_signatures(module: str) -> None:
    ours = ours_of(module)
    for name, function in functions(theirs_of(module)).items():
        found, wanted = (inspect.signature(f).parameters.values() for f in (getattr(ours, name), function))
        if wanted and all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in wanted):
            continue  # it only raises an error
        found = [p for p in found if is_there(PARAMETERS.get((name, p.name)))]
        assert [(p.name, p.default, p.kind) for p in found] == [(p.name, p.default, p.kind) for p in wanted], name


def check_all_are_called(module: str) -> None:
    called = {call.name for call in TABLE.values() if call.module == module}
    left = sorted({*functions(theirs_of(module))} - called - ELSEWHERE)
    assert not left, f"no sample call of {', '.join(left)}"


def check_every_function_of_a_backend_is_there() -> None:
    """Check the functions that the numpy, jax and torch backends of Keras all define."""
    count = 0
    for module in ("core", *MODULES):
        names = set.intersection(*(defined(backend, module) for backend in ("numpy", "jax", "torch")))
        left = sorted(name for name in names if not hasattr(ours_of(module), name))
        assert not left, f"{module} lacks {', '.join(left)}"
        count += len(names)
    assert count > 350


def check_what_one_version_lacks_is_listed_rightly() -> None:
    modules = {module: functions(theirs_of(module)) for module in ("core", *MODULES)}
    found = {name: f for module in modules.values() for name, f in module.items()}
    assert {name: name in found for name in FUNCTIONS} == {name: is_there(v) for name, v in FUNCTIONS.items()}
    for (name, parameter), version in PARAMETERS.items():
        assert (parameter in inspect.signature(found[name]).parameters) == is_there(version)


def defined(backend: str, module: str) -> set[str]:
    """The public functions in the text of a backend's module; the backend need not be installed."""
    folder = Path(keras.__file__).parent / "src" / "backend" / backend / folder_of(module).strip(".")
    text = (folder / f"{module}.py").read_text()
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"}


if __name__ == "__main__":
    engine, every = sys.argv[1:]
    checks = {name: functools.partial(check_same, TABLE[name], engine) for name in sample(int(every))}
    if engine == "numpy":
        checks["every function"] = check_every_function_of_a_backend_is_there
        checks["versions"] = check_what_one_version_lacks_is_listed_rightly
    for module in ("core", *MODULES) if engine == "numpy" else ():
        checks[f"{module} signatures"] = functools.partial(check_signatures, module)
    for module in MODULES if engine == "numpy" else ():
        checks[f"{module} called"] = functools.partial(check_all_are_called, module)
    main({f"check_{name}": check for name, check in checks.items()})
