"""A program for a process in which JAX has two processors: values stay where they are; run by `test_devices`."""

import asyncio

import ml_dtypes
import numpy as np

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.engine_registry import get_engine

FIRST, SECOND = "cpu:0", "cpu:1"


def check_on(device, *values):
    assert [value.device for value in values] == [device] * len(values)


def raises(call, *words):
    try:
        call()
    except ValueError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("no error")


def made():
    """Values from all functions that make new ones."""
    return [
        ops.constant([1.0, 2.0]),
        ops.convert(np.ones(2)),
        ops.convert(ops.constant([1, 2], dtype="int64"), engine="jax"),
        ops.zeros((2,)),
        ops.arange(2),
        ops.eye(2),
        ops.random.normal(0, (2,)),
        dt.function(lambda: ops.ones((2,)))(),
        dt.function(lambda: ops.arange(3) * 2)(),
        ops.log([1.0, 2.0]),
        dt.Variable([1.0, 2.0]),
        K.variable([1.0, 2.0]),
        K.random_normal((2,)),
    ]


def check_what_engines_are_told():
    """Check that a given device takes precedence over the scope's."""
    jax, numpy, float32 = get_engine("jax"), get_engine("numpy"), as_dtype("float32")
    with dt.device(SECOND):
        assert jax.device_of(jax.asarray([1.0], float32, FIRST)) == FIRST
        assert jax.device_of(jax.asarray([1.0], float32)) == SECOND
    array = jax.asarray([1.0], float32, SECOND)
    assert jax.device_of(array) == jax.put_on(array) == SECOND
    assert jax.put_on(jax.asarray([1.0], float32)) is None  # it moves along with other arguments
    for device in (FIRST, SECOND):
        assert jax.device_of(jax.receive(np.ones(3), numpy, device)) == device
        assert jax.device_of(jax.receive(np.ones(3, ml_dtypes.float8_e5m2), numpy, device)) == device  # through a copy
        assert jax.device_of(jax.receive(array, jax, device)) == device
    assert jax.receive(array, jax) is array


async def check_tasks():
    """Check that each task has the device of its own scope, also if scopes end out of order."""

    async def work(device, count):
        with dt.device(device):
            for _ in range(count):
                await asyncio.sleep(0)
                check_on(device, *made())
        check_on(FIRST, *made())

    await asyncio.gather(work(FIRST, 3), work(SECOND, 2), work(FIRST, 1), work(SECOND, 3))


def main():
    dt.set_engine("jax")
    check_what_engines_are_told()
    asyncio.run(check_tasks())
    with dt.device(SECOND):
        check_on(SECOND, *made())
        x, v = ops.constant([1.0, 2.0]), dt.Variable([3.0, 4.0])
        check_on(SECOND, x + 2.5)
    check_on(FIRST, *made())

    check_on(SECOND, x + 1, 2.5 * x, ops.exp(x), ops.softmax(x), x[0], ops.concatenate([x, x]), x + ops.constant(1.0))
    check_on(SECOND, ops.random.dropout(0, x, 0.5), ops.map_fn(lambda row: row * 2, x), ops.add(x, np.float32([1, 2])))
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(ops.sin(x) * x + 1)
    check_on(SECOND, tape.gradient(y, x))

    step = dt.function(lambda x: (ops.exp(x) + 1, ops.sum(x)))
    for given, device in ((x, SECOND), (ops.constant([1.0, 2.0]), FIRST), (x, SECOND)):
        check_on(device, *step(given))

    array = np.float32([1, 2])
    for device in (FIRST, SECOND, FIRST):
        with dt.device(device):
            for _ in range(3):
                check_on(device, *step(array))

    scaled = dt.function(lambda x: x * v)
    for _ in range(3):
        check_on(SECOND, scaled(array))

    train = dt.function(lambda: v.assign_sub(0.5 * v))
    for _ in range(3):
        train()
        check_on(SECOND, v)
    v.assign_add([1.0, 1.0])
    v.assign([0.0, 8.0])
    check_on(SECOND, v, v + 1)
    with dt.GradientTape() as tape:
        y = ops.sum(v * v)
    check_on(SECOND, tape.gradient(y, v))

    with dt.device(FIRST):
        w = ops.constant([1.0, 3.0])
    check_on(FIRST, w + 2.5)  # the number was used on the other device before
    raises(lambda: x + w, "AddV2", "float32[2]", "incompatible devices", "ops.convert(x, device=...)")
    raises(lambda: dt.function(lambda a, b: a + b)(x, w), "incompatible devices", "ops.convert(x, device=...)")
    check_on(SECOND, x + 1, ops.convert(w, device=SECOND) + x)
    with dt.GradientTape() as tape:
        tape.watch(w)
        y = ops.sum(ops.convert(w, device=SECOND) * x)
    check_on(FIRST, gradient := tape.gradient(y, w))
    assert gradient.tolist() == [1, 2] and (x + 1).tolist() == [2, 3]


if __name__ == "__main__":
    main()
