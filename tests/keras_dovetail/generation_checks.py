"""Checks of generation, as keras-hub's models have it, in a process where Keras runs on Dovetail."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  # must be first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
from keras import ops

import dovetail as dt
from keras_dovetail.src.generation import Generation
from tests.keras_backends import ENGINES, main

PROMPTS = np.array([[1, 2, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0]], "int32")
STOP = 3


class Writer(keras.Model):
    """A model that writes the likeliest token after each one; its second half is written after the first."""

    def __init__(self, size=7, **options):
        super().__init__(**options)
        self.table = self.add_weight((size, size), initializer=keras.initializers.RandomNormal(seed=1), name="table")
        self.generate_function = None
        self.traces = 0

    def generate_step(self, inputs, stop_token_ids=None):
        self.traces += 1
        tokens, length = inputs["token_ids"], ops.shape(inputs["token_ids"])[-1]
        start = ops.min(ops.sum(ops.cast(tokens > 0, "int32"), axis=-1))

        def body(tokens, index, done):
            new = ops.cast(ops.argmax(ops.take(self.table, tokens[:, index - 1], axis=0), axis=-1), tokens.dtype)
            new = ops.where(done, 0, ops.where(tokens[:, index] > 0, tokens[:, index], new))
            if stop_token_ids is not None:
                done = done | ops.any(new[:, None] == ops.convert_to_tensor(stop_token_ids, tokens.dtype), axis=-1)
            return ops.slice_update(tokens, [0, index], new[:, None]), index + 1, done

        state = tokens, start, ops.zeros((ops.shape(tokens)[0],), "bool")
        tokens = ops.while_loop(lambda *_: True, body, state, maximum_iterations=length - start)[0]
        return {"token_ids": tokens}

    def make_generate_function(self):
        if self.generate_function is None:
            self.generate_function = self.generate_step
        return self.generate_function

    def generate(self, tokens, stop=None):
        results = self.make_generate_function()({"token_ids": tokens}, stop_token_ids=stop)
        return ops.convert_to_numpy(results["token_ids"])


def by_hand(table, tokens, stop=()):
    rows = tokens.copy()
    start = int(min((rows > 0).sum(axis=1)))
    for row, given in zip(rows, tokens, strict=True):
        done = False
        for i in range(start, len(row)):
            row[i] = 0 if done else given[i] or table[row[i - 1]].argmax()
            done = done or row[i] in stop
    return rows


def check_the_step_is_a_program():
    for engine in (*ENGINES, "auto"):
        with dt.engine(engine):
            model = Writer()
            table = model.table.numpy()
            for stop in (None, [STOP], (STOP, 4), [STOP]):
                np.testing.assert_array_equal(model.generate(PROMPTS, stop), by_hand(table, PROMPTS, stop or ()))
            assert model.traces == 3  # one for each of its stops
            assert isinstance(model.generate_function, Generation)
            assert model.make_generate_function() is model.generate_function


def check_new_values_and_new_weights_are_seen():
    model = Writer()
    model.generate(PROMPTS)
    model.table.assign(model.table.numpy()[::-1])
    np.testing.assert_array_equal(model.generate(PROMPTS), by_hand(model.table.numpy(), PROMPTS))
    assert model.traces == 1
    model.table = model.add_weight((7, 7), name="new")
    model.table.assign(np.roll(np.eye(7), 1, axis=1))
    np.testing.assert_array_equal(model.generate(PROMPTS), by_hand(model.table.numpy(), PROMPTS))
    assert model.traces == 2


def check_other_functions_are_left_alone():
    class Wrapped(Writer):
        def make_generate_function(self):
            return lambda *args, **kwargs: self.generate_step(*args, **kwargs)

    class Inherited(Writer):
        def make_generate_function(self):
            function = super().make_generate_function()
            assert isinstance(function, Generation)
            return function

    assert not isinstance(Wrapped().make_generate_function(), Generation)
    np.testing.assert_array_equal(Inherited().generate(PROMPTS), Writer().generate(PROMPTS))
    eager = Writer()
    eager.compile(run_eagerly=True)
    for _ in range(2):
        eager.generate(PROMPTS)
    assert eager.traces == 2 and eager.generate_function == eager.generate_step


def check_positional_tensors():
    """Check a step as that of keras-hub's pictures, of several tensors and a static setting."""

    class Painter(keras.Model):
        generate_function = None

        def generate_step(self, latents, texts, steps, scale=1.0):
            for_all = ops.while_loop(lambda i, x: i < steps, lambda i, x: (i + 1, x * scale + texts["a"]), (0, latents))
            return for_all[1]

        def make_generate_function(self):
            self.generate_function = self.generate_function or self.generate_step
            return self.generate_function

    function = Painter().make_generate_function()
    latents, texts = np.ones((1, 2), "float32"), {"a": np.array([[1.0, 2.0]], "float32")}
    result = function(latents, texts, ops.convert_to_tensor(3), scale=ops.convert_to_tensor(2.0))
    np.testing.assert_allclose(ops.convert_to_numpy(result), [[15.0, 22.0]])


main(globals())
