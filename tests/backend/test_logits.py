"""The scores behind the outputs of sigmoid and softmax: found where they should be, freed with the output."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.backend import logits

ZERO = np.zeros(1, "float32")
FROM_PROBABILITIES = 15.333239  # the loss of a probability of 1 for a 0; the loss of its score, 40, is 40


@pytest.fixture(autouse=True)
def _nothing_stays():
    before = set(logits._memory)
    yield
    gc.collect()
    assert set(logits._memory) <= before


def forty():
    return dt.ops.convert(np.array([40.0], "float32"))


def loss(output):
    return float(K.binary_crossentropy(ZERO, output)[0])


def test_the_scores_of_an_eager_output_are_used_also_where_nothing_else_holds_them(engine):
    assert loss(K.sigmoid(forty() * 1)) == 40
    assert loss(K.identity(K.identity(K.sigmoid(forty())))) == 40
    assert loss(K.softmax([[40.0], [0.0]])[0]) != 40  # a part of an output is another tensor


def test_what_is_computed_from_an_output_is_none(engine):
    for change in (lambda p: p * 1, lambda p: K.stop_gradient(p), lambda p: K.reshape(p, (1,))):
        np.testing.assert_allclose(loss(change(K.sigmoid(forty()))), FROM_PROBABILITIES, rtol=1e-6)


def test_a_new_tensor_in_the_place_of_an_old_output_has_no_scores(engine):
    for _ in range(300):
        K.sigmoid(forty())
        assert logits.recall(forty()) is None


def test_outputs_are_forgotten_with_their_last_reference(engine):
    before = len(logits._memory)
    x = forty()
    outputs = [K.sigmoid(x) for _ in range(50)] + [K.softmax(x[None]) for _ in range(50)]
    assert len(logits._memory) == before + 100
    scores = weakref.ref(x)
    del x
    assert scores() is not None
    del outputs
    assert len(logits._memory) == before
    gc.collect()  # a call that was compiled may leave its arguments in a cycle
    assert scores() is None


def test_outputs_in_a_cycle_are_forgotten_with_it(engine):
    before = len(logits._memory)
    cycle = [K.sigmoid(forty())]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert len(logits._memory) == before


def test_the_scores_are_those_that_a_variable_had(engine):
    v = K.variable([40.0])
    output = K.sigmoid(v)
    v.assign([1.0])
    assert loss(output) == 40


def test_in_a_graph_the_operation_tells(engine):
    @dt.function
    def found(x):
        named = dt.ops.identity(K.sigmoid(x), name="probability")
        by_op = dt.ops.sigmoid(x)
        return [K.binary_crossentropy(0.0, p) for p in (named, by_op, K.identity(named))]

    assert [float(r[0]) for r in found(forty())] == [40, 40, 40]


def test_a_graph_is_not_kept_by_its_outputs():
    graph = dt.Graph()
    with graph.as_default():
        output = K.sigmoid(graph.placeholder(dt.spec((1,))))
        assert logits.recall(output) is output.op.inputs[0]
    gone = weakref.ref(graph)
    del graph, output
    gc.collect()
    assert gone() is None


def test_many_threads_find_their_own(engine):
    wrong = []

    def work(number):
        for i in range(100):
            x = dt.ops.convert(np.array([number * 1000.0 + i], "float32"))
            outputs = [K.sigmoid(x) for _ in range(3)]
            wrong.extend(o for o in outputs if logits.recall(o) is not x)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -- engines' own values ----------------------------------------------------------------------------------------------


def test_jax_arrays_and_tracers():
    jax = pytest.importorskip("jax")
    x = jax.numpy.array([40.0])
    assert loss(K.sigmoid(x * 1)) == 40

    def total(x):
        return K.binary_crossentropy(ZERO, K.sigmoid(x * 1))[0]

    with jax.checking_leaks():
        assert float(jax.jit(total)(x)) == 40
        assert jax.jit(jax.grad(total))(x).tolist() == [1]
        assert jax.vmap(total)(x[None]).tolist() == [40]


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.tensor([40.0], requires_grad=True)
    K.binary_crossentropy(ZERO, K.sigmoid(x * 1)).sum().backward()
    assert x.grad.tolist() == [1]


def test_a_torch_tensor_that_was_changed_in_place_is_no_output_any_more():
    torch = pytest.importorskip("torch")
    output = K.sigmoid(torch.tensor([40.0]))
    output *= 0.5
    np.testing.assert_allclose(loss(output), np.log(2), rtol=1e-5)
    x = torch.tensor([40.0])
    output = K.sigmoid(x)
    x -= 40
    np.testing.assert_allclose(loss(output), FROM_PROBABILITIES, rtol=1e-6)


def test_torch_tensors_whose_changes_are_not_counted_are_not_remembered():
    torch = pytest.importorskip("torch")
    with torch.inference_mode():
        np.testing.assert_allclose(loss(K.sigmoid(torch.tensor([40.0]))), FROM_PROBABILITIES, rtol=1e-6)


def test_tensorflow_tensors_eager_and_in_a_function():
    tf = pytest.importorskip("tensorflow")
    x = tf.constant([40.0])
    assert loss(K.sigmoid(x * 1)) == 40
    found = tf.function(lambda x: K.binary_crossentropy(ZERO, K.sigmoid(x * 1)))
    assert float(found(x)[0]) == 40


def test_the_scores_that_keras_leaves_at_its_outputs():
    torch = pytest.importorskip("torch")
    output = torch.ones(1)
    output._keras_logits = torch.tensor([40.0])
    assert loss(output) == 40


def test_keras_tensors():
    keras = pytest.importorskip("keras")
    x = keras.Input((1,))
    output = K.sigmoid(x)
    assert logits.recall(output) is x
