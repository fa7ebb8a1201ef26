"""TensorFlow's names for classes that are drawn, and for losses over these classes instead of over all.

A sampler without repetition draws until it has enough classes; here, noise on the logarithms of the probabilities gives
these classes in their order at once.  The number of draws is then a sum of geometrically distributed numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
)
from dovetail.compat.tensorflow.names.nn import embedding_lookup
from dovetail.compat.tensorflow.names.random import key_of_draw
from dovetail.compat.tensorflow.names.variables import variable
from dovetail.compat.tensorflow.table import function, row
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of

LOWEST = float(np.finfo(np.float32).min)

# -- samplers ---------------------------------------------------------------------------------------------------------


def _sampled(
    title: str, true_classes: Any, num_sampled: int, unique: bool, probabilities: Any, seed: Any
) -> tuple[Any, Any, Any]:
    """Drawn classes, and how often the true and the drawn classes are expected among them."""
    count, probabilities = static_shape(probabilities)[0], ops.cast(probabilities, "float32")
    logs = ops.log(ops.maximum(probabilities, 1e-37))
    key = key_of_draw(title, seed, "int32", true_classes)
    if not unique:
        drawn = ops.random.categorical(key, logs[None], (num_sampled,))[0]
        return _with_counts(true_classes, drawn, lambda p: ops.multiply(p, float(num_sampled)), probabilities)
    _check_count(title, num_sampled, count)
    noise = ops.random.uniform(key, (count + num_sampled,), 1e-20, 1.0)
    drawn = ops.top_k(ops.subtract(logs, ops.log(ops.negative(ops.log(noise[:count])))), num_sampled)[1]
    found = ops.cumsum(ops.gather(probabilities, drawn), exclusive=True)
    repeated = ops.floor(ops.divide(ops.log(noise[count:]), ops.log(ops.clip(found, 1e-30, 1 - 1e-7))))
    draws = ops.add(float(num_sampled), ops.sum(repeated))
    return _with_counts(
        true_classes,
        drawn,
        lambda p: ops.negative(ops.expm1(ops.multiply(draws, ops.log1p(ops.negative(p))))),
        probabilities,
    )


def _check_count(title: str, num_sampled: int, count: int) -> None:
    if num_sampled > count:
        problem = f"there are {count} classes to draw, and not {num_sampled} different ones."
        raise op_error(ValueError, f"tf.{title}", problem)


def _with_counts(true_classes: Any, drawn: Any, expected: Callable[[Any], Any], probabilities: Any) -> Any:
    table = ops.minimum(probabilities, 1 - 1e-7)
    counts = (expected(ops.gather(table, classes)) for classes in (true_classes, drawn))
    return ops.cast(drawn, "int64"), *counts


def _uniform(count: int) -> np.ndarray:
    return np.full(count, 1 / count)


def _log_uniform(count: int) -> np.ndarray:
    return np.diff(np.log(np.arange(1, count + 2))) / np.log(count + 1)


def _sampler(kind: str, probabilities: Callable[[int], np.ndarray]) -> None:
    title = f"nn.{kind}_candidate_sampler"

    @function(f"random.{kind}_candidate_sampler {title}", scope=True)
    def sample(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: Any = None,
        name: str | None = None,
    ) -> Any:
        return _sampled(title, true_classes, num_sampled, unique, probabilities(int(range_max)), seed)

    sample.__doc__ = f"""Draw classes, and say how often each true and drawn class is expected among them.

    Source: `tf.random.{kind}_candidate_sampler`.
    """


for _kind, _probabilities in {"uniform": _uniform, "log_uniform": _log_uniform}.items():
    _sampler(_kind, _probabilities)


@function("random.fixed_unigram_candidate_sampler nn.fixed_unigram_candidate_sampler", scope=True)
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Draw classes by given counts.

    Args:
        vocab_file: a file of words with a count after the last comma of each line, instead of unigrams.
        distortion: the power to which counts are raised.
        num_reserved_ids: how many classes without a count come first, which are never drawn.

    Source: `tf.random.fixed_unigram_candidate_sampler`.
    """
    title = "tf.nn.fixed_unigram_candidate_sampler"
    if num_shards != 1 or shard != 0:
        raise op_error(NotImplementedError, title, "one process draws all classes: leave num_shards and shard out.")
    if vocab_file:
        with open(vocab_file, encoding="utf-8") as lines:
            unigrams = [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]
    weights = np.concatenate([np.zeros(num_reserved_ids), np.asarray(unigrams, "float64") ** distortion])
    if len(weights) != range_max:
        raise op_error(ValueError, title, f"there are counts of {len(weights)} classes, and range_max is {range_max}.")
    return _sampled(title[3:], true_classes, num_sampled, unique, weights / weights.sum(), seed)


@function("random.learned_unigram_candidate_sampler nn.learned_unigram_candidate_sampler", scope=True)
def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: Any = None,
    name: str | None = None,
) -> Any:
    """Draw classes by how often they were true in earlier runs, each counted once more.

    A variable of the graph, which is in no collection, keeps the counts.
    Outside of graphs, nothing is kept between calls.

    Source: `tf.random.learned_unigram_candidate_sampler`.
    """
    title, graph = "nn.learned_unigram_candidate_sampler", graph_mode.graph()
    if graph is None:
        return _sampled(title, true_classes, num_sampled, unique, _uniform(range_max), seed)
    counts = variable(np.ones(range_max, "float32"), trainable=False, name="unigrams", collections=[])
    counts.begins_alone = True
    shares = ops.divide(counts, ops.sum(counts))
    learned = counts.assign_add(ops.cast(ops.bincount(ops.reshape(true_classes, (-1,)), length=range_max), "float32"))
    with graph.control_dependencies([learned.op]):
        shares = ops.identity(shares)
    return _sampled(title, true_classes, num_sampled, unique, shares, seed)


@function("random.all_candidate_sampler nn.all_candidate_sampler", scope=True)
def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: Any = None, name: str | None = None
) -> Any:
    """All classes, each once.

    Source: `tf.random.all_candidate_sampler`.
    """
    ones = ops.ones_like(ops.convert(true_classes), "float32")
    return ops.arange(num_sampled, dtype="int64"), ones, ops.ones((num_sampled,))


@function("nn.compute_accidental_hits", scope=True)
def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: Any = None, name: str | None = None
) -> Any:
    """The places where drawn classes are true: the rows, the numbers of the drawn classes, and a very low number each.

    Source: `tf.nn.compute_accidental_hits`.
    """
    hits = ops.any(_are_equal(true_classes, sampled_candidates), 1)
    places = ops.positions(hits)
    rows, ids = ops.cast(places[:, 0], "int32"), ops.cast(places[:, 1], "int64")
    return rows, ids, ops.multiply(LOWEST, ops.ones_like(rows, "float32"))


def _are_equal(true_classes: Any, drawn: Any) -> Any:
    """Whether each true class is a drawn one, (batch, true classes, drawn classes)."""
    return ops.equal(ops.expand_dims(ops.cast(true_classes, "int64"), -1), drawn)


# -- losses -----------------------------------------------------------------------------------------------------------


def _logits(
    title: str,
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    seed: Any,
) -> tuple[Any, Any]:
    """The logits of the true classes, then of the drawn ones, and their labels."""
    labels = ops.cast(labels, "int64")
    if sampled_values is None:
        sampled_values = _sampled(title, labels, num_sampled, True, _log_uniform(num_classes), seed)
    drawn, *counts = map(ops.stop_gradient, sampled_values)
    drawn = ops.cast(drawn, "int64")

    def logits(classes: Any, expected: Any, product: str) -> Any:
        rows, shifts = (embedding_lookup(x, classes, None, partition_strategy) for x in (weights, biases))
        return ops.subtract(ops.add(ops.einsum(product, inputs, rows), shifts), ops.log(expected))

    true = logits(labels, counts[0], "bd,btd->bt")
    others = logits(drawn, counts[1], "bd,sd->bs")
    if remove_accidental_hits:
        others = ops.add(others, ops.multiply(LOWEST, ops.cast(ops.any(_are_equal(labels, drawn), 1), others.dtype)))
    is_true = ops.concatenate([ops.full_like(true, 1 / num_true), ops.zeros_like(others)], 1)
    return ops.concatenate([true, others], 1), is_true


def _loss(title: str, hits: bool, of: Callable[[Any, Any], Any], seeded: bool) -> None:
    """Add a loss over drawn classes.

    Args:
        hits: whether drawn classes that are true are left out by default.
        of: the loss by labels and logits.
        seeded: whether it takes a seed for the draws.
    """

    def compute(
        weights: Any,
        biases: Any,
        labels: Any,
        inputs: Any,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Any = None,
        remove_accidental_hits: bool = hits,
        partition_strategy: str = "div",
        seed: Any = None,
    ) -> Any:
        given = (num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits, partition_strategy, seed)
        logits, is_true = _logits(title, weights, biases, labels, inputs, *given)
        return of(is_true, logits)

    compute.__doc__ = f"""The loss of each sample over its true classes and some drawn ones.

    Args:
        weights, biases: of all classes; weights may come in parts.
        labels: the true classes, (batch, num_true).
        inputs: (batch, features).
        sampled_values: what a sampler gives; by default, log-uniform classes are drawn.
        remove_accidental_hits: whether drawn classes that are true count nothing.

    Source: `tf.{title}`.
    """
    common = "weights biases labels inputs num_sampled num_classes num_true sampled_values remove_accidental_hits"
    rest = "seed name" if seeded else "name"
    row(title, compute, f"{common} {rest}", v1=f"{common} partition_strategy='mod' name{' seed' if seeded else ''}")


_loss("nn.nce_loss", False, lambda y, z: ops.sum(sigmoid_cross_entropy_with_logits(y, z), 1), seeded=False)
_loss(
    "nn.sampled_softmax_loss",
    True,
    lambda y, z: softmax_cross_entropy_with_logits(ops.stop_gradient(y), z),
    seeded=True,
)

# -- sparse lookups ---------------------------------------------------------------------------------------------------

# combiner → the numbers of the weights that are summed up, and the divisor by their sum
COMBINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (lambda weights: ops.zeros_like(weights), lambda total: ops.ones_like(total)),
    "mean": (lambda weights: weights, lambda total: total),
    "sqrtn": (lambda weights: ops.square(weights), lambda total: ops.sqrt(total)),
}


def _lookup(
    title: str, params: Any, sp_ids: Any, weights: Any, combiner: str | None, max_norm: Any, strategy: str
) -> Any:
    """The rows of a table, combined for each row of sparse ids, and a function that sums up numbers of the ids."""
    if combiner not in (None, *COMBINERS):
        raise op_error(ValueError, f"tf.{title}", f"the combiner is {', '.join(COMBINERS)}, not {combiner!r}.")
    found = embedding_lookup(params, sp_ids.values, max_norm, strategy)
    inner = dims_of(found)[1:]

    def wide(x: Any) -> Any:
        return ops.reshape(x, [-1, *[1] * len(inner)])

    def total(x: Any) -> Any:
        return ops.tensor_scatter_add(ops.zeros([sp_ids.dims[0], *dims_of(x)[1:]], x.dtype), sp_ids.indices[:, :1], x)

    summed, divisor = COMBINERS[combiner or "mean"]
    weights = ops.ones_like(sp_ids.values, found.dtype) if weights is None else ops.cast(weights, found.dtype)
    below = divisor(total(wide(summed(weights))))
    result = ops.divide(total(ops.multiply(found, wide(weights))), ops.where(ops.equal(below, 0), 1.0, below))
    return result, lambda x: total(wide(ops.cast(x, found.dtype)))


def _embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: Any = None,
    partition_strategy: str = "div",
) -> Any:
    """Rows of a table, combined for each row of sparse ids.

    Args:
        combiner: "sum", "mean" by weights, the default, or "sqrtn": the sum over the root of the weights' squares.

    Source: `tf.nn.embedding_lookup_sparse`.
    """
    weights = None if sp_weights is None else sp_weights.values
    return _lookup("nn.embedding_lookup_sparse", params, sp_ids, weights, combiner, max_norm, partition_strategy)[0]


row(
    "nn.embedding_lookup_sparse",
    _embedding_lookup_sparse,
    "params sp_ids sp_weights combiner max_norm",
    v1="params sp_ids sp_weights partition_strategy='mod' name combiner max_norm",
)


def _safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    partition_strategy: str = "div",
) -> Any:
    """Rows of a table, combined for each row of sparse ids.

    Negative ids count nothing, nor do weights that are not positive.

    Args:
        default_id: the id of rows without others; by default, these give zeros.

    Source: `tf.nn.safe_embedding_lookup_sparse`.
    """
    ids, title = sparse_ids.values, "nn.safe_embedding_lookup_sparse"
    given = ops.ones_like(ids, "float32") if sparse_weights is None else sparse_weights.values
    is_kept = ops.greater_equal(ids, 0)
    if combiner != "sum":
        is_kept = ops.logical_and(is_kept, ops.greater(given, 0.0))
    weights = ops.where(is_kept, given, ops.zeros_like(given))
    kept = SparseTensor(sparse_ids.indices, ops.maximum(ids, 0), sparse_ids.dims)
    found, total = _lookup(title, embedding_weights, kept, weights, combiner, max_norm, partition_strategy)
    if default_id is None:
        return found
    other = embedding_lookup(embedding_weights, [default_id], max_norm, partition_strategy)
    return ops.where(ops.equal(total(is_kept), 0), other, found)


row(
    "nn.safe_embedding_lookup_sparse",
    _safe_embedding_lookup_sparse,
    "embedding_weights sparse_ids sparse_weights combiner default_id max_norm",
    v1="embedding_weights sparse_ids sparse_weights combiner default_id name partition_strategy max_norm",
)
