"""Random forests that grow by batches, as graphs and as an estimator: `tf.contrib.tensor_forest`.

A leaf takes the first examples as candidates of a split: a feature and a threshold.  The next ones are counted on both
sides of each.  After `split_after_samples` examples the best candidate splits the leaf.

Source: `tf.contrib.tensor_forest` of TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.array.shapes import cast
from dovetail.compat.tensorflow.names.debugging import logger
from dovetail.compat.tensorflow.names.estimators.contrib_learn import LearnEstimator, ModelFnOps
from dovetail.compat.tensorflow.names.estimators.estimators import ModeKeys
from dovetail.compat.tensorflow.names.graph.control import while_loop
from dovetail.compat.tensorflow.names.graph.graph import control_dependencies, group
from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.metrics.measures import mean
from dovetail.compat.tensorflow.names.monitored.hook_base import SessionRunArgs, SessionRunHook
from dovetail.compat.tensorflow.names.train.steps import get_or_create_global_step
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable
from dovetail.compat.tensorflow.names.variables.variables import assign, assign_add
from dovetail.compat.tensorflow.table import constructor, in_v1, takes
from dovetail.core.base.errors import op_error

PLACE = "tf.contrib.tensor_forest"
SMALL = 1e-6  # the least probability whose logarithm is taken
ONLY = {  # parameters of forests, and the one value that each may have
    "split_finish_name": "basic",
    "split_pruning_name": "none",
    "initialize_average_splits": False,
    "param_file": None,
    "split_name": "less_or_equal",
}


class ForestHParams:
    """The parameters of a forest.

    Args:
        num_classes: the number of classes; in a regression, of numbers to predict.
        num_features: the number of features.
        regression: whether numbers are predicted.
        num_trees, max_nodes: the number of trees, and the most nodes of each.
        bagging_fraction, feature_bagging_fraction: the shares of the examples, and of the features, that a tree sees.
        num_splits_to_consider: how many candidates of a split a leaf has; 0 for the root of the number of features,
            from 10 to 1000.
        split_after_samples: after how many examples a leaf is split.
        base_random_seed: starts the draws; 0 for other ones each time.

    Source: `tf.contrib.tensor_forest.tensor_forest.ForestHParams`.
    """

    num_classes: int
    num_features: int
    feature_bagging_fraction: float
    num_splits_to_consider: int
    regression = False
    base_random_seed = 0

    def _keep(self, given: dict[str, Any], **others: Any) -> None:
        vars(self).update(given, **others)

    __init__ = constructor(
        "num_trees=100 max_nodes=10000 bagging_fraction=1.0 num_splits_to_consider=0 feature_bagging_fraction=1.0 "
        "max_fertile_nodes=0 split_after_samples=250 valid_leaf_threshold=1 dominate_method='bootstrap' "
        "dominate_fraction=0.99 model_name='all_dense' split_finish_name='basic' split_pruning_name='none' "
        "prune_every_samples=0 early_finish_check_every_samples=0 collate_examples=False checkpoint_stats=False "
        "use_running_stats_method=False initialize_average_splits=False inference_tree_paths=False param_file=None "
        "split_name='less_or_equal'",
        _keep,
        "kwargs",
    )

    def values(self) -> dict[str, Any]:
        """The parameters by name."""
        return vars(self)

    def fill(self) -> ForestHParams:
        """Compute the parameters that are not given.

        Raises:
            ValueError: num_classes or num_features is not given.
            NotImplementedError: a parameter has a value that Dovetail does not offer.
        """
        title = f"{PLACE}.tensor_forest.ForestHParams.fill"
        for name in ("num_classes", "num_features"):
            if not hasattr(self, name):
                raise op_error(ValueError, title, f"give {name}.")
        for name, only in ONLY.items():
            if getattr(self, name) != only:
                raise op_error(NotImplementedError, title, f"{name} must be {only!r}, not {getattr(self, name)!r}.")
        self.num_outputs = self.num_classes if self.regression else 1
        self.num_output_columns = self.num_classes + 1
        self.bagged_num_features = int(self.feature_bagging_fraction * self.num_features)
        root = min(max(10, int(self.num_features**0.5)), 1000)
        self.num_splits_to_consider = self.num_splits_to_consider or root
        return self


class _Tree(NamedTuple):
    """The nodes of a tree, or of each tree along a first axis; the root is the first node.

    Attributes:
        features, thresholds: the test of a node, which lets an example go left if its feature is at most the threshold.
        children: the left child, which the right one follows; 0 for a leaf.
        sums: the sums of the rows of the examples that a node had as a leaf.
        size: the number of nodes.
    """

    features: Any
    thresholds: Any
    children: Any
    sums: Any
    size: Any

    def leaves(self, x: np.ndarray) -> np.ndarray:
        """The leaf of each example."""
        at, examples = np.zeros(len(x), "int32"), np.arange(len(x))
        while self.children[at].any():
            is_right = x[examples, self.features[at]] > self.thresholds[at]
            at = np.where(self.children[at] > 0, self.children[at] + is_right, at)
        return at


class _Candidates:
    """The candidates of splits of a tree's leaves, and the sums of rows on their left.

    Args:
        nodes, splits, width: the most nodes, the number of candidates of a leaf, and the width of a row.
    """

    def __init__(self, nodes: int, splits: int, width: int) -> None:
        self.features, self.thresholds = np.zeros((nodes, splits), "int32"), np.zeros((nodes, splits), "float32")
        self.left, self.total = np.zeros((nodes, splits, width), "float32"), np.zeros((nodes, width), "float32")
        self.begun = np.zeros(nodes, "int64")

    def forget(self, node: int) -> None:
        """Let a leaf begin again."""
        self.left[node] = self.total[node] = self.begun[node] = 0


class _Growth:
    """Grows the trees of a forest by batches of examples.

    Args:
        params: the parameters.
        width: the width of a row.
    """

    def __init__(self, params: Any, width: int) -> None:
        self._params, self._width = params, width
        self._random = np.random.RandomState(params.base_random_seed or None)
        count, most = params.bagged_num_features, params.num_features
        self._features = [self._random.permutation(most)[:count] for _ in range(params.num_trees)]
        self._seen = -1

    def __call__(self, x: np.ndarray, labels: np.ndarray, weights: np.ndarray, *state: np.ndarray) -> list[np.ndarray]:
        """The forest, and the number of examples that it has seen, after a batch."""
        *parts, seen = map(np.array, state)
        forest = _Tree(*parts)
        if int(seen) != self._seen:  # the variables have begun again, or are of a checkpoint
            shape = self._params.max_nodes, self._params.num_splits_to_consider, self._width
            self._candidates = [_Candidates(*shape) for _ in range(self._params.num_trees)]
        rows = self._rows(labels, len(x)) * weights.reshape(-1, 1)
        for number, candidates in enumerate(self._candidates):
            arrays = [part[number] for part in forest[:-1]]
            tree = _Tree._make([*arrays, forest.size[number : number + 1]])
            taken = self._random.rand(len(x)) < self._params.bagging_fraction
            self._grow(tree, candidates, self._features[number], x[taken], rows[taken])
        self._seen = int(seen) + len(x)
        return [*forest, np.int64(self._seen)]

    def _rows(self, labels: np.ndarray, count: int) -> np.ndarray:
        """For each example a one at its class; of a regression 1, its numbers, and their squares."""
        if not self._params.regression:
            return np.eye(self._width, dtype="float32")[labels.reshape(count).astype("int64")]
        numbers = labels.reshape(count, -1).astype("float32")
        return np.concatenate([np.ones((count, 1), "float32"), numbers, np.square(numbers)], 1)

    def _grow(self, tree: _Tree, its: _Candidates, features: np.ndarray, x: np.ndarray, rows: np.ndarray) -> None:
        leaves = tree.leaves(x)
        np.add.at(tree.sums, leaves, rows)
        order = np.argsort(leaves, kind="stable")
        at, x, rows = leaves[order], x[order], rows[order]
        nodes, starts, counts = np.unique(at, return_index=True, return_counts=True)
        number = its.begun[at] + np.arange(len(at)) - np.repeat(starts, counts)
        most = self._params.num_splits_to_consider
        begins = number < most
        drawn = self._random.choice(features, begins.sum())
        its.features[at[begins], number[begins]] = drawn
        its.thresholds[at[begins], number[begins]] = x[begins, drawn]
        its.begun[nodes] = np.minimum(its.begun[nodes] + counts, most)
        at, x, rows = at[~begins], x[~begins], rows[~begins]
        nodes, starts = np.unique(at, return_index=True)
        if len(nodes):
            is_left = np.take_along_axis(x, its.features[at], 1) <= its.thresholds[at]
            its.left[nodes] += np.add.reduceat(is_left[..., None] * rows[:, None], starts)
            its.total[nodes] += np.add.reduceat(rows, starts)
        for node in nodes[self._is_ready(its.total[nodes])]:
            self._split(tree, its, node)

    def _is_ready(self, total: np.ndarray) -> np.ndarray:
        """Whether leaves with these sums are split."""
        if self._params.regression:
            return total[:, 0] >= self._params.split_after_samples
        return (total.sum(1) >= self._params.split_after_samples) & ((total > 0).sum(1) > 1)

    def _split(self, tree: _Tree, its: _Candidates, node: int) -> None:
        """Give a leaf two children by its best candidate, if there is room."""
        child = int(tree.size[0])
        if child + 2 > self._params.max_nodes:
            return
        left, right = its.left[node], its.total[node] - its.left[node]
        scores = np.where(self._count(left) * self._count(right) > 0, self._score(left) + self._score(right), np.inf)
        best = int(np.argmin(scores))
        if np.isfinite(scores[best]):
            tree.features[node], tree.thresholds[node] = its.features[node, best], its.thresholds[node, best]
            tree.children[node] = child
            tree.sums[child : child + 2] = left[best], right[best]
            tree.size[0] = child + 2
        its.forget(node)

    def _count(self, sums: np.ndarray) -> np.ndarray:
        return sums[..., 0] if self._params.regression else sums.sum(-1)

    def _score(self, sums: np.ndarray) -> np.ndarray:
        """How mixed the examples with these sums are: by Gini's index, or by the variance of their numbers."""
        count = self._count(sums)
        if self._params.regression:
            means, squares = np.split(sums[..., 1:] / np.maximum(count, 1)[..., None], 2, -1)
            return (squares - np.square(means)).sum(-1)
        smoothed = sums + 1
        whole = smoothed.sum(-1)
        return whole - np.square(smoothed).sum(-1) / whole


class RandomForestGraphs:
    """The graphs of a random forest.

    The trees are variables.  Checkpoints have no candidates of splits, so that leaves begin again after one.

    Args:
        params: a filled `ForestHParams`.

    Raises:
        NotImplementedError: other trees, or other graphs of trees, are given.

    Source: `tf.contrib.tensor_forest.tensor_forest.RandomForestGraphs`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> forests = tf.contrib.tensor_forest.tensor_forest
        >>> x = np.random.RandomState(0).rand(400, 1).astype("float32")
        >>> given = {"num_trees": 3, "split_after_samples": 50, "base_random_seed": 1}
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     params = forests.ForestHParams(num_classes=2, num_features=1, **given).fill()
        ...     forest = forests.RandomForestGraphs(params)
        ...     step, found = forest.training_graph(x, x[:, 0] > 0.5), forest.inference_graph(x)[0]
        ...     session.run(tf.global_variables_initializer())
        ...     for _ in range(5):
        ...         session.run(step)
        ...     bool(np.mean(session.run(found).argmax(1) == (x[:, 0] > 0.5)) > 0.9)
        True
    """

    @takes(
        "params tree_configs=None tree_stats=None device_assigner=None variables=None tree_variables_class=None "
        "tree_graphs=None training=True",
        "device_assigner training",
    )
    def __init__(self, params: Any, given: Any) -> None:
        for name, own in vars(given).items():
            if own is not None:
                raise op_error(NotImplementedError, f"{PLACE}.tensor_forest.RandomForestGraphs", f"leave {name} out.")
        self.params = params
        trees, nodes = params.num_trees, params.max_nodes
        self._width = 1 + 2 * params.num_outputs if params.regression else params.num_classes
        self._growth = _Growth(params, self._width)
        first = {
            "features": np.zeros((trees, nodes), "int32"),
            "thresholds": np.zeros((trees, nodes), "float32"),
            "children": np.zeros((trees, nodes), "int32"),
            "sums": np.zeros((trees, nodes, self._width), "float32"),
            "size": np.ones(trees, "int32"),
            "seen": np.int64(0),
        }
        with graph_mode.inside(graph_mode.open_graph()):
            made = {name: _variable(f"forest/{name}", array) for name, array in first.items()}
        self._seen = made.pop("seen")
        self.variables = _Tree(**made)

    def training_graph(
        self,
        input_data: Any,
        input_labels: Any,
        num_trainers: int = 1,
        trainer_id: int = 0,
        input_weights: Any = None,
    ) -> Any:
        """The operation that grows the trees by a batch.

        Args:
            input_data: numbers of the shape (count, features), or a dict of such tensors.
            input_labels: the classes, or the numbers to predict.
            input_weights: the weight of each example.
        """
        with graph_mode.inside(graph_mode.open_graph()):
            x = _dense(input_data)
            weights = ops.ones_like(x[:, 0]) if input_weights is None else cast(input_weights, "float32")
            state = [*self.variables, self._seen]
            given = [x, convert_to_tensor(input_labels), weights, *map(ops.identity, state)]
            grown = py_func(self._growth, given, [v.dtype for v in state])
            for new, variable in zip(grown, state, strict=True):
                new.set_shape(variable.shape)
            return group(*map(assign, state, grown), name="train")

    def inference_graph(self, input_data: Any) -> tuple[Any, Any, Any]:
        """The predictions, the leaf of each tree, and the variance of the trees' predictions.

        They have the shapes (count, outputs), (count, trees) and (count, outputs).
        """
        with graph_mode.inside(graph_mode.open_graph()):
            x = _dense(input_data)
            features, thresholds, children = (ops.reshape(part, [-1]) for part in self.variables[:3])
            first = np.arange(self.params.num_trees, dtype="int32") * self.params.max_nodes
            roots = ops.zeros_like(ops.cast(x[:, :1], "int32")) + np.zeros_like(first)

            def goes_on(at: Any) -> Any:
                return ops.any(ops.gather(children, at + first) > 0)

            def below(at: Any) -> Any:
                place = at + first
                child = ops.gather(children, place)
                own = ops.take_along_axis(x, ops.gather(features, place), 1)
                is_right = ops.cast(own > ops.gather(thresholds, place), "int32")
                return ops.where(child > 0, child + is_right, at)

            leaves = in_v1(while_loop)(goes_on, below, [roots])
            sums = ops.gather(ops.reshape(self.variables.sums, [-1, self._width]), leaves + first)
            if self.params.regression:
                found = ops.divide_no_nan(sums[..., 1 : 1 + self.params.num_outputs], sums[..., :1])
            else:
                found = ops.divide_no_nan(sums, ops.sum(sums, -1, True))
            average = ops.mean(found, 1, name="probabilities")
            return average, leaves, ops.maximum(ops.mean(ops.square(found), 1) - ops.square(average), 0.0)

    def average_size(self) -> Any:
        """The average number of nodes of the trees."""
        with graph_mode.inside(graph_mode.open_graph()):
            return ops.mean(ops.cast(ops.identity(self.variables.size), "float32"))

    def training_loss(self, features: Any, labels: Any, name: str = "training_loss") -> Any:
        """The average number of nodes, negative."""
        with graph_mode.inside(graph_mode.open_graph()):
            return ops.negative(self.average_size(), name=name)

    validation_loss = training_loss

    def feature_importances(self) -> Any:
        """The share of each feature among the tests of all nodes."""
        with graph_mode.inside(graph_mode.open_graph()):
            is_test = ops.cast(ops.identity(self.variables.children) > 0, "float32")
            used = ops.one_hot(ops.identity(self.variables.features), self.params.num_features, dtype="float32")
            counts = ops.sum(used * ops.expand_dims(is_test, -1), [0, 1])
            return ops.divide_no_nan(counts, ops.sum(counts))


def _variable(name: str, first: Any) -> Any:
    return get_variable(name, initializer=first, trainable=False)


def _dense(given: Any) -> Any:
    """The features in one tensor of float32: those of a dict behind each other, in the order of their keys."""
    parts = [given[key] for key in sorted(given)] if isinstance(given, dict) else [given]
    dense = [cast(K.to_dense(x) if K.is_sparse(x) else convert_to_tensor(x), "float32") for x in parts]
    return dense[0] if len(dense) == 1 else ops.concatenate(dense, 1)


class TensorForestLossHook(SessionRunHook):
    """A hook that ends the training when the loss no longer falls.

    Source: `tf.contrib.tensor_forest.client.random_forest.TensorForestLossHook`.
    """

    def __init__(
        self, early_stopping_rounds: int, early_stopping_loss_threshold: float | None = None, loss_op: Any = None
    ) -> None:
        self._rounds, self._threshold, self._loss = early_stopping_rounds, early_stopping_loss_threshold or 0.0, loss_op
        self._least, self._waited = None, 0

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs("rf_training_loss:0" if self._loss is None else self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        loss, self._waited = run_values.results, self._waited + 1
        if self._least is None or loss < self._least - abs(self._least) * self._threshold:
            self._least, self._waited = loss, 0
        if self._waited > self._rounds:
            logger.info("the forest has not grown in %d steps", self._waited)
            run_context.request_stop()


class TensorForestEstimator(LearnEstimator):
    """An estimator of a random forest.

    It predicts "probabilities" and "classes"; in a regression "scores".

    Args:
        params: a `ForestHParams`.
        graph_builder_class: makes the graphs; by default `RandomForestGraphs`.
        weights_name, keys_name: the features that are the weights of examples, and that predictions have again.
        early_stopping_rounds: the number of steps without a smaller loss after which the training ends; None for never.
        early_stopping_loss_threshold: the share by which a smaller loss is smaller.

    Raises:
        NotImplementedError: a head is given.

    Source: `tf.contrib.tensor_forest.client.random_forest.TensorForestEstimator`.
    """

    @takes(
        "params device_assigner=None model_dir=None graph_builder_class=None config=None weights_name=None "
        "keys_name=None feature_engineering_fn=None early_stopping_rounds=100 early_stopping_loss_threshold=0.001 "
        "num_trainers=1 trainer_id=0 report_feature_importances=False local_eval=False version=None head=None",
        "device_assigner num_trainers trainer_id report_feature_importances local_eval version",
    )
    def __init__(self, given: Any) -> None:
        if given.head is not None:
            problem = "heads are not offered: leave head out."
            raise op_error(NotImplementedError, f"{PLACE}.client.random_forest.TensorForestEstimator", problem)
        params, build = given.params.fill(), given.graph_builder_class or RandomForestGraphs

        def model(features: Any, labels: Any, mode: str) -> ModelFnOps:
            features = dict(features) if isinstance(features, dict) else {"features": features}
            weights, keys = (features.pop(name, None) for name in (given.weights_name, given.keys_name))
            forest = build(params)
            scores = forest.inference_graph(features)[0]
            predictions = {"scores": scores} if params.regression else _of_classes(scores)
            predictions |= {} if keys is None else {given.keys_name: keys}
            if labels is None or mode == ModeKeys.PREDICT:
                return ModelFnOps(mode, predictions)
            labels = convert_to_tensor(labels)
            loss = _loss(scores, labels, params.regression)
            with control_dependencies([scores]):
                grown = forest.training_graph(features, labels, input_weights=weights)
                step = group(grown, assign_add(get_or_create_global_step(), 1))
            rounds, threshold = given.early_stopping_rounds, given.early_stopping_loss_threshold
            hooks = [TensorForestLossHook(rounds, threshold, loss)] if rounds else []
            measures = {} if params.regression else {"accuracy": mean(accuracy(scores, labels))}
            return ModelFnOps(mode, predictions, loss, step, measures, training_hooks=hooks)

        super().__init__(model, given.model_dir, given.config, None, given.feature_engineering_fn)


def _of_classes(scores: Any) -> dict[str, Any]:
    return {"probabilities": scores, "classes": ops.cast(ops.argmax(scores, 1), "int64")}


def _loss(scores: Any, labels: Any, regression: bool) -> Any:
    """The mean loss of examples: the squared error, or the logarithm of the probability of the class, negative."""
    if regression:
        return ops.mean(ops.square(scores - ops.reshape(ops.cast(labels, "float32"), ops.shape(scores))))
    places = ops.reshape(ops.cast(labels, "int32"), [-1, 1])
    return -ops.mean(ops.log(ops.maximum(ops.take_along_axis(scores, places, 1), SMALL)))


def accuracy(probabilities: Any, targets: Any) -> Any:
    """Whether the most probable class of each example is the right one, as 1 or 0."""
    right = ops.reshape(ops.cast(convert_to_tensor(targets), "int64"), [-1])
    return ops.cast(ops.equal(ops.cast(ops.argmax(probabilities, 1), "int64"), right), "float32")


METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": lambda probabilities, targets: mean(accuracy(probabilities, targets)),
}


def get_metric(metric_name: str) -> Callable[..., Any]:
    """A measure of the probabilities that a forest predicts.

    Raises:
        ValueError: it is not accuracy.

    Source: `tf.contrib.tensor_forest.client.eval_metrics.get_metric`.
    """
    if metric_name not in METRICS:
        problem = f"the measure is accuracy, not {metric_name!r}: write a function of predictions and labels."
        raise op_error(ValueError, f"{PLACE}.client.eval_metrics.get_metric", problem)
    return METRICS[metric_name]


def get_prediction_key(metric_name: str) -> str:
    """The name of the predictions that a measure takes.

    Source: `tf.contrib.tensor_forest.client.eval_metrics.get_prediction_key`.
    """
    get_metric(metric_name)
    return "probabilities"


NAMES: dict[str, dict[str, Any]] = {  # module → name → value
    "tensor_forest": {"ForestHParams": ForestHParams, "RandomForestGraphs": RandomForestGraphs},
    "random_forest": {
        "TensorForestEstimator": TensorForestEstimator,
        "TensorForestLossHook": TensorForestLossHook,
    },
    "eval_metrics": {
        "get_metric": get_metric,
        "get_prediction_key": get_prediction_key,
        "INFERENCE_PROB_NAME": "probabilities",
        "INFERENCE_PRED_NAME": "classes",
    },
}
for _module, _parts in NAMES.items():
    _package = "python" if _module == "tensor_forest" else "client"
    for _name, _part in _parts.items():
        value(" ".join(f"contrib.tensor_forest.{_at}{_module}.{_name}" for _at in ("", f"{_package}.")), _part, "v1")
