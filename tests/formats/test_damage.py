"""Damage: files that were changed at random, and saves that were killed at each call; the memory of hostile files."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.formats.files import by_hand, tensor
from tests.formats.mutations import mutations


def test_changed_files_are_read_or_refused(tmp_path):
    found = mutations(500, 0, tmp_path)
    assert found["document: read"] > 10 and found["document: refused"] > 100 and found["cut: refused"] > 25


SIZE = 10_000_000  # bytes


def wide(item):
    return "[" + ",".join([item] * (SIZE // (len(item) + 1))) + "]"


def with_document(data):
    text = f'{{"version":1,"variables":{{}},"parts":[],"object":{data}}}'
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return by_hand({"__metadata__": {"dovetail": text, "digest": digest}})


HOSTILE = {
    "lists in the header": lambda: by_hand(b'{"a":%s}' % wide("[]").encode()),
    "many tensors": lambda: by_hand({f"{i:x}": tensor(shape=[0], offsets=[0, 0]) for i in range(SIZE // 60)}),
    "a wide character": lambda: by_hand(b'{"__metadata__":{"a":"%s\xf0\x9f\x98\x80"}}' % (b"a" * SIZE)),
    "strings in the document": lambda: with_document(f'{{"list":{wide(chr(34) + "abc" + chr(34))}}}'),
    "dicts in the document": lambda: with_document(
        f'{{"list":{wide(chr(123) + chr(34) + "dict" + chr(34) + ":[]}")}}}'
    ),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system does not tell the most memory")
@pytest.mark.parametrize("case", HOSTILE)
def test_a_header_of_ten_megabytes_takes_little_memory(tmp_path, case):
    data = HOSTILE[case]()
    (tmp_path / "x").write_bytes(data)
    command = [sys.executable, "-m", "tests.formats.memory", str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    taken, result = done.stdout.split(None, 1)
    assert int(taken) < 4 * len(data) + (64 << 20)
    assert result.startswith(
        "read" if case == "a wide character" else ("JSON whose objects would", "no JSON (it has more")
    )


has_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
WAYS = ["file", "bundle"]


def kills(*arguments):
    """The rows of a run: the name of a call → how often the old value was found, and the new one."""
    command = [sys.executable, "-m", "tests.formats.kills", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "no process can be traced here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {name: (int(old), int(new)) for name, _, old, new in rows}


@has_fork
@pytest.mark.parametrize("way", WAYS)
def test_a_save_killed_at_any_line_leaves_the_old_file_or_the_new_one(tmp_path, way):
    old, new = kills(way, tmp_path)["line"]
    assert old > 30 and (new > 0) == (way == "bundle")  # a bundle's old shards are removed at last


@has_fork
@pytest.mark.parametrize("way", WAYS)
def test_a_save_killed_at_any_system_call_leaves_the_old_file_or_the_new_one(tmp_path, way):
    found = kills(way, tmp_path, "--calls")
    files = 1 if way == "file" else 2  # the shard and the index
    assert found["rename"] == (files, 0) and found["fsync"] == (files, 0) and found["write"][0] >= 2
    assert found["exit_group"] == (0, 1)
