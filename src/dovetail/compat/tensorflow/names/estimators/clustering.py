"""The graph of k-means, and an estimator of it: `tf.contrib.factorization`.

Source: `tf.contrib.factorization` of TensorFlow 1.15; its graph is in TensorFlow's `python/ops/clustering_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.array.joining import concat
from dovetail.compat.tensorflow.names.array.shapes import cast
from dovetail.compat.tensorflow.names.estimators.estimators import Estimator, EstimatorSpec, ModeKeys
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.graph.graph import control_dependencies, group
from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.math.arithmetic import l2_normalize, matmul
from dovetail.compat.tensorflow.names.math.segments import UNSORTED
from dovetail.compat.tensorflow.names.metrics.measures import mean
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunArgs, SessionRunHook
from dovetail.compat.tensorflow.names.random.draws import seed_of_draw
from dovetail.compat.tensorflow.names.train.steps import get_or_create_global_step
from dovetail.compat.tensorflow.names.variables.variables import AnyVariableV1, assign, assign_add, assign_sub
from dovetail.compat.tensorflow.table import in_v1, takes
from dovetail.core.base.errors import op_error

SQUARED, COSINE = "squared_euclidean", "cosine"
_WORDS = (
    "initial_clusters='random' distance_metric='squared_euclidean' random_seed=0 use_mini_batch=True "
    "mini_batch_steps_per_iteration=1 kmeans_plus_plus_num_retries=2"
)


class KMeans:
    """The graph of k-means.

    Args:
        inputs: the points, (count, width), or a list of such tensors; the width must be known.
        num_clusters: how many clusters there are.
        initial_clusters: the first centres: an array, a function of the inputs and a number, or how points are chosen:
            "random", "kmeans_plus_plus" or "kmc2".
        distance_metric: "squared_euclidean" or "cosine".
        use_mini_batch: whether a step moves the centres by a batch; else a step sees all points.
        mini_batch_steps_per_iteration: after how many steps the centres that points belong to are replaced.
        random_seed: starts the draws of points.
        kmeans_plus_plus_num_retries: how many more points are drawn for each centre, of which the best is kept.
        kmc2_chain_length: how many points a chain of k-MC2 draws.

    Raises:
        ValueError: the metric, or how points are chosen, is another one; or the width is not known.

    Source: `tf.contrib.factorization.KMeans`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     points = tf.constant([[0.0], [1.0], [8.0], [10.0]])
        ...     means = tf.contrib.factorization.KMeans(points, 2, np.float32([[0.0], [9.0]]))
        ...     _, (index,), (distances,), _, first, step = means.training_graph()
        ...     for operation in (tf.global_variables_initializer(), first, step):
        ...         _ = session.run(operation)
        ...     session.run(index).tolist(), session.run(distances).round(2).tolist()
        ([0, 0, 1, 1], [0.25, 0.25, 1.0, 1.0])
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = "random",
        distance_metric: str = SQUARED,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        given = initial_clusters if isinstance(initial_clusters, str) else "random"
        for name, one, known in (
            ("distance_metric", distance_metric, (SQUARED, COSINE)),
            ("initial_clusters", given, ("random", "kmeans_plus_plus", "kmc2")),
        ):
            if one not in known:
                problem = f"{name} must be one of {', '.join(known)}, not {one!r}."
                raise op_error(ValueError, "tf.contrib.factorization.KMeans", problem)
        self._inputs = inputs if isinstance(inputs, list) else [inputs]
        self._first, self._is_cosine = initial_clusters, distance_metric == COSINE
        self._count = int(num_clusters) if self._chooses else np.shape(initial_clusters)[0]
        self._is_batch, self._turns = use_mini_batch, int(mini_batch_steps_per_iteration)
        seed = seed_of_draw(random_seed)
        self._draws = np.random.RandomState(None if seed is None else seed % 2**32)
        self._tries, self._chain = kmeans_plus_plus_num_retries + 1, kmc2_chain_length

    @property
    def _chooses(self) -> bool:
        return isinstance(self._first, str) or callable(self._first)

    def training_graph(self) -> tuple[Any, ...]:
        """The distances of points to all centres, the number of the nearest and its distance, each a list with a tensor
        for each input; whether centres are chosen, a variable; the operation that chooses them; and a step.
        """
        with graph_mode.inside(graph_mode.open_graph()):
            inputs = [convert_to_tensor(x) for x in self._inputs]
            width = inputs[0].shape[-1]
            if width is None:
                problem = "the width of the inputs must be known: say it with set_shape."
                raise op_error(ValueError, "tf.contrib.factorization.KMeans", problem)
            empty = np.full([self._count, int(width)], np.nan, inputs[0].dtype.numpy)  # rows until centres are chosen
            moves_copy = self._is_batch and self._turns > 1
            centres = AnyVariableV1(empty, name="clusters")
            is_chosen = AnyVariableV1(False, name="initialized", dtype="bool")
            moved = AnyVariableV1(empty, name="clusters_updated") if moves_copy else centres
            points = [l2_normalize(x, 1) for x in inputs] if self._is_cosine else inputs
            choose = self._choosing(inputs, points, centres, moved, is_chosen)
            is_normal = self._is_cosine and not (self._is_batch and not moves_copy)
            at = l2_normalize(centres, 1) if self._is_cosine and not is_normal else centres
            every = [self._distances(x, at) for x in points]
            nearest = [ops.cast(ops.argmin(x, 1), "int64") for x in every]
            data, places = concat(points, 0), concat(nearest, 0)
            step = self._batch_step if self._is_batch else self._full_step
            trained = step(data, places, centres, moved)
            return every, nearest, [ops.min(x, 1) for x in every], is_chosen, choose, trained

    def _distances(self, points: Any, centres: Any) -> Any:
        products = matmul(points, centres, transpose_b=True)
        if self._is_cosine:
            return 1.0 - products
        squares = [ops.sum(ops.square(x), 1) for x in (points, centres)]
        return ops.expand_dims(squares[0], 1) - 2.0 * products + squares[1]

    # steps

    def _sums(self, data: Any, places: Any) -> tuple[Any, Any]:
        """The sum of each cluster's points, and how many they are, (clusters, 1)."""
        ones = ops.ones_like(data[:, :1])
        sums, counts = (UNSORTED["sum"](x, places, self._count) for x in (data, ones))
        return sums, counts

    def _full_step(self, data: Any, places: Any, centres: Any, moved: Any) -> Any:
        sums, counts = self._sums(data, places)
        means = sums / (counts + 1e-6)
        return assign(centres, l2_normalize(means, 1) if self._is_cosine else means)

    def _batch_step(self, data: Any, places: Any, centres: Any, moved: Any) -> Any:
        is_one = moved is centres
        left = None if is_one else AnyVariableV1(self._turns, name="update_in_steps", dtype="int64")
        totals = AnyVariableV1(np.full(self._count, int(is_one), "int64"))
        with control_dependencies([] if is_one else [self._replacing(left, centres, moved, totals)]):
            sums, counts = self._sums(data, places)
            before = ops.expand_dims(cast(ops.identity(totals), data.dtype), 1)
            change = (sums - counts * ops.identity(moved)) / ops.maximum(before + counts, 1.0)
            more = cast(ops.squeeze(counts, 1), "int64")
            return group(assign_add(totals, more), assign_add(moved, change))

    def _replacing(self, left: Any, centres: Any, moved: Any, totals: Any) -> Any:
        """Replace the centres by the moved ones if no steps are left; else count the step."""

        def replaced() -> Any:
            new = l2_normalize(moved, 1) if self._is_cosine else ops.identity(moved)
            begun = [assign(left, self._turns - 1), assign(centres, new)]
            with control_dependencies([*begun, assign(totals, ops.zeros_like(totals))]):
                return ops.identity(left)

        return in_v1(cond)(left <= 0, replaced, lambda: assign_sub(left, 1))

    # the first centres

    def _choosing(self, inputs: list[Any], points: list[Any], centres: Any, moved: Any, is_chosen: Any) -> Any:
        """The operation that chooses centres from the inputs; more inputs go on if these are too few."""

        def chosen() -> Any:
            given = self._first
            if isinstance(given, str):
                all_points = [concat(points, 0), ops.identity(centres)]
                new = py_func(self._with_points, all_points, centres.dtype)
            else:
                new = given(inputs, self._count) if callable(given) else convert_to_tensor(given)
                new = cast(l2_normalize(new, 1) if self._is_cosine else new, centres.dtype)
            new.set_shape(centres.shape)
            done = [assign(x, new) for x in {id(x): x for x in (centres, moved)}.values()]
            is_full = ops.logical_not(ops.any(ops.isnan(new)))
            with control_dependencies(done):
                return ops.identity(assign(is_chosen, is_full))

        return in_v1(cond)(is_chosen, lambda: ops.identity(is_chosen), chosen).op

    def _with_points(self, points: np.ndarray, centres: np.ndarray) -> np.ndarray:
        """The centres with points in place of the rows without numbers."""
        filled = centres.copy()
        rows = np.flatnonzero(np.isnan(centres[:, 0]))
        if len(points) <= len(rows):
            filled[rows[: len(points)]] = points
            return filled
        for row in rows:
            filled[row] = points[self._drawn(points, filled[:row])]
        return filled

    def _drawn(self, points: np.ndarray, centres: np.ndarray) -> int:
        """The place of the point that becomes the next centre."""
        if self._first == "random" or not len(centres):
            return int(self._draws.randint(len(points)))
        far = np.square(points[:, None] - centres).sum(-1).min(1)
        if self._first == "kmc2":
            at, *others = self._draws.randint(len(points), size=self._chain)
            for other in others:
                at = other if self._draws.rand() * far[at] < far[other] else at
            return int(at)
        share = far / far.sum() if far.any() else None
        tried = self._draws.choice(len(points), self._tries, p=share)
        left = [np.minimum(far, np.square(points - points[i]).sum(-1)).sum() for i in tried]
        return int(tried[int(np.argmin(left))])


class _ChoosingHook(SessionRunHook):
    """A hook that chooses the first centres."""

    def __init__(self, choose: Any, is_chosen: Any) -> None:
        self._choose, self._is_chosen = choose, is_chosen

    def after_create_session(self, session: Any, coord: Any) -> None:
        while not session.run(self._is_chosen):
            session.run(self._choose)


class _ToleranceHook(SessionRunHook):
    """A hook that ends the training when the loss changes by a smaller share."""

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss, self._tolerance, self._before = loss, tolerance, None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        loss, before = run_values.results, self._before
        if before is not None and abs(loss - before) / (1 + abs(before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


class KMeansClustering(Estimator):
    """An estimator of k-means; see `tf.contrib.factorization.KMeans` and `tf.estimator.Estimator`.

    Args:
        relative_tolerance: the share of the loss below which a change of it ends the training.

    Source: `tf.contrib.factorization.KMeansClustering`.
    """

    SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = SQUARED, COSINE
    RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = "random", "kmeans_plus_plus"
    SCORE, CLUSTER_INDEX, ALL_DISTANCES, CLUSTER_CENTERS_VAR_NAME = (
        "score",
        "cluster_index",
        "all_distances",
        "clusters",
    )

    @takes(
        f"num_clusters model_dir=None {_WORDS} relative_tolerance=None config=None feature_columns=None",
        "feature_columns",
    )
    def __init__(self, num_clusters: int, model_dir: Any, relative_tolerance: Any, config: Any, given: Any) -> None:
        how = vars(given)

        def model(features: Any, mode: str) -> EstimatorSpec:
            columns = [features[key] for key in sorted(features)] if isinstance(features, dict) else [features]
            points = concat(columns, 1) if len(columns) > 1 else columns[0]
            every, nearest, least, is_chosen, choose, step = KMeans(points, num_clusters, **how).training_graph()
            loss = ops.sum(least[0])
            count = assign_add(get_or_create_global_step(), 1)
            hooks: list[Any] = [_ChoosingHook(choose, is_chosen)]
            hooks += [] if relative_tolerance is None else [_ToleranceHook(loss, relative_tolerance)]
            return EstimatorSpec(
                mode,
                {self.ALL_DISTANCES: every[0], self.CLUSTER_INDEX: nearest[0]},
                loss,
                group(step, count) if mode == ModeKeys.TRAIN else None,
                {self.SCORE: mean(loss)} if mode == ModeKeys.EVAL else None,
                training_hooks=hooks,
            )

        super().__init__(model, model_dir, config)

    def predict_cluster_index(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The number of each point's cluster."""
        return (predicted[self.CLUSTER_INDEX] for predicted in self.predict(input_fn, [self.CLUSTER_INDEX]))

    def transform(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """Each point's distances to all centres."""
        return (predicted[self.ALL_DISTANCES] for predicted in self.predict(input_fn, [self.ALL_DISTANCES]))

    def score(self, input_fn: Callable[..., Any]) -> Any:
        """The sum of the points' distances to their centres."""
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def cluster_centers(self) -> np.ndarray:
        """The centres, (clusters, width)."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)


value("contrib.factorization.KMeans python.ops.clustering_ops.KMeans", KMeans, "v1")
value("contrib.factorization.KMeansClustering estimator.experimental.KMeans", KMeansClustering, "v1")
for _name, _value in {
    "SQUARED_EUCLIDEAN_DISTANCE": SQUARED,
    "COSINE_DISTANCE": COSINE,
    "RANDOM_INIT": "random",
}.items():
    value(f"contrib.factorization.{_name}", _value, "v1")
value("contrib.factorization.KMEANS_PLUS_PLUS_INIT", "kmeans_plus_plus", "v1")
