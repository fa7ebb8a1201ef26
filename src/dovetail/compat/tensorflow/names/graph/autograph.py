"""TensorFlow's names for AutoGraph, which records branches and loops of Python on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.compat.autograph import conversion
from dovetail.compat.autograph.features import Feature, features
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error


@function("autograph.to_graph")
def to_graph(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> Any:
    """A function whose branches and loops on tensors of a graph are recorded; nothing is compiled.

    Source: `tf.autograph.to_graph`.
    """
    return conversion.converted(entity, features(experimental_optional_features))


@function("autograph.to_code")
def to_code(entity: Any, recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """The source of a converted function.

    Raises:
        ValueError: it is not converted, since it has no source or is a library's.

    Source: `tf.autograph.to_code`.
    """
    python = getattr(entity, "python_function", entity)
    source = conversion.source_of(python, features(experimental_optional_features))
    if source is None:
        problem = f"{python!r} is not converted: its source is not known, or has a part that is not converted"
        raise op_error(ValueError, "tf.autograph.to_code", f"{problem}, as `yield`.")
    return source


@function("autograph.experimental.do_not_convert")
def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """A function that is not converted; also a decorator.

    Source: `tf.autograph.experimental.do_not_convert`.
    """
    return do_not_convert if func is None else conversion.stays(func)


@function("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Say how the loop around it runs, as the first statement of its body; converted functions take it out.

    Args:
        maximum_iterations: the largest number of turns.
        shape_invariants: pairs of a variable and the shape that it keeps, with None for dimensions that change.

    Source: `tf.autograph.experimental.set_loop_options`.
    """


@function("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Take a number; nothing is logged, since `to_code` shows the changes.

    Source: `tf.autograph.set_verbosity`.
    """


@function("autograph.trace")
def trace(*args: Any) -> None:
    """Print values while a function is traced.

    Source: `tf.autograph.trace`.
    """
    print(*args)


value("autograph.experimental.Feature", Feature)
