"""The registration of Dovetail with torch's compilers: `torch.compile`, and `torch.export` with `strict=True`.

These compilers read the bytecode of a program.  A call of K or of `dovetail.ops` is one node for them: they compute it
with tensors that have shapes and no numbers, and so see the calls of torch inside.  They read functions that take
functions like the program's own code.  Other functions tell shapes or settings, which a program keeps as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.table import FUNCTIONS
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.sequence.rnn import _unrolled
from dovetail.ops.shapes.shape import dims_of, shaped

_switch = K.switch.__wrapped__  # type: ignore[attr-defined]


def _value(expression: Any) -> Any:
    return expression() if callable(expression) else expression


def _in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    training = K.learning_phase() if training is None else training
    if isinstance(training, torch.Tensor):
        return _switch(training, _value(x), _value(alt))
    return _value(x if training else alt)


_INSTEAD: dict[Any, Callable[..., Any]] = {  # function → the code that the compilers read
    K.shape: lambda x: x.shape,
    K.int_shape: lambda x: tuple(x.shape),
    K.ndim: lambda x: len(x.shape),
    K.count_params: lambda x: math.prod(x.shape),
    K.dtype: lambda x: str(x.dtype).removeprefix("torch."),
    K.name_scope: lambda name: nullcontext(name),
    K.switch: lambda condition, then, otherwise: _switch(condition, _value(then), _value(otherwise)),
    K.in_train_phase: _in_train_phase,
    K.in_test_phase: lambda x, alt, training=None: _in_train_phase(alt, x, training),
    ops.cond: lambda condition, then, otherwise: ops.where(condition, then(), otherwise()),
    ops.scan: lambda f, init, xs=None, length=None, reverse=False: _unrolled(f, init, xs, reverse),
    K.map_fn: lambda fn, elems, name=None, dtype=None: ops.map_fn(fn, elems, dtype),
    K.foldl: lambda fn, elems, initializer=None, name=None: ops.foldl(fn, elems, initializer),
    K.foldr: lambda fn, elems, initializer=None, name=None: ops.foldr(fn, elems, initializer),
    static_shape: lambda x: tuple(x.shape),
    dims_of: lambda x: list(x.shape),
    shaped: lambda x: x,
}
_READ: tuple[Any, ...] = (K.rnn, ops.foldl, ops.foldr, ops.map_fn, ops.rnn)  # as they are
_SETTINGS = (K.epsilon, K.floatx, K.image_data_format, K.learning_phase)


def _register() -> None:
    for function, code in (*_INSTEAD.items(), *((f, f.__wrapped__) for f in _READ)):
        torch.compiler.substitute_in_graph(function, skip_signature_check=True)(code)
    for function in _SETTINGS:
        torch.compiler.assume_constant_result(function)
    random = [getattr(ops.random, name) for name in ops.random.__all__]
    named = [getattr(ops, name) for name in ops.__all__ if getattr(ops, name).__name__ not in COLLECTIVES]
    others = {*_INSTEAD, *_READ, *_SETTINGS}
    for function in (_switch, *FUNCTIONS.values(), *random, *named):
        if function not in others:
            torch.compiler.allow_in_graph(function)


_register()
