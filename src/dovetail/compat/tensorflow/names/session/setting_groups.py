"""Groups of settings, with the fields and the bytes of TensorFlow's messages; fields need no library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from dovetail.core.base.errors import did_you_mean, op_error
from dovetail.formats.wire.messages import TENSORFLOW


class Message:
    """A group of settings, with the fields of a protocol buffer.

    A field has its default until it is set; a group inside of it is there from the start.  A repeated field is a list.

    Attributes:
        fields: name → default; a class for a group, `list` or `dict` for a repeated field or a map.
    """

    fields: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **given: Any) -> None:
        object.__setattr__(self, "_set", {})
        for name, setting in given.items():
            if name not in self.fields:
                raise op_error(ValueError, f"tf.{type(self).__name__}", self._no_field(name))
            self._set[name] = setting

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.fields:
            raise AttributeError(self._no_field(name), name=name, obj=None)
        default = self.fields[name]
        if isinstance(default, type):
            return self._set.setdefault(name, default())
        return self._set.get(name, default)

    def __setattr__(self, name: str, setting: Any) -> None:
        if name not in self.fields:
            raise AttributeError(self._no_field(name), name=name, obj=None)
        if isinstance(self.fields[name], type):
            problem = f"{name} is a group of settings: set what is inside of it, or use {name}.CopyFrom(group)."
            raise AttributeError(problem, name=name, obj=None)
        self._set[name] = setting

    def _no_field(self, name: str) -> str:
        return f"{type(self).__name__} has no field {name!r}. {did_you_mean(name, self.fields)}".rstrip()

    def CopyFrom(self, other: Message) -> None:
        """Take over all fields of another group."""
        self.Clear()
        self.MergeFrom(other)

    def MergeFrom(self, other: Message) -> None:
        """Take over the fields that another group sets."""
        for name, setting in other._set.items():
            if isinstance(setting, Message):
                getattr(self, name).MergeFrom(setting)
            else:
                self._set[name] = setting

    def Clear(self) -> None:
        """Forget all settings."""
        self._set.clear()

    def ClearField(self, name: str) -> None:
        """Forget the setting of a field."""
        self._set.pop(name, None)

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The settings as the bytes of TensorFlow's message.

        Raises:
            ValueError: a field is set that is in no row of the message.
            TypeError: a field has a value of another type.
        """
        return self._made().SerializeToString(deterministic=deterministic)

    def ListFields(self) -> list[tuple[Any, Any]]:
        """The fields that are set: pairs of a descriptor, which has a `name` and a `number`, and a value.

        Raises:
            TypeError, ValueError: as for `SerializeToString`.
        """
        return self._made().ListFields()

    def _made(self) -> Any:
        made = self._message()()
        self._fill(made)
        return made

    def _message(self) -> Any:
        """The class of TensorFlow's message."""
        return getattr(TENSORFLOW, type(self).__name__)

    def _fill(self, made: Any) -> None:
        for name, setting in self._set.items():
            if name not in made.DESCRIPTOR.fields_by_name:
                problem = f"{name} is not written as bytes; leave it out."
                raise op_error(ValueError, f"tf.{type(self).__name__}", problem)
            if isinstance(setting, Message):
                setting._fill(getattr(made, name))
            elif isinstance(setting, dict):
                getattr(made, name).update(setting)
            elif isinstance(setting, Repeated):
                for one in setting:
                    one._fill(getattr(made, name).add())
            elif isinstance(setting, list):
                getattr(made, name).extend(setting)
            elif setting is not None:
                setattr(made, name, setting)

    def ParseFromString(self, data: bytes) -> int:
        """Take the settings of TensorFlow's bytes in place of these; the result is the number of bytes."""
        message = self._message().FromString(data)
        self.Clear()
        self._take(message)
        return len(data)

    def MergeFromString(self, data: bytes) -> int:
        """Take the settings of TensorFlow's bytes besides these; the result is the number of bytes."""
        self._take(self._message().FromString(data))
        return len(data)

    @classmethod
    def FromString(cls, data: bytes) -> Any:
        """The settings of TensorFlow's bytes."""
        made = cls()
        made.ParseFromString(data)
        return made

    def _take(self, found: Any) -> None:
        for field, setting in found.ListFields():
            if isinstance(setting, (bool, int, float, str)):
                self._set[field.name] = setting
            elif hasattr(setting, "items"):
                getattr(self, field.name).update(setting)
            elif hasattr(setting, "add"):
                for one in setting:
                    getattr(self, field.name).add()._take(one)
            elif hasattr(setting, "extend"):
                getattr(self, field.name).extend(setting)
            else:
                getattr(self, field.name)._take(setting)

    def HasField(self, name: str) -> bool:
        """Whether a field was set, or a group was read."""
        return name in self._set

    def said(self, within: str = "") -> Iterator[tuple[str, Any]]:
        """The fields that differ from their defaults: pairs of a name, "gpu_options.allow_growth", and a value."""
        for name, setting in self._set.items():
            if isinstance(setting, Message):
                yield from setting.said(f"{within}{name}.")
            elif setting != self.fields[name] and setting not in ([], {}):
                yield f"{within}{name}", setting

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and dict(self.said()) == dict(other.said())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"{name}: {setting!r}\n" for name, setting in self.said())


class Open(Message):
    """A group of settings of which any field, or key of a map, may be set."""

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._set.update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._set.setdefault(name, self.fields.get(name, Open)())

    def __getitem__(self, key: str) -> Any:
        return self._set.setdefault(key, Open())

    def __setattr__(self, name: str, setting: Any) -> None:
        self._set[name] = setting

    def said(self, within: str = "") -> Iterator[tuple[str, Any]]:
        for name, setting in self._set.items():
            if isinstance(setting, Message):
                yield from setting.said(f"{within}{name}.")
            else:
                yield f"{within}{name}", setting


class Repeated(list[Any]):
    """A repeated group of settings."""

    def add(self, **given: Any) -> Open:
        """Append a group with these fields, and return it."""
        self.append(Open(**given))
        return self[-1]
