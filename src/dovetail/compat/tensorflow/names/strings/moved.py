"""Strings of Python as arguments of the functions that move, compare or count: `tf.reshape(b"text", [])`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dovetail.compat.tensorflow.names.strings.tensors import StringTensor, in_graph, is_of_run, joined
from dovetail.compat.tensorflow.names.strings.text import Text, is_text, strings_of, text
from dovetail.compat.tensorflow.table import Wrapper
from dovetail.core.base.scopes import not_building
from dovetail.core.values.structure import flatten, unflatten
from dovetail.formats.host.numbers import Numbers


def by_op(words: str) -> Wrapper:
    """Let parameters of a function be strings of Python: its op takes tensors of strings.

    Args:
        words: the parameters; with a star, one is a list of strings.
    """
    return functools.partial(_taking_strings, words=words, compute=_with_text)


def by_numbers(words: str) -> Wrapper:
    """Let parameters of a function be strings of Python: its ops compute with the numbers of strings."""
    return functools.partial(_taking_strings, words=words, compute=_by_numbers)


def _with_text(function: Callable[..., Any], given: dict[str, Any], texts: dict[str, Any]) -> Any:
    """The result of a function whose op takes tensors of strings."""
    return function(**given | texts)


def _by_numbers(function: Callable[..., Any], given: dict[str, Any], texts: dict[str, Any]) -> Any:
    """The result of a function for the numbers of strings, with the strings of these numbers."""
    if any(map(is_of_run, [*given.values(), *texts.values()])):
        taken = {key: _each(lambda part: in_graph(part).numbers, x) for key, x in texts.items()}
        leaves, structure = flatten(function(**given | taken))
        return unflatten(structure, map(StringTensor, leaves))
    numbers = Numbers()
    with not_building():
        taken = {key: _each(lambda part: numbers.of(strings_of(part)), x) for key, x in texts.items()}
        leaves, structure = flatten(function(**given | taken))
    return unflatten(structure, [Text(numbers.values(leaf)) for leaf in leaves])


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    """The result of a function for a tensor, or for each of a list."""
    return list(map(function, value)) if isinstance(value, list) else function(value)


def _taking_strings(function: Callable[..., Any], words: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: strings of Python in these parameters are tensors of strings."""
    signature, names = inspect.signature(function), words.replace("*", "").split()
    parameters = list(signature.parameters)
    places = [parameters.index(name) for name in names if name in parameters]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        candidates = [args[place] for place in places if place < len(args)] + [kwargs.get(name) for name in names]
        if not any(map(is_text, candidates)):
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
