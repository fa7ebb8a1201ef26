"""Old programs as they are: `running` maps their imports of TensorFlow and Keras, and runs their files."""

from __future__ import annotations

import ast
import json
import os
import runpy
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail.compat.run import notebook
from dovetail.compat.run.data_sets import answered
from dovetail.compat.run.decide import KINDS, Decision, decide
from dovetail.compat.run.imports import VIEWS, Change, Imports
from dovetail.compat.run.old_builtins import old_builtins, with_arrays
from dovetail.compat.run.old_names import proxies
from dovetail.compat.run.shapes import reader_of, with_shapes
from dovetail.compat.run.steps import limited, limited_fits, names_of_steps
from dovetail.compat.run.suites import add_ons, packages_named, suite_files
from dovetail.compat.run.temporary import after_keras, replaced
from dovetail.compat.run.waits import asking, has_display
from dovetail.compat.source.sources import Source, Unread, read, read_program
from dovetail.compat.source.uses import Use, find
from dovetail.compat.tensorflow import graph_mode
from dovetail.core.base.hooks import hooks
from dovetail.core.base.optional_api import spec_of
from dovetail.core.base.scopes import DEFAULT_GRAPH

VERSION_OF_TENSORFLOW_1 = "1.15.5"
VERSION_OF_KERAS_2 = "2.3.1"
GIVEN = "DOVETAIL_RUN"  # the variable that gives processes of a program the arguments of `running`, as JSON


@dataclass
class Program:
    """An old program whose imports are mapped; `running` makes it.

    Attributes:
        target: the file that runs; None if there is none.
        decision: the kind of program, and the reason.
        uses: the dotted names in its files.
        unread: the files and cells that are not Python 3.
        imports: the mapping of its imports.
    """

    target: Path | None
    decision: Decision
    uses: Sequence[Use]
    unread: Sequence[Unread]
    imports: Imports

    def run(self, arguments: Sequence[str] = (), name: str = "__main__") -> dict[str, Any]:
        """Run the file, with arguments for `sys.argv`, as a module of this name; return its global names."""
        if self.target is None:
            raise ValueError("there is no file to run: `running` was given a kind.")
        sys.argv[:] = [str(self.target), *arguments]
        sys.path.insert(0, str(self.target.resolve().parent))
        main = sys.modules["__main__"] = ModuleType(name)
        vars(main).update(__file__=os.path.abspath(self.target), __builtins__=self.imports.builtins)
        path = self.target.absolute()

        def execute(tree: ast.Module, name: str) -> None:
            exec(self.imports.compiled(tree, name), vars(main))

        if path.suffix == ".ipynb" or any(use.name == ".get_ipython" for use in self.uses):
            vars(main).update(notebook.Shell(execute).names())
        for name, tree in notebook.trees(path):
            execute(tree, name)
        return vars(main)

    def run_module(self, name: str, arguments: Sequence[str] = ()) -> dict[str, Any]:
        """Run a module as `python -m` does, with arguments for `sys.argv`; return its global names."""
        own = ["-p", f"{__name__}.first"] if name == "pytest" else []
        sys.argv[:] = [name, *own, *arguments]
        sys.path.insert(0, os.getcwd())
        return runpy.run_module(name, {"__builtins__": self.imports.builtins}, "__main__", alter_sys=True)

    def import_module(self, name: str) -> Any:
        """The module of a name as the program sees it: its own, or a mapped one as `tensorflow`."""
        return self.imports.import_module(name)


def _read(folders: Sequence[Path]) -> tuple[list[Source], list[Unread]]:
    """Read the Python files of folders."""
    try:
        return read(folders)
    except FileNotFoundError:  # there is no Python
        return [], []


def _add(packages: Iterable[str], sources: list[Source], unread: list[Unread]) -> None:
    """Read installed packages, too."""
    more, more_unread = _read([*filter(None, map(_folder_of, packages))])
    known = {os.path.realpath(source.path) for source in sources}
    sources += [source for source in more if os.path.realpath(source.path) not in known]
    unread += more_unread


def _folder_of(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = spec_of(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


@contextmanager
def running(
    target: str | os.PathLike[str] | None = None,
    *,
    kind: str | None = None,
    packages: Iterable[str] = (),
    folder: str | os.PathLike[str] | None = None,
    steps: int | None = None,
    data: str | os.PathLike[str] | None = None,
    synthetic_data: bool = False,
    strict: bool = False,
    suite: Sequence[str] | None = None,
) -> Iterator[Program]:
    """Map the imports of an old program in the `with` block: Dovetail answers imports of `tensorflow` and `keras`.

    Args:
        target: a file, Python or a notebook; without one, the kind: "tf1", "tf2", "keras2" or "keras3".
        kind: the kind of the file or the packages; by default their names decide.
        packages: packages to map, besides the files in the program's folder.
        folder: the program's folder; by default the file's, or the current one if there is no file.
        steps: how many steps of training each loop may take; None for all.
        data: the folder of files that it downloads; by default the one of `DOVETAIL_DATA`, then Keras' own.
        synthetic_data: whether their numbers are drawn instead; a line on stderr says so.
        strict: whether names, keywords and arrays are those of the installed NumPy, SciPy and the like alone.
        suite: the arguments of pytest, if it runs: the folder but for its examples, and what it imports, decides the
            kind.  Installed packages that it imports are mapped if these import TensorFlow or Keras.

    Yields:
        The program: `decision` is its kind with the reason, `run` runs it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no such kind.

    Source: Dovetail's own.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> text = "import tensorflow as tf\\nx = tf.placeholder('float32')\\nprint(tf.Session().run(x * 2, {x: 3}))"
        >>> with TemporaryDirectory() as folder:
        ...     old = Path(folder, "old.py")
        ...     _ = old.write_text(text)
        ...     with running(old) as program:
        ...         print(program.decision)
        ...         _ = program.run()
        TensorFlow 1, since line 2 uses tf.placeholder
        6.0
    """
    if target in KINDS:
        kind, target = str(target), None
    path = None if target is None else Path(target)
    if kind not in (None, *KINDS):
        raise ValueError(f"running: the kind must be one of {', '.join(KINDS)}, not {kind!r}.")
    packages = tuple(dict.fromkeys(packages))
    real = path.resolve() if path and path.is_symlink() else path
    home = Path(folder or (real.parent if real else "."))
    if path or suite is not None:
        sources, unread = read_program(path or suite_files(suite or (), home), home)
    else:
        sources, unread = _read([home] if not (kind or packages) else [])
    _add(packages, sources, unread)
    uses = find(sources)
    decision = decide(sources, uses, kind)
    if suite is not None and (decision.kind != "keras3" or not decision.is_shown):
        more = [name for name in (*packages_named(suite), *add_ons(sources)) if name not in packages]
        _add(more, sources, unread)
        packages, uses = (*packages, *more), find(sources)
        decision = decision if decision.is_shown else decide(sources, uses, kind)
    with ExitStack() as stack:
        trees = [tree for source in sources for _, tree in source.parts]
        names = names_of_steps(*trees) if steps else set()
        changes: list[Change] = [partial(limited, steps=steps, names=names)] if steps else []
        changes += [partial(with_shapes, reader=reader_of(uses))] if decision.kind == "tf1" else []
        changes += [with_arrays] if decision.kind != "keras3" and not strict else []
        old_names = {} if strict else proxies(uses, stack)
        imports = stack.enter_context(Imports(_view(uses, decision.kind), [home], packages, old_names, changes))
        own = old_builtins(trees) if decision.kind != "keras3" else {}
        vars(imports.builtins).update(own, **dict.fromkeys({"input"} | ({"raw_input"} & own.keys()), asking()))
        _process(stack)
        if decision.kind != "keras3":  # Keras on another library would not know the TensorFlow that the program gets
            stack.enter_context(after_keras(partial(_on_dovetail, stack)))
        stack.enter_context(answered(data, synthetic_data))
        of_tensorflow = _is_of_tensorflow(uses, decision.kind)
        if decision.uses_keras_2 or decision.kind in ("tf1", "keras2") or (decision.kind == "tf2" and of_tensorflow):
            of_keras = stack.enter_context(ExitStack())
            stack.enter_context(after_keras(partial(_keras_2, of_keras, of_tensorflow, steps)))
        if decision.kind == "tf1":
            _tensorflow_1(stack, steps)
        if decision.uses_keras_2 or decision.kind == "keras2":
            hooks.run_keras()  # now, since a library that imports Keras wants Keras 2's names, too
        if path and any(use.name.startswith("multiprocessing") for use in uses):
            places = {"target": path, "folder": home, "data": data}
            given: dict[str, Any] = {name: place and os.path.abspath(place) for name, place in places.items()}
            options = {"kind": decision.kind, "packages": packages, "steps": steps, "synthetic_data": synthetic_data}
            options["strict"] = strict
            _processes(stack, given | options)
        yield Program(path, decision, uses, unread, imports)


def _view(uses: Iterable[Use], kind: str) -> str:
    """The kind whose TensorFlow a program gets: beside a `keras` of before `tf.keras`, it is version 1's."""
    return "tf1" if kind == "keras2" and not any(use.name.startswith("tensorflow.keras") for use in uses) else kind


def _is_of_tensorflow(uses: Iterable[Use], kind: str) -> bool:
    """Whether a program's Keras is `tf.keras`: it names no `keras` of its own."""
    roots = {use.name.partition(".")[0] for use in uses}
    return "keras" not in roots and (kind == "tf1" or "tensorflow" in roots)


def _on_dovetail(stack: ExitStack) -> None:
    """Let Keras run on Dovetail until the stack closes, also if the program says another backend."""
    said = os.environ.get("KERAS_BACKEND", "dovetail")
    if said != "dovetail" and "keras" not in sys.modules:
        print(f"dovetail: Keras runs on Dovetail, in place of KERAS_BACKEND={said}", file=sys.stderr)
        stack.enter_context(replaced(os.environ, "KERAS_BACKEND", "dovetail"))


def _keras_2(stack: ExitStack, of_tensorflow: bool, steps: int | None) -> None:
    """Give Keras Keras 2's names, until the stack closes; K says then that TensorFlow computes."""
    imported = "dovetail.compat.keras2" in sys.modules
    from dovetail.backend import config, products
    from dovetail.compat import keras2
    from dovetail.compat.keras2 import scikit_learn

    if not imported:
        keras2.uninstall()  # the import installs the names for the whole process
    stack.enter_context(keras2.installed(of_tensorflow=of_tensorflow))
    stack.enter_context(replaced(import_module("keras"), "__version__", VERSION_OF_KERAS_2))
    if steps:
        stack.enter_context(replaced(scikit_learn, "wrapped_fit", limited_fits(steps)))
    stack.enter_context(replaced(config, "backend_name", "tensorflow"))
    stack.enter_context(replaced(os.environ, "KERAS_BACKEND", "tensorflow"))
    stack.enter_context(replaced(products, "batch_dot_mode", "matmul"))


def _tensorflow_1(stack: ExitStack, steps: int | None) -> None:
    """Open a graph of TensorFlow 1, whose names tell its last version, until the stack closes."""
    from dovetail.compat.tensorflow.names.estimators.estimators import MOST_STEPS

    graph_mode.open_graph()
    for name in ("__version__", "VERSION"):
        stack.enter_context(replaced(import_module(VIEWS["tf1"]), name, VERSION_OF_TENSORFLOW_1))
    stack.enter_context(MOST_STEPS.scope(steps))


def _processes(stack: ExitStack, given: dict[str, Any]) -> None:
    """Let processes that `multiprocessing` starts anew run the program with its imports mapped; see `again`."""
    from multiprocessing import spawn

    own = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        data = own(name)
        if data.pop("init_main_from_path", None):
            data["init_main_from_name"] = f"{__name__}.again"
        return data

    stack.enter_context(replaced(spawn, "get_preparation_data", prepared))
    stack.enter_context(replaced(os.environ, GIVEN, json.dumps(given)))


def _process(stack: ExitStack) -> None:
    """Let a program change its arguments, the places of modules, the main module and the graph that it builds.

    They are as before once the stack closes.
    """
    for values in (sys.argv, sys.path):
        stack.callback(values.__setitem__, slice(None), [*values])
    stack.enter_context(replaced(sys.modules, "__main__", sys.modules["__main__"]))
    for setting in (DEFAULT_GRAPH, graph_mode.IS_EAGER):
        stack.callback(setting.set, setting.get())
    if not has_display() and not os.environ.get("MPLBACKEND"):
        stack.enter_context(replaced(os.environ, "MPLBACKEND", "Agg"))
