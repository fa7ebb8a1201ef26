"""`tf.contrib.training.HParams` of TensorFlow 1.15: the settings of a model, by name, each of one type."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from dovetail.compat.tensorflow.entries import value
from dovetail.core.base.errors import op_error

TITLE = "tf.contrib.training.HParams"
PAIR = re.compile(r"\s*(?P<name>[a-zA-Z]\w*)\s*=\s*(?P<value>\[[^\]]*\]|[^,\[]*)\s*(?:,|$)")
BOOLS = {"true": True, "false": False, "1": True, "0": False}


class HParams:
    """Settings, which are attributes; a new value must have the type of the first one.

    Args:
        **kwargs: name → value: a number, a string, a bool, or a list of these.

    Source: `tf.contrib.training.HParams`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> settings = tf.contrib.training.HParams(rate=0.1, layers=[8, 4], name="net")
        >>> settings.parse("rate=1,layers=[16,8]").values()
        {'rate': 1.0, 'layers': [16, 8], 'name': 'net'}
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise op_error(NotImplementedError, TITLE, "a definition is not read: give the settings by name.")
        self._model_structure = model_structure
        self._types: dict[str, tuple[type, bool]] = {}
        for name, given in kwargs.items():
            self.add_hparam(name, given)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a setting.

        Raises:
            ValueError: there is an attribute of this name, or a list is empty.
        """
        if hasattr(self, name):
            raise op_error(ValueError, TITLE, f"there is {name!r} already.")
        if isinstance(value, (list, tuple)) and not value:
            raise op_error(ValueError, TITLE, f"the list {name!r} is empty, so it has no type.")
        is_list = isinstance(value, (list, tuple))
        self._types[name] = type(value[0] if is_list else value), is_list
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Give a setting another value of its type.

        Raises:
            ValueError: there is no such setting, or the value has another type.
        """
        if name not in self._types:
            raise op_error(ValueError, TITLE, f"there is no {name!r}; it has {', '.join(self._types)}.")
        kind, is_list = self._types[name]
        if is_list != isinstance(value, (list, tuple)):
            problem = f"{name!r} is {'' if is_list else 'not '}a list, and the value is {value!r}."
            raise op_error(ValueError, TITLE, problem)
        setattr(self, name, [_of(kind, name, one) for one in value] if is_list else _of(kind, name, value))

    def del_hparam(self, name: str) -> None:
        """Delete a setting."""
        del self._types[name]
        delattr(self, name)

    def parse(self, values: str) -> HParams:
        """Set settings by a text, as "rate=0.1,layers=[8,4]", and return all.

        Raises:
            ValueError: the text is of another form, or a setting is unknown or of another type.
        """
        place = 0
        while place < len(values):
            match = PAIR.match(values, place)
            if match is None:
                raise op_error(ValueError, TITLE, f"it reads name=value, ..., not {values[place:]!r}.")
            text = match["value"].strip()
            is_list = text.startswith("[")
            parts = [part.strip() for part in text.strip("[]").split(",") if part.strip()] if is_list else text
            self.set_hparam(match["name"], parts)
            place = match.end()
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Set settings by a JSON object, and return all."""
        return self.override_from_dict(json.loads(values_json))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Set settings by name, and return all."""
        for name, given in values_dict.items():
            self.set_hparam(name, given)
        return self

    def values(self) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in self._types}

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The settings as a JSON object."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a setting, or the default if there is none."""
        return getattr(self, key) if key in self._types else default

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __repr__(self) -> str:
        return f"HParams({', '.join(f'{name}={given!r}' for name, given in self.values().items())})"


def _of(kind: type, name: str, given: Any) -> Any:
    """A value, or its text, as a type.

    Raises:
        ValueError: it cannot be one without loss.
    """
    try:
        if kind is bool:
            return given if isinstance(given, bool) else BOOLS[str(given).lower()]
        if kind in (int, float) and isinstance(given, str):
            given = ast.literal_eval(given)
        if kind is int and given != int(given):
            raise ValueError(given)
        return given if kind is type(None) else kind(given)
    except (KeyError, SyntaxError, TypeError, ValueError):
        raise op_error(ValueError, TITLE, f"{name!r} is of {kind.__name__}, and {given!r} is not.") from None


value("contrib.training.HParams", HParams, "v1")
