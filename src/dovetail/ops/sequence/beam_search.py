"""CTC beam search: the most probable labels that scores decode to.

The search goes through the times with the best beams so far.  A beam is some labels, with the probability of all paths
that give them.  At each time it keeps the beams that TensorFlow keeps, which are not always the best (see `_lost`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Float, Integer
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.control.flow import scan, while_loop
from dovetail.ops.linalg.products import matmul
from dovetail.ops.math.bitwise import logical_and, logical_not, logical_or
from dovetail.ops.math.compare import (
    equal,
    greater,
    greater_equal,
    less,
    maximum,
    minimum,
    not_equal,
    saturate_cast,
    where,
)
from dovetail.ops.math.exponential import logaddexp
from dovetail.ops.math.reduce import any, argmax, max, sum
from dovetail.ops.nn.softmax import log_softmax
from dovetail.ops.samples import array, sample
from dovetail.ops.sequence.ctc import IMPOSSIBLE, before, check_scores, packed
from dovetail.ops.shapes.create import full, iota
from dovetail.ops.shapes.index import gather, take_along_axis, tensor_scatter_update
from dovetail.ops.shapes.join import concatenate, stack
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, expand_dims, reshape, transpose, wide
from dovetail.ops.shapes.sort import top_k


class _Beams(NamedTuple):
    """The beams of each sample, best first: some labels, and the probability of the paths that give them so far.

    Attributes:
        labels: (batch, beams, time), with -1 after the last one.
        count: the number of labels of a beam, (batch, beams).
        last: the last label of a beam, -1 for none, (batch, beams).
        ends_blank, ends_label: the logarithm of the probability of all paths that end with a blank, or with the last
            label, (batch, beams).
        extends: whether beam i begins with all labels of beam j, (batch, beams i, beams j).
    """

    labels: Any
    count: Any
    last: Any
    ends_blank: Any
    ends_label: Any
    extends: Any

    @property
    def total(self) -> Any:
        return logaddexp(self.ends_blank, self.ends_label)

    def picked(self, places: Any) -> _Beams:
        """The beams at the places (batch, beams)."""
        picked = _Beams(*(gather(x, places, axis=1, batch_dims=1) for x in self))
        return picked._replace(extends=_elements(picked.extends, places))


def _elements(x: Any, places: Any) -> Any:
    """The elements of `x` (batch, beams, n) at places (batch, k) along the last axis, the same for all beams."""
    batch, beams, n = dims_of(x)
    rows = reshape(iota((batch * beams,), places.dtype) * n, (batch, beams, 1))
    return gather(reshape(x, (-1,)), rows + expand_dims(places, 1))


def _beam_spec(
    inputs: RankedSpec, lengths: RankedSpec, beam_width: int, top_paths: int, merge_repeated: bool, mask_index: int
) -> list[TensorSpec]:
    check_scores(inputs, lengths, mask_index=mask_index)
    if not 1 <= top_paths <= beam_width:
        raise ValueError(
            f"top_paths must be between 1 and beam_width, but they are {top_paths} and {beam_width}; more beams are "
            "needed for more paths."
        )
    batch, times, _ = inputs.shape
    return [TensorSpec((top_paths, batch, times), ALL["int32"]), TensorSpec((batch, top_paths), inputs.dtype)]


@composite(
    "CTCBeamSearchDecoder",
    cost="recurrent",
    infer=_beam_spec,
    differentiable=False,
    samples=[
        sample(array(2, 5, 3), [5, 3], beam_width=4, top_paths=2),
        sample(array(1, 4, 4), [4], beam_width=20, top_paths=1, merge_repeated=False, mask_index=-1),
        sample(array(2, 3, 2), [0, 1], beam_width=3, top_paths=3),
    ],
)
def ctc_beam_search_decode(
    inputs: Float,
    sequence_lengths: Integer,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int = 0,
) -> tuple[Tensor, ...]:
    """The most probable labels, over all paths that give them, as a beam search finds them.

    Args:
        inputs: the scores, (batch, time, classes); their softmax gives the classes' probabilities.
        sequence_lengths: the number of time steps of each sample, (batch,).
        beam_width: how many different sequences of labels the search keeps from one time to the next.
        top_paths: how many sequences to return, at most `beam_width`.
        merge_repeated: whether equal labels in a row become one in the result, also with a blank between them.
        mask_index: the number of the blank class; -1 for the last one.

    Returns:
        The labels, int32 of shape (top_paths, batch, time), best first, with -1 after the last one.
        The logarithms of their probabilities, (batch, top_paths).  A sample that is too short for `top_paths` sequences
        has minus infinity and empty labels for the rest.

    Raises:
        ValueError: the shapes do not fit, or `top_paths` is not in 1 … `beam_width`.

    Source: `tf.compat.v1.nn.ctc_beam_search_decoder`; Graves, "Supervised sequence labelling with recurrent neural
    networks", 2012.

    Example:
        >>> import numpy as np
        >>> p = [[[0.7, 0.3], [0.6, 0.4]]]  # nothing has 0.42, [1] all the rest
        >>> labels, logs = ctc_beam_search_decode(np.log(p), [2], beam_width=2, top_paths=2)
        >>> labels.numpy().tolist(), np.exp(logs.numpy()).round(2).tolist()
        ([[[1, -1]], [[-1, -1]]], [[0.58, 0.42]])
    """
    batch, times, classes = dims_of(inputs)
    lengths = saturate_cast(sequence_lengths, "int32")
    logs = transpose(log_softmax(wide(inputs)), (1, 0, 2))
    blank = mask_index % classes

    def step(beams: Any, slices: Any) -> tuple[Any, None]:
        time, log = slices
        goes_on = less(time, lengths)
        steps = zip(_advanced(_Beams(*beams), log, blank), beams, strict=True)
        return [where(reshape(goes_on, (-1, *[1] * (len(a.shape) - 1))), a, b) for a, b in steps], None

    first = _first(batch, beam_width, times, logs.dtype)
    last, _ = scan(step, list(first), (iota((times,)), logs))
    best = _Beams(*(x[:, :top_paths] for x in last))
    is_possible = greater(best.total, IMPOSSIBLE)
    labels = transpose(where(expand_dims(is_possible, -1), best.labels, -1), (1, 0, 2))
    if merge_repeated:
        labels = packed(labels, not_equal(labels, before(labels)))
    return labels, cast(best.total, inputs.dtype)


def _first(batch: Any, width: int, times: Any, dtype: Any) -> _Beams:
    """One beam without labels, of probability 1, and others of probability 0."""
    is_first = equal(iota((width,)), 0)
    return _Beams(
        labels=full((batch, width, times), -1, "int32"),
        count=full((batch, width), 0, "int32"),
        last=full((batch, width), -1, "int32"),
        ends_blank=broadcast_to(cast(where(is_first, 0.0, IMPOSSIBLE), dtype), (batch, width)),
        ends_label=full((batch, width), IMPOSSIBLE, dtype),
        extends=broadcast_to(logical_and(expand_dims(is_first, 1), is_first), (batch, width, width)),
    )


def _advanced(beams: _Beams, log: Any, blank: Any) -> _Beams:
    """The beams one time later; `log` has the logarithms of the classes' probabilities, (batch, classes).

    A blank, or its last label once more, leaves a beam as it is; another label extends it.  If the extension is
    another beam, that beam gets the probability.
    """
    batch, classes = dims_of(log)
    width = dims_of(beams.count)[1]
    total = beams.total
    # Beam i is beam j and one label more.
    is_child = logical_and(beams.extends, equal(expand_dims(beams.count, 2), expand_dims(beams.count, 1) + 1))
    repeats = equal(expand_dims(beams.last, 2), expand_dims(beams.last, 1))
    from_parent = where(repeats, expand_dims(beams.ends_blank, 1), expand_dims(total, 1))
    from_parent = max(where(is_child, from_parent, IMPOSSIBLE), 2)
    log_of_last = take_along_axis(log, maximum(beams.last, 0), 1)
    stays = beams._replace(
        ends_blank=total + expand_dims(gather(log, blank, axis=1), 1),
        ends_label=logaddexp(beams.ends_label, from_parent) + log_of_last,
    )
    # The results of beam i with each class after it, unless the result is a beam already.
    label = reshape(iota((classes,), "int32"), (1, 1, -1))
    repeated = equal(label, expand_dims(beams.last, 2))
    extended = where(repeated, expand_dims(beams.ends_blank, 2), expand_dims(total, 2)) + expand_dims(log, 1)
    parent = where(any(is_child, 2), cast(argmax(cast(is_child, "int32"), 2), "int32"), -1)
    extended = _without_children(where(equal(label, blank), IMPOSSIBLE, extended), parent, beams.last, blank)
    lost = _lost(total, stays.total, extended, parent, beams.last)
    extended = where(expand_dims(lost, 2), IMPOSSIBLE, extended)
    candidates = concatenate([stays.total, reshape(extended, (batch, width * classes))], 1)
    score, chosen = top_k(candidates, width)
    is_new = greater_equal(chosen, width)
    place = where(is_new, (chosen - width) // classes, chosen)
    return _extended(stays.picked(place), is_new, where(is_new, (chosen - width) % classes, -1), score)


def _without_children(extended: Any, parent: Any, last: Any, blank: int) -> Any:
    """Remove the extensions that are beams; a beam that is no extension removes a blank, which is impossible anyway."""
    has_parent = greater_equal(parent, 0)
    sample_number = broadcast_to(expand_dims(iota(dims_of(last)[:1], "int32"), 1), dims_of(last))
    where_from = stack([sample_number, maximum(parent, 0), where(has_parent, last, blank)], 2)
    return tensor_scatter_update(extended, where_from, full(dims_of(last), IMPOSSIBLE, extended.dtype))


def _lost(was: Any, stays: Any, extended: Any, parent: Any, last: Any) -> Any:
    """Whether each beam is lost before its turn comes, and so not extended.

    TensorFlow extends the beams in turn, best first, class by class, and keeps the best results so far.  If a beam is
    no longer among these when its parent comes to its class, it is lost, and not extended in its turn.
    A beam that was no better than all kept results does not come to its classes at all.

    Args:
        was: the logarithms of the probabilities one time ago, (batch, beams).
        stays: the logarithms for the unextended beams, (batch, beams).
        extended: the logarithms for each beam with each class, (batch, beams, classes).
        parent: the beam that each beam extends, -1 for none, (batch, beams).
        last: the class by which each beam extends its parent, (batch, beams).

    Returns:
        bool (batch, beams).
    """
    width = dims_of(parent)[1]
    number = iota((width,), "int32")
    above, above_by = _better(greater, stays, stays, extended, parent)
    above_was, above_was_by = _better(greater_equal, was, stays, extended, number)
    siblings = gather(extended, maximum(parent, 0), axis=1, batch_dims=1)
    earlier = less(iota(dims_of(extended)[2:], "int32"), expand_dims(last, 2))
    above = above + _count(logical_and(earlier, greater(siblings, expand_dims(stays, 2))))
    after_parent = logical_and(greater_equal(parent, 0), less(parent, number))
    above_by, above_was_by = cast(above_by, "float32"), cast(above_was_by, "float32")  # for products

    def follows(lost: Any) -> Any:
        """The beams that are lost if these are; whether a beam is lost follows from beams before it alone."""
        extends = expand_dims(cast(logical_not(lost), "float32"), 2)
        comes = logical_and(less(above_was + _column(above_was_by, extends), width), logical_not(lost))
        is_out = greater_equal(above + _column(above_by, extends), width)
        return logical_and(logical_and(after_parent, is_out), take_along_axis(comes, maximum(parent, 0), 1))

    none = full(dims_of(parent), False)
    lost, _ = while_loop(
        lambda lost, if_lost: any(not_equal(lost, if_lost)),
        lambda lost, _: (follows(lost), lost),
        (none, logical_not(none)),
    )
    return lost


def _better(compare: Callable[..., Any], than: Any, stays: Any, extended: Any, until: Any) -> tuple[Any, Any]:
    """The numbers of results that are better than numbers (batch, n).

    Returns:
        The number of better unextended beams, (batch, n).
        The number of better extensions of each beam that comes before the beam `until`, (batch, n, beams).
    """
    _, width, classes = extended.shape
    if width is not None and classes is not None and width < classes:
        extended = top_k(extended, width)[0]  # whether more than `width` are better never matters
    comes_before = less(iota(dims_of(stays)[1:], "int32"), expand_dims(until, -1))
    counts = _count(compare(expand_dims(extended, 3), expand_dims(expand_dims(than, 1), 1)), 2)  # along rows of memory
    counts = where(comes_before, transpose(counts, (0, 2, 1)), 0)
    return _count(compare(expand_dims(stays, 1), expand_dims(than, 2))), counts


def _column(matrix: Any, column: Any) -> Any:
    """The sum of each row of a matrix over the elements for which a column has a 1."""
    return cast(reshape(matmul(matrix, column), dims_of(matrix)[:2]), "int32")


def _count(x: Any, axis: int = -1) -> Any:
    """The number of True elements along an axis, counted in bytes if they suffice, since memory takes the time."""
    most = x.shape[axis]
    return cast(sum(cast(x, "int8" if most is not None and most < 128 else "int32"), axis), "int32")


def _extended(beams: _Beams, is_new: Any, label: Any, total: Any) -> _Beams:
    """The beams, with one more label if they are new; `total` has the logarithms of all probabilities."""
    times = dims_of(beams.labels)[2]
    is_end = equal(iota((times,), "int32"), expand_dims(beams.count, 2))
    labels = where(logical_and(is_end, expand_dims(is_new, 2)), expand_dims(label, 2), beams.labels)
    # Beam i begins with the labels of a new beam j if it began with all labels of j except the last, and has it there.
    there = _elements(labels, minimum(beams.count, times - 1))
    begins = logical_or(logical_not(expand_dims(is_new, 1)), equal(there, expand_dims(label, 1)))
    alive = greater(total, IMPOSSIBLE)
    both_alive = logical_and(expand_dims(alive, 2), expand_dims(alive, 1))
    return _Beams(
        labels=labels,
        count=beams.count + cast(is_new, "int32"),
        last=where(is_new, label, beams.last),
        ends_blank=where(is_new, IMPOSSIBLE, beams.ends_blank),
        ends_label=where(is_new, total, beams.ends_label),
        extends=logical_and(logical_and(beams.extends, begins), both_alive),
    )
