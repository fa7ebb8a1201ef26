"""Executables of jax on disk: who keeps them, where, and the treatment of files that are no such entries."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.core.base import cache_folder
from dovetail.core.engines.engine_registry import get_engine
from tests.conftest import ENGINES

pytestmark = pytest.mark.skipif("jax" not in ENGINES or not hasattr(os, "geteuid"), reason="nothing is kept")
KEY = "jit_step-0123"


@pytest.fixture
def disk_cache():
    get_engine("jax")
    from dovetail.engines.jax import disk_cache

    return disk_cache


@pytest.fixture
def store(disk_cache, tmp_path, monkeypatch):
    """A store in the folder that JAX's setting names."""
    monkeypatch.setattr(disk_cache.Store, "_is_left", lambda self: False)
    folder = tmp_path / "xla" / "a"
    folder.mkdir(0o700, parents=True)
    return disk_cache.Store(folder, {})


def test_an_entry(store):
    assert store.get(KEY) is None
    store.put(KEY, b"code")
    assert store.get(KEY) == b"code" and store.get(KEY + "4") is None
    store.put(KEY, b"")
    assert store.get(KEY) == b""


def rename(path: Path, store) -> None:
    store.put("other", b"other code")
    os.replace(store._file("other"), path)


DAMAGES = {
    "cut": lambda path, store: path.write_bytes(path.read_bytes()[:-1]),
    "cut in its head": lambda path, store: path.write_bytes(path.read_bytes()[:20]),
    "empty": lambda path, store: path.write_bytes(b""),
    "random": lambda path, store: path.write_bytes(os.urandom(300)),
    "one bit": lambda path, store: path.write_bytes(path.read_bytes()[:-1] + b"\x00"),
    "longer": lambda path, store: path.write_bytes(path.read_bytes() + b"1"),
    "of another key": rename,
    "of jax": lambda path, store: path.write_bytes(b"code"),
    "a folder": lambda path, store: (path.unlink(), path.mkdir()),
    "a link": lambda path, store: (path.rename(path.with_name("moved")), path.symlink_to(path.with_name("moved"))),
    "a pipe": lambda path, store: (path.unlink(), os.mkfifo(path)),
    "too large": lambda path, store: os.truncate(path, 1 << 40),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_files_that_are_no_entries(store, name, caplog):
    store.put(KEY, b"code")
    DAMAGES[name](store._file(KEY), store)
    assert store.get(KEY) is None
    with caplog.at_level(logging.WARNING):
        store.put(KEY, b"new code")
        store.put(KEY, b"new code")
    assert store.get(KEY) == (None if name == "a folder" else b"new code")
    assert len(caplog.records) == (name == "a folder")


def test_a_file_of_another_user(store, monkeypatch):
    store.put(KEY, b"code")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert store.get(KEY) is None


def test_entries_that_were_used_last_stay(store, disk_cache, monkeypatch):
    monkeypatch.setattr(disk_cache, "MOST", 1000)
    other = store._path.parent / "b"
    other.mkdir()
    (other / "of another version").write_bytes(bytes(300))
    os.utime(other / "of another version", ns=(0, 0))
    for number in range(4):
        store.put(str(number), bytes(200))  # plus a head of 32 bytes
        os.utime(store._file(str(number)), ns=(number + 1, number + 1))
    assert not other.exists()
    assert store.get("0") is not None
    store.put("large", bytes(251))
    assert store.get("large") is None
    store.put("4", bytes(200))
    assert [str(number) for number in range(5) if store.get(str(number)) is None] == ["1"]


FOLDERS = {
    "open to all": lambda root: root.mkdir() or root.chmod(0o777),
    "open to a group": lambda root: root.mkdir() or root.chmod(0o770),
    "a file": lambda root: root.write_text(""),
    "a link": lambda root: root.symlink_to(root.parent),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_are_not_used(disk_cache, tmp_path, name, caplog):
    FOLDERS[name](tmp_path / "xla")
    with caplog.at_level(logging.WARNING):
        assert disk_cache._opened(tmp_path / "xla", {}) is None
    assert [record.name for record in caplog.records] == ["dovetail.engines"]


def test_a_folder_of_another_user(disk_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert disk_cache._opened(tmp_path / "xla", {}) is None


def test_a_folder_is_made_for_its_user_alone(disk_cache, tmp_path):
    store, path = disk_cache._opened(tmp_path / "plans" / "xla", {})
    assert path == str(tmp_path / "plans" / "xla")
    assert [made.stat().st_mode & 0o777 for made in (Path(path), store._path)] == [0o700, 0o700]


CHANGES = {
    "processor": lambda patch, path: patch.setattr(cache_folder, "PROCESSOR", path),
    "threads": lambda patch, path: patch.setenv("DOVETAIL_THREADS", "3"),
    "threads of XLA": lambda patch, path: patch.setenv("NPROC", "3"),
    "flags": lambda patch, path: patch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX"),
    "jax": lambda patch, path: patch.setattr("jax.__version__", "9"),
    "jaxlib": lambda patch, path: patch.setattr("jaxlib.__version__", "9"),
    "dovetail": lambda patch, path: patch.setattr("dovetail.engines.jax.disk_cache.VERSION", "9"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_name_of_a_folder_stands_for(disk_cache, monkeypatch, tmp_path, name):
    (tmp_path / "said").write_text("model name: abacus\n")
    before = disk_cache._digest()
    assert disk_cache._digest() == before
    CHANGES[name](monkeypatch, tmp_path / "said")
    assert disk_cache._digest() != before


def test_a_program_that_cannot_be_kept(disk_cache, recwarn):
    """Check a program that uses several blocks of memory: XLA does not serialize it, and JAX would warn each time."""

    def serialize(*args):
        raise RuntimeError("Multiple temp buffer allocations found")

    assert disk_cache._quiet(serialize, lambda: True, (None, None))(1) == (None, None)
    with pytest.raises(RuntimeError, match="Multiple"):
        disk_cache._quiet(serialize, lambda: False, None)(1)
    assert not recwarn.list


# -- whole processes --------------------------------------------------------------------------------------------------

PROGRAM = """
import numpy as np, dovetail as dt
from dovetail import ops
{before}
dt.set_engine("jax")
{after}
hits = []
import jax
jax.monitoring.register_event_listener(lambda event, **more: event.endswith("cache_hits") and hits.append(event))
x = np.float32([[1, 2], [3, 4]])
first, second = dt.function(lambda x: ops.tanh(x) @ x), dt.function(lambda x: x @ ops.exp(-x))
np.testing.assert_allclose(first(x), np.tanh(x) @ x, rtol=1e-5)
np.testing.assert_allclose(second(x), x @ np.exp(-x), rtol=1e-5)
print(len(hits) >= 2)
"""


def ran(folder: Path | str, before: str = "", after: str = "", **variables: str) -> bool:
    """Run two programs on jax in a new process; return whether it found them on disk."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment |= {"DOVETAIL_CACHE": str(folder), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", **variables}
    program = PROGRAM.format(before=before, after=after)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert not done.returncode and not done.stderr, done.stderr[-3000:]
    return done.stdout == "True\n"


def entries(folder: Path) -> list[Path]:
    return sorted((path for path in folder.glob("xla/*/*")), key=lambda path: path.stat().st_size)


def swap(paths: list[Path]) -> None:
    """Give each file the content of the next one."""
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, [*contents[1:], contents[0]], strict=True):
        path.write_bytes(content)


def test_the_next_process_finds_what_this_one_compiled(tmp_path):
    assert not ran(tmp_path)
    assert len(entries(tmp_path)) >= 2
    assert ran(tmp_path)
    assert not ran(tmp_path, XLA_FLAGS="--xla_cpu_max_isa=AVX")
    for change in (swap, lambda paths: [os.truncate(path, path.stat().st_size // 2) for path in paths]):
        change(entries(tmp_path))
        assert not ran(tmp_path)
        assert ran(tmp_path)


OWN = "jax.config.update('jax_compilation_cache_dir', {own!r})"
LEFT = {
    "nothing is kept": {"folder": ""},
    "jax was imported": {"before": "import jax"},
    "the variable of jax": {"JAX_COMPILATION_CACHE_DIR": "{own}"},
    "no cache of jax": {"JAX_ENABLE_COMPILATION_CACHE": "false"},
    "the user's later": {"after": f"import jax; {OWN}"},
    "the user's after a call": {"after": f"import jax; ops.tanh(ops.ones(3)).numpy(); {OWN}"},
}


@pytest.mark.parametrize("name", LEFT)
def test_a_cache_of_the_user_is_left_alone(tmp_path, name):
    given = {key: value.replace("{own!r}", repr(str(tmp_path / "own"))) for key, value in LEFT[name].items()}
    given = {key: value.replace("{own}", str(tmp_path / "own")) for key, value in given.items()}
    ran(**{"folder": tmp_path / "ours", **given})
    names = {path.name.partition("-")[0] for path in (tmp_path / "own").glob("*")}
    assert ("jit_program" in names) == ("own" in str(given))
    kept = len(entries(tmp_path / "ours"))
    assert (kept > 0) == (name == "the user's after a call")


def test_it_is_kept_where_tensorflow_imported_jax(tmp_path):
    if "tensorflow" not in ENGINES:
        pytest.skip("tensorflow is not installed")
    before = "from dovetail.core.engines.engine_registry import get_engine; get_engine('tensorflow')"
    ran(tmp_path, before, TF_ENABLE_ONEDNN_OPTS="0")  # else TensorFlow writes to stderr on some processors
    assert entries(tmp_path)
