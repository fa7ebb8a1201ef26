"""Costs: the work of a graph, and the predicted times of engines."""

from __future__ import annotations

import math

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose import costs, rates
from dovetail.choose.costs import TURNS, Corrections, work_of
from dovetail.core.base.table import OPS


def graph_of(function, *shapes):
    return dt.function(function).graph(*map(dt.spec, shapes))


def conv(**options):
    return lambda x, k: ops.conv(x, k, padding="same", **options)


WORK = {
    "product": (lambda x, y: x @ y, [(8, 16), (16, 4)], "product", 2 * 8 * 16 * 4),
    "batched product": (lambda x, y: x @ y, [(3, 8, 16), (3, 16, 4)], "product", 2 * 3 * 8 * 16 * 4),
    "convolution": (conv(), [(2, 6, 6, 16), (3, 3, 16, 8)], "convolution", 2 * 2 * 6 * 6 * 8 * 9 * 16),
    "few channels": (conv(), [(2, 6, 6, 3), (3, 3, 3, 8)], "thin", 2 * 2 * 6 * 6 * 8 * 9 * 3),
    "few filters": (conv(), [(2, 6, 6, 16), (3, 3, 16, 5)], "thin", 2 * 2 * 6 * 6 * 5 * 9 * 16),
    "strides": (conv(strides=(1, 2)), [(2, 6, 6, 16), (3, 3, 16, 8)], "strided", 2 * 2 * 6 * 3 * 8 * 9 * 16),
    "unit": (conv(), [(2, 6, 6, 16), (1, 1, 16, 5)], "unit", 2 * 2 * 6 * 6 * 5 * 16),
    "each channel": (conv(), [(2, 6, 6, 8), (3, 3, 1, 8)], "depthwise", 2 * 2 * 6 * 6 * 8 * 9),
    "channels first": (conv(data_format="channels_first"), [(2, 8, 6, 6), (3, 3, 1, 8)], "depthwise", 2 * 576 * 9),
    "elementwise": (lambda x: ops.tanh(x), [(10, 10)], "map", 2 * 100 * 4),
    "sum": (lambda x: ops.sum(x), [(10, 10)], "reduction", 101 * 4),
    "unknown dimensions": (lambda x: ops.tanh(x), [(None, 10)], "map", 2 * 10 * costs.UNKNOWN * 4),
}


@pytest.mark.parametrize("name", WORK)
def test_work(name):
    function, shapes, family, amount = WORK[name]
    launches = {"launches": 1.0} if family in costs.CONVOLUTIONS else {}
    assert work_of(graph_of(function, *shapes)) == {family: pytest.approx(amount), "ops": 1.0, **launches}


def gradients_of(function, watched):
    """A function that returns the gradients of another one by some of its arguments."""

    def gradients(*given):
        with dt.GradientTape() as tape:
            tape.watch(list(given))
            y = ops.sum(function(*given))
        return tape.gradient(y, [given[i] for i in watched])

    return gradients


def test_gradients_of_convolutions_are_as_much_work():
    shapes = (2, 6, 6, 16), (3, 3, 16, 5)
    forward, of_both = (work_of(graph_of(f, *shapes)) for f in (conv(), gradients_of(conv(), [0, 1])))
    amounts = of_both["thin"], of_both["filter"], of_both["launches"]
    assert amounts == (2 * forward["thin"], forward["thin"], 3)  # the convolution itself is among them


def test_work_that_nothing_needs_does_not_count():
    """The gradient by an image is no part of a training step; a pass removes it before the graph runs."""
    shapes = (2, 6, 6, 16), (3, 3, 16, 5)
    found = work_of(graph_of(gradients_of(conv(), [1]), *shapes))
    assert found["thin"] == found["filter"] == work_of(graph_of(conv(), *shapes))["thin"]


def test_gradients_of_recurrent_layers_are_twice_the_work():
    shapes = [(3, 5, 4), (3, 2), (4, 6), (2, 6), (2, 6)]
    forward = work_of(graph_of(ops.gru, *shapes))
    both = work_of(graph_of(gradients_of(lambda *given: ops.gru(*given)[0], range(5)), *shapes))
    assert 3 * forward["recurrent"] <= both["recurrent"] < 4 * forward["recurrent"]
    assert (forward["steps"], both["steps"]) == (5, 15)


def test_gradients_of_pools_are_a_family():
    found = work_of(graph_of(gradients_of(lambda x: ops.max_pool(x, 2), [0]), (2, 6, 6, 4)))
    assert found["unpool"] == 4 * (2 * 2 * 6 * 6 * 4 + 2 * 3 * 3 * 4)


def test_loops_count_their_turns():
    def looped(x):
        return ops.scan(lambda carry, row: (carry + row, ops.tanh(row)), ops.zeros(4), x)[1]

    found = work_of(graph_of(looped, (25, 4)))
    assert found["turns"] == 2 * 25 and found["map"] >= 25 * 2 * 2 * 4 * 4


def test_a_loop_of_unknown_length_counts_a_guess():
    """Check that a table whose rows are like another input is no sequence that the loop takes in slices."""

    def looped(x, table):
        return ops.while_loop(lambda y: ops.sum(y) > 0.0, lambda y: ops.tanh(y + table[3]), x)

    found = work_of(graph_of(looped, (4,), (1000, 4)))
    assert 2 * TURNS <= found["turns"] <= 5 * TURNS


@pytest.mark.parametrize(
    ("function", "size"),
    [
        (lambda x: x[3:5], 2 * 10),
        (lambda x: ops.gather(x, 3), 10),
        (lambda x: ops.slice_update(x, [1, 0], ops.zeros((2, 10))), 2 * 10),
        (lambda x: ops.tensor_scatter_add(x, [[3]], ops.zeros((1, 10))), 10),
    ],
    ids=["slice", "gather", "update", "scatter"],
)
def test_a_part_costs_its_own_bytes(function, size):
    assert work_of(graph_of(function, (1000, 10)))["map"] == pytest.approx(2 * 4 * size, abs=4 * size)


# The families of ops other than "map" and "move".
FAMILIES = """
convolution: Conv1D Conv1DBackpropFilter Conv1DBackpropInput Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D
    Conv3DBackpropFilter Conv3DBackpropInput LocalConv
optimizer: AdamStep SgdStep
product: Cholesky Cofactors Eig Einsum EuclideanNorm LogMatrixDeterminant Lu MatMul MatrixDeterminant
    MatrixExponential MatrixInverse MatrixSolve MatrixSquareRoot MatrixTriangularSolve PNorm Pinv Qr
    ScaledDotProductAttention SelfAdjointEigV2 Svd
random: StatelessRandomBinomial StatelessRandomGammaV2 StatelessRandomNormal StatelessRandomPoisson
    StatelessRandomUniform StatelessRandomUniformFullInt
recurrent: CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss GRU GRUGrad GRUResetBefore GRUResetBeforeGrad LSTM LSTMGrad
reduction: All AllClose Any ArgMax ArgMin Average BatchNormalization BiasAdd CosineSimilarity CountNonzero Cumprod
    Cumsum CumulativeLogsumexp Diff Hinge Huber L2Normalize LayerNormalization LayerNormalizationGrad LinearRecurrence
    LogCosh LogSoftmax LogSoftmaxGrad LogSumExp Max Mean MeanAbsoluteError MeanSquaredError Median Min Moments Prod
    Quantile RmsNormalization SigmoidCrossEntropyWithLogits Softmax SoftmaxCrossEntropyWithLogits SoftmaxGrad
    SparseSoftmaxCrossEntropyWithLogits StandardDeviation Sum Variance
unpool: AvgPool1DGrad AvgPool3DGrad AvgPoolGrad MaxPool1DGrad MaxPool1DGradGrad MaxPool3DGrad MaxPool3DGradGrad
    MaxPoolGrad MaxPoolGradGrad
window: AvgPool AvgPool1D AvgPool3D MaxPool MaxPool1D MaxPool3D OverlapAdd SlidingWindows
"""


def test_ops_have_these_families():
    """Check the table: an op that moves between families changes what `auto` predicts."""
    lines = (line.partition(":")[::2] for line in FAMILIES.replace("\n    ", " ").strip().splitlines())
    known = {name: family for family, names in lines for name in names.split()}
    found = {name: op.cost for name, op in OPS.items() if op.cost not in ("map", "move") and not op.is_users}
    assert found == known
    assert OPS["Reshape"].cost == OPS["If"].cost == "move" and OPS["Tanh"].cost == "map"


def test_each_engine_knows_each_family():
    for op in OPS.values():
        for engines in rates.TABLES.values():
            for each in engines.values():
                assert op.cost == "move" or op.cost in each.work, op.name


def test_measurements_correct_predictions():
    known, work = Corrections(), {"product": 1e9, "map": 1e3, "ops": 2.0}
    before = known.predict("numpy", work)
    known.learn("numpy", work, 4 * math.exp(before.mean))
    after = known.predict("numpy", work)
    assert math.exp(after.mean - before.mean) == pytest.approx(4, rel=0.05) and after.spread < before.spread
    assert known.predict("torch", work) == Corrections().predict("torch", work)
    other = {"reduction": 1e9, "ops": 1.0}
    assert known.predict("numpy", other) == Corrections().predict("numpy", other)


def test_an_engine_of_another_package_has_an_estimate():
    assert math.isfinite(Corrections().predict("abacus", {"map": 1e6, "ops": 1.0}).seconds)


def test_a_larger_graph_takes_longer_to_build():
    seconds = [Corrections().start_seconds("jax", {"ops": count}) for count in (1.0, 100.0)]
    assert 0 < seconds[0] < seconds[1]


def test_start_costs_are_learned():
    known, work = Corrections(), {"ops": 10.0}
    known.learn_build("jax", work, 3.0)
    assert known.build_seconds("jax", work) == pytest.approx(3.0)
    known.learn_build("jax", work, 0.0)
    assert 0 < known.build_seconds("jax", work) < 1.0
    known.learn_load("jax", 0.0, 5.0)  # it was loaded already
    assert ("jax", costs.LOAD) not in known.factors
    known.learn_load("jax", 2.0, 4.0)
    assert known.factors["jax", costs.LOAD] == pytest.approx(math.log(2))
    assert known.build_seconds("torch", work) == Corrections().build_seconds("torch", work)
