"""Shared setup of all tests: the installed engines, a random generator with a printed seed, and memory limits."""

from __future__ import annotations

import functools
import os
import sys
import zlib
from collections.abc import Iterator
from types import ModuleType

import hypothesis
import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.base.scopes import DEFAULT_GRAPH
from tests import codec, keras_backends, parts
from tests.keras_backends import end_processes, told
from tests.libraries import OTHERS, compile_quickly
from tests.memory import Memory
from tests.packages import OUTSIDE

collect_ignore_glob = [  # they run in their own processes, with Keras or TensorFlow
    "*/keras[123]_*.py",
    "*_checks.py",
    "programs/old/*",
    "distributed/old/*",
    "programs/oracle_child.py",
    "mutants.py",
    "keras_own/run.py",
    "keras_dovetail/files_for_keras.py",
    "keras_dovetail/mutations.py",
    "keras_dovetail/real_files.py",
    "keras_dovetail/shards_cases.py",
    "keras_dovetail/torch_programs.py",
]

os.environ.setdefault("DOVETAIL_CACHE", "")  # measurements of tests are not kept
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # TensorFlow leaves oneDNN out on some processors
dt.set_engine("numpy")  # for tests that choose no engine; programs that tests start have the default, "auto"
SEED = int(os.environ.get("DOVETAIL_TEST_SEED", "0"))
ONLY_COMPILES = ("onnxruntime", "openvino", "whole")  # NumPy computes their single calls; they have tests of their own
WITH_RULES = [name for name in dt.list_engines() if name not in ONLY_COMPILES]
ENGINES = os.environ.get("DOVETAIL_TEST_ENGINES", ",".join(WITH_RULES)).split(",")
RULE_BY_RULE = [e for e in ENGINES if e not in ("jax", "tensorflow", *ONLY_COMPILES)]  # others compile programs
if not {"boxed", "whole"}.isdisjoint(ENGINES):
    sys.path.append(OUTSIDE)


def pytest_configure(config: pytest.Config) -> None:
    """Keep jax's compiled programs in pytest's cache for all processes, without optimization.

    Tests run many small programs, for which optimization does not pay.
    """
    if not parts.IS_RELEASE:
        compile_quickly()
    if hasattr(config, "cache"):
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("jax")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


codec.install()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what repeats a failed run, and the counts of graphs that went through the codec in this process."""
    if terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(f"to repeat: DOVETAIL_TEST_PART={parts.PART} DOVETAIL_TEST_SEED={SEED}")
    if codec.count["graphs"]:
        terminalreporter.write_line("\n".join(codec.summary()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of the part that $DOVETAIL_TEST_PART names."""
    tests = list(map(parts.Entry, items))
    chosen = parts.chosen(tests)
    config.stash[parts.COLLECTED] = tests
    kept = {test.item for test in chosen}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = _with_keras_together([test.item for test in chosen])
    for item in items:
        if not isinstance(item, pytest.DoctestItem):
            continue
        if item.dtest.lineno is None:  # Python 3.13 finds no line of a function behind a cache, and pytest needs one
            item.dtest.lineno = 0
        if absent := _engines_of(item) - set(dt.list_engines()):
            item.add_marker(pytest.mark.skip(f"its example computes on {', '.join(absent)}"))


def _engines_of(item: pytest.DoctestItem) -> set[str]:
    """The engines that an example names."""
    code = "".join(example.source for example in item.dtest.examples) if item.dtest else ""
    return {name for name in ("torch", "jax", "tensorflow") if f'"{name}"' in code}


def _with_keras_together(items: list[pytest.Item]) -> list[pytest.Item]:
    """Put the tests that need processes with backends of Keras together, so that one worker starts those.

    They begin the second half. A second worker runs that half first, so it leaves none of them to others.
    """
    with_keras = [item for item in items if _asks_keras(item)]
    others = [item for item in items if not _asks_keras(item)]
    middle = len(items) // 2
    return [*others[:middle], *with_keras, *others[middle:]]


def _asks_keras(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and _imports_answers(item.module)


@functools.cache
def _imports_answers(module: ModuleType) -> bool:
    return any(value is told or value is keras_backends for value in vars(module).values())


# CI runs the same random programs each time. Elsewhere they are new, and hypothesis prints one that fails.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest):
    """Each installed engine in turn, made current."""
    with dt.engine(request.param):
        yield request.param


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A new generator for each test; set DOVETAIL_TEST_SEED for other numbers."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    return np.random.default_rng([SEED, zlib.crc32(request.node.originalname.encode())])


@pytest.fixture(autouse=True)
def _settings():
    """Restore the settings after each test, and leave no default graph of K open."""
    before = dt.config.floatx(), dt.config.epsilon(), dt.config.image_data_format()
    yield
    if dt.config.keep_memory():
        dt.config.set_keep_memory(False)
    dt.config.set_floatx(before[0])
    dt.config.set_epsilon(before[1])
    dt.config.set_image_data_format(before[2])
    DEFAULT_GRAPH.set(None)


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    before = set(sys.modules)
    with NoGarbageCollection():
        result = yield
    if loaded := sorted(set(OTHERS) & (set(sys.modules) - before)):
        raise pytest.UsageError(f"collecting the tests imported {loaded}, which take seconds: use libraries.Library")
    Memory.freeze()
    return result


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if _asks_keras(item) and not (nextitem and _asks_keras(nextitem)):
        end_processes()
    Memory.freeze()
    Memory.bound()


@pytest.fixture
def graph():
    """An empty graph."""
    return dt.Graph("test")


@pytest.fixture
def x(graph):
    """A placeholder of the graph."""
    return graph.placeholder(dt.spec((2, 3)), "x")
