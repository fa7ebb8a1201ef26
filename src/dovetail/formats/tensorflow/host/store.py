"""The tables of a model, with the files and the checkpoint that fill them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.formats.host.arrays import strings_of
from dovetail.formats.host.tables import Table, items_of_lines
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.attributes import constant_node
from dovetail.formats.tensorflow.functions import called
from dovetail.formats.tensorflow.host.evaluation import Evaluator
from dovetail.formats.tensorflow.host.functions import attributes_of
from dovetail.formats.tensorflow.read_nodes import Body, Node
from dovetail.formats.tensorflow.table import host, shapes
from dovetail.formats.wire.messages import TENSORFLOW

FILLING = ("InitializeTable", "LookupTableImport")  # how the types begin that fill a table


class Store:
    """The tables of a model.

    All are filled when the first one is needed, by the nodes that TensorFlow runs for `__saved_model_init_op`, for the
    collection `table_initializer`, and for the functions `_initialize` of objects.

    Args:
        saved: the `SavedGraph`.

    Attributes:
        variables: name of a node → the value that was assigned; variables hold the paths of files.
    """

    def __init__(self, saved: Any) -> None:
        self._saved = saved
        self.variables: dict[str, Any] = {}
        self._tables: dict[str, Table] = {}
        self._is_filled = False
        self._filling: dict[str, bool] = {}

    def table(self, node: Node) -> Table:
        """The table of a node that makes one."""
        name = node.attrs("shared_name", "") or node.name
        table = self._tables.setdefault(name, {})
        if not self._is_filled:
            self._is_filled = True
            evaluator = Evaluator(self._saved.file, self._saved.functions, self)
            given = {one.name: [strings_of("")] for one in self._saved.nodes.values() if one.op == "Placeholder"}
            given |= {name: [strings_of(self._path(file))] for name, file in self._saved.assets.items()}
            self._fill(evaluator, Body("the graph", self._saved.nodes.values(), given))
        return table

    def _fill(self, evaluator: Evaluator, body: Body) -> None:
        """Run the nodes of a graph or a function that fill tables."""
        for node in body.nodes.values():
            if node.op.startswith(FILLING):
                evaluator.read(body, [f"^{node.name}"])
            for name in filter(self._fills, called(node)):
                function = self._saved.functions[name]
                values = evaluator.read(body, [text for text in node.input if not text.startswith("^")])
                names = [argument.name for argument in function.signature.input_arg]
                given = {argument: [value] for argument, value in zip(names, values, strict=False)}
                self._fill(evaluator, Body(f"the function {name!r}", function.node_def, given))

    def _fills(self, name: str) -> bool:
        """Whether a function has a node that fills a table."""
        if name not in self._filling:
            self._filling[name] = False
            nodes = self._saved.functions[name].node_def if name in self._saved.functions else []
            self._filling[name] = any(
                node.op.startswith(FILLING) or any(map(self._fills, called(node))) for node in nodes
            )
        return self._filling[name]

    # files

    @cached_property
    def _folder(self) -> Path:
        return (self._saved.file.parent / "assets").resolve()

    def _path(self, name: str) -> str:
        return str(self._folder / name)

    @cached_property
    def paths(self) -> list[Any]:
        """For each file, a constant with its path in place of the node with its name."""
        nodes = [TENSORFLOW.NodeDef(name=node) for node in self._saved.assets]
        for node in nodes:
            constant_node(node, strings_of(self._path(self._saved.assets[node.name])))
        return nodes

    def lines(self, path: bytes) -> Iterator[bytes]:
        """The lines of a file of the model.

        Raises:
            Unreadable: the file is in another folder.
            FileNotFoundError: there is no such file.
        """
        file = Path(path.decode(errors="replace"))
        if self._folder not in file.resolve().parents:
            raise Unreadable(f"the file {str(file)!r} is not in the folder {str(self._folder)!r}; tables read no other")
        yield from file.read_bytes().splitlines()

    def stored(self, key: bytes, spec: bytes) -> np.ndarray:
        """The value of a key of the checkpoint; or the slice of it that a text says.

        Raises:
            FormatError: there is none.
        """
        name = key.decode(errors="replace")
        if name not in self._saved.bundle:
            raise FormatError(self._saved.file, "the checkpoint", "no value of it", f"the key {name!r}")
        return np.asarray(self._saved.slice_in_bundle(name, spec.decode(errors="replace")))


shapes("HashTable HashTableV2 MutableHashTable MutableHashTableV2: []")


@host("HashTable HashTableV2 MutableHashTable MutableHashTableV2", "its name says which table it is")
def _table(node: Any) -> Any:
    return [node.reader.store.table(node)]


@host("InitializeTableFromTextFile InitializeTableFromTextFileV2", "it reads a file of the model")
def _fill_from_file(node: Any, table: Table, path: np.ndarray) -> Any:
    lines = node.reader.store.lines(path.item())
    table.clear()
    table.update(items_of_lines(lines, **attributes_of(node, items_of_lines, 1)))
    return []


@host("RestoreV2", "it reads the checkpoint of the model", of_files=True)
def _restore(node: Any, prefix: np.ndarray, names: np.ndarray, slices: np.ndarray) -> Any:
    pairs = zip(names.reshape(-1).tolist(), slices.reshape(-1).tolist(), strict=True)
    return [node.reader.store.stored(name, spec) for name, spec in pairs]


@host("AssignVariableOp")
def _assign(node: Any, handle: Any, value: Any) -> Any:
    node.reader.store.variables[handle.variable.name] = value
    return []


@host("ReadVariableOp")
def _read(node: Any, handle: Any) -> Any:
    """The value that a variable of the graph begins with: the path of a file."""
    name, known = handle.variable.name, node.reader.store.variables
    if name not in known:
        raise Unreadable(f"the host reads the variable {name!r}, to which nothing was assigned before")
    return known[name]
