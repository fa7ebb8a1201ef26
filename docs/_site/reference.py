"""The reference: a page for each subject of `dovetail`, for each module of ops and of K, and for engines.

A page lists its names with a sentence each, then the docstrings.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import k_tables
from docstrings import restructured

import dovetail as dt
from dovetail.backend.table import FUNCTIONS

SUBJECTS = {  # page → title, and the names in the order of reading
    "values": ("Values", "Tensor Variable Generator"),
    "functions": (
        "Functions and graphs",
        "function spec TensorSpec Graph wildcards graph_pass walk.forward walk.backward graph_of Session SessionGraph",
    ),
    "gradients": (
        "Gradients",
        "GradientTape gradients custom_gradient RegisterGradient gradient_override_map recompute_grad hvp jvp",
    ),
    "engines": (
        "Engines and devices",
        "engine device place set_engine list_engines register_engine unregister_engine set_threads soft_placement "
        "set_soft_placement",
    ),
    "own_ops": ("Ops of your own", "register_op unregister_op"),
    "files": (
        "Files",
        "save load saved_model.load saved_model.save saved_model.LoadedModel saved_model.Signature "
        "saved_model.RestoredFunction onnx.load onnx.save onnx.LoadedModel",
    ),
    "look": (
        "Times, causes and faults",
        "profile explain locality flops predict_by check_numerics NumericsError tap taps",
    ),
    "memory": ("Memory", "memory_info MemoryInfo set_memory_limit set_allocator"),
    "processes": (
        "Several processes",
        "distributed.init distributed.rank distributed.world_size distributed.barrier distributed.average "
        "distributed.Checkpoints",
    ),
    "federated": (
        "Federated computation",
        "federated.computation federated.Computation federated.FederatedType federated.federated_broadcast "
        "federated.federated_map federated.federated_mean federated.federated_sum federated.fed_avg federated.fed_prox "
        "federated.fed_adam federated.adam_state federated.Server federated.join",
    ),
    "settings": (
        "Settings",
        "config.floatx config.set_floatx config.epsilon config.set_epsilon config.image_data_format "
        "config.set_image_data_format config.trials config.set_trials config.keep_memory config.set_keep_memory "
        "config.read_limits config.set_read_limits config.whole_tracebacks config.set_whole_tracebacks",
    ),
    "errors": (
        "Errors and warnings",
        "errors.EngineNotInstalled errors.UnknownEngine errors.FormatError errors.CutError errors.CollectiveError "
        "errors.StaleValueError errors.UnknownRank errors.RetracingWarning errors.GradientLostWarning",
    ),
}
ELSEWHERE = {"backend", "batching", "dtypes", "engines", "kinds", "ops"}  # they have pages of their own, or no names
PROTOCOL = {  # class → its module
    "Engine": "dovetail.core.engine",
    "Segment": "dovetail.core.engine",
    "Rules": "dovetail.core.rules",
    "Arrays": "dovetail.core.engines.engine_arrays",
    "Memory": "dovetail.core.engines.engine_memory",
    "Devices": "dovetail.core.engines.engine_devices",
    "Threads": "dovetail.core.engines.engine_threads",
    "Autodiff": "dovetail.core.engines.engine_autodiff",
    "Tracing": "dovetail.core.engines.engine_tracing",
}


def pages() -> dict[str, str]:
    """File → text, for the folder of made pages."""
    found = {f"api/{page}.rst": subject(*entry) for page, entry in SUBJECTS.items()}
    found["api/protocol.rst"] = protocol()
    for room, package, names in ROOMS():
        for module, members in by_module(names):
            found[f"{room}/{file_of(module)}.rst"] = family(room, package, module, members)
    return found | {"api.rst": index(found)}


def ROOMS() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The packages whose functions are listed by module: folder, package, and its functions."""
    yield "ops", "dovetail.ops", {name: getattr(dt.ops, name) for name in dt.ops.__all__}
    yield "random", "dovetail.ops.random", {name: getattr(dt.ops.random, name) for name in dt.ops.random.__all__}
    yield "k", "dovetail.backend", FUNCTIONS


def by_module(names: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each module with its functions, in the order of the names of modules."""
    key = lambda name: names[name].__module__  # noqa: E731
    for module, found in groupby(sorted(names, key=lambda name: (key(name), name)), key):
        yield module, list(found)


def file_of(module: str) -> str:
    return module.rpartition(".")[2]


def index(made: Iterable[str]) -> str:
    """The page that leads to all others."""
    parts = [heading("Reference"), "Docstrings of the public names, with the tested examples."]
    for title, folder, text in (
        ("dovetail", "api", "``import dovetail as dt``"),
        ("dovetail.ops", "ops", "Ops work on every engine, eagerly, in graphs, and on values of the engines' own."),
        ("dovetail.ops.random", "random", "Random numbers of keys, which are the same on every engine."),
        ("K", "k", "``from dovetail import backend as K``: the classic Keras backend, on every engine."),
    ):
        found = [page.removesuffix(".rst") for page in made if page.startswith(f"{folder}/")]
        found += ["k_support", "k_differences"] if folder == "k" else []
        parts += [heading(title, "-"), text, directive("toctree", "", *found, maxdepth="1")]
    return joined(parts)


def subject(title: str, names: str) -> str:
    """The page of some names of `dovetail`."""
    return joined([heading(title), *listed("dovetail", {name: found(name) for name in names.split()})])


def found(path: str) -> Any:
    """The value of a name with dots."""
    value: Any = dt
    for name in path.split("."):
        value = getattr(value, name)
    return value


def family(room: str, package: str, module: str, names: list[str]) -> str:
    """The page of a module's functions."""
    doc = inspect.cleandoc(sys.modules[module].__doc__ or "").partition("\n\nSections that")[0]
    title, _, rest = doc.partition("\n")[0].rstrip(".").partition(": ")
    title = title if rest else doc.partition("\n")[0].rstrip(".")
    values = {name: getattr(sys.modules[module], name) for name in names}
    notes = {name: k_tables.results(name) for name in names} if room == "k" else {}
    at = {"experimental": "dovetail.backend.experimental"}.get(file_of(module), package)
    prefix = "K: " if room == "k" else "Random: " if room == "random" else ""
    return joined(
        [
            heading(plain(prefix + title)),
            "\n".join(restructured(doc.splitlines())),
            *listed(at, values, notes),
        ]
    )


def protocol() -> str:
    """The page of the classes that an engine is made of."""
    text = (
        "An engine is a table of rules, and a class with the methods below. "
        ":doc:`How to add an engine <../contributing>` shows a whole one."
    )
    parts = [directive("autoclass", f"{module}.{name}", members="") for name, module in PROTOCOL.items()]
    return joined([heading("The protocol of engines"), text, *parts])


def listed(module: str, values: dict[str, Any], notes: dict[str, str] | None = None) -> list[str]:
    """A table of names with their first sentences, then each docstring."""
    parts = [directive("currentmodule", module), directive("autosummary", "", *values, nosignatures="")]
    for name, value in values.items():
        kind = "autoclass" if inspect.isclass(value) else "autofunction"
        options = {"members": "", "inherited-members": "str"} if kind == "autoclass" else {}
        parts.append(directive(kind, f"{module}.{name}", *filter(None, [(notes or {}).get(name)]), **options))
    return parts


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}"


def plain(text: str) -> str:
    """A title without marks of code."""
    return text.replace("`", "")


def directive(kind: str, argument: str, *content: str, **options: str) -> str:
    """A directive of reStructuredText."""
    head = [f".. {kind}:: {argument}".rstrip(), *(f"   :{name}: {value}".rstrip() for name, value in options.items())]
    return "\n".join([*head, "", *(f"   {line}" for line in content)]).rstrip()


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


def lacking(public: Callable[[], Iterable[str]] = lambda: dt._MODULES) -> set[str]:
    """The public names of `dovetail` that no page has."""
    said = {name.partition(".")[0] for _, names in SUBJECTS.values() for name in names.split()}
    return {*public()} - said - ELSEWHERE
