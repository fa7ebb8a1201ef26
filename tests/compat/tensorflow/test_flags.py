"""Flags of programs, by absl and by argparse."""

from __future__ import annotations

import sys

import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from dovetail.compat.tensorflow.names import flags
from tests.libraries import require


@pytest.fixture(params=["absl", "argparse"])
def program(request, monkeypatch):
    """The names of flags with another library behind them."""
    if request.param == "absl":
        require("absl", "the flags of absl")
        from absl.flags import FlagValues

        found = flags.Flags(lambda: flags.Absl(FlagValues()))
    else:
        found = flags.Flags(flags.Argparse)
    monkeypatch.setattr(flags, "FLAGS", found)
    tf.flags.DEFINE_float("rate", 0.1, "the rate")
    tf.app.flags.DEFINE_integer(name="steps", default=5, help="the number of steps")
    tf.flags.DEFINE_string("folder", None, "a folder")
    tf.flags.DEFINE_boolean("fast", False, "whether it is fast")
    tf.flags.DEFINE_bool("quiet", True, "whether it prints nothing")
    return found


def test_values_are_those_of_the_command_line(program, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py", "--rate=0.5", "--steps", "7", "--fast", "--noquiet", "more"])
    assert (program.rate, program.steps, program.folder, program.fast, program.quiet) == (0.5, 7, None, True, False)
    assert program["rate"] == 0.5
    assert "rate" in program
    assert "other" not in program


def test_defaults_stay(program, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py"])
    assert program.flag_values_dict().items() >= {"rate": 0.1, "steps": 5, "fast": False, "quiet": True}.items()
    program.steps = 9
    assert program.steps == 9


def test_defaults_of_another_type_stay(program, monkeypatch):
    tf.flags.DEFINE_integer("size", float("inf"), "how many samples; all by default")
    tf.flags.DEFINE_string("number", 3, "a text")
    monkeypatch.setattr(sys, "argv", ["x.py"])
    assert (program.size, program.number) == (float("inf"), 3)


def test_old_ways_to_parse(program, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py", "--steps=3"])
    program._parse_flags()
    assert program.steps == vars(flags.Flags)["__getattr__"](program, "__flags")["steps"] == 3


def test_a_flag_that_is_not_defined(program, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py"])
    with pytest.raises(AttributeError, match=r"tf.flags.FLAGS.*no flag 'stepz' is defined.*steps"):
        program.stepz  # noqa: B018


def test_run_calls_main_with_what_is_left_and_exits(program, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py", "--steps=4", "file"])
    seen = []

    def main(argv):
        seen.append((argv, program.steps))
        return 3

    with pytest.raises(SystemExit) as end:
        tf.app.run(main)
    assert (seen, end.value.code) == ([(["x.py", "file"], 4)], 3)
    with pytest.raises(SystemExit) as end:
        tf.app.run(lambda argv: None, argv=["x.py", "--steps", "6"])
    assert (end.value.code, program.steps) == (None, 6)


def test_modules_where_programs_find_them(program):
    from dovetail.compat.tensorflow.compat.v1.python.platform import app
    from dovetail.compat.tensorflow.python.platform import flags as again

    assert app.run is tf.app.run
    assert again.DEFINE_string is tf.flags.DEFINE_string is tf.app.flags.DEFINE_string
