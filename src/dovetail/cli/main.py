"""The `dovetail` command: its arguments, and the module that runs each subcommand.

Each subcommand's module is imported when it runs, so `dovetail --help` needs no engine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dovetail.cli import INTERRUPTED
from dovetail.core.engine_registry import AUTO, known_engines
from dovetail.core.errors import EngineNotInstalled, FormatError, UnknownEngine
from dovetail.core.version import VERSION

EXAMPLES = """\
examples:
  dovetail engines                    installed engines, and how to install the others
  dovetail engines --check            which versions of packages fit, and what to install
  dovetail demo                       train a model of Keras on real digits, wherever that is fastest
  dovetail demo --engine torch        the same on PyTorch
  dovetail demo --compare             on every engine installed: speed, and whether the losses agree
  dovetail k-audit src/               whether a program written for the Keras backend (K) will work here
  dovetail tf-audit src/              whether a program written for TensorFlow will work here
  dovetail run my.py                  your own program, with Keras on Dovetail, each function on the engine
                                      that is measured to be the fastest for it
  dovetail plan list                  measurements by which engines are chosen
  dovetail show model.pb              the contents of a file: inputs, outputs, operations, variables
  dovetail show --html train.py:step  the graph of a function as a page for a browser
  dovetail tune                       how quick each engine is here, measured once, for a better first choice
  dovetail run my.py --engine jax     the same on JAX
  DOVETAIL_ENGINE=jax python my.py    the same, where it imports dovetail itself
"""

RUN = """\
Runs a Python program with Keras on Dovetail: its `import keras` finds the backend "dovetail".  Without this command,
KERAS_BACKEND=dovetail in the environment does the same, and DOVETAIL_ENGINE says which engine.
"""

RUN_EXAMPLES = """\
examples:
  dovetail run train.py                          on the engines that are measured to be the fastest
  dovetail run train.py --engine torch           on PyTorch
  dovetail run train.py --engine jax --epochs 3  what follows the engine is for train.py
  dovetail run --engine jax train.py --engine 3  so is all that follows the script here
  dovetail run --profile train.py                what takes the time: each operation, with its line
  dovetail run --trace trace.json train.py       the same, and a timeline for https://ui.perfetto.dev
"""

DEMO = """\
Trains a convolutional net of Keras on the 1797 handwritten digits that come with scikit-learn: by Keras' `fit`, with a
layer, a loss and a metric written in K, the classic Keras backend.
"""

DEMO_EXAMPLES = """\
examples:
  dovetail demo                                  a minute or less, wherever it is measured to be the fastest
  dovetail demo --engine numpy                   on NumPy alone
  dovetail demo --engine jax --epochs 5          a shorter run, compiled by XLA
  dovetail demo --compare --out comparison       every engine on the same data

Ctrl-C stops after the steps at hand; what was learned so far is written.
"""

PLAN = """\
Where no engine is named, or "auto" is, each function runs on the engine that is measured to be the fastest for it on
this machine.  What was measured is kept, so that the next start chooses at once.
"""

PLAN_EXAMPLES = """\
examples:
  dovetail plan list                             what is kept: graphs, and what was chosen for them
  dovetail plan show 3f2a                        all that was measured for the graph whose key begins so
  dovetail plan clear                            forget it all; graphs are measured again

It is kept in $DOVETAIL_CACHE, or in dovetail/plans in your folder of caches; DOVETAIL_CACHE="" keeps nothing.
"""

TUNE = """\
Measures how quick each engine is on this machine: at products, convolutions, recurrent layers, optimizers and so on.
It measures the time to import a library, too.  A program that runs for the first time begins on the engine that is
expected to be the fastest; these numbers make the expectation better.  It takes about a minute.
"""

TUNE_EXAMPLES = """\
examples:
  dovetail tune                                  all engines that are installed
  dovetail tune --engine torch --engine jax      these two
  dovetail tune --json                           for programs

It is kept in $DOVETAIL_CACHE, or in dovetail/plans in your folder of caches, in a file for this machine.
"""

SHOW = """\
Prints the contents of a file: inputs and outputs, operations by type, variables with shapes, dtypes and sizes.
The kind of the file is recognised by its contents.  Weights are not read, and nothing in the file is executed.
Of a function, file.py:function, it prints the graph; for that, the file is imported.

With --explain, it prints where a function is executed: from each call of K over its op, the passes and the engine's
rule to the routine of the library.

kinds of files:
  dt.save(...), safetensors                   values, functions and graphs, tensors
  npz                                         arrays
  .keras, .h5 of Keras                        layers, weights (these need h5py)
  SavedModel: its folder or saved_model.pb    signatures, operations, variables, objects
  GraphDef, MetaGraphDef: .pb, .pbtxt, .meta  inputs and outputs, operations, variables, constants
  checkpoint: its prefix or .index            variables
  checkpoint: the state file of a folder      the checkpoints of the folder
  TFRecord: also GZIP and ZLIB                number of records, features of the first 1000 examples
  event file of TensorBoard                   tags, their kinds and steps
"""

SHOW_EXAMPLES = """\
examples:
  dovetail show model.safetensors                a file that dt.save wrote, or another safetensors file
  dovetail show exported/                        a SavedModel
  dovetail show training/model-1000              a checkpoint of TensorFlow, by its prefix
  dovetail show runs/events.out.tfevents.1700    the tags of an event file
  dovetail show model.safetensors --all          all rows of long tables
  dovetail show model.safetensors --json         for programs
  dovetail show --html model.safetensors         its graph as a page, model.html
  dovetail show --html train.py:step x=float32[8,3]         the graph of a function, for an example input
  dovetail show --out step.svg train.py:step x=float32[8,3] the same as a drawing
  dovetail show --explain "K.conv2d(x, w)" x=float32[8,32,32,3] w=float32[3,3,3,16] --engine torch
                                                 where a convolution is executed
  dovetail show --explain train.py:step x=float32[32,784]   the same for a function; the file is imported

Files of TensorFlow need the extra `formats`: pip install 'keras-dovetail[formats]'.  They do not need TensorFlow.
The exit status is 0 if the file was read, 1 if it is damaged or of another kind.
"""

K_AUDIT = """\
Lists the functions of the Keras backend that a program uses (keras.backend, tf.keras.backend, tf_keras.backend, under
any name), where, and whether each works, works with a difference, or does not, on each engine.  Reads .py files and
the code of .ipynb notebooks; nothing is executed.
"""

TF_AUDIT = """\
Lists the names of TensorFlow that a program uses, under any name, where, and whether each works on each engine, or why
not and what to write.  Reads .py files and the code of .ipynb notebooks; nothing is executed.
"""

TF_AUDIT_EXAMPLES = """\
examples:
  dovetail tf-audit train.py                     a file
  dovetail tf-audit src/ --verbose               all files of a folder; every place
  dovetail tf-audit src/ --engine jax --json     on one engine, for programs

The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""

K_AUDIT_EXAMPLES = """\
examples:
  dovetail k-audit train.py model.ipynb          these files
  dovetail k-audit src/ --verbose                all files of a folder; every place
  dovetail k-audit src/ --engine jax             on one engine
  dovetail k-audit src/ --json > audit.json      for programs

To bring a program over, change its import of K to `from dovetail import backend as K`.
The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(
        prog="dovetail",
        description="Dovetail: one graph, every engine.  Write a program once; any of four libraries runs it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"dovetail {VERSION}")
    commands = top.add_subparsers(dest="command", metavar="command", required=True)
    engines = commands.add_parser(
        "engines",
        help="list the engines: versions, devices, and how to install those that are missing",
        description="Lists the engines: versions, devices, and how to install those that are missing.",
    )
    engines.add_argument(
        "--check",
        action="store_true",
        help="list the packages that Dovetail can use, the versions that fit, and what to install; the exit status is "
        "1 if one that is installed does not fit",
    )
    program = commands.add_parser(
        "run",
        help="run a program with Keras on Dovetail",
        usage="dovetail run [--profile] [--trace FILE] script.py [--engine ENGINE] [argument ...]",
        description=RUN,
        epilog=RUN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program.add_argument(
        "--engine", choices=[*known_engines(), AUTO], help="the engine (default: $DOVETAIL_ENGINE, else auto)"
    )
    program.add_argument("--profile", action="store_true", help="print what takes the time, when the script ends")
    program.add_argument("--trace", type=Path, metavar="FILE", help="profile, and write a trace for ui.perfetto.dev")
    program.add_argument("script", type=Path, help="a Python file")
    program.add_argument("arguments", nargs=argparse.REMAINDER, metavar="argument", help="the script's own arguments")
    demo = commands.add_parser(
        "demo",
        help="train a model of Keras on scikit-learn's handwritten digits",
        description=DEMO,
        epilog=DEMO_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = demo.add_mutually_exclusive_group()
    where.add_argument(
        "--engine",
        choices=[*known_engines(), AUTO],
        help="the engine to train on (default: $DOVETAIL_ENGINE, else auto)",
    )
    where.add_argument("--compare", action="store_true", help="train on every engine installed and compare them")
    demo.add_argument(
        "--epochs", type=_number(1), metavar="N", default=20, help="passes over the data (default: %(default)s)"
    )
    demo.add_argument(
        "--seed", type=_number(0), metavar="N", default=0, help="of initial values and batches (default: %(default)s)"
    )
    demo.add_argument(
        "--out", type=Path, default=Path("dovetail-demo"), metavar="DIR", help="where results go (default: %(default)s)"
    )
    _add_audit(
        commands, "k-audit", "tell whether a program that uses the Keras backend (K) will work here", K_AUDIT,
        K_AUDIT_EXAMPLES,
    )  # fmt: skip
    _add_audit(
        commands, "tf-audit", "tell whether a program written for TensorFlow will work here", TF_AUDIT,
        TF_AUDIT_EXAMPLES,
    )  # fmt: skip
    plan = commands.add_parser(
        "plan",
        help="list, show or forget the measurements by which engines are chosen",
        description=PLAN,
        epilog=PLAN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan.add_argument("action", choices=["list", "show", "clear"], help="what to do")
    plan.add_argument("key", nargs="?", help="the first digits of an entry's key (default: all)")
    show = commands.add_parser(
        "show",
        help="show the contents of a file",
        description=SHOW,
        epilog=SHOW_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument(
        "path",
        metavar="FILE",
        help="a file, a folder, the prefix of a checkpoint; or a function, file.py:function",
    )
    show.add_argument("inputs", nargs="*", metavar="NAME=INPUT", help="example inputs of a function, as x=float32[8,3]")
    show.add_argument("--html", action="store_true", help="write its graph as a page, FILE.html in this folder")
    show.add_argument("--out", type=Path, metavar="PICTURE", help="write its graph as .html, .svg, .dot or .json")
    show.add_argument(
        "--explain", action="store_true", help="show where file.py:function, or an expression of K, is executed"
    )
    show.add_argument(
        "--engine",
        choices=[*known_engines(), AUTO],
        help="the engine to explain (default: $DOVETAIL_ENGINE, else auto)",
    )
    show.add_argument("--algorithms", action="store_true", help="measure by which algorithms convolutions could run")
    show.add_argument("--all", action="store_true", help="print all rows of long tables")
    show.add_argument("--json", action="store_true", help="print JSON")
    tune = commands.add_parser(
        "tune",
        help="measure how quick each engine is on this machine",
        description=TUNE,
        epilog=TUNE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tune.add_argument(
        "--engine",
        action="append",
        choices=known_engines(),
        help="an engine to measure; may be given several times (default: all that are installed)",
    )
    tune.add_argument("--json", action="store_true", help="print JSON")
    return top


def _add_audit(commands: Any, name: str, purpose: str, description: str, examples: str) -> None:
    """Add an audit command, with its arguments."""
    audit = commands.add_parser(
        name,
        help=purpose,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a .py file, a notebook, or a folder")
    audit.add_argument(
        "--engine",
        action="append",
        choices=known_engines(),
        help="an engine to run on; may be given several times (default: all that the names were tested on)",
    )
    audit.add_argument("--verbose", action="store_true", help="show every place")
    audit.add_argument("--json", action="store_true", help="print JSON")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status."""
    options = parser().parse_args(arguments)
    try:
        if options.command != "run":
            return _run(options)
        program = _program(options)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except (EngineNotInstalled, FormatError, UnknownEngine, OSError) as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 1
    program()  # outside the try: the script's own errors pass through
    return 0


def _program(options: argparse.Namespace) -> Callable[[], None]:
    """Make the engine current and return a function that runs the script.

    Raises:
        FileNotFoundError: there is no such file.
        UnknownEngine, EngineNotInstalled: the engine is not there.
    """
    from dovetail.cli import program

    engine, arguments = options.engine, options.arguments
    if engine is None and arguments[:1] == ["--engine"] and len(arguments) > 1:
        _, engine, *arguments = arguments
    if not options.script.is_file():
        raise FileNotFoundError(f"there is no file {str(options.script)!r} to run.")
    program.choose(engine)
    if not options.profile and options.trace is None:
        return partial(program.run, options.script, arguments)
    return partial(program.run_profiled, options.script, arguments, options.trace)


def _run(options: argparse.Namespace) -> int:
    if options.command == "engines":
        from dovetail.cli import engines, engines_check

        text, is_good = engines_check.check() if options.check else (engines.report(), True)
        print(text)
        return 0 if is_good else 1
    if options.command == "plan":
        from dovetail.cli import plan

        return plan.run(options.action, options.key)
    if options.command == "show":
        return _show(options)
    if options.command == "tune":
        from dovetail.cli import tune

        return tune.run(options.engine, options.json)
    if options.command in ("k-audit", "tf-audit"):
        audit = import_module(f"dovetail.cli.{options.command.replace('-', '_')}").run
        return audit(options.paths, options.engine, options.json, options.verbose)
    return _demo(options)


def _show(options: argparse.Namespace) -> int:
    if options.explain:
        return _explain(options)
    from dovetail.cli import show
    from dovetail.cli.inputs import WrongInput

    try:
        return show.run(options)
    except (ImportError, WrongInput) as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 1


def _explain(options: argparse.Namespace) -> int:
    from dovetail.cli import explain
    from dovetail.cli.inputs import WrongInput

    try:
        return explain.run(options.path, options.inputs, options.engine, options.algorithms, options.json)
    except Exception as error:
        if not hasattr(error, "dovetail") and not isinstance(error, WrongInput):  # the program's own
            raise
        print(f"dovetail: {error}", file=sys.stderr)
        return 1


def _demo(options: argparse.Namespace) -> int:
    from dovetail.cli import program

    program.choose(options.engine)
    try:
        run = program.demo()
    except ImportError as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 1
    return run(options.compare, options.epochs, options.seed, options.out)


def _number(least: int) -> Callable[[str], int]:
    """The argparse type of a whole number that is at least `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, at least {least}, but is {text!r}")
        return int(text)

    return read
