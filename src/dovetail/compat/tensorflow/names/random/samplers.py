"""TensorFlow's names for classes that are drawn, and for losses over these classes instead of over all.

A sampler without repetition draws until it has enough classes; here, noise on the logarithms of the probabilities gives
these classes in their order at once.  The number of draws is then a sum of geometrically distributed numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names import old_words
from dovetail.compat.tensorflow.names.nn.embeddings import embedding_lookup
from dovetail.compat.tensorflow.names.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
)
from dovetail.compat.tensorflow.names.random.draws import key_of_draw
from dovetail.compat.tensorflow.names.variables.variables import variable
from dovetail.compat.tensorflow.table import function, row, takes
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape

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
    passed = ops.cumsum(ops.gather(probabilities, drawn), exclusive=True)
    repeated = ops.floor(ops.divide(ops.log(noise[count:]), ops.log(ops.clip(passed, 1e-30, 1 - 1e-7))))
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


def _sampler(kind: str, more: str = "") -> Callable[[Callable[..., Any]], None]:
    """Decorator: add a sampler, by the probabilities of classes.

    Args:
        kind: the first word of its name.
        more: its own parameters after `range_max`.
    """
    title = f"nn.{kind}_candidate_sampler"

    def decorate(probabilities: Callable[..., Any]) -> None:
        @takes(f"true_classes num_true num_sampled unique range_max {more} seed=None name=None")
        def sample(given: Any) -> Any:
            chances = probabilities(given)
            return _sampled(title, given.true_classes, given.num_sampled, given.unique, chances, given.seed)

        sample.__doc__ = f"""Draw classes, and say how often each true and drawn class is expected among them.

        {probabilities.__doc__}

        Source: `tf.random.{kind}_candidate_sampler`.
        """
        function(f"random.{title[3:]} {title}", scope=True)(sample)

    return decorate


@_sampler("uniform")
def uniform(given: Any) -> Any:
    """All classes are drawn equally often."""
    return _uniform(int(given.range_max))


@_sampler("log_uniform")
def log_uniform(given: Any) -> Any:
    """The first classes are drawn most often: the probability of a class is that of words by their rank."""
    return _log_uniform(int(given.range_max))


@_sampler("fixed_unigram", "vocab_file='' distortion=1.0 num_reserved_ids=0 num_shards=1 shard=0 unigrams=()")
def fixed_unigram(given: Any) -> Any:
    """The classes are drawn by given counts.

    Args:
        vocab_file: a file of words with a count after the last comma of each line, instead of unigrams.
        distortion: the power to which counts are raised.
        num_reserved_ids: how many classes without a count come first, which are never drawn.
    """
    title, counts = "tf.nn.fixed_unigram_candidate_sampler", given.unigrams
    if given.num_shards != 1 or given.shard != 0:
        raise op_error(NotImplementedError, title, "one process draws all classes: leave num_shards and shard out.")
    if given.vocab_file:
        with open(given.vocab_file, encoding="utf-8") as lines:
            counts = [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]
    weights = np.concatenate([np.zeros(given.num_reserved_ids), np.asarray(counts, "float64") ** given.distortion])
    if len(weights) != given.range_max:
        problem = f"there are counts of {len(weights)} classes, and range_max is {given.range_max}."
        raise op_error(ValueError, title, problem)
    return weights / weights.sum()


@_sampler("learned_unigram")
def learned_unigram(given: Any) -> Any:
    """The classes are drawn by how often they were true in earlier runs, each counted once more.

    A variable of the graph, which is in no collection, keeps the counts.
    Outside of graphs, nothing is kept between calls.
    """
    graph, size = graph_mode.graph(), given.range_max
    if graph is None:
        return _uniform(size)
    counts = variable(np.ones(size, "float32"), trainable=False, name="unigrams", collections=[])
    counts.begins_alone = True
    shares = ops.divide(counts, ops.sum(counts))
    new = ops.bincount(ops.reshape(given.true_classes, (-1,)), length=size)
    with graph.control_dependencies([counts.assign_add(ops.cast(new, "float32")).op]):
        return ops.identity(shares)


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


def _loss(title: str, hits: bool, of: Callable[[Any, Any], Any], own: str = "") -> None:
    """Add a loss over drawn classes.

    Args:
        hits: whether drawn classes that are true are left out by default.
        of: the loss by labels and logits.
        own: the last parameter, if the others do not have it.
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
        labels = ops.cast(labels, "int64")
        if sampled_values is None:
            sampled_values = _sampled(title, labels, num_sampled, True, _log_uniform(num_classes), seed)
        drawn, *counts = map(ops.stop_gradient, sampled_values)
        drawn = ops.cast(drawn, "int64")

        def logits(classes: Any, expected: Any, product: str) -> Any:
            rows, shifts = (embedding_lookup(x, classes, None, partition_strategy) for x in (weights, biases))
            return ops.subtract(ops.add(ops.einsum(product, inputs, rows), shifts), ops.log(expected))

        true, others = logits(labels, counts[0], "bd,btd->bt"), logits(drawn, counts[1], "bd,sd->bs")
        if remove_accidental_hits:
            is_hit = ops.cast(ops.any(_are_equal(labels, drawn), 1), others.dtype)
            others = ops.add(others, ops.multiply(LOWEST, is_hit))
        is_true = ops.concatenate([ops.full_like(true, 1 / num_true), ops.zeros_like(others)], 1)
        return of(is_true, ops.concatenate([true, others], 1))

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
    v1 = f"{common} partition_strategy='mod' name {own}"
    row(title, compute, f"{common} {own}", v1=v1, around_v1=old_words.inputs_third)


_loss("nn.nce_loss", False, lambda y, z: ops.sum(sigmoid_cross_entropy_with_logits(y, z), 1))
_loss(
    "nn.sampled_softmax_loss",
    True,
    lambda y, z: softmax_cross_entropy_with_logits(ops.stop_gradient(y), z),
    "seed",
)
