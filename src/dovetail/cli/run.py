"""`dovetail run`: a model from a file on arrays, or a program, also one for TensorFlow or an older Keras."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.cli import WrongInput, program
from dovetail.cli.options import add_engine, add_imports, number
from dovetail.cli.progress import reading
from dovetail.compat.run.decide import KINDS
from dovetail.core.base.errors import EngineNotInstalled, FormatError
from dovetail.core.base.texts import printable, table, time_text
from dovetail.core.values.places import engine as on_engine

OF_LAUNCHERS = ("processes", "restarts", "nnodes", "rendezvous")  # options of the command that starts processes

DESCRIPTION = """\
Runs a model from a file: the folder of a SavedModel, .pb, .pbtxt, .meta with its checkpoint, .onnx, a file of dt.save,
or .keras and .h5 of Keras.  TensorFlow is not needed, and nothing in the file is executed.  Without inputs, it prints
what the model takes and gives.

A Python program or a notebook runs as it is, also one written for TensorFlow 1 or 2, or for Keras 1 or 2.  Dovetail
reads it and what it imports from its folder, and tells what it is.  Its imports of tensorflow and keras then give
Dovetail's; TensorFlow is not needed.  If Dovetail lacks a name, a list tells all names that the program misses, with
what to write, and the exit status is 3.  A program of Keras 3 needs no command: KERAS_BACKEND=dovetail in the
environment is enough, and DOVETAIL_ENGINE says which engine.
"""

EXAMPLES = """\
examples:
  dovetail run exported/                         what the model takes and gives
  dovetail run exported/ --input x.npy           its results for an array
  dovetail run exported/ --input image=x.npy --input n=3 --output out.npz
                                                 inputs by their keys; the results go to a file, too
  dovetail run exported/ --random --steps 100 --engine torch
                                                 the time of a call on PyTorch, for random numbers
  dovetail run frozen.pb --outputs dense_1/BiasAdd:0 --input image=float32[8,28,28,1]
                                                 a tensor inside, for random numbers of this shape
  dovetail run model.keras --import my_layers.py --random
                                                 a model of Keras with layers of your own
  dovetail run train.py                          a program, on the engines that are measured to be the fastest
  dovetail run old.py --batch_size 32            one of 2016 is run the same way, with arguments of its own
  dovetail run --steps 20 old.py                 its loops of training end after 20 steps; all else runs
  dovetail run --as tf1 old.py                   a program of TensorFlow 1, whatever its names look like
  dovetail run -m pytest tests                   a module, as `python -m` does; of a test suite, what it imports
                                                 is mapped, too
  dovetail run --map my_layers old.py            the imports of an installed package are mapped, too
  dovetail run train.py --engine torch           on PyTorch
  dovetail run train.py --engine jax --epochs 3  what follows the engine is for train.py
  dovetail run --engine jax train.py --engine 3  so is all that follows the script here
  dovetail run --profile train.py                what takes the time: each operation, with its line
  dovetail run --processes 4 train.py            in four processes, which train one model together
  dovetail run --processes 4 --restarts 9 train.py
                                                 they start again when one is lost, at most nine times
  dovetail run --trace trace.json train.py       the same, and a timeline for https://ui.perfetto.dev
"""

USAGE = """\
dovetail run MODEL [--input KEY=FILE ...] [--random] [--signature NAME] [--outputs NAME ...]
                          [--import FILE.py] [--engine ENGINE] [--output FILE.npz] [--steps N]
       dovetail run [--as KIND] [--map PACKAGE] [--steps N] [--data FOLDER] [--synthetic-data] [--strict]
                    [--processes N [--restarts N] [--nnodes MIN:MAX --rendezvous HOST:PORT]]
                    [--profile] [--trace FILE] script.py [--engine ENGINE] [argument ...]
       dovetail run [option ...] -m module [argument ...]"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.usage = USAGE
    add_engine(parser)
    models = parser.add_argument_group("models")
    _add_options_of_models(models)
    programs = parser.add_argument_group("programs")
    programs.add_argument("--as", dest="kind", choices=KINDS, help="the kind of program (default: its names tell)")
    programs.add_argument(
        "--map", action="append", default=[], metavar="PACKAGE", help="map the imports of an installed package, too"
    )
    programs.add_argument("-m", dest="is_module", action="store_true", help="run a module, as python -m does")
    programs.add_argument(
        "--processes", type=number(1), metavar="N", help="start N processes, which dovetail.distributed.init() connects"
    )
    programs.add_argument("--restarts", type=number(0), metavar="N", help="start them again if one fails, N times")
    programs.add_argument(
        "--nnodes", type=_bounds, metavar="MIN:MAX", help="on so many machines, each of which runs this command"
    )
    programs.add_argument("--rendezvous", type=_meeting, metavar="HOST:PORT", help="the address where machines meet")
    programs.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of files that it downloads")
    programs.add_argument("--synthetic-data", action="store_true", help="make up the numbers of these data sets")
    programs.add_argument(
        "--strict", action="store_true", help="give it no names that NumPy, SciPy and the like have dropped"
    )
    programs.add_argument("--profile", action="store_true", help="print what takes the time, when the script ends")
    programs.add_argument("--trace", type=Path, metavar="FILE", help="profile, and write a trace for ui.perfetto.dev")
    parser.add_argument("target", type=Path, metavar="MODEL, script.py", help="a file, or the folder of a SavedModel")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="argument", help="the script's own arguments")


def _add_options_of_models(group: Any) -> None:
    group.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="KEY=FILE",
        help="an input: .npy, .npz, a number or list, or a shape to draw numbers for, as float32[8,3]; the key may be "
        "left out if the inputs come in order",
    )
    add_imports(group)
    group.add_argument("--random", action="store_true", help="draw numbers for the inputs that are not given")
    group.add_argument("--signature", metavar="NAME", help="a signature (default: serving_default, or the only one)")
    group.add_argument(
        "--outputs",
        nargs="+",
        default=[],
        metavar="NAME",
        help="results, or tensors of the graph (default: all results)",
    )
    group.add_argument("--output", type=Path, metavar="FILE.npz", help="write the results, too")
    group.add_argument(
        "--steps",
        type=number(1),
        metavar="N",
        help="call a model N times more, and print the time; end the loops of a program after N steps of training",
    )


def run(options: argparse.Namespace) -> int | Callable[[], None]:
    """Run a model and return the exit status, or prepare a program and return the function that runs it."""
    if not options.is_module and _is_model(options.target):
        parser = argparse.ArgumentParser(f"dovetail run {options.target}")
        add_engine(parser)
        _add_options_of_models(parser)
        return _run_model(parser.parse_args(options.arguments, options))
    if options.input or options.random or options.output or options.outputs or options.signature or options.imports:
        raise WrongInput(f"{str(options.target)!r} is a program, and options of models stand before its name.")
    if any(getattr(options, name) is not None for name in OF_LAUNCHERS):
        return _launched(options)
    engine, arguments = options.engine, options.arguments
    if engine is None and arguments[:1] == ["--engine"] and len(arguments) > 1:
        _, engine, *arguments = arguments
    program.choose(engine)
    run = program.prepared(
        options.target,
        arguments,
        is_module=options.is_module,
        kind=options.kind,
        packages=options.map,
        steps=options.steps,
        data=options.data,
        synthetic_data=options.synthetic_data,
        strict=options.strict,
    )
    if not options.profile and options.trace is None:
        return run
    return partial(program.profiled, run, options.trace)


def _launched(options: argparse.Namespace) -> int:
    """Run the command in several processes, and return their exit status."""
    if options.processes is None or (options.nnodes is None) != (options.rendezvous is None):
        raise WrongInput("--restarts, --nnodes and --rendezvous need --processes, and the last two need each other.")
    try:
        from dovetail.distributed.launch import launch  # it imports torch
    except ImportError as error:
        raise EngineNotInstalled("several processes need torch: pip install 'keras-dovetail[distributed]'.") from error
    command = _for_one_process(sys.argv[1:], len(options.arguments) + 1)
    machines = options.nnodes or (1, 1)
    return launch(["-m", "dovetail", *command], options.processes, options.restarts or 0, machines, options.rendezvous)


def _for_one_process(arguments: Sequence[str], end: int) -> list[str]:
    """The command's arguments without the launcher's; the last `end` are the program and its own."""
    kept: list[str] = []
    own = iter(arguments[:-end])
    for text in own:
        name = text.partition("=")[0]
        if len(name) < 3 or not any(f"--{option}".startswith(name) for option in OF_LAUNCHERS):  # argparse takes --proc
            kept.append(text)
        elif "=" not in text:
            next(own)
    return [*kept, *arguments[-end:]]


def _bounds(text: str) -> tuple[int, int]:
    """The argparse type of one number of machines, or of the least and the greatest."""
    least, _, most = text.partition(":")
    bounds = number(1)(least), number(1)(most or least)
    if bounds[0] > bounds[1]:
        raise argparse.ArgumentTypeError(f"must be MIN:MAX, but {least} is more than {most}")
    return bounds


def _meeting(text: str) -> str:
    """The argparse type of "host:port"."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise argparse.ArgumentTypeError(f"must be HOST:PORT, but is {text!r}")
    return text


def _is_model(path: Path) -> bool:
    """Whether a path is no program.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: it is neither text nor of a kind that is known.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r} to run.")
    if path.suffix == ".py":
        return False
    from dovetail.formats.summary.kinds import kind_of  # a program does without it

    try:
        return bool(kind_of(path))
    except FormatError:
        if path.is_dir() or b"\0" in path.read_bytes():
            raise
        return False


def _run_model(options: argparse.Namespace) -> int:
    from dovetail.cli import values, ways  # a program does without them

    if options.profile or options.trace or options.kind or options.map:
        raise WrongInput(
            f"--profile, --trace, --as and --map are for programs, and {str(options.target)!r} is a model."
        )
    with on_engine(options.engine) if options.engine else nullcontext(), reading():
        way = ways.way_of(options.target, options.signature, options.outputs, options.imports)
        if way.inputs and not options.input and not options.random:
            print(_described(way, options.target))
            return 0
        given = list(values.values_of(options.input, way.inputs, options.random).values())
        first, computed = _timed(way, given)
        times = [_timed(way, given)[0] for _ in range(options.steps or 0)]
    results = dict(zip(way.outputs, computed, strict=True))
    print(values.printed(results))
    if times:
        known = map(time_text, (statistics.median(times), min(times), first))
        print("\n{} calls: median {}, fastest {}; the first call took {}".format(len(times), *known))
    if options.output is not None:
        values.write(options.output, results)
        print(f"wrote {options.output}")
    return 0


def _timed(way: Any, given: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """The seconds of a call, and its results."""
    start = time.perf_counter()
    results = [np.asarray(value) for value in way.run(*given)]
    return time.perf_counter() - start, results


def _described(way: Any, path: Path) -> str:
    """What a model takes and gives, and the line to type."""
    rows = [("", "name", "dtype and shape")]
    for title, specs in (("input", way.inputs), ("output", way.outputs)):
        rows += [(title, printable(key), str(spec)) for key, spec in specs.items()]
    others = [name for name in way.names if name != way.name]
    lines = [f"{printable(str(path))}: {printable(way.name)}", table(rows), ""]
    if others:
        lines.append(f"other signatures, for --signature: {printable(', '.join(others))}")
    inputs = " ".join(f"--input {key}={key.rpartition('/')[2]}.npy" for key in way.inputs)
    lines.append(f"to run it: dovetail run {path} {inputs}   (or --random)")
    return "\n".join(lines)
