"""TensorFlow 1's names for optimizers of other libraries, which call the graph for a loss and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.graph_gradients import gradients
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.core.base.errors import op_error
from dovetail.sessions.session import default_session


class ExternalOptimizerInterface:
    """The base of optimizers that minimize a loss of a graph outside of it; subclasses define `_minimize`.

    Args:
        loss: a number of the graph.
        var_list: the variables; by default the trained variables.
        equalities: tensors that must be 0.
        inequalities: tensors that must not be negative.
        var_to_bounds: variable → its least and its largest value, which may be arrays.
        **optimizer_kwargs: arguments of the other library.

    Source: `tf.contrib.opt.ExternalOptimizerInterface` of TensorFlow 1.15.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: Mapping[Any, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self.optimizer_kwargs = optimizer_kwargs
        self._vars = list(var_list or loss.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
        self._bounds = None if var_to_bounds is None else self._packed_bounds(var_to_bounds)
        with graph_mode.inside(loss.graph):
            self._start = self._packed(self._vars)
            self._loss = [loss, self._gradient(loss)]
            self._equalities, self._inequalities = (
                [(x, self._gradient(x)) for x in given or ()] for given in (equalities, inequalities)
            )

    def _packed(self, tensors: Sequence[Any]) -> Any:
        return ops.concatenate([ops.reshape(x, (-1,)) for x in tensors], 0)

    def _gradient(self, x: Any) -> Any:
        slopes = zip(gradients(x, self._vars), self._vars, strict=True)
        return self._packed([ops.zeros_like(v) if slope is None else slope for slope, v in slopes])

    def _packed_bounds(self, given: Mapping[Any, tuple[Any, Any]]) -> list[tuple[float, float]]:
        pairs = [(given.get(v, (-np.inf, np.inf)), v.shape) for v in self._vars]
        low, high = (np.concatenate([np.broadcast_to(p[end], s).ravel() for p, s in pairs]) for end in (0, 1))
        return list(zip(low, high, strict=True))

    def _unpacked(self, x: np.ndarray) -> dict[Any, np.ndarray]:
        """Variable → its part of all numbers."""
        ends = np.cumsum([v.shape.num_elements() for v in self._vars])
        parts = np.split(np.asarray(x), ends[:-1])
        return {v: part.reshape(v.shape) for v, part in zip(self._vars, parts, strict=True)}

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[..., Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize the loss, and give the variables in the session their best values.

        Args:
            session: a session; the default one, if not given.
            feed_dict: what each run is fed.
            fetches: further tensors, whose values `loss_callback` gets after each run.
            step_callback: is called after each step, with the variables as one array.
        """
        session = session or default_session()
        if session is None:
            raise op_error(
                ValueError, f"tf.contrib.opt.{type(self).__name__}", "there is no default session: give one."
            )
        further = list(fetches or ())

        def function(*tensors: Any, callback: Callable[..., Any] | None = None) -> Callable[[np.ndarray], list[Any]]:
            def evaluate(x: np.ndarray) -> list[Any]:
                computed = session.run([*tensors, *further], {**self._unpacked(x), **(feed_dict or {})})
                if callback is not None:
                    callback(*computed[len(tensors) :])
                return computed[: len(tensors)]

            return evaluate

        def single(tensor: Any) -> Callable[[np.ndarray], Any]:
            evaluate = function(tensor)
            return lambda x: evaluate(x)[0]

        best = self._minimize(
            initial_val=session.run(self._start, **run_kwargs),
            loss_grad_func=function(*self._loss, callback=loss_callback),
            equality_funcs=[single(x) for x, _ in self._equalities],
            equality_grad_funcs=[single(slope) for _, slope in self._equalities],
            inequality_funcs=[single(x) for x, _ in self._inequalities],
            inequality_grad_funcs=[single(slope) for _, slope in self._inequalities],
            packed_bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        for variable, best_value in self._unpacked(best).items():
            variable.load(best_value.astype(variable.dtype.numpy), session)

    def _minimize(self, initial_val: Any, loss_grad_func: Any, **more: Any) -> np.ndarray:
        """Find the best values of all variables, as one array; subclasses define it."""
        raise op_error(NotImplementedError, f"tf.contrib.opt.{type(self).__name__}", "it defines no _minimize.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """SciPy's optimizers, by default L-BFGS-B; `method` and `options` go to `scipy.optimize.minimize`.

    Source: `tf.contrib.opt.ScipyOptimizerInterface` of TensorFlow 1.15.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.Variable([7.0, 3.0])
        ...     loss = tf.reduce_sum(tf.square(v - 1.0))
        ...     session.run(v.initializer)
        ...     tf.contrib.opt.ScipyOptimizerInterface(loss, var_to_bounds={v: (2, 9)}).minimize(session)
        ...     session.run(v)
        array([2., 2.], dtype=float32)
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(self, initial_val: Any, loss_grad_func: Any, **more: Any) -> np.ndarray:
        from scipy import optimize

        def loss_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = loss_grad_func(x)
            return float(loss), gradient.astype("float64")

        constraints = [
            {"type": kind, "fun": f, "jac": slope}
            for kind, word in (("eq", "equality"), ("ineq", "inequality"))
            for f, slope in zip(more[f"{word}_funcs"], more[f"{word}_grad_funcs"], strict=True)
        ]
        set_here = {
            "jac": True,
            "callback": more["step_callback"],
            "constraints": constraints,
            "bounds": more["packed_bounds"],
        }
        given = {"method": self._DEFAULT_METHOD, **more["optimizer_kwargs"]}
        if taken := set_here.keys() & given.keys():
            problem = f"it sets {', '.join(sorted(taken))} itself: give var_to_bounds, equalities or step_callback."
            raise op_error(ValueError, "tf.contrib.opt.ScipyOptimizerInterface", problem)
        return optimize.minimize(loss_and_gradient, initial_val, **set_here, **given).x


value("contrib.opt.ExternalOptimizerInterface", ExternalOptimizerInterface, "v1")
value("contrib.opt.ScipyOptimizerInterface", ScipyOptimizerInterface, "v1")
