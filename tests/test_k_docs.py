"""The site's texts about K: made of complete docstrings, with counts of the cases that ran.

A case or a test pins each difference.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import pytest

from tests.libraries import require

require("tf_keras", "the oracle")

ROOT = Path(__file__).parent.parent
sys.path[1:1] = [str(ROOT / "docs"), str(ROOT / "docs/_site")]

import k_support
import k_tables

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

RANDOM = "tests/backend/test_random.py::test_a_seed_gives_one_sequence_on_every_engine_and_in_every_way"
CTC_GRADIENT = (
    "tests/ops/sequence/test_ctc.py::test_the_gradient_is_that_of_tensorflow_and_zero_where_labels_are_impossible"
)
CTC_LABELS = "tests/backend/test_ctc.py::test_labels_become_sparse_in_a_compiled_function"
PINNED_BY_TESTS = {  # function, a part of the sentence → the test, if no case can pin it
    **{
        (name, "others than TensorFlow's"): RANDOM
        for name in ("random_normal", "truncated_normal", "random_uniform", "random_bernoulli", "random_binomial")
    },
    ("random_uniform_variable", "others than TensorFlow's"): RANDOM,
    ("random_normal_variable", "others than TensorFlow's"): RANDOM,
    ("dropout", "other elements"): RANDOM,
    ("softmax", "NaN or infinity"): "tests/backend/test_activation.py::test_softmax_of_nan_and_infinity_is_nan",
    ("ctc_batch_cost", "gradient is zero"): CTC_GRADIENT,
    ("ctc_label_dense_to_sparse", "where jax compiles"): CTC_LABELS,
    ("depthwise_conv2d", "strides and dilation"): "tests/backend/test_convolution.py::test_refused",
    ("separable_conv2d", "strides and dilation"): "tests/backend/test_convolution.py::test_refused",
    ("resize_images", "a factor"): "tests/backend/test_images.py::test_refused",
    ("local_conv1d", "strides of 0"): "tests/backend/test_images.py::test_refused",
    ("placeholder", "ragged placeholders"): "tests/backend/test_symbolic.py::test_placeholders_that_are_not_offered",
    ("placeholder", "rank of a sparse"): "tests/backend/test_feeding.py::test_messages",
    ("learning_phase", "running Keras"): "tests/backend/test_phase.py::test_a_running_layer_of_keras_is_asked_first",
    ("set_session", "no session"): "tests/backend/test_session.py::test_mistakes",
    ("clear_session", "threads"): "tests/backend/test_session.py::test_each_thread_has_a_default_graph_of_its_own",
}

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


def test_each_difference_is_in_the_table():
    table = k_tables.differences()
    for name in FUNCTIONS:
        for sentence in read(FUNCTIONS[name]).differences:
            assert k_tables.cell(sentence[1:]) in table, (name, sentence)


def pinned():
    """(function, sentence of its docstring) → the cases and tests that pin that difference; and a list of mistakes.

    Mistakes are reasons of cases that no docstring gives, and sentences that nothing pins.
    """
    sentences = [(name, sentence) for name in FUNCTIONS for sentence in read(FUNCTIONS[name]).differences]
    found = {key: [] for key in sentences}
    wrong = []
    for case in CASES:
        if case.differs and hasattr(oracle(), case.functions[0]):
            said = [(n, text) for n, text in sentences if n in case.functions and says(text, case.differs)]
            for key in said:
                found[key].append(str(case))
            if not said:
                wrong.append(f"{case} differs since {case.differs!r}, which the docstring does not say")
    for (name, start), test in PINNED_BY_TESTS.items():
        for key in sentences:
            if key[0] == name and says(key[1], start):
                found[key].append(test)
    return found, wrong + [f"nothing pins, of {name}: {text}" for (name, text), pins in found.items() if not pins]


def test_every_difference_is_pinned():
    assert pinned()[1] == []


def test_tests_that_pin_differences_exist():
    for test in PINNED_BY_TESTS.values():
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
            counts = k_tables.totals(entry)
            assert sorted(counts) == ["jax", "numpy", "tensorflow", "torch"], name
            assert all(agree + differ > 0 and not fail for agree, differ, fail in counts.values()), name
