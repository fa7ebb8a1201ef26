"""Places of records: hostile files are ignored at once, and a folder that cannot be used is no error."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from dovetail.choose import measured_plan, records
from dovetail.cli.main import main
from dovetail.core.base import cache_folder
from dovetail.execute.choice import Strategy
from tests.choose.hostile_places import X, made, settle
from tests.choose.measuring import Clock, learn_freely
from tests.choose.test_records import GOOD, KEY, TIMES
from tests.conftest import ENGINES

ROOT = Path(__file__).parents[2]
TEXT = json.dumps(GOOD)
OTHER = "b" * 40

needs_two = pytest.mark.skipif(len(ENGINES) < 2, reason="there is nothing to choose from")
OTHER_ENGINE = next((name for name in ENGINES if name != "numpy"), "")
is_root = os.geteuid() == 0


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(records, "_warned", [])
    cache_folder._first_directory.cache_clear()
    yield
    cache_folder._first_directory.cache_clear()


@pytest.fixture(autouse=True)
def _in_time():
    """Let a call that blocks fail."""

    def blocked(number, frame):
        raise TimeoutError("it blocks")

    before = signal.signal(signal.SIGALRM, blocked)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def chosen(monkeypatch):
    """Choose at once."""
    learn_freely(monkeypatch)
    monkeypatch.setattr(measured_plan, "list_candidates", lambda: ["numpy", OTHER_ENGINE])
    Clock(monkeypatch, **{OTHER_ENGINE: 0.5})


@pytest.fixture
def folder(monkeypatch, tmp_path):
    path = tmp_path / "plans"
    path.mkdir()
    monkeypatch.setenv(cache_folder.VARIABLE, str(path))
    return path


def warnings(caplog):
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


# -- hostile files ----------------------------------------------------------------------------------------------------


def fed_pipe(path):
    os.mkfifo(path)
    threading.Thread(target=lambda: fed(path), daemon=True).start()


def fed(path):
    with contextlib.suppress(BrokenPipeError):  # the other end may be closed
        path.write_text(TEXT)


def bound_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the names of sockets must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def link_to_pipe(path):
    os.mkfifo(path.parent / "pipe")
    path.symlink_to("pipe")


def sparse(path):
    path.write_text(TEXT)
    os.truncate(path, 10 * 2**30)


HOSTILE = {
    "a pipe without a writer": os.mkfifo,
    "a pipe with a good entry": fed_pipe,
    "a link to a pipe": link_to_pipe,
    "a socket": bound_socket,
    "a folder": lambda path: path.mkdir(),
    "a folder with files": lambda path: (path.mkdir(), (path / "file").touch()),
    "endless zeros": lambda path: path.symlink_to("/dev/zero"),
    "endless random bytes": lambda path: path.symlink_to("/dev/urandom"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a full device": lambda path: path.symlink_to("/dev/full"),
    "a file of the system": lambda path: path.symlink_to("/proc/self/mem"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a file of gigabytes": sparse,
    "a good entry and spaces": lambda path: path.write_text(TEXT + " " * records.LARGEST),
    "an empty file": lambda path: path.touch(),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_file_of_ours_is_ignored_at_once(folder, kind):
    path = folder / f"{KEY}.jsonl"
    HOSTILE[kind](path)
    records.append(OTHER, "step", Strategy("numpy"), TIMES, 3)
    assert not records.read(KEY).times
    assert [entry.key for entry in records.entries()] == [OTHER]
    is_left = not path.is_file()  # forgetting also removes a link to a file
    assert records.clear() == 2 - is_left
    assert os.path.lexists(path) == is_left and not (folder / f"{OTHER}.jsonl").exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_file_of_ours_is_replaced_or_left(folder, kind, caplog):
    """Check that a folder stays, with a line in the log, and that only a link itself is replaced, not its target."""
    path = folder / f"{KEY}.jsonl"
    HOSTILE[kind](path)
    records.append(KEY, "step", Strategy("numpy"), TIMES, 3)
    found = records.read(KEY)
    if "folder" in kind:
        assert not found.times and path.is_dir() and len(warnings(caplog)) == 1
    else:
        assert found.times and not path.is_symlink() and warnings(caplog) == []


@needs_two
@pytest.mark.parametrize("kind", HOSTILE)
def test_choices_are_made_all_the_same(folder, kind, chosen):
    function = made(2.0)
    key = records.key_of(function.concrete(X).graph, [X.shape])
    HOSTILE[kind](folder / f"{key}.jsonl")
    settle(function, 2.0)
    assert function.plan(X).chosen.strategy.engine == OTHER_ENGINE


def test_a_file_that_grows_while_it_is_read(folder):
    path, done = folder / f"{KEY}.jsonl", threading.Event()
    path.write_text(TEXT)

    def grow():
        with path.open("a") as file:
            while not done.is_set():
                file.write(" " * 512)
                file.flush()
                if file.tell() > 2**26:
                    return

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        found = [records.read(KEY) for _ in range(200)]
        while path.stat().st_size <= records.LARGEST:
            found.append(records.read(KEY))
    finally:
        done.set()
        thread.join()
    assert {kept.key for kept in found} <= {KEY} and not records.read(KEY).times


def test_a_file_that_may_not_be_read(folder, monkeypatch):
    (folder / f"{KEY}.jsonl").write_text(TEXT)
    (folder / f"{KEY}.jsonl").chmod(0)
    assert is_root or not records.read(KEY).times
    monkeypatch.setattr(os, "open", lambda *args, **kwargs: (_ for _ in ()).throw(PermissionError(13, "no")))
    assert not records.read(KEY).times and list(records.entries()) == []


def test_a_link_to_an_entry_is_read(folder):
    (folder.parent / f"{KEY}.jsonl").write_text(TEXT)
    (folder / f"{KEY}.jsonl").symlink_to(folder.parent / f"{KEY}.jsonl")
    assert records.read(KEY).times and records.clear() == 1
    assert (folder.parent / f"{KEY}.jsonl").exists()


@pytest.mark.parametrize(
    "name", ["package.json", "A" * 40 + ".jsonl", "a" * 39 + ".jsonl", "a" * 40 + ".txt", "settings"]
)
def test_files_by_other_names_are_left(folder, monkeypatch, name):
    (folder / name).write_text(TEXT)
    monkeypatch.setattr(records, "MOST", 0)
    records.append(KEY, "step", Strategy("numpy"), TIMES, 3)
    assert list(records.entries()) == [] and records.clear() == 0 and (folder / name).exists()


NOT_MEASURED = [
    (0.0, 0.0, 1),
    (float("inf"), 0.1, 1),
    (float("nan"), 0.1, 1),
    (0.1, 0.2, 1),
    (0.2, -0.1, 1),
    (0.2, 0.1, 0),
]


@pytest.mark.parametrize("numbers", [*NOT_MEASURED, (0.2, 0.1, -5), (10**400, 0.1, 1), (0.2, 0.1, True)], ids=str)
def test_numbers_that_nobody_measures_are_ignored(folder, numbers):
    text = json.dumps({**GOOD, **dict(zip(("median", "best", "calls"), numbers, strict=True))})
    (folder / f"{KEY}.jsonl").write_text(text)
    assert not records.read(KEY).times


def test_the_command_shows_no_commands_for_terminals(folder, capsys):
    text = json.dumps({**GOOD, "strategy": ["numpy", "\x1b[31m", 0, 1], "name": "\x1b[2J\nstep\x07", "made": "\x9b"})
    (folder / f"{KEY}.jsonl").write_text(text)
    for action in ("list", "show"):
        assert main(["plan", action]) == 0
        said = capsys.readouterr().out
        assert r"\x1b[2J\nstep" in said and r"\x1b[31m" in said and r"\x07" in said and r"\x9b" in said
        assert {c for c in said if not c.isprintable()} == {"\n"}


# -- hostile folders --------------------------------------------------------------------------------------------------


def nowhere(patch, tmp_path):
    for name in (cache_folder.VARIABLE, "XDG_CACHE_HOME", "HOME"):
        patch.delenv(name, raising=False)

    def no_entry(user):
        raise KeyError(user)

    patch.setattr(pwd, "getpwuid", no_entry)


def of(make):
    """A circumstance in which a function makes the folder, and the variable names it."""
    return lambda patch, tmp_path: patch.setenv(cache_folder.VARIABLE, str(make(tmp_path)))


def file_at(path):
    path.touch()
    return path


def link_at(path, target):
    path.symlink_to(target)
    return path


def gone(patch, tmp_path):
    (tmp_path / "gone").mkdir()
    patch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    patch.setenv(cache_folder.VARIABLE, "plans")


CLOSED = {
    "no home": nowhere,
    "a home that is no folder": lambda patch, tmp_path: (
        nowhere(patch, tmp_path),
        patch.setenv("HOME", str(file_at(tmp_path / "home"))),
    ),
    "a user who is not there": of(lambda tmp_path: "~nosuchuser/x"),
    "a file": of(lambda tmp_path: file_at(tmp_path / "file")),
    "below a file": of(lambda tmp_path: file_at(tmp_path / "file") / "plans"),
    "a link to nothing": of(lambda tmp_path: link_at(tmp_path / "link", tmp_path / "no" / "where")),
    "a link to itself": of(lambda tmp_path: link_at(tmp_path / "link", tmp_path / "link")),
    "a device": of(lambda tmp_path: "/dev/null"),
    "a folder of the system": of(lambda tmp_path: "/proc/self/plans"),
    "a name too long": of(lambda tmp_path: tmp_path / ("x" * 300)),
    "a working directory that is gone": gone,
}


@needs_two
@pytest.mark.parametrize("circumstance", CLOSED)
def test_nothing_is_kept_and_one_line_says_so(circumstance, tmp_path, chosen, caplog, capsys):
    with pytest.MonkeyPatch.context() as patch:
        CLOSED[circumstance](patch, tmp_path)
        for factor in (2.0, 3.0):
            settle(made(factor), factor)
        (line,) = warnings(caplog)
        assert line.startswith("measurements of engines are not kept, since ") and cache_folder.VARIABLE in line
        assert list(records.entries()) == [] and not records.read(KEY).times and records.clear() == 0
        for action in ("list", "show", "clear"):
            assert main(["plan", action]) == 0
            assert "nothing is kept" in capsys.readouterr().out
    assert len(warnings(caplog)) == 1


OPEN = {
    "a relative path": of(lambda tmp_path: "plans"),
    "a path of any bytes": of(lambda tmp_path: os.fsdecode(os.fsencode(tmp_path) + b"/\xff \n")),
    "a link to a folder": of(lambda tmp_path: link_at(tmp_path / "link", tmp_path)),
    "caches": lambda patch, tmp_path: (nowhere(patch, tmp_path), patch.setenv("XDG_CACHE_HOME", str(tmp_path))),
    "relative caches, which do not count": lambda patch, tmp_path: (
        nowhere(patch, tmp_path),
        patch.setenv("HOME", str(tmp_path)),
        patch.setenv("XDG_CACHE_HOME", "caches"),
    ),
}


@needs_two
@pytest.mark.parametrize("circumstance", OPEN)
def test_what_is_measured_is_kept(circumstance, tmp_path, chosen, caplog):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        OPEN[circumstance](patch, tmp_path)
        settle(made(2.0), 2.0)
        (tmp_path / "elsewhere").mkdir()
        patch.chdir(tmp_path / "elsewhere")
        function = made(2.0)  # as in another process
        np.testing.assert_allclose(function(X), np.tanh(X * 2), rtol=1e-6)
        assert len(list(records.entries())) == 1 and function.plan(X).measurer.state.earlier > 0
    assert warnings(caplog) == [] and not (tmp_path / "caches").exists()


@pytest.mark.parametrize("number", [28, 30, 1], ids=os.strerror)
def test_a_file_system_that_fails(folder, monkeypatch, caplog, number):
    """Check that no partial file is left, and that the log has one line about it."""

    def failing(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        for name in (KEY, OTHER):
            records.append(name, "step", Strategy("numpy"), TIMES, 3)
    assert not records.read(KEY).times and list(folder.iterdir()) == []
    assert len(warnings(caplog)) == 1 and os.strerror(number) in warnings(caplog)[0]


@pytest.mark.skipif(not is_root, reason="only root can become another user")
@needs_two
@pytest.mark.parametrize(("owner", "mode"), [(0, 0o755), (1234, 0o700), (1234, 0o777)])
def test_a_folder_of_another_user(owner, mode):
    """Check that the folder is used if all users may write to it."""
    with tempfile.TemporaryDirectory() as name:  # other users cannot enter pytest's folders
        os.chown(name, owner, owner)
        os.chmod(name, mode)
        said = settled_in("nobody", name)
    is_kept = mode == 0o777
    assert said.stdout == f"right {int(is_kept)}\n", said.stderr
    assert said.stderr.count(cache_folder.VARIABLE) == (not is_kept), said.stderr


@needs_two
@pytest.mark.parametrize("circumstance", ["full", "plain"])
def test_a_process_of_its_own(circumstance, tmp_path):
    said = settled_in(circumstance, tmp_path / "plans")
    assert said.stdout == ("right 0\n" if circumstance == "full" else "right 1\n"), said.stderr
    assert said.stderr.count(cache_folder.VARIABLE) == (circumstance == "full"), said.stderr


def settled_in(circumstance, path):
    environment = {**os.environ, cache_folder.VARIABLE: str(path)}
    command = [sys.executable, "-m", "tests.choose.hostile_places", circumstance]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100)
