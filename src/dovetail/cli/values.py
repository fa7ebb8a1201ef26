"""Values of a model's inputs on a command line, `x=numbers.npy`, and its results as a table and a file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.cli import WrongInput
from dovetail.cli.inputs import SPEC, spec_of
from dovetail.cli.npz import read_npz, write_npz
from dovetail.core.base.errors import did_you_mean
from dovetail.core.base.texts import printable, table
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.shapes import fits

SHOWN = 4  # values of a result in the table


def values_of(texts: Iterable[str], inputs: Mapping[str, Any], random: bool) -> dict[str, np.ndarray]:
    """The values of a model's inputs.

    Args:
        texts: `key=file.npy`, or `key=file.npz:name`; a file alone for the next input, or for several by their names
            in an `.npz`; a literal of Python's, `n=3`; or a shape to draw numbers for, `x=float32[8,3]`.
        inputs: key → shape and dtype, which is None for strings.
        random: whether to draw numbers for the inputs that are not given; unknown dimensions are 1.

    Raises:
        WrongInput: an input is missing, is not known, or has another shape or dtype.

    Example:
        >>> from dovetail.core.values.spec import TensorSpec
        >>> values_of(["n=3"], {"n": TensorSpec((), "int32")}, False)
        {'n': array(3, dtype=int32)}
    """
    given: dict[str, Any] = {}
    for text in texts:
        for key, value in _given(text, [key for key in inputs if key not in given]).items():
            if key not in inputs:
                known = ", ".join(inputs) or "none"
                raise WrongInput(f"there is no input {key!r}. {did_you_mean(key, inputs)} The inputs are {known}.")
            given[key] = value
    for key in inputs:
        if key not in given and not random:
            raise WrongInput(f"the input {key!r}, {inputs[key]}, is not given: add --input {key}=FILE.npy or --random.")
    generator = np.random.default_rng(0)
    values = {key: given.get(key, inputs[key]) for key in inputs}
    return {
        key: _fitted(key, value if isinstance(value, np.ndarray) else _drawn(key, value, generator), inputs[key])
        for key, value in values.items()
    }


def _given(text: str, open_keys: list[str]) -> dict[str, Any]:
    """The values that one argument gives, by key."""
    if Path(text).is_file() or "=" not in text:
        if not Path(text).is_file():
            raise WrongInput(f"there is no file {text!r}: an input is KEY=FILE.npy, KEY=FILE.npz or KEY=NUMBER.")
        arrays = read_npz(Path(text))
        if len(arrays) == 1 and open_keys and next(iter(arrays)) not in open_keys:
            return {open_keys[0]: next(iter(arrays.values()))}
        return arrays
    key, _, value = text.partition("=")
    file, _, name = (value, "", key) if Path(value).is_file() else value.rpartition(":")
    if Path(file).is_file():
        arrays = read_npz(Path(file))
        if len(arrays) != 1 and name not in arrays:
            known = ", ".join(arrays) or "none"
            raise WrongInput(f"{file!r} has no array {name!r}, but {known}: write --input {key}={file}:NAME.")
        return {key: arrays[name] if name in arrays else next(iter(arrays.values()))}
    if match := SPEC.fullmatch(value):
        return {key: spec_of(text, match)}
    try:
        return {key: np.asarray(ast.literal_eval(value))}
    except (ValueError, SyntaxError):
        raise WrongInput(f"{text!r}: {value!r} is no file, no shape as float32[8,3], and no number or list.") from None


def _drawn(key: str, given: Any, generator: np.random.Generator) -> np.ndarray:
    """Random numbers for an input; integers are 0 and 1, which fit most tables."""
    if given.dtype is None:
        raise WrongInput(f"the input {key!r} takes strings, which are not drawn: add --input \"{key}=['a', 'b']\".")
    if given.shape is None:
        raise WrongInput(f"the rank of {key!r} is not known: give a shape, --input {key}={given.dtype}[1,3].")
    shape = [1 if size is None else size for size in given.shape]
    if as_dtype(given.dtype).is_floating:
        return generator.standard_normal(shape)
    return generator.integers(0, 2, shape)


def _fitted(key: str, array: np.ndarray, needed: Any) -> np.ndarray:
    """An array as the dtype that an input needs."""
    dtype = np.dtype(object) if needed.dtype is None else as_dtype(needed.dtype).numpy
    is_text = array.dtype.kind in "SU"
    same = is_text if needed.dtype is None else np.can_cast(array.dtype, dtype, "same_kind")
    if not (same or (dtype.kind == "b" and array.dtype.kind == "i")) or not fits(array.shape, needed.shape):
        text = f"{'string' if is_text else array.dtype.name}{list(array.shape)}".replace(" ", "")
        raise WrongInput(f"the input {key!r} takes {needed}, and {text} is given.")
    return array.astype(dtype, copy=False)


def printed(results: Mapping[str, np.ndarray]) -> str:
    """Results as a table, with their first values."""
    rows = [("result", "dtype", "shape", "first values")]
    for key, array in results.items():
        first = " ".join(printable(_short(value)) for value in array.reshape(-1)[:SHOWN].tolist())
        more = " ..." if array.size > SHOWN else ""
        shape = f"[{','.join(map(str, array.shape))}]"
        dtype = "string" if array.dtype.hasobject else array.dtype.name
        rows.append((printable(key), dtype, shape, f"{first}{more}"))
    return table(rows)


def _short(value: Any) -> str:
    if isinstance(value, bytes):
        return repr(value.decode(errors="replace"))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write(path: Path, results: Mapping[str, np.ndarray]) -> None:
    """Write results as an `.npz`, which replaces an old one as a whole.

    Raises:
        WrongInput: the name does not end in .npz.
        OSError: the file cannot be written.
    """
    if path.suffix != ".npz":
        raise WrongInput(f"results are written as .npz: --output {path.with_suffix('.npz')}")
    write_npz(path, results)
