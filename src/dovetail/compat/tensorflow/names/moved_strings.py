"""Strings of Python as arguments of the functions that move, compare or count: `tf.reshape(b"text", [])`."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from dovetail.compat.tensorflow.names import creation as creation  # whose rows are wrapped below
from dovetail.compat.tensorflow.names import indexing as indexing
from dovetail.compat.tensorflow.names import joining as joining
from dovetail.compat.tensorflow.names import math as math
from dovetail.compat.tensorflow.names import random as random
from dovetail.compat.tensorflow.names import shapes as shapes
from dovetail.compat.tensorflow.names.string_tensors import NUMBERS, StringTensor, in_graph, is_of_run, joined
from dovetail.compat.tensorflow.names.text import Text, is_text, strings_of, text
from dovetail.compat.tensorflow.table import VIEWS
from dovetail.core.scopes import not_building
from dovetail.core.structure import flatten, unflatten

# The parameters that may be strings → the functions; with a star, the parameter is a list of strings.
BY_ONE_OP = {  # an op takes tensors of strings
    "input": "identity shape size rank tile expand_dims squeeze broadcast_to",
    "*values": "stack concat",
    "tensor": "reshape reverse",
    "x y": "equal not_equal",
    "params": "gather",
    "value": "split random_shuffle random.shuffle",
    "a": "transpose",
    "tensor input": "zeros_like ones_like",
}
BY_SEVERAL = {  # several ops compute with the numbers of strings
    "input_": "slice strided_slice",
    "value": "unstack fill",
    "tensor": "boolean_mask pad",
    "data": "dynamic_partition",
    "params": "gather_nd",
    "x y": "where",
}


def _with_text(function: Callable[..., Any], given: dict[str, Any], texts: dict[str, Any]) -> Any:
    """The result of a function whose op takes tensors of strings."""
    return function(**given | texts)


def _by_numbers(function: Callable[..., Any], given: dict[str, Any], texts: dict[str, Any]) -> Any:
    """The result of a function for the numbers of strings, with the strings of these numbers."""
    if any(map(is_of_run, [*given.values(), *texts.values()])):
        leaves, structure = flatten(function(**given | {key: in_graph(x).numbers for key, x in texts.items()}))
        return unflatten(structure, map(StringTensor, leaves))
    numbers = {key: NUMBERS.of(strings_of(x), keep=True) for key, x in texts.items()}
    with not_building():
        leaves, structure = flatten(function(**given | numbers))
    return unflatten(structure, [Text(NUMBERS.strings(leaf)) for leaf in leaves])


def _taking_strings(function: Callable[..., Any], words: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: strings of Python in these parameters are tensors of strings."""
    signature, names = inspect.signature(function), words.replace("*", "").split()
    parameters = list(signature.parameters)
    places = [parameters.index(name) for name in names if name in parameters]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = [args[place] for place in places if place < len(args)] + [kwargs.get(name) for name in names]
        if not any(map(is_text, found)):
            return function(*args, **kwargs)
        given = dict(zip(parameters, args, strict=False)) | kwargs
        texts = {name: _text(given[name], words.startswith("*")) for name in names if is_text(given.get(name))}
        return compute(function, given, texts)

    return call


def _text(value: Any, is_list: bool) -> Any:
    """Strings as a tensor, or as a list of tensors."""
    if is_list and isinstance(value, (list, tuple)):
        return [_text(part, False) if is_text(part) else part for part in value]
    return text(joined(value))


for _table, _compute in ((BY_ONE_OP, _with_text), (BY_SEVERAL, _by_numbers)):
    for _words, _names in _table.items():
        for _name, _view in itertools.product(_names.split(), VIEWS.values()):
            _function = _view[_name]
            _wrapped = _taking_strings(_function, _words, _compute)
            _view.update({alias: _wrapped for alias, other in _view.items() if other is _function})
