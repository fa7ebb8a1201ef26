"""K's pages: made of complete docstrings, up to date, with counts of the cases that ran."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

from tests.libraries import require

require("tf_keras", "the oracle")

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

import k_pages
import k_support

from dovetail.backend import legacy
from dovetail.backend.docstring import read, says, takes_more
from dovetail.backend.table import FUNCTIONS
from tests.backend.parity import oracle
from tests.backend.test_parity import CASES

SUPPORT = json.loads(k_support.FILE.read_text())
OLD = """
asymmetric_spatial_2d_padding asymmetric_temporal_padding atrous_conv2d classification_error control_dependencies
conv3d_transpose ctc_cost ctc_create_skip_idxs ctc_interleave_blanks ctc_path_probs ctc_update_log_p deconv2d eager
get_num_dynamic_axis get_session get_variable_shape has_seq_axis identity image_dim_ordering is_explicit_shape
is_placeholder is_symbolic is_tensor is_variable legacy_weight_ordering lesser lesser_equal logsumexp normalize_axis
normalize_data_format pack pad pattern_broadcast separable_conv1d set_image_dim_ordering set_legacy_weight_ordering
set_session size slice symbolic v1_variable_initialization
"""  # in some version from Keras 0.3.3 to 2.3.1, and not in tf.keras

functions = pytest.mark.parametrize("name", FUNCTIONS)


@functions
def test_docstring(name):
    doc = read(FUNCTIONS[name])
    assert doc.summary.endswith(".")
    assert {"Source", "Modern", "Example"} <= doc.sections.keys()
    described = {
        n.strip() for line in doc.sections.get("Args", "").splitlines() for n in line.partition(":")[0].split(",")
    }
    assert set(inspect.signature(FUNCTIONS[name]).parameters) <= described


@functions
def test_example_is_a_program(name):
    """Check that it imports or defines every name it uses; its doctest checks the results."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", k_pages.example(name, read(FUNCTIONS[name])), re.DOTALL))
    tree = ast.parse(code)
    bound = {
        alias.asname or alias.name.partition(".")[0] for n in ast.walk(tree) if hasattr(n, "names") for alias in n.names
    }
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound |= {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler))
    }
    assert {node.id for node in names} <= bound | set(dir(builtins))
    assert f"{k_pages.through(name)}(" in code


def test_pages_link_to_pages():
    pages = k_pages.pages()
    assert len(pages) > 180
    links = {link for text in pages.values() for link in re.findall(r"\]\(([^)#:]+)\)", text)}
    assert [link for link in links - set(pages) if not (ROOT / "docs/k" / link).resolve().exists()] == []


def test_every_difference_is_pinned():
    assert k_pages.pinned()[1] == []


def test_tests_that_pin_differences_exist():
    for test in k_pages.PINNED_BY_TESTS.values():
        path, _, name = test.partition("::")
        assert f"\ndef {name}(" in (ROOT / path).read_text()


def is_said_to_be_refused(case) -> bool:
    sentences = [s for name in case.functions if name in FUNCTIONS for s in read(FUNCTIONS[name]).differences]
    return is_of_tf(case.functions[0]) and any(says(s, case.differs) and takes_more(s) for s in sentences)


def is_of_tf(name) -> bool:
    """Whether its page names a function of `tf.keras.backend` as its source."""
    return name in FUNCTIONS and "`tf.keras.backend." in (FUNCTIONS[name].__doc__ or "")


REFUSED = [case for case in CASES if is_said_to_be_refused(case)]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_is_said_of_tf_keras(case):
    """Check that tf.keras raises an error wherever a difference says so.

    Then no program that ran there can notice the difference.
    """
    import tensorflow as tf

    with pytest.raises(Exception):  # noqa: B017  # of any kind
        case.run(oracle(), *[tf.constant(array) for array in case.drawn()])


def test_support_names_every_function():
    public = {name for name in [*dir(oracle()), *dir(oracle().experimental)] if name[0] != "_"} - {"experimental"}
    assert len(public) == 150
    assert set(SUPPORT["functions"]) >= public | set(OLD.split()) | set(FUNCTIONS)
    assert set(SUPPORT["functions"]) == set(FUNCTIONS) | set(legacy.ABSENT)


def test_support_says_what_no_case_tests():
    tested = {name for case in CASES for name in case.functions}
    assert {name for name, entry in SUPPORT["functions"].items() if "uncompared" in entry} == set(FUNCTIONS) - tested
    assert {name for name, entry in SUPPORT["functions"].items() if "absent" in entry} == set(legacy.ABSENT)
    assert not set(legacy.ABSENT) & set(FUNCTIONS)


def test_support_is_of_four_engines_and_nothing_fails():
    for name, entry in SUPPORT["functions"].items():
        if "uncompared" not in entry and "absent" not in entry:
            counts = k_pages.totals(entry)
            assert sorted(counts) == ["jax", "numpy", "tensorflow", "torch"], name
            assert all(agree + differ > 0 and not fail for agree, differ, fail in counts.values()), name
