"""`dovetail show`: the contents of a file, as tables; the graph of a file or a function, as text or as a picture."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli import WrongInput
from dovetail.cli.options import add_engine, add_imports, add_shapes, is_function
from dovetail.core.base.texts import printable, size_text, table
from dovetail.formats.summary.base import Summary, Table
from dovetail.formats.summary.kinds import summarize

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

DESCRIPTION = """\
Prints the contents of a file: inputs and outputs, operations by type, variables with shapes, dtypes and sizes.
The kind of the file is recognised by its contents.  Weights are not read, and nothing in the file is executed.
Of a function, file.py:function, it prints the graph; for that, the file is imported.

With --explain, it prints where a function is executed: from each call of K over its op, the passes and the engine's
rule to the routine of the library.

kinds of files:
  dt.save(...), safetensors                   values, functions and graphs, tensors
  npz                                         arrays
  .keras, .h5 of Keras                        layers, weights
  SavedModel: its folder or saved_model.pb    signatures, operations, variables, objects
  GraphDef, MetaGraphDef: .pb, .pbtxt, .meta  inputs and outputs, operations, variables, constants
  ONNX: .onnx                                 inputs and outputs, operations, weights, metadata
  checkpoint: its prefix or .index            variables
  checkpoint: the state file of a folder      the checkpoints of the folder
  TFRecord: also GZIP and ZLIB                number of records, features of the first 1000 examples
  event file of TensorBoard                   tags, their kinds and steps
"""

EXAMPLES = """\
examples:
  dovetail show model.safetensors                a file that dt.save wrote, or another safetensors file
  dovetail show exported/                        a SavedModel
  dovetail show training/model-1000              a checkpoint of TensorFlow, by its prefix
  dovetail show runs/events.out.tfevents.1700    the tags of an event file
  dovetail show model.safetensors --all          all rows of long tables
  dovetail show model.safetensors --json         for programs
  dovetail show --html model.safetensors         its graph as a page, model.html
  dovetail show exported/ --signature serving_default --html
                                                 the graph that a run of this signature computes
  dovetail show --html old.onnx --beside new.onnx           two graphs side by side, with what differs
  dovetail show --html train.py:step x=float32[8,3]         the graph of a function, for an example input
  dovetail show --out step.svg train.py:step x=float32[8,3] the same as a drawing
  dovetail show --flops train.py:step x=float32[8,3]        its floating-point operations and parameters
  dovetail show --flops model.keras --import my_layers.py    the same of a model, with layers of your own
  dovetail show --explain "K.conv2d(x, w)" x=float32[8,32,32,3] w=float32[3,3,3,16] --engine torch
                                                 where a convolution is executed
  dovetail show --explain train.py:step x=float32[32,784]   the same for a function; the file is imported

Files of TensorFlow need the extra `formats`: pip install 'keras-dovetail[formats]'.  They do not need TensorFlow.
The exit status is 0 if the file was read, 1 if it is damaged or of another kind.
"""

SHORT = 25  # rows of a table, unless all are wanted


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "path",
        metavar="FILE",
        help="a file, a folder, the prefix of a checkpoint; or a function, file.py:function",
    )
    parser.add_argument(
        "inputs", nargs="*", metavar="NAME=INPUT", help="example inputs of a function, as x=float32[8,3]"
    )
    parser.add_argument(
        "--signature", metavar="NAME", help="show the graph of a model's signature, which a run computes"
    )
    add_shapes(parser)
    add_imports(parser)
    parser.add_argument("--html", action="store_true", help="write its graph as a page, FILE.html in this folder")
    parser.add_argument("--out", type=Path, metavar="PICTURE", help="write its graph as .html, .svg, .dot or .json")
    parser.add_argument("--beside", metavar="FILE", help="another file or function, shown beside, with what differs")
    parser.add_argument(
        "--explain", action="store_true", help="show where file.py:function, or an expression of K, is executed"
    )
    add_engine(parser, "the engine to explain")
    parser.add_argument("--algorithms", action="store_true", help="measure by which algorithms convolutions could run")
    parser.add_argument(
        "--flops", action="store_true", help="print the floating-point operations and parameters of its graph, by layer"
    )
    parser.add_argument("--all", action="store_true", help="print all rows of long tables")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the contents of a file or the graph of a function, or write a picture; return the exit status."""
    if options.explain:
        from dovetail.cli import explain  # tables of a file do without it, as without all that follows

        return explain.run(options.path, options.inputs, options.engine, options.algorithms, options.json)
    picture = options.out or (Path(f"{_stem(options.path)}.html") if options.html else None)
    if options.beside and picture is None:
        raise WrongInput("--beside needs a picture: add --html, or --out with a file's name.")
    if picture is not None:
        _write_picture(options, picture)
    elif options.signature or options.flops or is_function(options.path):
        graph = _graph(options)
        print(_costs(graph) if options.flops else graph)
    else:
        _print_tables(options)
    return 0


def _graph(options: argparse.Namespace) -> Graph:
    """The graph of a function, or of a model's signature."""
    if is_function(options.path):
        from dovetail.cli.inputs import graph_of, imported, inputs_of

        return graph_of(imported(options.path), inputs_of(options.inputs), options.path)
    from dovetail.cli.forms import model_of, signature_of

    graph = signature_of(model_of(options), options.signature, []).graph
    if options.flops:
        graph.set_input_shapes({tensor: _of_one(tensor.shape) for tensor in graph.inputs if tensor.shape})
    return graph


def _of_one(shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape for one example, if the number of examples is not known."""
    return (shape[0] or 1, *shape[1:])


def _costs(graph: Graph) -> str:
    from dovetail.observe.flops import flops_of_graph

    try:
        return flops_of_graph(graph).table()
    except ValueError as error:  # a shape is not known
        raise WrongInput(str(error)) from None


def _write_picture(options: argparse.Namespace, path: Path) -> None:
    from dovetail.cli import pictures
    from dovetail.formats.pictures import show
    from dovetail.formats.pictures.beside import beside
    from dovetail.formats.pictures.picture import picture_of

    try:
        show.check_format(path)
    except ValueError as error:
        raise WrongInput(str(error)) from None
    if options.signature:
        picture = picture_of(_graph(options))
    else:
        picture = pictures.picture_named(options)
    if options.beside:
        other = argparse.Namespace(**{**vars(options), "path": options.beside})
        picture = beside(picture, picture_of(_graph(other)) if options.signature else pictures.picture_named(other))
    try:
        show.write(picture, path)
    except ValueError as error:  # too large for a drawing
        raise WrongInput(str(error)) from None
    print(f"wrote {path}")


def _stem(name: str) -> str:
    """The name of a picture, without its end.

    Example:
        >>> _stem("models/net.safetensors"), _stem("train.py:Net.call"), _stem("exported/")
        ('net', 'Net.call', 'exported')
    """
    return name.rpartition(":")[2] if is_function(name) else Path(name).stem


def _print_tables(options: argparse.Namespace) -> None:
    if options.inputs:
        raise WrongInput(f"{options.path!r} is a file, which takes no example inputs; a function is file.py:function.")
    summary = summarize(Path(options.path))
    if options.json:
        tables = [part._asdict() for part in summary.tables]
        print(json.dumps(summary._asdict() | {"tables": tables}, indent=1))
    else:
        print(printed(summary, None if options.all else SHORT))


def printed(found: Summary, most: int | None) -> str:
    """A summary as text, with at most this number of rows in a table."""
    lines = [f"{printable(found.path)}: {found.kind}"]
    lines += [f"  {printable(name)}: {printable(str(value))}" for name, value in found.facts.items()]
    return "\n\n".join(["\n".join(lines), *(_printed(part, most) for part in found.tables)])


def _printed(part: Table, most: int | None) -> str:
    shown = list(part.rows[:most])
    rows = [list(part.columns), *(_cells(part.columns, row) for row in shown)]
    if left := len(part.rows) - len(shown):
        rows.append([f"... {left} more (--all)", *[""] * (len(part.columns) - 1)])
    if part.total:
        rows.append(_cells(part.columns, part.total))
    return f"{part.title}\n{table(rows)}"


def _cells(columns: tuple[str, ...], row: tuple[Any, ...]) -> list[str]:
    return [_cell(column, value) for column, value in zip(columns, row, strict=True)]


def _cell(column: str, value: Any) -> str:
    """A cell as text.

    Example:
        >>> _cell("shape", (None, 3)), _cell("bytes", 2048), _cell("count", 1024)
        ('[?,3]', '2.05 kB', '1,024')
    """
    if value is None:
        return "?"
    if isinstance(value, tuple):
        return f"[{','.join('?' if size is None else str(size) for size in value)}]"
    if isinstance(value, int):
        return size_text(value) if column == "bytes" else f"{value:,}"
    return printable(str(value))
