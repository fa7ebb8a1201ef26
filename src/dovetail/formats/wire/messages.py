"""Classes of messages, which the `protobuf` library makes of rows at run time, in a private pool of descriptors.

    node = TENSORFLOW.NodeDef(name="x", op="Placeholder")
    graph = parsed(TENSORFLOW.GraphDef, path.read_bytes(), path)

A private pool clashes with no generated code of TensorFlow, TensorBoard or ONNX in the same process.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.formats.outside import outside
from dovetail.formats.wire import rows
from dovetail.formats.wire.libraries import library

# package → its rows, and the version of the language: proto3 has no defaults of fields' own, and packs numbers;
# editions can have ONNX's proto2 with texts that are checked
PACKAGES = {
    "google.protobuf": (rows.GOOGLE, "proto3"),
    "tensorflow": (rows.TENSORFLOW, "proto3"),
    "tensorflow.profiler": (rows.PROFILER, "proto3"),
    "keras": (rows.KERAS, "proto3"),
    "onnx": (rows.ONNX, "editions"),
}
LONGEST = 2**31 - 1  # bytes of a message, a limit of protobuf


class _Messages:
    """The classes of a package, by name; an inner message is an attribute of the outer one's class."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _class(f"{self._package}.{name}")


TENSORFLOW, PROFILER = _Messages("tensorflow"), _Messages("tensorflow.profiler")
KERAS, ONNX = _Messages("keras"), _Messages("onnx")


def parsed(kind: Any, data: bytes, file: str | os.PathLike[str], place: str = "the file") -> Any:
    """A message of a class from its bytes.

    Raises:
        FormatError: the bytes are no such message, or it is nested too deeply.
    """
    try:
        return kind.FromString(bytes(data))
    except library("google.protobuf.message").DecodeError:
        actual = f"no {kind.DESCRIPTOR.name}"
        if place == "the file" and (advice := outside(file)):
            actual = f"{actual}, but {advice}"
        raise FormatError(file, place, actual, "the bytes of one, whole") from None


def from_text(kind: Any, text: str, file: str | os.PathLike[str]) -> Any:
    """A message of a class from its text, as files `.pbtxt` have it.

    Raises:
        FormatError: it is no text of such a message.
    """
    text_format = library("google.protobuf.text_format")
    try:
        return text_format.Parse(text, kind(), allow_unknown_field=True)
    except (text_format.ParseError, ValueError, RecursionError) as error:
        problem = "a message that is nested too deeply" if isinstance(error, RecursionError) else f"{error}"
        raise FormatError(file, "the text", problem, f"the text of a {kind.DESCRIPTOR.name}") from None


def to_text(message: Any) -> str:
    """The text of a message, a field on a line."""
    return library("google.protobuf.text_format").MessageToString(message)


# -- descriptors of rows ----------------------------------------------------------------------------------------------


@functools.cache
def _class(name: str) -> Any:
    factory = library("google.protobuf.message_factory")
    return factory.GetMessageClass(_pool().FindMessageTypeByName(name))


@functools.cache
def _pool() -> Any:
    descriptors = library("google.protobuf.descriptor_pb2")
    pool = library("google.protobuf.descriptor_pool").DescriptorPool()
    for package, (text, syntax) in PACKAGES.items():
        file = descriptors.FileDescriptorProto(name=package, package=package, syntax=syntax)
        if package == "tensorflow":
            file.dependency.append("google.protobuf")
        if syntax == "editions":
            file.edition, features = descriptors.EDITION_2023, descriptors.FeatureSet
            file.options.features.enum_type = features.CLOSED
            file.options.features.repeated_field_encoding = features.EXPANDED
        _Writer(descriptors, file, text).write()
        pool.AddSerializedFile(file.SerializeToString())
    return pool


class _Writer:
    """A writer of the descriptor of a package.

    Args:
        descriptors: the module of protobuf's own messages.
        file: the descriptor to fill.
        text: the rows.
    """

    def __init__(self, descriptors: Any, file: Any, text: str) -> None:
        self._field, self._file = descriptors.FieldDescriptorProto, file
        self._packed = descriptors.FeatureSet.PACKED
        lines = text.replace("\n    ", " ").strip().splitlines()
        self._rows = [line.partition(":")[::2] for line in lines]
        self._enums = {name.removeprefix("enum ") for name, _ in self._rows if name.startswith("enum ")}
        self._made: dict[str, Any] = {"": file}

    def write(self) -> None:
        for name, _ in sorted(self._rows):  # an outer message comes before its inner ones
            if not name.startswith("enum "):
                outer, _, last = name.rpartition(".")
                self._made[name] = self._inner(outer).add(name=last)
        for name, text in self._rows:
            fields = [words for part in text.split(";") if (words := part.split())]
            if name.startswith("enum "):
                self._add_enum(name.removeprefix("enum "), fields)
            else:
                for number, field, kind in fields:
                    self._add_field(self._made[name], int(number), field, kind)

    def _inner(self, outer: str) -> Any:
        return self._made[outer].nested_type if outer else self._file.message_type

    def _add_enum(self, name: str, values: list[list[str]]) -> None:
        outer, _, last = name.rpartition(".")
        enum = self._made[outer].enum_type.add(name=last)
        for number, value in values:
            enum.value.add(name=value, number=int(number))

    def _add_field(self, message: Any, number: int, name: str, kind: str) -> None:
        kind, _, group = kind.partition("|")
        field = message.field.add(name=name, number=number, label=self._field.LABEL_OPTIONAL)
        if group:
            known = [one.name for one in message.oneof_decl]
            if group not in known:
                message.oneof_decl.add(name=group)
            field.oneof_index = known.index(group) if group in known else len(known)
        if ":" in kind:
            kind = self._add_map(message, name, *kind.split(":")) + "*"
        if kind.endswith("*"):
            field.label = self._field.LABEL_REPEATED
        if kind.endswith("**"):
            field.options.features.repeated_field_encoding = self._packed
        self._set_type(field, kind.rstrip("*"))

    def _add_map(self, message: Any, name: str, key: str, value: str) -> str:
        """Add the message of a map's entries, and return its name."""
        title = "".join(word.capitalize() for word in name.split("_")) + "Entry"
        entry = message.nested_type.add(name=title)
        entry.options.map_entry = True
        self._add_field(entry, 1, "key", key)
        self._add_field(entry, 2, "value", value)
        outer = next(name for name, made in self._made.items() if made is message)
        return f"{outer}.{title}"

    def _set_type(self, field: Any, kind: str) -> None:
        known = getattr(self._field, f"TYPE_{kind.upper()}", None)
        if known is not None:
            field.type = known
            return
        field.type = self._field.TYPE_ENUM if kind in self._enums else self._field.TYPE_MESSAGE
        field.type_name = f".{kind}" if kind.startswith("google.") else f".{self._file.package}.{kind}"
