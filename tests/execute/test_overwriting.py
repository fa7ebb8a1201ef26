"""Steps of optimizers that write over the variables' own arrays; other arrays stay as they are."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine, get_engine
from tests.ops.nn.test_optimizers import STEPS, check, expected

OVERWRITING = [name for name in ("torch",) if name in dt.list_engines()]
SHAPES = [(40, 30), (), (7,), (0, 3), (3, 3)]


@pytest.fixture(autouse=True, params=OVERWRITING)
def engine(request):
    with dt.engine(request.param):
        yield request.param


class Training:
    """Variables that a step of an optimizer changes, with their expected values.

    Attributes:
        slots: the variables, then lists of the optimizer's values for each.
        wanted: the targets; a variable's gradient is its distance from its target.
        count: a variable that counts the steps.
        run: make a step, and return the sum of the gradients' squares before it.
    """

    def __init__(self, name, rng, shapes=SHAPES, dtype="float64", gradient=ops.subtract):
        self.step, self.formula, count, self.numbers = STEPS[name]
        self.arrays = [[rng.uniform(0.5, 2, shape) for shape in shapes] for _ in range(count)]
        self.wanted = self.arrays.pop(1)
        self.slots = [[dt.Variable(ops.cast(a, dtype).numpy()) for a in each] for each in self.arrays]
        self.gradient = gradient
        self.count = dt.Variable(0.0)
        self.run = dt.function(self._run)

    @property
    def variables(self):
        return [slot for each in self.slots for slot in each]

    def _run(self):
        variables, *others = [[slot.value for slot in each] for each in self.slots]
        gradients = [self.gradient(v, ops.cast(w, v.dtype)) for v, w in zip(variables, self.wanted, strict=True)]
        after = self.step(variables, gradients, *others, *self.numbers)
        for slot, value in zip(self.variables, after, strict=True):
            slot.assign(value)
        self.count.assign_add(1.0)
        return sum(ops.sum(ops.square(g)) for g in gradients)  # computed after the step, from its arguments

    def check(self, tolerance=1e-9):
        """Make a step, and check its numbers."""
        gradients = [np.asarray(self.gradient(v, w)) for v, w in zip(self.arrays[0], self.wanted, strict=True)]
        after = expected(self.formula, [self.arrays[0], gradients, *self.arrays[1:]], self.numbers)
        result, before = self.run(), float(self.count)
        size = len(self.wanted)
        self.arrays = [after[i : i + size] for i in range(0, len(after), size)]
        np.testing.assert_allclose(float(result), sum(np.sum(g**2) for g in gradients), rtol=max(10 * tolerance, 1e-5))
        check([ops.cast(ops.convert(v.numpy()), "float64") for v in self.variables], after, tolerance)
        assert float(self.count) == before

    @property
    def plan(self):
        return self.run.concrete().plan(current_engine())


def addresses(variables):
    """The addresses of variables in memory; nobody else gets to know their arrays."""
    return [v._buffer.value.data_ptr() for v in variables]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float16", 2e-2), ("bfloat16", 0.1), ("float32", 1e-4), ("float64", 1e-9)]
)
def test_no_other_arrays_are_made(rng, monkeypatch, name, dtype, tolerance):
    training = Training(name, rng, dtype=dtype)
    before = addresses(training.variables)
    training.check(tolerance)  # this makes the buffers of intermediate values
    assert training.plan._spares == []
    for method in ("allocate", "copy"):
        monkeypatch.setattr(current_engine(), method, lambda *_: pytest.fail("an array was made"))
    for _ in range(3):
        training.check(tolerance)
    assert addresses(training.variables) == before


def copied(value):
    return np.array(value if isinstance(value, np.ndarray) else value.numpy())


HOLDERS = {
    "a read": lambda v: v.value,
    "a read of the memory": lambda v: np.asarray(v.value.value),
    "a view": lambda v: v.value.value[1:],
    "a plan": lambda v: v.array_on(current_engine()),
    "a program's result": lambda v: dt.function(lambda: ops.reshape(v, (-1,)))(),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", STEPS)
def test_who_holds_an_array_keeps_it(rng, name, holder):
    training = Training(name, rng)
    held = []
    for number in range(6):
        if number % 3 != 2:
            held += [HOLDERS[holder](v) for v in training.variables if v.shape not in [(), (0, 3)]][number % 2 :: 2]
        copies = list(map(copied, held))
        training.check()
        for value, copy in zip(held, copies, strict=True):
            np.testing.assert_array_equal(copied(value), copy)
    del held
    training.check()
    before = addresses(training.variables)
    training.check()
    assert addresses(training.variables) == before


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(
    "gradient",
    [lambda v, w: v, lambda v, w: ops.transpose(v), lambda v, w: ops.reshape(v, np.shape(v)[::-1])],
    ids=["itself", "transposed", "reshaped"],
)
def test_a_gradient_that_may_be_a_view_of_the_variable(rng, name, gradient):
    training = Training(name, rng, [(3, 3), (50, 50)], gradient=gradient)
    for _ in range(4):
        training.check()


@pytest.mark.parametrize("name", STEPS)
def test_what_a_program_returns_of_a_variable_stays(rng, name):
    training = Training(name, rng, [(60, 50), (4,)])
    v = training.variables[0]

    @dt.function
    def step():
        old = v.value
        training._run()
        return old, ops.transpose(old), ops.transpose(v), v.value

    for _ in range(4):
        before = v.numpy()
        found = step()
        after = v.numpy()
        training.run()
        for value, array in zip(found, (before, before.T, after.T, after), strict=True):
            np.testing.assert_array_equal(value.numpy(), array)
        assert not np.array_equal(before, after)


def test_variables_that_change_their_places(rng):
    """Check two variables that swap their new values."""
    a, b = (dt.Variable(np.full(2000, n, "float32")) for n in (1, 2))

    @dt.function
    def step():
        first, second = ops.sgd_step([a.value, b.value], [ops.ones_like(a), ops.ones_like(b)], [], 0.5)
        a.assign(second)
        b.assign(first)

    for number in range(1, 7):
        step()
        expected = (1 - number / 2, 2 - number / 2)
        assert (a.numpy()[-1], b.numpy()[-1]) == (expected[::-1] if number % 2 else expected)


def test_two_steps_in_one_program(rng):
    """Check two optimizers, one of which trains by the earlier values of the other's variables."""
    a, b = (dt.Variable(np.full(2000, n, "float32")) for n in (1, 2))
    means, squares = (dt.Variable(np.zeros(2000, "float32")) for _ in range(2))

    @dt.function
    def step():
        (value,) = ops.sgd_step([a.value], [b.value], [], 0.5)
        for v, new in zip(
            (b, means, squares),
            ops.adam_step([b.value], [a * -1.0], [means.value], [squares.value], 1.0, 0.0, 0.0),
            strict=True,
        ):
            v.assign(new)
        a.assign(value)

    before = addresses([a, b, means, squares])
    wanted = [1.0, 2.0]
    for _ in range(4):
        step()
        wanted = [wanted[0] - wanted[1] / 2, wanted[1] + np.sign(wanted[0])]
        np.testing.assert_allclose([a.numpy()[-1], b.numpy()[-1]], wanted, rtol=1e-5)
    assert addresses([a, b, means, squares]) == before


def test_new_values_that_something_takes_are_no_end(rng):
    v, w = (dt.Variable(np.ones(2000, "float32")) for _ in range(2))

    @dt.function
    def step():
        (value,) = ops.sgd_step([v.value], [ops.ones_like(v)], [], 0.25)
        v.assign(ops.maximum(value, 0.5))
        w.assign(value)

    for number in range(1, 5):
        step()
        assert (v.numpy()[0], w.numpy()[0]) == (max(1 - number / 4, 0.5), (0.75, 0.5, 0.25, 0.25)[number - 1])


@pytest.mark.parametrize("name", STEPS)
def test_an_array_that_lies_otherwise_in_memory(rng, name):
    training = Training(name, rng, [(40, 30)])
    for slot in training.variables:
        slot.assign(get_engine("torch").asarray(slot.numpy().T.copy(), slot.dtype).T)
    for _ in range(3):
        training.check()


@pytest.mark.parametrize("where", ["AddV2", "Square", "Sub"])
@pytest.mark.skipif(len(dt.list_engines()) == 1, reason="there is one engine")
def test_in_the_last_of_several_segments(rng, where, engine):
    other = next(name for name in dt.list_engines() if name != engine)
    training = Training("momentum", rng)
    graph = training.run.graph()
    for operation in graph.operations:
        if operation.type == where:
            operation.engine = other
    training.run = dt.function(graph)
    for _ in range(5):
        training.check()


@pytest.mark.parametrize("name", STEPS)
def test_python_code_around_the_functions_of_a_library(rng, name):
    """Check that Python code, which an interrupt could stop after a write, gets copies."""
    from torch.overrides import TorchFunctionMode

    class Interrupted(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **kwargs or {})
            if function.__name__.endswith("_") and "_f" in function.__name__:
                raise KeyboardInterrupt
            return result

    training = Training(name, rng)
    training.check()
    before = [v.numpy() for v in training.variables]
    with pytest.raises(KeyboardInterrupt), Interrupted():
        training.run()
    for v, array in zip(training.variables, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), array)
    training.check()
