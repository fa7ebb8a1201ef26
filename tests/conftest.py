"""What all tests share: the engines installed, a random generator whose seed is printed, and bounds on memory."""

from __future__ import annotations

import functools
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import numpy as np
import pytest

import dovetail as dt
from dovetail.core.garbage import no_garbage_collection
from dovetail.core.recording import DEFAULT_GRAPH
from tests import codec
from tests.keras_backends import end_processes, outcomes, told
from tests.libraries import OTHERS, compile_quickly  # which also hides those that are not to be there
from tests.memory import Memory

collect_ignore_glob = ["*/keras[23]_*.py", "*_checks.py"]  # run by processes of their own, with Keras

os.environ.setdefault("DOVETAIL_CACHE", "")  # what tests measure is not kept
dt.set_engine("numpy")  # where a test chooses no engine; programs that tests start have the default, "auto"
SEED = int(os.environ.get("DOVETAIL_TEST_SEED", "0"))
WHOLE = bool(os.environ.get("DOVETAIL_TEST_WHOLE"))  # the whole product of cases, ways and engines; `make test-all`
ENGINES = os.environ.get("DOVETAIL_TEST_ENGINES", ",".join(dt.list_engines())).split(",")
RULE_BY_RULE = [name for name in ENGINES if name not in ("jax", "tensorflow")]  # which compile programs as wholes
OUTSIDE = str(Path(__file__).parent / "engines" / "installed")  # where a package with an engine, "boxed", is installed
if "boxed" in ENGINES:
    sys.path.append(OUTSIDE)


def in_sample(name: str, one_in: int) -> bool:
    """Whether a case is among those that run: one in so many, always the same, or all with DOVETAIL_TEST_WHOLE=1."""
    return WHOLE or zlib.crc32(name.encode()) % one_in == 0


def pytest_configure(config: pytest.Config) -> None:
    """What jax compiles is kept in pytest's cache for all processes, and not optimised: tests run many small ones."""
    if not WHOLE:
        compile_quickly()
    if hasattr(config, "cache"):
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("jax")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


codec.install()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The graphs that went through the codec; of several workers, those of this process."""
    if codec.count["graphs"]:
        terminalreporter.write_line("\n".join(codec.summary()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests marked `sampled(n)`, jax, which compiles each new call, runs one case in n, and the first of each op.

    `sampled(n, engines)` says on which engines else: of programs, those that compile them.
    """

    def is_run(item: pytest.Item) -> bool:
        mark, values = item.get_closest_marker("sampled"), getattr(item, "callspec", None)
        if mark is None or values.params.get("is_first"):
            return True
        one_in, engines = (*mark.args, ("jax",))[:2]
        return values.params["engine"] not in engines or in_sample(item.name, one_in)

    config.hook.pytest_deselected(items=[item for item in items if not is_run(item)])
    items[:] = _with_keras_together(list(filter(is_run, items)))


def _with_keras_together(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that have processes with backends of Keras stand together: of several workers one starts those.

    They begin the second half, which is the first that another worker does, and so none that it leaves to others.
    """
    with_keras = [item for item in items if _asks_keras(item)]
    others = [item for item in items if not _asks_keras(item)]
    middle = len(items) // 2
    return [*others[:middle], *with_keras, *others[middle:]]


def _asks_keras(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and _imports_answers(item.module)


@functools.cache
def _imports_answers(module: ModuleType) -> bool:
    return any(value is told or value is outcomes for value in vars(module).values())


# On CI the same random programs in each run; elsewhere new ones, of which a failing one is printed.
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
    """A generator of its own for each test; set DOVETAIL_TEST_SEED for other numbers."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    return np.random.default_rng([SEED, zlib.crc32(request.node.originalname.encode())])


@pytest.fixture(autouse=True)
def _settings():
    """Tests leave the settings as they were, and no default graph of K's open."""
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
    with no_garbage_collection():
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
