"""Settings: the float type, the fuzz factor, the image layout, and the name of the backend."""

from __future__ import annotations

from dovetail.backend.values import running_keras, running_layer
from dovetail.core.base import config
from dovetail.core.engines.engine_registry import chosen_engine, compiling_engine

__all__ = [
    "backend",
    "epsilon",
    "floatx",
    "image_data_format",
    "normalize_data_format",
    "set_backend_name",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
]

backend_name: str | None = None  # what `set_backend_name` set


def backend() -> str:
    """The name of the library that computes: the engine, or, inside a stock Keras 3, Keras' backend.

    A call is inside Keras while a layer of Keras runs.  It is also inside, as in losses, if Keras 3 is imported and the
    program has chosen no engine (by `dovetail.engine`, `dovetail.set_engine` or $DOVETAIL_ENGINE).  A name from
    `set_backend_name` comes first.

    Source: `tf.keras.backend.backend`.

    Modern: `keras.backend.backend()`.

    Example:
        >>> import dovetail
        >>> with dovetail.engine("numpy"):
        ...     backend()
        'numpy'
    """
    keras = running_keras()
    if backend_name is not None:
        return backend_name
    if keras is not None and (running_layer() is not None or chosen_engine() is None):
        return keras.backend.backend()
    return compiling_engine().name


def set_backend_name(name: str | None) -> None:
    """Set the name that `backend` returns, for programs that run only if it is "tensorflow" or "theano".

    Args:
        name: the name to return; None for the name of the library that computes.

    Source: Dovetail's own.

    Modern: none; a program that runs on every engine does not ask.

    Example:
        >>> set_backend_name("tensorflow")
        >>> backend()
        'tensorflow'
        >>> set_backend_name(None)
    """
    global backend_name
    if name is not None and not isinstance(name, str):
        raise TypeError(f"the name must be a string or None, not {name!r}.")
    backend_name = name


def epsilon() -> float:
    """The fuzz factor: the small number that keeps logarithms and divisions finite.

    Source: `tf.keras.backend.epsilon`.

    Modern: `keras.config.epsilon()`.

    Example:
        >>> epsilon()
        1e-07
    """
    return config.epsilon()


def set_epsilon(value: float) -> None:
    """Set the fuzz factor.

    Args:
        value: a small positive number.

    Source: `tf.keras.backend.set_epsilon`.

    Modern: `keras.config.set_epsilon(value)`.

    Example:
        >>> set_epsilon(1e-5)
        >>> epsilon()
        1e-05
        >>> set_epsilon(1e-7)
    """
    config.set_epsilon(value)


def floatx() -> str:
    """The default float type, for tensors without another dtype.

    Source: `tf.keras.backend.floatx`.

    Modern: `keras.config.floatx()`.

    Example:
        >>> floatx()
        'float32'
    """
    return config.floatx()


def set_floatx(value: str) -> None:
    """Set the default float type.

    Args:
        value: "float16", "bfloat16", "float32" or "float64".

    Raises:
        ValueError: it is none of these.

    Source: `tf.keras.backend.set_floatx`.

    Differs: "bfloat16" is accepted, as in Keras 3; tf.keras refuses it.

    Modern: `keras.config.set_floatx(value)`.

    Example:
        >>> set_floatx("float64")
        >>> floatx()
        'float64'
        >>> set_floatx("float32")
    """
    config.set_floatx(value)


def image_data_format() -> str:
    """The default layout of images: "channels_last" or "channels_first".

    Source: `tf.keras.backend.image_data_format`.

    Modern: `keras.config.image_data_format()`.

    Example:
        >>> image_data_format()
        'channels_last'
    """
    return config.image_data_format()


def set_image_data_format(data_format: str) -> None:
    """Set the default layout of images.

    Args:
        data_format: "channels_last" or "channels_first".

    Raises:
        ValueError: it is neither.

    Source: `tf.keras.backend.set_image_data_format`.

    Modern: `keras.config.set_image_data_format(data_format)`.

    Example:
        >>> set_image_data_format("channels_first")
        >>> image_data_format()
        'channels_first'
        >>> set_image_data_format("channels_last")
    """
    config.set_image_data_format(data_format)


def normalize_data_format(value: str | None) -> str:
    """A layout of images: the given one, or the default.

    Args:
        value: "channels_last", "channels_first", or None for the default; upper and lower case are the same.

    Raises:
        ValueError: it is something else.

    Source: `keras.backend.normalize_data_format` of Keras 2.3.

    Modern: `data_format or keras.config.image_data_format()`.

    Example:
        >>> normalize_data_format(None)
        'channels_last'
    """
    layout = str(value or config.image_data_format()).lower()
    if layout not in config.DATA_FORMATS:
        choices = " or ".join(map(repr, config.DATA_FORMATS))
        raise ValueError(f"a data format is {choices}, not {value!r}.")
    return layout
