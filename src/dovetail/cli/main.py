"""The `dovetail` command: the table of subcommands, and the errors that users see.

A subcommand is a module with its texts `DESCRIPTION` and `EXAMPLES`, `declare(parser)` for its arguments, and
`run(options)` for its exit status.  It is imported when it is used, so `dovetail --help` needs no engine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import dovetail
from dovetail.cli import INTERRUPTED, WrongInput
from dovetail.cli.parser import Parser
from dovetail.core.base.errors import EngineNotInstalled, FormatError, UnknownEngine
from dovetail.core.base.version import VERSION

COMMANDS = {  # name → its purpose
    "engines": "list the engines: versions, devices, and how to install those that are missing",
    "doctor": "tell what is installed and what fits, what to install, and what this machine has",
    "show": "show the contents of a file",
    "run": "run a model from a file, or a program, also one written for TensorFlow 1 or 2, or Keras 1 or 2",
    "convert": "convert a model, or its variables, to another kind of file",
    "demo": "train a model of Keras on scikit-learn's handwritten digits",
    "federated": "train one model with clients that keep their data: the server, and a worker",
    "audit": "tell what kind of program each file is, which names it misses, and the share of files that run",
    "plan": "list, show or forget the measurements by which engines are chosen",
    "tune": "measure how quick each engine is on this machine",
    "sample": "write small model files, with which the guides work",
    "completion": "print the script by which a shell completes commands and options",
}
EXAMPLES = """\
examples:
  dovetail engines                    installed engines, and how to install the others
  dovetail doctor                     which versions of packages fit, what to install, and this machine
  dovetail demo                       train a model of Keras on real digits, wherever that is fastest
  dovetail demo --engine torch        the same on PyTorch
  dovetail demo --compare             on every engine installed: speed, and whether the losses agree
  dovetail show model.pb              the contents of a file: inputs, outputs, operations, variables
  dovetail show --html train.py:step  the graph of a function as a page for a browser
  dovetail run exported/ --input x.npy
                                      a model of TensorFlow or Keras, which are not needed, on an array
  dovetail convert exported/ model.pb
                                      the same model in another kind of file
  dovetail run my.py                  your own program, with Keras on Dovetail, each function on the engine
                                      that is measured to be the fastest for it
  dovetail run my.py --engine jax     the same on JAX
  dovetail run old.py                 a program of TensorFlow 1 or 2, or of Keras 1 or 2, as it is
  DOVETAIL_ENGINE=jax python my.py    the same, where it imports dovetail itself
  dovetail federated --help           train with clients that keep their data
  dovetail audit src/                 which programs for TensorFlow, Keras or K will run here, and what others miss
  dovetail sample models              model files to try the guides with
  dovetail plan list                  measurements by which engines are chosen
  dovetail tune                       how quick each engine is here, measured once, for a better first choice

`dovetail COMMAND --help` tells more, with examples.
"""
ERRORS = (EngineNotInstalled, FormatError, ImportError, OSError, UnknownEngine, WrongInput)  # told in one line


class _Command(Parser):
    """The parser of a subcommand, whose module is imported when it parses."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        dovetail._start()
        module = import_module(f"dovetail.cli.{self.prog.split()[-1]}")
        self.description, self.epilog = module.DESCRIPTION, module.EXAMPLES
        module.declare(self)
        self.set_defaults(run=module.run)
        return super().parse_known_args(args, namespace)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    look: Any = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="dovetail",
        description="Dovetail: one graph, every engine.  Write a program once; any of four libraries runs it.",
        epilog=EXAMPLES,
        formatter_class=look,
    )
    top.add_argument("--version", action="version", version=f"dovetail {VERSION}")
    commands = top.add_subparsers(dest="command", metavar="command", required=True, parser_class=_Command)
    for name, purpose in COMMANDS.items():
        commands.add_parser(name, help=purpose, formatter_class=look)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status."""
    try:
        options = parser().parse_args((sys.argv[1:] if arguments is None else arguments) or ["--help"])
        done = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads the output, as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python reports it again at its end
        return 0
    except Exception as error:
        if not isinstance(error, ERRORS) and not hasattr(error, "dovetail"):
            raise
        print(f"dovetail: {error}", file=sys.stderr)
        return 1
    if callable(done):  # a script, outside the try: its errors are its own
        done()
        return 0
    return int(done)
