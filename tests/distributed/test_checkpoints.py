"""Checkpoints: whole or not there, of any number of ranks, and never trusted."""

# ruff: noqa: NPY002  # the state that programs and Keras share is what checkpoints keep

from __future__ import annotations

import json
import os
import random
import shutil

import ml_dtypes
import numpy as np
import pytest

import dovetail as dt
from dovetail.distributed import Checkpoints
from tests.distributed import checkpoint_checks, ranks
from tests.libraries import require

VALUES = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "scalar": np.float32(-0.0),
    "empty": np.zeros((0, 3), "int8"),
    "half": np.array([1.5, np.nan], ml_dtypes.bfloat16),
    "complex": np.array([1 - 2j]),
    "bools": np.array([True, False]),
    "a/b:0 ü": np.array([2**63 - 1]),
}


def variables(values=VALUES):
    return {name: dt.Variable(value, dtype=value.dtype.name) for name, value in values.items()}


def saved(folder, *steps, keep=2):
    """The checkpoints of some steps, in which "w" has the number of the step."""
    checkpoints = Checkpoints(folder, keep)
    for step in steps:
        checkpoints.save(step, {"w": dt.Variable([float(step)])}, {"batch": step})
    checkpoints.wait()
    return checkpoints


def test_values_of_all_dtypes_come_back_with_the_position_and_the_random_states(tmp_path, engine):
    checkpoints = Checkpoints(tmp_path / "a" / "b")
    assert checkpoints.latest() is None and checkpoints.restore(variables()) is None
    np.random.seed(3), random.seed(4)
    given = variables()
    position = {"epoch": 1, "rows": [3, 4]}
    checkpoints.save(12, given, position)
    position["rows"].append(5)
    drawn = np.random.normal(), np.random.rand(), random.random()
    for variable in given.values():
        variable.assign(np.ones(variable.shape))  # while it is written
    found = Checkpoints(tmp_path / "a" / "b").restore(given) if checkpoints.wait() is None else None
    assert (found.step, found.position, found.world_size) == (12, {"epoch": 1, "rows": [3, 4]}, 1)
    for name, variable in given.items():
        assert variable.numpy().tobytes() == VALUES[name].tobytes(), name
    assert (np.random.normal(), np.random.rand(), random.random()) == drawn


def test_the_newest_stay_and_leftovers_of_an_ended_writer_go(tmp_path):
    saved(tmp_path, 1, 2, 3)
    kept = sorted(os.listdir(tmp_path))
    assert [name for name in kept if name.endswith(".json")] == ["step-0000000002.json", "step-0000000003.json"]
    assert len(kept) == 4, kept
    part = next(name for name in kept if name.endswith(".safetensors"))
    left = [f"step-0000000004.{'a' * 16}.0.safetensors", f".{part}.{'b' * 16}", f".step-0000000004.json.{'c' * 16}"]
    for name in [*left, "notes.txt", "step-3.json", ".hidden"]:
        (tmp_path / name).write_text("half")
    assert Checkpoints(tmp_path).latest().step == 3
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "notes.txt", "step-3.json", ".hidden"])


def test_a_checkpoint_without_manifest_is_not_there(tmp_path):
    saved(tmp_path, 1, 2)
    os.remove(tmp_path / "step-0000000002.json")
    w = dt.Variable([0.0])
    assert Checkpoints(tmp_path).restore({"w": w}).step == 1 and w.numpy() == [1.0]


def part_of(folder):
    return next(folder.glob("*.safetensors"))


def flipped(folder):
    text = bytearray(part_of(folder).read_bytes())
    text[-1] ^= 1
    part_of(folder).write_bytes(text)


def shortened(folder):
    part_of(folder).write_bytes(part_of(folder).read_bytes()[:-3])


def linked(folder):
    outside = shutil.move(part_of(folder), folder.parent / "outside.safetensors")
    name = next(iter(json.loads((folder / "step-0000000001.json").read_text())["parts"]))
    (folder / name).symlink_to(outside)


def edited(change):
    def edit(folder):
        path = folder / "step-0000000001.json"
        table = json.loads(path.read_text())
        change(table)
        path.write_text(json.dumps(table))

    return edit


def elsewhere(table):
    table["parts"] = {f"../{name}": entries for name, entries in table["parts"].items()}


def another_shape(table):
    (entries,) = table["parts"].values()
    entries["w"][1] = [2]


DAMAGE = {
    "a flipped bit": flipped,
    "a shortened part": shortened,
    "a link": linked,
    "no part": lambda folder: os.remove(part_of(folder)),
    "half a manifest": lambda folder: (folder / "step-0000000001.json").write_text('{"dovetail": '),
    "a list": lambda folder: (folder / "step-0000000001.json").write_text("[]"),
    "a path out of the folder": edited(elsewhere),
    "another shape": edited(another_shape),
    "another step": edited(lambda table: table.update(step=2)),
    "a later version": edited(lambda table: table.update(version=2)),
    "no random states": edited(lambda table: table.update(random={"numpy": ["MT19937", [1, 2]]})),
    "parts that are none": edited(lambda table: table.update(parts={"x": 1})),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_refused_before_a_variable_changes(tmp_path, damage):
    folder = tmp_path / "checkpoints"
    saved(folder, 1)
    DAMAGE[damage](folder)
    w, state = dt.Variable([-1.0]), np.random.get_state()[1].tolist()
    with pytest.raises(dt.errors.FormatError, match=r"cannot be read"):
        Checkpoints(folder).restore({"w": w})
    assert w.numpy() == [-1.0] and np.random.get_state()[1].tolist() == state


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("w", np.zeros(2, "float32"), r"has float32\[1\] for 'w', and the variable is float32 of the shape \(2,\)"),
        ("w", np.zeros(1, "float64"), r"the variable is float64"),
        ("v", np.zeros(1, "float32"), r"has no value for 'v'"),
    ],
)
def test_other_variables_are_refused_before_one_changes(tmp_path, name, value, words):
    saved(tmp_path, 1)
    first, other = dt.Variable([-1.0]), dt.Variable(value, dtype=value.dtype.name)
    with pytest.raises(ValueError, match=words):
        Checkpoints(tmp_path).restore({"w": first} | {name: other})
    assert first.numpy() == [-1.0]


def test_a_failed_write_is_raised_at_the_next_call(tmp_path):
    checkpoints = saved(tmp_path / "there", 1)
    shutil.rmtree(tmp_path / "there")
    checkpoints.save(2, variables())
    with pytest.raises(FileNotFoundError):
        checkpoints.save(3, variables())
    (tmp_path / "there").mkdir()
    checkpoints.save(3, variables())
    assert checkpoints.latest().step == 3


@pytest.mark.parametrize(
    ("step", "position", "words"),
    [(3, None, "step 3 comes after 3"), (4, {1j}, "JSON cannot hold"), (4, float("nan"), "JSON cannot hold")],
)
def test_wrong_calls_are_refused(tmp_path, step, position, words):
    saved(tmp_path, 3)
    with pytest.raises(ValueError, match=words):
        Checkpoints(tmp_path).save(step, variables(), position)
    assert Checkpoints(tmp_path).latest().step == 3


def test_none_kept_is_refused(tmp_path):
    with pytest.raises(ValueError, match="keep must be at least 1, not 0"):
        Checkpoints(tmp_path, keep=0)


def test_ranks_share_the_writing_and_other_numbers_of_ranks_restore_it(tmp_path):
    require("torch", "it carries")
    ranks.run("tests.distributed.checkpoint_checks", ("numpy", "torch"), "save", str(tmp_path))
    assert len(list(tmp_path.glob("step-0000000005.*.safetensors"))) == 2
    expected = checkpoint_checks.variables(2.0)
    restored = checkpoint_checks.variables(0.0)
    found = Checkpoints(tmp_path).restore(restored)
    assert (found.step, found.position, found.world_size) == (5, {"batch": 10}, 2)
    for name, variable in restored.items():
        np.testing.assert_array_equal(variable, expected[name])
    line = " ".join(["restored 5 {'batch': 10} 2", *(str(v.numpy().sum()) for v in expected.values())])
    three = ranks.run("tests.distributed.checkpoint_checks", ("numpy",) * 3, "restore", str(tmp_path))
    assert three == [f"{line}\n"] * 3
