"""Cases of functions of matrices, transforms of sounds, special functions and linear operators (2.31)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dovetail.ops.samples import Array, array
from tests.backend.parity import Case
from tests.compat.tensorflow.parity import EAGER, FIXED, call, program

SPD, SPD64 = Array((2, 3, 3), kind="spd"), np.float64([[4, 1, 0.5], [1, 3, -0.2], [0.5, -0.2, 2]])
SQUARE = np.float64([[2, 0.3, -1], [0.1, 1, 0.7], [0.4, -0.6, 3]])
WAVES = SQUARE + 1j * SQUARE.T[::-1]
SHEAR = np.float64([[1, 1, 2], [0, 1, 3], [0, 0, 1]])
DIAGONALS, SIDES = array(2, 3, 4, low=1, high=2), array(2, 4, 3)


def slope(tf: Any, f: Callable[[Any], Any], x: Any) -> list[Any]:
    """The results of a function, and the gradient of the sum of their squares."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = tf.reduce_sum(tf.abs(y) ** 2)
    return [y, tape.gradient(loss, x)]


def gradient(name: str, run: Callable[..., Any], x: Any, **options: Any) -> Case:
    return program(name, lambda tf, x: slope(tf, lambda x: run(tf, x), x), x, **options)


def functions_of_matrices() -> Iterator[Case]:
    for x in (SPD, SQUARE, WAVES, SHEAR, 30 * SQUARE):
        yield call("linalg.expm", x, tolerance=50)
    yield gradient("linalg.expm (gradient)", lambda tf, x: tf.linalg.expm(x), SQUARE)
    for x in (SPD, SQUARE, WAVES, SHEAR, -np.eye(2), -np.eye(2) + 0j):
        yield call("linalg.sqrtm", x, tolerance=5)
    for x in (SPD64, SQUARE, SHEAR):  # TensorFlow does not conjugate in the gradient of complex matrices
        yield gradient("linalg.sqrtm (gradient)", lambda tf, x: tf.linalg.sqrtm(x), x)
    for x in (WAVES, SHEAR + 0j, (WAVES * 9).astype("complex64"), -np.eye(2) + 0j):
        yield call("linalg.logm", x, tolerance=20)
    for x in (array(3, 4), np.float64([[1, 2], [2, 4]]), np.zeros((2, 3, 2))):
        yield call("linalg.matrix_rank", x)
    yield call("linalg.matrix_rank", np.float64([[1, 0], [0, 0.1]]), tol=0.5)


def sorted_eigenvalues(tf: Any, values: Any) -> Any:
    return tf.sort(tf.math.real(values) + 10 * tf.math.imag(values))


def rebuilt(tf: Any, x: Any) -> list[Any]:
    values, vectors = tf.linalg.eig(x)
    square = tf.matmul(vectors * values[..., tf.newaxis, :], tf.linalg.inv(vectors))
    return [sorted_eigenvalues(tf, values), tf.math.real(square), tf.math.imag(square)]


def eigenvalue_slope(tf: Any, x: Any) -> list[Any]:
    return slope(tf, lambda x: sorted_eigenvalues(tf, tf.linalg.eigvals(x)), x)


def factors() -> Iterator[Case]:
    for x in (SQUARE, WAVES, array(2, 3, 3)):
        yield program("linalg.eig", rebuilt, x, tolerance=5)
        yield program("linalg.eigvals", lambda tf, x: sorted_eigenvalues(tf, tf.linalg.eigvals(x)), x, tolerance=5)
        yield call("linalg.lu", x)
        yield program("linalg.lu_reconstruct", lambda tf, x: tf.linalg.lu_reconstruct(*tf.linalg.lu(x)), x)
        yield program(
            "linalg.lu_matrix_inverse", lambda tf, x: tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x)), x, tolerance=9
        )
    yield program("linalg.eigvals (gradient)", eigenvalue_slope, SQUARE, ways=EAGER)
    yield program("linalg.lu_solve", lambda tf, x, y: tf.linalg.lu_solve(*tf.linalg.lu(x), y), SPD, array(2, 3, 2))
    yield program("linalg.lu_solve (one)", lambda tf, x, y: tf.linalg.lu_solve(*tf.linalg.lu(x), y), SPD, array(3, 2))
    yield call("linalg.lu", SQUARE, output_idx_type="int64")


def few_diagonals() -> Iterator[Case]:
    yield call(
        "linalg.tridiagonal_solve",
        DIAGONALS,
        SIDES,
        tolerance=50,
    )
    yield call("linalg.tridiagonal_solve", DIAGONALS, array(2, 4), tolerance=50)
    yield call("linalg.tridiagonal_solve", DIAGONALS, array(2, 3, 4), transpose_rhs=True, tolerance=50)
    wide = np.float64([[1, 2, 0], [5, 6, 7], [0, 1, 2]])
    yield call("linalg.tridiagonal_solve", [wide[0], wide[1], wide[2]], SQUARE, "sequence")
    yield call("linalg.tridiagonal_solve", [wide[0][:2], wide[1], wide[2][1:]], SQUARE, "sequence")
    yield call("linalg.tridiagonal_solve", SQUARE, SQUARE[0], "matrix")
    yield call("linalg.tridiagonal_solve", wide + 0j, WAVES, conjugate_rhs=True)
    yield call("linalg.tridiagonal_solve", SQUARE, SQUARE, "other", raises=True)
    solve = lambda tf, x: tf.linalg.tridiagonal_solve(x, tf.constant(SQUARE))  # noqa: E731
    yield gradient("linalg.tridiagonal_solve (gradient)", solve, wide, ways=EAGER)
    yield call("linalg.tridiagonal_matmul", DIAGONALS, SIDES)
    yield call("linalg.tridiagonal_matmul", [wide[0], wide[1], wide[2]], SQUARE, "sequence")
    yield call("linalg.tridiagonal_matmul", SQUARE, SQUARE, "matrix")
    for options in ({}, {"adjoint": True}, {"lower": False}, {"lower": False, "adjoint": True}):
        yield call(
            "linalg.banded_triangular_solve", array(2, 2, 4, low=1, high=2), SIDES, **options, tolerance=50, ways=FIXED
        )
    alpha, beta = np.float64([1, 2, 3, 5]), np.float64([0.5, -1, 2])
    for options in ({}, {"select": "i", "select_range": [1, 2]}):
        yield call("linalg.eigh_tridiagonal", alpha, beta, **options)
    yield call("linalg.eigh_tridiagonal", alpha, beta, select="v", select_range=[0.0, 3.0], ways=EAGER)
    yield call("linalg.eigh_tridiagonal", alpha + 0j, beta * (1 + 1j))
    yield program(
        "linalg.eigh_tridiagonal (vectors)",
        lambda tf, a, b: [(found := tf.linalg.eigh_tridiagonal(a, b, eigvals_only=False))[0], tf.abs(found[1])],
        alpha,
        beta,
    )

    def solved(tf: Any, x: Any, y: Any, **options: Any) -> list[Any]:
        operator = tf.linalg.LinearOperatorFullMatrix(x, is_self_adjoint=True, is_positive_definite=True)
        if options.pop("prepared", False):
            options["preconditioner"] = tf.linalg.LinearOperatorDiag(1 / tf.linalg.diag_part(x))
        found = tf.linalg.experimental.conjugate_gradient(operator, y, **options)
        return [found.i, found.x]

    name = "linalg.experimental.conjugate_gradient"
    yield program(name, solved, SPD64, SQUARE[0])
    yield program(f"{name} (one step)", lambda tf, x, y: solved(tf, x, y, max_iter=1), SPD64, SQUARE[0])
    yield program(f"{name} (prepared)", lambda tf, x, y: solved(tf, x, y, prepared=True), SPD64, SQUARE[0])


def _by_numpy(name: str, x: np.ndarray, size: int, norm: str) -> np.ndarray:
    found = getattr(np.fft, f"{name}n")(x, [4, size], [0, 2], norm)
    return found.astype("float32" if name == "irfft" else "complex64")


def spectra() -> Iterator[Case]:
    x, x64 = array(2, 8), np.sin(np.arange(10.0)).reshape(2, 5)
    for kind in (1, 2, 3, 4):
        for norm in (None, "ortho")[: 1 + (kind > 1)]:
            for sound in (x, x64):
                yield call("signal.dct", sound, kind, norm=norm, tolerance=5)
                yield call("signal.idct", sound, kind, norm=norm, tolerance=5)
            yield gradient(
                f"signal.dct (gradient {kind} {norm})",
                lambda tf, x, kind=kind, norm=norm: tf.signal.dct(x, kind, norm=norm),
                x64,
            )
    for n in (4, 8):
        yield call("signal.dct", x64, 2, n, ways=FIXED)
    yield call("signal.dct", x, 5, raises=True)
    yield call("signal.mfccs_from_log_mel_spectrograms", array(2, 3, 8))
    for window in ({}, {"window_fn": None}, {"norm": "ortho"}):
        yield call("signal.mdct", array(2, 32), 8, **window, tolerance=5, ways=FIXED)
        yield call("signal.inverse_mdct", array(2, 5, 8), **window, ways=FIXED)
    yield call("signal.mdct", array(2, 30), 8, pad_end=True, tolerance=5, ways=FIXED)
    real, waves = array(2, 4, 6), (np.arange(48).reshape(2, 4, 6) ** 1.5 * (1 + 1j)).astype("complex64") / 99
    yield call("signal.rfft2d", real, ways=FIXED, tolerance=5)
    yield call("signal.rfft2d", real, [3, 8], ways=FIXED, tolerance=5)
    yield call("signal.rfft3d", real, ways=FIXED, tolerance=5)
    yield call("signal.irfft2d", waves, ways=FIXED, tolerance=5)
    yield call("signal.irfft3d", waves, [2, 4, 9], ways=FIXED, tolerance=5)
    for norm in ("backward", "ortho", "forward"):  # TensorFlow has no kernels of these for CPUs
        for name, x, size in (("fft", waves, 6), ("ifft", waves, 8), ("rfft", real, 6), ("irfft", waves, 10)):
            yield call(
                f"signal.{name}nd",
                x,
                [4, size],
                [0, 2],
                norm,
                expected=lambda x, name=name, size=size, norm=norm: _by_numpy(name, x, size, norm),
                ways=FIXED,
                tolerance=5,
            )
    for name in ("fftshift", "ifftshift"):
        yield call(f"signal.{name}", array(2, 3, 5))
        yield call(f"signal.{name}", array(2, 3, 5), [1])
        yield call(f"signal.{name}", array(2, 3, 5), (-1, 0))


def restored(tf: Any, x: Any) -> list[Any]:
    spectra = tf.signal.stft(x, 6, 4, 8, tf.signal.hamming_window)
    window = tf.signal.inverse_stft_window_fn(4, tf.signal.hamming_window)
    return [tf.signal.inverse_stft(spectra, 6, 4, 8, window), tf.signal.inverse_stft(spectra, 6, 4, 8, None)]


def windows() -> Iterator[Case]:
    for length in (1, 2, 7, 16):
        for beta in (12.0, 0.5):
            yield call("signal.kaiser_window", length, beta, tolerance=5)
            if length % 2 == 0:
                yield call("signal.kaiser_bessel_derived_window", length, beta, tolerance=5)
        yield call("signal.vorbis_window", length)
        yield program(f"signal.vorbis_window ({length})", lambda tf, n=length: tf.signal.vorbis_window(n, tf.float64))
    yield call("signal.overlap_and_add", array(2, 5, 8), 3, ways=FIXED)
    yield call("signal.overlap_and_add", array(5, 4), 6, ways=FIXED)
    yield program("signal.inverse_stft signal.inverse_stft_window_fn", restored, array(2, 30), ways=FIXED, tolerance=5)
    sounds = np.ones((3, 1)) * WAVES.reshape(1, 9)[:, :5]
    yield gradient(
        "signal.inverse_stft (gradient)", lambda tf, x: tf.signal.inverse_stft(x, 6, 4, 8), sounds, ways=EAGER
    )
    yield call("signal.linear_to_mel_weight_matrix", tolerance=50)
    yield program(
        "signal.linear_to_mel_weight_matrix (wide)",
        lambda tf: tf.signal.linear_to_mel_weight_matrix(8, 65, 16000, 80.0, 7600.0, tf.float64),
    )


POSITIVE = np.concatenate([[1e-3, 0.4, 1, 1.9, 2.1], np.linspace(3, 50, 13)])
EVERYWHERE = np.concatenate([-POSITIVE[::-1], POSITIVE])
SPECIAL = {
    **{f"bessel_{kind}": EVERYWHERE for kind in ("j0", "j1")},
    **{f"bessel_{kind}": POSITIVE for kind in ("y0", "y1", "k0", "k1", "k0e", "k1e")},
    **dict.fromkeys(("dawsn", "fresnel_cos", "fresnel_sin"), EVERYWHERE),
    **dict.fromkeys(("expint", "spence"), POSITIVE),
}
EDGES = np.float64([-np.inf, -1, 0, np.inf, np.nan])


def special_functions() -> Iterator[Case]:
    for name, values in SPECIAL.items():
        for dtype in ("float64", "float32"):
            x = values.astype(dtype)
            yield call(f"math.special.{name}", x, tolerance=1 if dtype == "float32" else 1e-3)
        f = lambda tf, x, name=name: getattr(tf.math.special, name)(x)  # noqa: E731
        yield gradient(f"math.special.{name} (gradient)", f, np.minimum(values, 30))
        edges = EDGES[1:3] if name[:7] in ("bessel_", "spence") else EDGES[1:]
        yield call(f"math.special.{name}", edges)
    for name in ("bessel_j0", "bessel_k1e"):
        yield call(f"math.special.{name}", np.float16([0.5, 3, 9]))


def operators() -> Iterator[Case]:
    def dense(kind: str, make: Callable[..., Any], *arrays: Any, **options: Any) -> Case:
        def run(tf: Any, *given: Any) -> Any:
            found = make(getattr(tf.linalg, f"LinearOperator{kind}"), tf.linalg.LinearOperatorFullMatrix, *given)
            return [found.to_dense(), found.shape_tensor()]

        return program(f"linalg.LinearOperator{kind}", run, *arrays, **{"ways": FIXED, **options})

    x, y = array(2, 3, 3), array(2, 2, 2)
    yield dense("Adjoint", lambda kind, full, x: kind(full(x)), WAVES)
    yield dense("Inversion", lambda kind, full, x: kind(full(x)), SPD64)
    yield dense("BlockDiag", lambda kind, full, x, y: kind([full(x), full(y)]), x, y)
    yield dense("Kronecker", lambda kind, full, x, y: kind([full(x), full(y)]), x, y)
    rows = lambda kind, full, x, y, z: kind([[full(x)], [full(z), full(y)]])  # noqa: E731
    yield dense("BlockLowerTriangular", rows, x, y, array(2, 2, 3))
    yield dense("Householder", lambda kind, full, x: kind(x), array(2, 4))
    yield dense("Permutation", lambda kind, full, x: kind(x), np.int32([2, 0, 1]))
    yield dense("Toeplitz", lambda kind, full, x, y: kind(x, y), np.float32([1, 2, 3]), np.float32([1, 7, 8]))
    yield dense("Tridiag", lambda kind, full, x: kind(x), array(2, 3, 4))
    yield dense("Zeros", lambda kind, full, x: kind(3, batch_shape=[2]), array(1))
    yield dense("Circulant", lambda kind, full, x: kind(x), WAVES[0].astype("complex64"))
    yield dense("Circulant", lambda kind, full, x: kind(x, "float32"), np.complex64([3, 1 + 2j, 1 - 2j]))
    yield dense("Circulant2D", lambda kind, full, x: kind(x), WAVES[:2].astype("complex64"))
    yield dense(
        "Circulant3D", lambda kind, full, x: kind(x), (np.arange(12).reshape(2, 3, 2) * (1 + 2j)).astype("complex64")
    )


CASES = [
    case
    for family in (
        *(functions_of_matrices, factors, few_diagonals, spectra, windows),
        *(special_functions, operators),
    )
    for case in family()
]
