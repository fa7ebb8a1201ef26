"""TensorFlow's public names, and the offered name that Dovetail suggests for each that it lacks.

python -m tests.compat.tensorflow.public_names     writes both files, from the TensorFlow that is installed

    src/dovetail/compat/tensorflow/public_names.txt    a kind and a name a line; "1" if only `compat.v1` has it
    tests/compat/tensorflow/suggested_names.txt        a name that is not offered, and the offered one
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail.compat import tensorflow as compat
from dovetail.compat.tensorflow import nearest

PUBLIC = Path(nearest.__file__).with_name("public_names.txt")
SUGGESTED = Path(__file__).with_name("suggested_names.txt")


def of_tensorflow() -> dict[str, str]:
    """The names of `tf` and `tf.compat.v1`, each with its line of the file."""
    import tensorflow

    new, old = _walked(tensorflow), _walked(tensorflow.compat.v1)
    return {name: f"{kind} {name}" + " 1" * (name not in new) for name, kind in sorted((new | old).items())}


def _walked(module: ModuleType, prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or prefix + name in ("compat.v1", "compat.v2"):
            continue
        if isinstance(value, ModuleType):
            if str(vars(value).get("__name__")).startswith("tensorflow._api"):  # neither a private nor a lazy module
                found |= {prefix + name: "module", **_walked(value, f"{prefix}{name}.")}
        else:
            found[prefix + name] = "class" if inspect.isclass(value) else "function" if callable(value) else "value"
    return found


def suggested() -> dict[str, str]:
    """The names that are not offered → the first name that the message gives, if it gives one."""
    found = {}
    for name in nearest.public():
        meant = re.search(r"There is tf\.(\S+), |did you mean '(\w+)'\?|Did you mean", message(name))
        if meant:
            found[name] = meant[1] or meant[2]
    return found


def message(name: str) -> str:
    """The text of the error for a name; empty if it is offered."""
    place: Any = compat.compat.v1
    try:
        for part in name.split("."):
            place = getattr(place, part)
    except AttributeError as error:
        return str(error)
    return ""


def rows(pairs: dict[str, str]) -> str:
    return "".join(f"{first} {second}\n" for first, second in pairs.items())


if __name__ == "__main__":
    PUBLIC.write_text("".join(f"{line}\n" for line in of_tensorflow().values()))
    nearest.public.cache_clear()
    SUGGESTED.write_text(rows(suggested()))
