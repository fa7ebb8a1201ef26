"""Cases of batch normalization."""

import numpy as np

from dovetail.ops.samples import array
from tests.backend.parity import call

LENIENT = "axes may be negative or one int, integers become floats, and dtypes are promoted; tf.keras refuses them."
FIRST = (
    "of images with channels first too, `beta` and `gamma` may be None, and all may have other ranks than 1; tf.keras"
    " refuses them on the CPU."
)


def variance(*shape, dtype="float32"):
    return array(*shape, low=0.1, dtype=dtype)


def trained(x, gamma, beta, axes, epsilon=1e-3, unbiased=False):
    mean, var = x.mean(axes), x.var(axes)
    kept = [1 if i in axes else n for i, n in enumerate(x.shape)]
    y = (x - mean.reshape(kept)) / np.sqrt(var.reshape(kept) + epsilon)
    y = y if gamma is None else y * gamma.reshape(kept) + beta.reshape(kept)
    return [y, mean, x.var(axes, ddof=1) if unbiased else var]


def normalized(x, mean, var, beta=0, gamma=1, shape=(-1,), epsilon=1e-3):
    mean, var, beta, gamma = (np.reshape(s, shape) if np.ndim(s) else s for s in (mean, var, beta, gamma))
    return (x - mean) / np.sqrt(var + epsilon) * gamma + beta


TRAINING, GIVEN = "normalize_batch_in_training", "batch_normalization"
VECTORS = [array(3), variance(3), array(3), array(3)]

CASES = [
    # normalize_batch_in_training
    call(TRAINING, array(4, 3), array(3), array(3), [0]),
    call(TRAINING, array(4, 3), None, None, [0]),
    call(TRAINING, array(4, 3), array(3), None, [0]),
    call(TRAINING, array(4, 3), None, array(3), [0]),
    call(TRAINING, array(4, 3), array(3), array(3), (0,), epsilon=0.5),
    call(TRAINING, array(4, 3), array(1, 3), array(1, 3), [0]),
    call(TRAINING, array(4, 3), array(4), array(4), [1]),
    call(TRAINING, array(4, 3), None, None, [0, 1]),
    call(TRAINING, array(4, 3, dtype="float64"), array(3, dtype="float64"), array(3, dtype="float64"), [0]),
    call(TRAINING, array(4, 3, dtype="float16"), array(3, dtype="float16"), array(3, dtype="float16"), [0]),
    call(TRAINING, array(2, 3, 4), array(4), array(4), [0, 1]),
    call(TRAINING, array(2, 3, 4), array(3), array(3), [0, 2]),
    call(TRAINING, array(2, 3, 4), array(3, 4), array(3, 4), [0]),
    call(TRAINING, array(2, 3, 4), None, None, [0, 2]),
    call(TRAINING, array(2, 2, 4, 3), array(3), array(3), [0, 1, 2]),
    call(TRAINING, array(2, 2, 4, 3), array(3), array(3), (0, 1, 2)),
    call(TRAINING, array(2, 2, 4, 3), array(3), array(3), [0, 1, 2], epsilon=1e-7),
    call(TRAINING, array(2, 2, 4, 3), None, None, [0, 1, 2]),
    call(TRAINING, array(2, 2, 4, 3), array(3), None, [0, 1, 2]),
    call(TRAINING, array(2, 2, 4, 3), array(3), array(3), [2, 1, 0]),
    call(TRAINING, array(2, 3, 4, 2), array(3), array(3), [0, 2, 3]),
    call(TRAINING, array(2, 3, 4, 2), None, None, [0, 2, 3]),
    call(TRAINING, array(2, 2, 4, 3), array(2, 3), array(2, 3), [0, 2]),
    call(TRAINING, array(2, 2, 1, 2, 3), array(3), array(3), [0, 1, 2, 3]),
    call(TRAINING, array(1, 1, 1, 3), array(3), array(3), [0, 1, 2]),
    call(TRAINING, array(2, 2, 4, 3, dtype="float16"), array(3), array(3), [0, 1, 2], tolerance=2),
    call(TRAINING, np.zeros((4, 3), "float32"), array(3), array(3), [0]),
    call(TRAINING, np.array([[1, np.nan, np.inf], [2, 1, 1]], "float32"), array(3), array(3), [0]),
    call(TRAINING, array(0, 3), array(3), array(3), [0]),
    call(TRAINING, array(4, 3), array(3), array(3), [2], raises=True),
    call(TRAINING, array(4, 3), array(2), array(3), [0], raises=True, ways=("eager", "compiled")),
    call(TRAINING, array(2, 3, 4), array(4), array(3), [0, 2], raises=True, ways=("eager", "compiled")),
    call(
        TRAINING,
        array(2, 2, 4, 3),
        array(3),
        array(3),
        [0, 1, -2],
        differs=LENIENT,
        expected=lambda x, g, b: trained(x, g, b, (0, 1, 2)),
    ),
    call(
        TRAINING,
        array(2, 2, 4, 3, dtype="float64"),
        array(3, dtype="float64"),
        array(3, dtype="float64"),
        [0, 1, 2],
        differs=LENIENT,
        expected=lambda x, g, b: trained(x, g, b, (0, 1, 2), unbiased=True),
    ),
    # batch_normalization
    call(GIVEN, array(4, 3), *VECTORS),
    call(GIVEN, array(4, 3), *VECTORS, epsilon=0.5),
    call(GIVEN, array(4, 3), *VECTORS, axis=0),
    call(GIVEN, array(4, 3), array(3), variance(3), None, None),
    call(GIVEN, array(4, 3), array(3), variance(3), array(3), None),
    call(GIVEN, array(4, 3), array(3), variance(3), None, array(3)),
    call(GIVEN, array(4, 3), array(4, 1), variance(4, 1), None, array(3)),
    call(GIVEN, array(4, 3), array(1), variance(1), array(1), array(1)),
    call(GIVEN, array(4, 3), array(), variance(), None, None),
    call(GIVEN, array(3), *VECTORS),
    call(GIVEN, array(), array(), variance(), None, None),
    call(GIVEN, array(2, 4, 3), *VECTORS, axis=1),
    call(GIVEN, array(2, 3, 4), array(1, 3, 1), variance(1, 3, 1), array(1, 3, 1), array(1, 3, 1), axis=1),
    call(GIVEN, array(2, 1, 2, 4, 3), *VECTORS),
    call(GIVEN, array(2, 2, 4, 3), *VECTORS),
    call(GIVEN, array(2, 2, 4, 3), *VECTORS, axis=3, epsilon=1e-5),
    call(GIVEN, array(2, 2, 4, 3), *VECTORS, axis=2),
    call(GIVEN, array(2, 3, 4, 2), *VECTORS, axis=1),
    call(GIVEN, array(2, 3, 4, 2), *VECTORS, axis=-3),
    call(GIVEN, array(2, 2, 4, 3), array(3), variance(3), None, None),
    call(GIVEN, array(2, 2, 4, 3), array(3), variance(3), array(3), None),
    call(GIVEN, array(2, 2, 4, 3), array(1, 1, 1, 3), variance(1, 1, 1, 3), array(1, 1, 1, 3), array(1, 1, 1, 3)),
    call(GIVEN, array(2, 2, 4, 3, dtype="float16"), *VECTORS),
    call(GIVEN, array(4, 3, dtype="float16"), *VECTORS),
    call(GIVEN, *(array(*s, low=0.5, dtype="float16") for s in ((4, 3), (3,), (3,), (3,), (3,))), tolerance=3),
    call(GIVEN, *(array(*s, low=0.5, dtype="float64") for s in ((4, 3), (3,), (3,), (3,), (3,)))),
    call(GIVEN, array(0, 3), *VECTORS),
    call(GIVEN, array(0, 2, 2, 3), *VECTORS),
    call(GIVEN, array(4, 3), array(3), np.array([-1, 0, 1], "float32"), None, None),
    call(GIVEN, np.array([[1, np.nan, np.inf], [2, -np.inf, 1]], "float32"), *VECTORS),
    call(GIVEN, array(4, 3), array(2), variance(3), None, None, raises=True, ways=("eager", "compiled")),
    call(GIVEN, array(2, 2, 4, 3), array(2), variance(3), None, None, raises=True, ways=("eager", "compiled")),
    call(
        GIVEN,
        array(2, 3, 4, 2),
        array(1, 3, 1, 1),
        variance(1, 3, 1, 1),
        None,
        None,
        axis=1,
        differs=FIRST,
        expected=lambda x, mean, var: normalized(x, mean, var, shape=(3, 1, 1)),
    ),
    call(
        GIVEN,
        np.arange(12, dtype="int32").reshape(4, 3),
        *VECTORS,
        differs="Integers become floats; tf.keras truncates the factors to integers.",
        expected=lambda x, *rest: normalized(x.astype("float32"), *rest),
    ),
    call(
        GIVEN,
        *(array(*s, low=0.5, dtype="float64") for s in ((2, 2, 2, 3), (3,), (3,), (3,), (3,))),
        differs="Dtypes are promoted; tf.keras refuses images of other floats than float32 and float16.",
        expected=normalized,
    ),
]
