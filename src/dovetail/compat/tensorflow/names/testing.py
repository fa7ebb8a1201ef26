"""TensorFlow's `tf.test`: a test case with sessions, and comparisons of arrays and tensors."""

from __future__ import annotations

import random
import tempfile
import unittest
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import lazy, value
from dovetail.compat.tensorflow.names.graph.graph import reset_default_graph
from dovetail.compat.tensorflow.names.random.draws import set_seed
from dovetail.compat.tensorflow.names.session.devices import list_physical_devices
from dovetail.compat.tensorflow.names.session.session import Session
from dovetail.compat.tensorflow.table import function
from dovetail.compat.tf_graph.device_spec import DeviceSpec
from dovetail.core.values.value_kinds import is_tensor

_SEED = 87654321  # TensorFlow's


class TestCase(unittest.TestCase):
    """A test whose graph is empty and whose seeds are fixed at the start.

    Source: `tf.test.TestCase`.
    """

    __test__ = False  # pytest runs the classes of programs, and not this one
    maxDiff = None
    _session: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        super().setUp()
        self._session = None
        reset_default_graph()
        for seed in (random.seed, np.random.seed, set_seed):
            seed(_SEED)

    # sessions

    @contextmanager
    def session(self, graph: Any = None, config: Any = None, **devices: Any) -> Iterator[Any]:
        """A new session, the default one in the `with` block."""
        with Session(graph=graph or graph_mode.open_graph(), config=config) as session, session.graph.as_default():
            yield session

    @contextmanager
    def cached_session(self, graph: Any = None, config: Any = None, **devices: Any) -> Iterator[Any]:
        """The session of the test, the default one in the `with` block; its variables keep their values."""
        if self._session is None:
            self._session = Session(graph=graph or graph_mode.open_graph(), config=config)
        with self._session.graph.as_default(), self._session.as_default():
            yield self._session

    @contextmanager
    def test_session(self, graph: Any = None, config: Any = None, **devices: Any) -> Iterator[Any]:
        """The session of the test; a new one for another graph."""
        with (self.cached_session if graph is None else self.session)(graph, config) as session:
            yield session

    test_session.__test__ = False  # type: ignore[attr-defined]

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors."""
        with self.cached_session() as session:
            return session.run(tensors)

    def get_temp_dir(self) -> str:
        """A folder of the test."""
        if not hasattr(self, "_folder"):
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return self._folder.name

    # comparisons

    def _array(self, found: Any) -> np.ndarray:
        return np.asarray(self.evaluate(found) if is_tensor(found) else found)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Fail if two structures of arrays or tensors are not close."""
        if isinstance(a, Mapping):
            self.assertEqual(set(a), set(b), msg)
            for key, one in a.items():
                self.assertAllClose(one, b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and any(np.ndim(one) for one in a if not is_tensor(one)):
            self.assertEqual(len(a), len(b), msg)
            for one, other in zip(a, b, strict=True):
                self.assertAllClose(one, other, rtol, atol, msg)
        else:
            first, second = self._array(a), self._array(b)
            self.assertEqual(first.shape, second.shape, msg)
            np.testing.assert_allclose(first, second, rtol, atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a: Any, b: Any, rtol: Any = 1e-6, atol: Any = 1e-6, **half: Any) -> None:
        """Fail if two arrays or tensors are not close, for their dtype."""
        if np.float16 in {self._array(one).dtype.type for one in (a, b)}:
            rtol, atol = max(rtol, half.get("half_rtol", 1e-3)), max(atol, half.get("half_atol", 1e-3))
        self.assertAllClose(a, b, rtol, atol)

    def assertNotAllClose(self, a: Any, b: Any, **tolerance: Any) -> None:
        """Fail if two structures of arrays or tensors are close."""
        with self.assertRaises(AssertionError):
            self.assertAllClose(a, b, **tolerance)

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Fail if two arrays or tensors differ."""
        np.testing.assert_array_equal(self._array(a), self._array(b), err_msg=msg or "")

    def assertNear(self, f1: Any, f2: Any, err: float, msg: Any = None) -> None:
        """Fail if two numbers differ by more than an error."""
        self.assertAlmostEqual(float(f1), float(f2), delta=err, msg=msg)

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Fail if numbers of two arrays differ by more than an error."""
        self.assertEqual(len(farray1), len(farray2))
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(one, other, err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        """Fail if an array and a tensor have other shapes."""
        self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        """Fail if a text begins with other words."""
        self.assertEqual(actual[: len(expected_start)], expected_start, msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Fail if two devices have other names."""
        first, second = (DeviceSpec.from_string(str(one or "")).to_string() for one in (device1, device2))
        self.assertEqual(first, second, msg)

    assertItemsEqual = unittest.TestCase.assertCountEqual

    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Any:
        """Fail in the `with` block if no error of a type matches an expression or a function."""
        if not callable(expected_err_re_or_predicate):
            return self.assertRaisesRegex(exception_type, expected_err_re_or_predicate)
        return self._raising(exception_type, expected_err_re_or_predicate)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Fail in the `with` block if no operation fails with an error that matches."""
        return self.assertRaisesWithPredicateMatch(Exception, expected_err_re_or_predicate)

    @contextmanager
    def _raising(self, kind: Any, is_meant: Any) -> Iterator[None]:
        with self.assertRaises(kind) as raised:
            yield
        self.assertTrue(is_meant(raised.exception), raised.exception)


value("test.TestCase", TestCase)
value("test.main", unittest.main)
lazy("test.mock", lambda: import_module("unittest.mock"))  # which imports asyncio and ssl


@function("test.get_temp_dir")
def get_temp_dir() -> str:
    """A folder for tests, which stays.

    Source: `tf.test.get_temp_dir`.
    """
    return tempfile.mkdtemp()


@function("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether the current engine has a GPU.

    Source: `tf.test.is_gpu_available`.
    """
    return bool(list_physical_devices("GPU"))


@function("test.gpu_device_name")
def gpu_device_name() -> str:
    """The name of the first GPU; empty if there is none.

    Source: `tf.test.gpu_device_name`.
    """
    return "/device:GPU:0" if is_gpu_available() else ""


value("test.is_built_with_cuda test.is_built_with_gpu_support", is_gpu_available)
