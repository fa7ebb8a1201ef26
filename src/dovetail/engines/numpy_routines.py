"""The functions of NumPy that operations call: the loop of a ufunc with its SIMD instructions, or the BLAS library."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.core.base.optional_api import optional_api
from dovetail.core.engine import Segment
from dovetail.core.engines.routines import NOT_REPORTED, Routine, Routines, running_operation

_loops = optional_api(np, "lib.introspect.opt_func_info")  # from NumPy 2.1 on
_BLAS = {"matmul": "fdFD", "vecdot": "fdFD", "matvec": "fdFD", "vecmat": "fdFD"}  # ufuncs → characters of dtypes
_PRODUCTS = ("numpy.dot", "numpy.vdot", "numpy.inner", "numpy.linalg.")  # of BLAS and LAPACK
_here = threading.local()  # its `log`: operation → calls


class _Logged(np.ndarray):
    """An array whose ufuncs and functions are noted for the operation that the program computes."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        plain = {} if out is None else {"out": tuple(map(_plain, out))}
        result = getattr(ufunc, method)(*map(_plain, inputs), **plain, **options)
        dtypes = [x.dtype if isinstance(x, np.ndarray) else type(x) for x in map(_plain, inputs)]
        if method != "__call__":
            dtypes = [dtypes[0]] * ufunc.nin
        _note(f"numpy.{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}", _loop(ufunc, dtypes))
        return _logged(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        before = sum(map(len, _here.log.values()))
        result = super().__array_function__(function, types, args, kwargs)
        if before == sum(map(len, _here.log.values())):  # no ufunc computed it
            name = f"{function.__module__}.{function.__name__}"
            _note(name, _blas() if name.startswith(_PRODUCTS) else NOT_REPORTED)
        return _logged(result)


def _loop(ufunc: Any, dtypes: Sequence[Any]) -> str:
    """The loop of a ufunc for the dtypes of its inputs."""
    try:
        resolved = ufunc.resolve_dtypes((*dtypes, *[None] * (ufunc.nargs - len(dtypes)))[: ufunc.nargs])
    except (TypeError, ValueError):
        return NOT_REPORTED
    letters = "".join(dtype.char for dtype in resolved)
    if letters[0] in _BLAS.get(ufunc.__name__, ""):
        return _blas()
    known = _loops(func_name=f"^{ufunc.__name__}$").get(ufunc.__name__, {}) if _loops else {}
    simd = next((known[key]["current"] for key in (letters, "???") if key in known), "")
    return f"loop {letters}{f', {simd}' if simd else ''}"


def _blas() -> str:
    from threadpoolctl import threadpool_info  # as in `numpy`

    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    own = [library for library in libraries if "numpy" in library["filepath"]] or libraries
    named = [f"{b['internal_api']} {b['version']} ({b.get('architecture', 'unknown')})" for b in own[:1]]
    return "".join(named) or NOT_REPORTED


def _note(call: str, routine: str) -> None:
    _here.log.setdefault(running_operation(), {})[Routine(call, routine)] = None


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    return type(value)([change(v) for v in value]) if type(value) in (list, tuple) else change(value)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if type(value) is _Logged else value


def _logged(value: Any) -> Any:
    return _mapped(lambda v: v.view(_Logged) if type(v) is np.ndarray else v, value)


def _noted(rule: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        return _mapped(_plain, rule(*map(_logged, args), **options))

    return call


def _program(function: Any) -> Any:
    """A program whose rules get arrays that note their calls."""
    scope: Mapping[str, Any] = function.__globals__
    noted = {name: _noted(value) for name, value in scope.items() if name[0] == "r" and name[1:].isdigit()}
    return types.FunctionType(function.__code__, {**scope, **noted}, argdefs=function.__defaults__)


def routines(segment: Segment, arguments: Callable[[], Sequence[Any]]) -> Routines:
    log: dict[Any, dict[Routine, None]] = {}
    _here.log = log
    with np.errstate(all="ignore"):
        _program(segment.function)(*arguments())
    return {operation: list(calls) for operation, calls in log.items() if operation is not None}
