"""Frames, windows and spectra; and second names of functions."""

from __future__ import annotations

from typing import Any

from tests.compat.tensorflow.legacy import array


def windows(tf: Any, fed: Any) -> Any:
    made = [
        window(length, periodic)
        for window in (tf.signal.hann_window, tf.signal.hamming_window)
        for length in (1, 5, 8)
        for periodic in (True, False)
    ]
    return [*made, tf.signal.hann_window(6, dtype=tf.float64)]


def frames(tf: Any, fed: Any) -> Any:
    x = fed(array(2, 11), [None, 11])
    long, unknown = fed(array(23)), fed(array(23), [None])
    return [
        tf.signal.frame(x, 4, 3),
        tf.signal.frame(x, 4, 3, pad_end=True, pad_value=7.0),
        tf.signal.frame(unknown, 8, 5),
        tf.signal.frame(unknown, 8, 5, True),
        tf.abs(tf.signal.stft(long, 6, 4)),
        tf.abs(tf.signal.stft(long, 6, 4, 16, None, True)),
    ]


def spectra(tf: Any, fed: Any) -> Any:
    x = fed(array(2, 6), [2, 6])
    found = tf.spectral.rfft(x)
    return [
        tf.math.real(found),
        tf.math.imag(tf.signal.rfft(x, [8])),
        tf.spectral.irfft(found),
        tf.signal.irfft(found, [5]),
    ]


def second_names(tf: Any, fed: Any) -> Any:
    x, places = fed(array(2, 3)), tf.constant([[1], [0]])
    image = fed(array(1, 4, 4, 2), [1, 4, 4, 2])
    manip = tf.manip
    made = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    local = tf.Variable(1.0, collections=["local_variables"], name="local")
    with tf.Session() as session:
        session.run([tf.initializers.variables([made]), tf.initializers.local_variables()])
        values = session.run([made, local])
    return [
        *map(tf.constant, values), tf.guarantee_const(x), tf.linalg.transpose(x), manip.gather_nd(x, places),
        manip.reshape(x, [3, 2]), manip.reverse(x, [0]), manip.scatter_nd(places, x, [4, 3]), manip.tile(x, [1, 2]),
        tf.parallel_stack([tf.constant(array(3)), tf.constant(array(3, seed=1))]),
        tf.nn.max_pool_v2(image, 2, 2, "VALID"), tf.nn.avg_pool_v2(image, [1, 2, 2, 1], 1, "SAME"),
    ]  # fmt: skip


CASES = {function.__name__: function for function in (windows, frames, spectra, second_names)}
INITIAL = ("second_names",)
