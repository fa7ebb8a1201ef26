"""Cases of convolutions and biases: options and layouts of every rank, then dtypes, unknown sizes and errors."""

import functools

import numpy as np

from dovetail.core.base.windows import Windows
from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

FIRST, LAST = "channels_first", "channels_last"
KNOWN = ("eager", "compiled")  # the size of the kernel must be known
X1, K1 = array(2, 7, 4), array(3, 4, 2)
X2, K2 = array(2, 7, 6, 4), array(3, 2, 4, 2)
X3, K3 = array(1, 5, 4, 6, 4), array(2, 3, 2, 4, 2)
F1, F2, F3 = array(2, 4, 7), array(2, 4, 7, 6), array(1, 4, 5, 4, 6)  # the same, channels first
D2, P2 = array(3, 2, 4, 2), array(1, 1, 8, 3)
D1, P1 = array(3, 4, 2), array(1, 8, 3)
SMALL = {"low": -9, "high": 9}
TYPES = "tensors of two dtypes are promoted, and integers of all sizes are taken"
NO_NAME = "tf.keras has no name for it"


def plain():
    """Cases of conv1d, conv2d, conv3d and the depthwise and separable ones: strides, padding, dilation and layout."""
    for name, last, first, kernels, strides in [
        ("conv1d", X1, F1, [K1], [2, (3,), [2], np.int32(2)]),
        ("conv2d", X2, F2, [K2], [2, (2, 1), [1, 3], (2,)]),
        ("conv3d", X3, F3, [K3], [2, (2, 1, 2), [1, 2, 3]]),
        ("depthwise_conv2d", X2, F2, [D2], [(2, 2), (2, 1), (1, 3)]),
        ("separable_conv2d", X2, F2, [D2, P2], [(2, 2), [2, 1], (1, 3)]),
    ]:
        yield call(name, last, *kernels)
        for x, data_format in ((last, LAST), (first, FIRST)):
            for padding in ("valid", "same"):
                yield call(name, x, *kernels, padding=padding, data_format=data_format)
                for step in strides if x is last else strides[:2]:
                    options = {"strides": step, "padding": padding, "data_format": data_format}
                    # Without oneDNN, TensorFlow's convolutions of single channels need equal strides.
                    own = "_conv2d" in name and len(set(step)) > 1
                    definition = functools.partial(by_channel, options) if own else None
                    yield call(name, x, *kernels, **options, definition=definition)
        yield call(name, array(3, *last.shape[1:]), *kernels)
        channels = 8 if name == "depthwise_conv2d" else kernels[-1].shape[-1]
        sizes = [n - k + 1 for n, k in zip(last.shape[1:-1], kernels[0].shape, strict=False)]
        for shape, padding, result in [
            ((0, *last.shape[1:]), "valid", (0, *sizes, channels)),
            ((2, 0, *last.shape[2:]), "same", (2, 0, *last.shape[2:-1], channels)),
        ]:
            yield call(
                name,
                array(*shape),
                *kernels,
                padding=padding,
                differs="without elements, the result has the shape that it has with some",
                expected=lambda *arrays, shape=result: np.zeros(shape, "float32"),
            )


def by_channel(options, x, kernel, pointwise=None):
    """Convolutions of each channel by itself, and sums over the channels at each position."""
    first, (rows, columns) = options["data_format"] == FIRST, kernel.shape[:2]
    x = (np.moveaxis(x, 1, -1) if first else x).astype("float64")
    strides = options["strides"]
    if options["padding"] == "same":
        pads = Windows((rows, columns), tuple(strides), (1, 1), "same").pads(x.shape[1:3])
        x = np.pad(x, [(0, 0), *pads, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(x, (rows, columns), (1, 2))[:, :: strides[0], :: strides[1]]
    y = np.einsum("brcihw,hwio->brcio", windows, kernel)
    y = y.reshape(*y.shape[:3], -1)
    y = (y if pointwise is None else y @ pointwise[0, 0]).astype("float32")
    return np.moveaxis(y, -1, 1) if first else y


def dilated():
    for name, last, first, kernels, rates in [
        ("conv1d", X1, F1, [K1], [2, (3,), [2]]),
        ("conv2d", X2, F2, [K2], [2, (2, 1), (1, 3), (2, 2)]),
        ("conv3d", X3, F3, [K3], [(2, 1, 2), (1, 1, 3)]),
        ("depthwise_conv2d", X2, F2, [D2], [(2, 2), (2, 1), (1, 3)]),
        ("separable_conv2d", X2, F2, [D2, P2], [(2, 2), (2, 1), (1, 3)]),
    ]:
        for rate in rates:
            for padding in ("valid", "same"):
                yield call(name, last, *kernels, padding=padding, dilation_rate=rate)
            yield call(name, first, *kernels, data_format=FIRST, dilation_rate=rate)


def causal():
    for strides, rate in ((1, 1), (2, 1), (1, 2), (1, 3)):
        yield call("conv1d", X1, K1, strides, "causal", dilation_rate=rate, ways=KNOWN)
    yield program(
        "conv1d causal kernel of a known size", lambda K, x: K.conv1d(x, K.ones((3, 4, 2)), padding="causal"), X1
    )
    yield call(
        "conv1d",
        F1,
        K1,
        padding="causal",
        data_format=FIRST,
        ways=KNOWN,
        differs='"causal" with "channels_first" pads the steps',
        expected=lambda x, k: oracle_conv1d(np.pad(x, [(0, 0), (0, 0), (2, 0)]), k),
    )


def oracle_conv1d(x, kernel):
    from tests.backend.parity import oracle

    return oracle().conv1d(x.astype(kernel.dtype), to_tensor(kernel), data_format=FIRST)


def to_tensor(x, dtype=None):
    import tensorflow as tf

    return tf.constant(x, dtype)


def dtypes():
    for dtype in ("float16", "float64"):
        yield call("conv1d", array(2, 5, 3, dtype=dtype), array(2, 3, 2, dtype=dtype))
        yield call("conv2d", array(1, 5, 4, 3, dtype=dtype), array(2, 2, 3, 2, dtype=dtype), padding="same")
        yield call("conv3d", array(1, 3, 3, 3, 2, dtype=dtype), array(2, 2, 2, 2, 2, dtype=dtype))
        yield call("depthwise_conv2d", array(1, 5, 4, 3, dtype=dtype), array(2, 2, 3, 2, dtype=dtype))
        kernels = array(2, 2, 3, 2, dtype=dtype), array(1, 1, 6, 2, dtype=dtype)
        yield call("separable_conv2d", array(1, 5, 4, 3, dtype=dtype), *kernels, tolerance=5)  # rounded twice
        x, kernel = array(1, 3, 3, 4, dtype=dtype), array(2, 2, 3, 4, dtype=dtype)
        yield call("conv2d_transpose", x, kernel, (1, 4, 4, 3))
    yield call("conv1d", ints(2, 5, 3, **SMALL), ints(2, 3, 2, **SMALL))
    yield call("conv2d", ints(1, 5, 4, 3, **SMALL), ints(2, 2, 3, 2, **SMALL), padding="same")
    yield call("conv2d_transpose", ints(1, 3, 3, 4, **SMALL), ints(2, 2, 3, 4, **SMALL), (1, 4, 4, 3))
    for x_type, kernel_type, result in [
        ("float32", "float64", "float64"),
        ("float16", "float32", "float32"),
        ("int64", "int64", "int64"),
        ("int32", "float32", "float32"),
        ("uint8", "uint8", "uint8"),
        ("bool", "float32", "float32"),
    ]:
        yield call(
            "conv2d",
            ints(1, 5, 4, 3, low=0, high=3, dtype=x_type) if "float" not in x_type else array(1, 5, 4, 3, dtype=x_type),
            ints(2, 2, 3, 2, low=0, high=3, dtype=kernel_type),
            differs=TYPES,
            expected=lambda x, k, result=result: np.asarray(by_windows(x, k)).astype(result),
        )
    for name, x, kernel in [
        ("conv3d", (1, 4, 3, 3, 3), (2, 2, 1, 3, 2)),
        ("depthwise_conv2d", (1, 5, 4, 3), (2, 2, 3, 2)),
    ]:
        yield call(
            name,
            ints(*x, **SMALL),
            ints(*kernel, **SMALL),
            differs=TYPES,
            expected=lambda x, k, name=name: np.rint(in_floats(name, x, k)).astype("int32"),
        )
    yield call(
        "conv3d",
        array(1, 3, 3, 3, 4),
        array(2, 2, 2, 2, 6),
        differs="kernels of fewer channels are taken",
        expected=lambda x, k: np.concatenate(
            [in_floats("conv3d", x[..., a : a + 2], k[..., b : b + 3]) for a, b in ((0, 0), (2, 3))], -1
        ),
    )


def by_windows(x, kernel):
    windows = np.lib.stride_tricks.sliding_window_view(x.astype("float64"), kernel.shape[:2], (1, 2))
    return np.einsum("brcihw,hwio->brco", windows, kernel.astype("float64"))


def in_floats(name, x, kernel):
    from tests.backend.parity import oracle

    return getattr(oracle(), name)(to_tensor(x, "float32"), to_tensor(kernel, "float32")).numpy()


def grouped():
    yield call("conv1d", X1, array(2, 2, 6))
    yield call("conv2d", X2, array(2, 2, 2, 6), padding="same")
    yield call("conv2d", F2, array(2, 2, 1, 8), data_format=FIRST)


def odd_values():
    x = np.ones((1, 4, 4, 1), "float32")
    x[0, 0, 0], x[0, 3, 3] = np.nan, np.inf
    yield call("conv2d", x, np.ones((2, 2, 1, 1), "float32"))
    yield call("conv2d", x, np.ones((2, 2, 1, 1), "float32"), padding="same")
    yield call("depthwise_conv2d", x, np.ones((2, 2, 1, 1), "float32"))


def transposed():
    x, kernel = array(2, 3, 3, 4), array(2, 2, 3, 4)
    first = array(2, 4, 3, 3)
    for shape in [(2, 4, 4, 3), [2, 4, 4, 3], (None, 4, 4, 3), [None, 4, 4, 3]]:
        yield call("conv2d_transpose", x, kernel, shape)
    yield call("conv2d_transpose", x, kernel, (-1, 4, 4, 3), definition=spread)  # without oneDNN the oracle refuses it
    for shape in [(2, 3, 4, 4), (None, 3, 4, 4), [2, 3, 4, 4]]:
        yield call("conv2d_transpose", first, kernel, shape, data_format=FIRST)
    for shape, strides, padding in [
        ((2, 6, 6, 3), (2, 2), "same"),
        ((2, 5, 6, 3), (2, 2), "same"),
        ((2, 3, 6, 3), (1, 2), "same"),
        ((2, 6, 6, 3), (2, 2), "valid"),
        ((2, 7, 6, 3), (2, 2), "valid"),
        ((2, 8, 4, 3), (3, 1), "valid"),
    ]:
        yield call("conv2d_transpose", x, kernel, shape, strides, padding)
        last_first = (shape[0], shape[3], *shape[1:3])
        yield call("conv2d_transpose", first, kernel, last_first, strides, padding, data_format=FIRST)
    for shape, padding in [((None, 5, 5, 3), "valid"), ((2, 3, 3, 3), "same")]:
        yield call("conv2d_transpose", x, kernel, shape, padding=padding, dilation_rate=(2, 2))
        last_first = (shape[0], shape[3], *shape[1:3])
        yield call(
            "conv2d_transpose", first, kernel, last_first, padding=padding, data_format=FIRST, dilation_rate=(2, 2)
        )
    yield call("conv2d_transpose", array(0, 3, 3, 4), kernel, (0, 4, 4, 3))
    yield call("conv2d_transpose", array(0, 3, 3, 4), kernel, (None, 4, 4, 3))

    def batch_of(K, x, kernel):
        return K.conv2d_transpose(x, kernel, (K.shape(x)[0], 4, 4, 3))

    def whole(K, x, kernel):
        return K.conv2d_transpose(x, kernel, K.stack([K.shape(x)[0], 4, 4, 3]))

    def twice(K, x, kernel):
        shape = K.shape(x)
        return K.conv2d_transpose(x, kernel, [shape[0], shape[1] * 2, shape[2] * 2, 3], (2, 2), "same")

    yield program("conv2d_transpose batch is a tensor", batch_of, x, kernel)
    yield program("conv2d_transpose shape is a tensor", whole, x, kernel)
    yield program("conv2d_transpose sizes are tensors", twice, x, kernel)
    yield call("conv2d_transpose", x, kernel, np.array([2, 4, 4, 3], "int32"), ways=("eager",))


def spread(x, kernel):
    """The transposed convolution with strides of 1 and no padding."""
    (batch, rows, columns, _), (height, width, channels, _) = x.shape, kernel.shape
    y = np.zeros((batch, rows + height - 1, columns + width - 1, channels))
    for i, j in np.ndindex(height, width):
        y[:, i : i + rows, j : j + columns] += x @ kernel[i, j].T
    return y.astype("float32")


def transposed_volumes():
    x, first, kernel = array(2, 3, 3, 2, 4), array(2, 4, 3, 3, 2), array(2, 2, 2, 3, 4)

    def expected(shape, strides, padding, data_format, x, kernel):
        import tensorflow as tf

        if data_format == FIRST:
            x, shape = np.moveaxis(x, 1, -1), (shape[0], *shape[2:], shape[1])
        y = tf.nn.conv3d_transpose(x, kernel, (len(x), *shape[1:]), strides, padding.upper()).numpy()
        return np.moveaxis(y, -1, 1) if data_format == FIRST else y

    for shape, strides, padding in [
        ((2, 4, 4, 3, 3), (1, 1, 1), "valid"),
        ((None, 4, 4, 3, 3), (1, 1, 1), "valid"),
        ([2, 6, 6, 4, 3], (2, 2, 2), "same"),
        ([None, 5, 3, 4, 3], (2, 1, 2), "same"),
    ]:
        for given, data_format in ((x, LAST), (first, FIRST)):
            wanted = shape if data_format == LAST else [shape[0], shape[-1], *shape[1:-1]]
            yield call(
                "conv3d_transpose",
                given,
                kernel,
                wanted,
                strides,
                padding,
                data_format,
                differs=NO_NAME,
                expected=functools.partial(expected, wanted, strides, padding, data_format),
            )


def separable_sequences():
    def expected(x, depthwise, pointwise, first, **options):
        from tests.backend.parity import oracle

        x = x[:, :, None] if first else x[:, None]
        kernels = to_tensor(depthwise[None]), to_tensor(pointwise[None])
        y = oracle().separable_conv2d(to_tensor(x), *kernels, data_format=FIRST if first else LAST, **options)
        return y.numpy()[:, :, 0] if first else y.numpy()[:, 0]

    for options in [
        {},
        {"padding": "same"},
        {"strides": 2},
        {"dilation_rate": 2},
        {"strides": (2,), "padding": "same"},
    ]:
        pairs = {k: (1, v) if isinstance(v, int) else (1, *v) for k, v in options.items() if k != "padding"}
        if "strides" in pairs:  # TensorFlow's kernel needs equal strides; there is one row
            pairs["strides"] = pairs["strides"][1:] * 2
        pairs |= {k: v for k, v in options.items() if k == "padding"}
        for x, data_format in ((X1, LAST), (F1, FIRST)):
            yield call(
                "separable_conv1d",
                x,
                D1,
                P1,
                data_format=data_format,
                **options,
                differs=NO_NAME,
                expected=lambda *arrays, first=data_format == FIRST, o=pairs: expected(*arrays, first, **o),
            )


def biases():
    shapes = [(2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 3, 2, 4, 5)]
    for shape in shapes:
        *_, last = shape
        yield call("bias_add", array(*shape), array(last))
        yield call("bias_add", array(*shape), array(shape[1]), FIRST)
        if len(shape) > 2:
            yield call("bias_add", array(*shape), array(*shape[1:]), LAST)
            yield call("bias_add", array(*shape), array(*shape[2:], shape[1]), FIRST)
            yield call("bias_add", array(*shape), array(*(1,) * (len(shape) - 1)))
        for bias in ((), (last + 3,), shape):
            yield call("bias_add", array(*shape), array(*bias), raises=True, ways=KNOWN) if bias else no_axes(shape)
    yield call("bias_add", array(2, 3, 4, 5, 3, 2), array(2))
    yield call("bias_add", array(2, 3, 4), array(3, 1))
    yield call("bias_add", array(2, 3, 4), array(4, 3), raises=True, ways=KNOWN)
    yield call("bias_add", array(0, 3), array(3))
    yield call("bias_add", array(3), array(3), raises=True)
    for dtype in ("float16", "float64"):
        yield call("bias_add", array(2, 3, dtype=dtype), array(3, dtype=dtype))
    for dtype in ("int32", "int64"):
        yield call("bias_add", ints(2, 3, dtype=dtype), ints(3, dtype=dtype))
    yield call("bias_add", np.array([[np.nan, np.inf]], "float32"), np.array([1, -np.inf], "float32"))
    yield call("bias_add", array(2, 3), array(3), "NHWC", raises=True)
    yield call(
        "bias_add",
        ints(2, 3),
        array(3, dtype="float16"),
        differs="tensors of two dtypes are promoted",
        expected=lambda x, b: x.astype("float16") + b,
    )
    yield call(
        "bias_add",
        array(2, 3),
        [1.0, 2.0, 3.0],
        differs="a bias may be a list",
        expected=lambda x: x + np.float32([1, 2, 3]),
    )


def no_axes(shape):
    def none(K, x):
        return K.bias_add(x, K.sum(x))

    return program(f"bias_add bias without axes to {len(shape)}", none, array(*shape), raises=True)


def errors():
    for name, x, kernels in [
        ("conv1d", X1, [K1]),
        ("conv2d", X2, [K2]),
        ("conv3d", X3, [K3]),
        ("depthwise_conv2d", X2, [D2]),
        ("separable_conv2d", X2, [D2, P2]),
    ]:
        rank = len(x.shape) - 2
        for padding in ("SAME", "full", None, 0, *(["causal"] if rank > 1 else [])):
            yield call(name, x, *kernels, padding=padding, raises=True)
        for data_format in ("NHWC", "Channels_Last", 3):
            yield call(name, x, *kernels, data_format=data_format, raises=True)
        for strides in ((0,) * rank, (-1,) * rank, (1,) * (rank + 1)):
            yield call(name, x, *kernels, strides=strides, raises=True, ways=KNOWN)
        yield call(name, x, *kernels, dilation_rate=(0,) * rank, raises=True)
        if "conv2d" not in name or name == "conv2d":
            yield call(name, x, *kernels, strides=(2,) * rank, dilation_rate=(2,) * rank, raises=True)
        first, *rest = kernels
        yield call(name, x, array(9, *first.shape[1:]), *rest, raises=True, ways=KNOWN)  # too long
        if name != "separable_conv2d":
            yield call(name, x, array(*first.shape[:-2], 3, first.shape[-1]), *rest, raises=True, ways=KNOWN)
    yield call("conv2d", X2, array(2, 2, 2, 5), raises=True, ways=KNOWN)
    yield call("separable_conv2d", X2, D2, array(1, 1, 5, 3), raises=True, ways=KNOWN)
    yield call("separable_conv2d", X2, D2, array(2, 1, 8, 3), raises=True, ways=KNOWN)
    x, kernel = array(2, 3, 3, 4), array(2, 2, 3, 4)
    for options in [
        {"padding": "causal"},
        {"padding": "SAME"},
        {"data_format": "NHWC"},
        {"strides": (0, 1)},
        {"strides": (1, 2, 1)},
        {"dilation_rate": (2, 1)},
        {"dilation_rate": (0, 0)},
    ]:
        yield call("conv2d_transpose", x, kernel, (2, 4, 4, 3), **options, raises=True, ways=KNOWN)
    yield call("conv2d_transpose", x, kernel, (2, None, 4, 3), raises=True)
    yield call("conv2d_transpose", x, kernel, (2, 4, 4, 2), raises=True, ways=KNOWN)
    yield call("conv2d_transpose", x, kernel, (2, 6, 5, 3), dilation_rate=(2, 2), raises=True, ways=KNOWN)


CASES = [
    *plain(),
    *dilated(),
    *causal(),
    *dtypes(),
    *grouped(),
    *odd_values(),
    *transposed(),
    *transposed_volumes(),
    *separable_sequences(),
    *biases(),
    *errors(),
]
