"""The package `dovetail`: its attributes, its imports, and how it is installed."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dovetail as dt
from dovetail.cli import demo
from dovetail.core.base.hooks import _Hooks, hooks
from dovetail.core.base.version import VERSION
from dovetail.core.engines.engine_registry import BUILT_IN
from tests.libraries import require

OF_LIBRARIES = tuple(
    f"dovetail.{name}" for name in ("engines.torch", "engines.jax", "engines.tensorflow", "interop.keras")
)
SOURCE = Path(dt.__file__).parent
PACKAGES = [
    name
    for path in sorted(SOURCE.rglob("*/__init__.py"))
    if not (name := ".".join(path.parent.relative_to(SOURCE.parent).parts)).startswith(OF_LIBRARIES)
]


def test_a_package_is_not_hidden_by_a_name():
    require("keras", "a package takes its names")
    assert {"dovetail.engines", "dovetail.ops", "dovetail.backend"} <= set(PACKAGES)
    for name in PACKAGES:
        module = importlib.import_module(name)
        parent, _, last = name.rpartition(".")
        assert getattr(sys.modules[parent], last) is module, name


def test_the_backend_is_imported_when_it_is_used():
    program = "import sys, dovetail as dt; assert 'dovetail.backend' not in sys.modules; assert dt.backend.floatx()"
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = dt.nonsense


def test_names_that_come_later_are_those_that_type_checkers_see():
    block = next(node for node in ast.parse(Path(dt.__file__).read_text()).body if isinstance(node, ast.If))
    seen = {}
    for node in block.body:
        (alias,) = node.names
        full = f"{node.module}.{alias.name}"
        is_module = any((SOURCE.parent / full.replace(".", "/")).with_suffix(end).exists() for end in (".py", ""))
        assert alias.asname == alias.name
        seen[alias.name] = full if is_module else node.module
    assert seen == dt._MODULES
    assert set(seen) <= set(dir(dt)) and all(getattr(dt, name) is not None for name in dir(dt))


HOOKS = [name for name in _Hooks.__annotations__ if name not in vars(_Hooks) and name not in ("reads", "seen")]


def test_a_hook_imports_the_module_that_sets_it():
    program = f"import dovetail; from dovetail.core.base.hooks import hooks; [getattr(hooks, name) for name in {HOOKS}]"
    subprocess.run([sys.executable, "-c", program], check=True)
    set_at_once = {"differentiated", "forms", "meet_traced", "run_keras", "tensorflow"}
    assert {*HOOKS} == {*hooks.owners, *set_at_once}


COUNT = "names = [name for name in sys.modules if name.partition('.')[0] == 'dovetail']"
LATER = {"formats", "sessions", "compat", "choose", "observe"}


@pytest.mark.parametrize(
    ("program", "limit"),
    [("", 200), ("dt.function(lambda x: x * 2.0, engine='numpy')(dt.ops.ones(3))", 284)],
    ids=["import", "function"],
)
def test_few_modules_are_imported(program, limit):
    check = f"{COUNT}; print(len(names), *{{name.split('.')[1] for name in names if '.' in name}})"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, dovetail as dt\n{program}\n{check}"],
        check=True,
        capture_output=True,
        text=True,
    )
    count, *packages = done.stdout.split()
    assert int(count) <= limit
    assert program or not LATER & set(packages)


# -- how it is installed ----------------------------------------------------------------------------------------------

ROOT = SOURCE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = "keras-dovetail"  # in the package registry, the name `dovetail` is another project's


def test_the_distribution_is_not_named_like_another_project():
    assert PROJECT["name"] == OURS
    extras = {extra for extra in PROJECT["optional-dependencies"] if extra != "all"}
    (whole,) = PROJECT["optional-dependencies"]["all"]
    assert whole.startswith(f"{OURS}[") and set(whole.removeprefix(f"{OURS}[").removesuffix("]").split(",")) == extras


TEXTS = (
    "src/**/*.py",
    "docs/**/*.md",
    "docs/**/*.py",
    "examples/**/*.py",
    "benchmarks/*.py",
    "benchmarks/*.md",
    "*.md",
    "Makefile",
)


def test_no_text_advises_to_install_another_project():
    files = [path for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file()]
    assert len(files) > 400
    advice = re.compile(r"""\binstall\b.*[ "']dovetail[\["'=\s]""")
    assert advice.search('pip install "dovetail[torch]"') and advice.search("pip install dovetail\n")
    assert [path for path in files if advice.search(path.read_text())] == []


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_engines_are_installed_by_the_names_of_their_libraries(name):
    engine = BUILT_IN[name]
    assert engine.install == f"pip install {engine.library}"


def test_the_demo_names_the_libraries_of_its_extra():
    wanted = {re.split("[=>]", requirement)[0] for requirement in PROJECT["optional-dependencies"]["demo"]}
    assert {re.split("[=>]", requirement)[0] for requirement in demo.NEEDED.values()} == wanted
    assert demo.NEEDED["keras"] in PROJECT["optional-dependencies"]["demo"]


def test_the_version_is_that_of_the_sources():
    """Check this also if another distribution, or none, is installed: then the sources are on the path."""
    assert dt.__version__ == VERSION and "version" in PROJECT["dynamic"]
    hidden = "import importlib.metadata as m; m.distributions = lambda **_: []; m.version = None"
    ask = f"{hidden}; from dovetail.cli.main import main; main(['--version'])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout == f"dovetail {VERSION}\n"
