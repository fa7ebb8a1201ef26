"""Checkpoints: whole or not there, of any number of ranks, and never trusted."""

# ruff: noqa: NPY002  # the state that programs and Keras share is what checkpoints keep

from __future__ import annotations

import json
import os
import random
import shutil
import warnings

import ml_dtypes
import numpy as np
import pytest

import dovetail as dt
from dovetail.distributed import Checkpoints
from dovetail.distributed.checkpoints import _sealed
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


def manifest_of(folder):
    return max(folder.glob("*.json"))


def part_of(folder):
    return max(folder.glob("*.safetensors"))


def flipped(folder):
    text = bytearray(part_of(folder).read_bytes())
    text[-1] ^= 1
    part_of(folder).write_bytes(text)


def shortened(folder):
    part_of(folder).write_bytes(part_of(folder).read_bytes()[:-3])


def linked(folder):
    part = part_of(folder)
    part.symlink_to(shutil.move(part, folder.parent / "outside.safetensors"))


def rewritten(change):
    return lambda folder: manifest_of(folder).write_text(change(manifest_of(folder).read_text()))


def edited(change):
    def edit(text):
        table = json.loads(text)
        del table["sha256"]
        change(table)
        return json.dumps(_sealed(table))

    return rewritten(edit)


def elsewhere(table):
    table["parts"] = {f"../{name}": checksum for name, checksum in table["parts"].items()}


def another_checksum(table):
    table["parts"] = dict.fromkeys(table["parts"], "0" * 64)


def unreadable(folder):
    path = manifest_of(folder)
    path.unlink()
    path.symlink_to("nowhere")


# damage → how it comes about, and what the message says
DAMAGE = {
    "a flipped bit": (flipped, "the tensors: found another checksum"),
    "a shortened part": (shortened, "the end: found 1 bytes"),
    "a link": (linked, "none, or a link"),
    "no part": (lambda folder: os.remove(part_of(folder)), "none, or a link"),
    "half a manifest": (rewritten(lambda text: text[:99]), "the manifest"),
    "an empty manifest": (rewritten(lambda text: ""), "the manifest"),
    "a list": (rewritten(lambda text: "[]"), "the manifest"),
    "another position": (rewritten(lambda text: text.replace('"batch": 2', '"batch": 3')), "another checksum"),
    "a manifest that cannot be read": (unreadable, "the manifest"),
    "a path out of the folder": (edited(elsewhere), "the parts"),
    "another checksum": (edited(another_checksum), "another checksum"),
    "another step": (edited(lambda table: table.update(step=9)), "checkpoint 1 of step 9"),
    "a later version": (edited(lambda table: table.update(version=2)), "checkpoint 2 of step 2"),
    "no random states": (edited(lambda table: table.update(random={"numpy": ["MT19937", [1, 2]]})), "random"),
    "parts that are none": (edited(lambda table: table.update(parts={"x": 1})), "the parts"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_only_checkpoint_is_refused_before_a_variable_changes(tmp_path, damage):
    folder, (happens, words) = tmp_path / "checkpoints", DAMAGE[damage]
    saved(folder, 2)
    happens(folder)
    w, state = dt.Variable([-1.0]), np.random.get_state()[1].tolist()
    for read in (Checkpoints(folder).latest, lambda: Checkpoints(folder).restore({"w": w})):
        with pytest.raises(dt.errors.FormatError, match=words):
            read()
    assert w.numpy() == [-1.0] and np.random.get_state()[1].tolist() == state


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_checkpoint_before_a_damaged_one_is_taken(tmp_path, damage):
    folder, (happens, words) = tmp_path / "checkpoints", DAMAGE[damage]
    saved(folder, 1, 2)
    happens(folder)
    w, checkpoints = dt.Variable([-1.0]), Checkpoints(folder)
    with pytest.warns(UserWarning, match=rf"step-0000000002.*{words}.*The one of step 1 is taken instead"):
        assert checkpoints.latest().step == 1
    assert w.numpy() == [-1.0]
    with pytest.warns(UserWarning, match=r"test_checkpoints.py:\d+"):
        assert checkpoints.restore({"w": w}).position == {"batch": 1}
    assert w.numpy() == [1.0]
    assert manifest_of(folder).name == "step-0000000002.json"  # it stays until training has gone on


def test_training_goes_on_over_a_damaged_checkpoint(tmp_path):
    saved(tmp_path, 1, 4, 8, keep=3)
    shortened(tmp_path)
    w, checkpoints = dt.Variable([0.0]), Checkpoints(tmp_path)
    with pytest.raises(ValueError, match="step 5 comes after 8, which the folder has: restore it"):
        checkpoints.save(5, {"w": w})
    with pytest.warns(UserWarning, match="The one of step 4 is taken instead"):
        checkpoints.restore({"w": w})
    checkpoints.save(5, {"w": w.assign([5.0])})
    assert checkpoints.latest().step == 5
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [f"step-000000000{step}.json" for step in (4, 5)]
    checkpoints.save(8, {"w": w})
    checkpoints.wait()
    assert len(list(tmp_path.glob("*-0000000008.*"))) == 2  # the damaged part has gone
    shortened(tmp_path)
    with pytest.warns(UserWarning, match="The one of step 5 is taken instead"):
        Checkpoints(tmp_path).restore({"w": w})
    assert w.numpy() == [5.0]


def test_an_error_tells_all_checkpoints_if_none_is_whole(tmp_path):
    saved(tmp_path, 1, 2)
    for part in tmp_path.glob("*.safetensors"):
        part.unlink()
    with pytest.raises(dt.errors.FormatError, match="step-0000000002") as raised:
        Checkpoints(tmp_path).latest()
    (note,) = raised.value.__notes__
    assert "step-0000000001" in note


def test_no_flipped_bit_is_taken_for_a_whole_checkpoint(tmp_path):
    seed = int(os.environ.get("DOVETAIL_TEST_SEED", "0"))
    print("seed", seed)
    draw, folder = random.Random(seed), tmp_path / "checkpoints"
    saved(folder, 1, 2)
    for path in (manifest_of(folder), part_of(folder)):
        whole = path.read_bytes()
        for place in [*range(0, 60, 7), *draw.sample(range(len(whole)), 40)]:
            text = bytearray(whole)
            text[place] ^= 1 << draw.randrange(8)
            path.write_bytes(text)
            w = dt.Variable([-1.0])
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = Checkpoints(folder).restore({"w": w})
            assert found.step == 2 - len(told) and found.position == {"batch": found.step}, (path, place)
            assert w.numpy() == [found.step], (path, place)
        path.write_bytes(whole)


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
    folder = tmp_path / "whole"
    ranks.run("tests.distributed.checkpoint_checks", ("numpy", "torch"), "save", str(folder))
    assert len(list(folder.glob("step-0000000005.*.safetensors"))) == 2
    expected = checkpoint_checks.variables(2.0)
    restored = checkpoint_checks.variables(0.0)
    found = Checkpoints(folder).restore(restored)
    assert (found.step, found.position, found.world_size) == (5, {"batch": 10}, 2)
    for name, variable in restored.items():
        np.testing.assert_array_equal(variable, expected[name])
    for rank in range(3):  # each has a disk of its own, and the one of rank 1 is damaged; then all lack a part
        shutil.copytree(folder, tmp_path / f"of {rank}")
    shortened(tmp_path / "of 1")
    os.remove(part_of(shutil.copytree(folder, tmp_path / "without a part")))
    folders = [str(tmp_path / name) for name in ("whole", "of {rank}", "without a part")]
    printed = ranks.run("tests.distributed.checkpoint_checks", ("numpy",) * 3, "restore", *folders)
    sums = [" ".join(str(v.numpy().sum()) for v in checkpoint_checks.variables(first).values()) for first in (1.0, 2.0)]
    newest, before = f"restored 5 {{'batch': 10}} 2 {sums[1]}", f"restored 4 {{'batch': 9}} 2 {sums[0]}"
    causes = ["damage, of which rank 1 tells", "the end: found", "damage, of which rank 1 tells"]
    for text, cause in zip(printed, causes, strict=True):
        assert [line for line in text.splitlines() if line.startswith("restored")] == [newest, before, before], text
        assert [line.count("UserWarning") for line in text.splitlines() if cause in line] == [1], text
        assert text.count("The one of step 4 is taken instead") == 2 and text.count("none, or a link") == 1, text
