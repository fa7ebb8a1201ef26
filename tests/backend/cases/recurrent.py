"""Cases of loops over time: all combinations of options, then kinds of inputs, states and outputs, then errors."""

import itertools

import numpy as np

from dovetail.ops.samples import array
from tests.backend.parity import program

KNOWN = ("eager", "compiled")  # the number of steps must be known
BATCH, TIME, SIZE = 2, 3, 4
X, Y = array(BATCH, TIME, SIZE), array(BATCH, TIME, SIZE)
H, G, W = array(BATCH, SIZE), array(BATCH, SIZE), array(SIZE)
MASK = np.array([[True, True, False], [False, True, False]])
LENGTHS = np.array([3, 1], "int32")


def cell(K):
    def step(x, states):
        h, count, w = states
        new = K.sin(x + h * w)
        return 2.0 * new, [new, count + 1]

    return step


def run(K, x, h, w, mask=None, time_major=False, **options):
    """The cell over all steps, with a constant and an integer state that counts."""
    if time_major:
        x, mask = K.permute_dimensions(x, (1, 0, 2)), mask if mask is None else K.transpose(mask)
    count = K.cast(K.zeros_like(h[:, :1]), "int32")
    return K.rnn(cell(K), x, [h, count], mask=mask, constants=[w], time_major=time_major, **options)


def named(options):
    return " ".join(f"{name}={value}" for name, value in options.items())


def combinations():
    """Every combination of the options that are flags, with a mask, lengths, or neither."""
    flags = ("go_backwards", "unroll", "time_major", "return_all_outputs")
    for values in itertools.product([False, True], repeat=len(flags)):
        options = dict(zip(flags, values, strict=True))
        ways = KNOWN if options["unroll"] else ("eager", "compiled", "symbolic")

        def plain(K, x, h, w, options=options):
            return run(K, x, h, w, **options)

        def with_length(K, x, h, w, lengths, options=options):
            return run(K, x, h, w, input_length=lengths, **options)

        yield program(f"rnn {named(options)}", plain, X, H, W, ways=ways)
        yield program(f"rnn lengths {named(options)}", with_length, X, H, W, LENGTHS, ways=ways)
        for zero in (False, True):

            def masked(K, x, h, w, mask, options=options, zero=zero):
                return run(K, x, h, w, mask, zero_output_for_mask=zero, **options)

            text = f"rnn zero_output_for_mask={zero} {named(options)}"
            yield program(text, masked, X, H, W, MASK, ways=ways, **_differing(zero, **options))


def _differing(zero, go_backwards, unroll, time_major, return_all_outputs):
    """The attributes of a case in which the oracle fails, or puts zeros at other steps than the masked ones."""
    if not (zero and unroll and (go_backwards or not return_all_outputs)):
        return {}

    def expected(x, h, w, mask):
        outputs, count = [], np.zeros((BATCH, 1), "int32")
        for t in reversed(range(TIME)) if go_backwards else range(TIME):
            new, keep = np.sin(x[:, t] + h * w), mask[:, t, None]
            h, count = np.where(keep, new, h), np.where(keep, count + 1, count)
            outputs.append(np.where(keep, 2 * new, 0))
        last = outputs[-1]
        return last, np.stack(outputs if return_all_outputs else [last], 0 if time_major else 1), h, count

    return {
        "expected": expected,
        "differs": "`zero_output_for_mask` works with `unroll` as without.",
    }


# -- inputs, states and outputs ---------------------------------------------------------------------------------------


def adds(x, states):
    return x + states[0], [x + states[0]]


def simple(name, *arrays, ways=("eager", "compiled", "symbolic"), **options):
    """A sum over time, with options of the call or of the case."""
    case_options = {k: options.pop(k) for k in ("raises", "differs", "expected") if k in options}
    return program(
        f"rnn {name}", lambda K, x, *rest: K.rnn(adds, x, list(rest), **options), *arrays, ways=ways, **case_options
    )


def pair(K, x, y, h, unroll=False, mask=None):
    return K.rnn(lambda xs, states: (xs[0] * xs[1], [states[0] + xs[1]]), [x, y], [h], unroll=unroll, mask=mask)


def nested(K, x, h, g, unroll=False, mask=None):
    def step(x, states):
        (a, b), c = states
        return a + c, [[a + x, b - x], c * 0.5]

    return K.rnn(step, x, [[h, g], h], unroll=unroll, mask=mask)


def dict_in_and_out(K, x, h, unroll=False):
    def step(x, states):
        return {"sum": x["a"] + x["b"], "state": states[0]}, [states[0] + 1]

    return K.rnn(step, {"a": x, "b": 2 * x}, [h], unroll=unroll)


def expected_dicts(x, h):
    states = h[:, None] + np.arange(TIME + 1, dtype="float32")[:, None]
    last = {"state": states[:, -2], "sum": 3 * x[:, -1]}
    return last, {"state": states[:, :-1], "sum": 3 * x}, states[:, -1]


def per_sample(K, x, h, mask):
    """Outputs and states of one axis."""
    return K.rnn(lambda x, states: (x[:, 0], [states[0] + 1]), x, [h[:, 0]], mask=mask)


def expected_per_sample(x, h, mask):
    outputs, previous = [], np.zeros(BATCH, "float32")
    for t in range(TIME):
        previous = np.where(mask[:, t], x[:, t, 0], previous)
        outputs.append(previous)
    return previous, np.stack(outputs, 1), h[:, 0] + mask.sum(1).astype("float32")


def counts(K, x, unroll=False):
    """A state that is a Python number, in a list of one."""
    last, outputs, states = K.rnn(lambda x, states: (x, [states[0] + 1]), x, [0], unroll=unroll)
    return last, outputs, [K.cast(s, "int32") for s in states]


def images(K, x, mask):
    """Inputs with more than three axes, and a mask."""
    return K.rnn(lambda x, states: (x * 2, [states[0] + x]), x, [K.zeros_like(x[:, 0])], mask=mask)


OF_ALL_KINDS = [
    simple("sum", X, H),
    simple("float64", array(2, 3, 4, dtype="float64"), array(2, 4, dtype="float64")),
    simple("int32", np.arange(24, dtype="int32").reshape(2, 3, 4), np.ones((2, 4), "int32")),
    simple("one step", array(2, 1, 4), H),
    simple("empty batch", array(0, 3, 4), array(0, 4)),
    simple("NaN and infinite", np.array([[[np.nan, 1], [np.inf, 2], [-np.inf, 3]]], "float32"), array(1, 2)),
    simple("length is an int", X, H, input_length=2),
    simple("length is a scalar tensor", X, H, input_length=np.int32(2)),
    program("rnn no states", lambda K, x: K.rnn(lambda x, states: (x * 2, []), x, []), X),
    program("rnn no states, mask", lambda K, x, m: K.rnn(lambda x, states: (x * 2, []), x, [], mask=m), X, MASK),
    program("rnn mask of 3 axes", lambda K, x, h, m: K.rnn(adds, x, [h], mask=K.expand_dims(m)), X, H, MASK),
    program("rnn mask of ints", lambda K, x, h, m: K.rnn(adds, x, [h], mask=m), X, H, MASK.astype("int32")),
    program("rnn mask of floats", lambda K, x, h, m: K.rnn(adds, x, [h], mask=m), X, H, MASK.astype("float32")),
    program("rnn mask for each feature", lambda K, x, h, m: K.rnn(adds, x, [h], mask=m > 0), X, H, array(2, 3, 4)),
    program("rnn all masked", lambda K, x, h, m: K.rnn(adds, x, [h], mask=m), X, H, np.zeros((2, 3), bool)),
    program(
        "rnn mask and lengths", lambda K, x, h, m, n: K.rnn(adds, x, [h], mask=m, input_length=n), X, H, MASK, LENGTHS
    ),
    program(
        "rnn short lengths backwards",
        lambda K, x, h, n: K.rnn(adds, x, [h], go_backwards=True, input_length=n),
        array(3, 4, 2),
        array(3, 2),
        np.array([1, 2, 0], "int32"),
    ),
    program("rnn images", images, array(2, 3, 4, 2, 1), MASK),
    program("rnn list of inputs", pair, X, Y, H),
    program("rnn list of inputs unrolled", lambda K, x, y, h: pair(K, x, y, h, True), X, Y, H, ways=KNOWN),
    program("rnn list of inputs, mask", lambda K, x, y, h, m: pair(K, x, y, h, mask=m), X, Y, H, MASK),
    program("rnn nested states", nested, X, H, G),
    program("rnn nested states unrolled", lambda K, x, h, g: nested(K, x, h, g, True), X, H, G, ways=KNOWN),
    program("rnn nested states, mask", lambda K, x, h, g, m: nested(K, x, h, g, mask=m), X, H, G, MASK),
    program("rnn dicts", dict_in_and_out, X, H),
    program(
        "rnn dicts unrolled",
        lambda K, x, h: dict_in_and_out(K, x, h, True),
        X,
        H,
        ways=KNOWN,
        expected=expected_dicts,
        differs="with `unroll`, inputs may be a dict, and outputs any structure.",
    ),
    program("rnn output of one axis", lambda K, x, h: K.rnn(lambda x, s: (x[:, 0], [s[0] + 1]), x, [h]), X, H),
    program(
        "rnn output of one axis, mask",
        per_sample,
        X,
        H,
        MASK,
        expected=expected_per_sample,
        differs="a mask for states and outputs of one axis picks samples.",
    ),
    program("rnn number as a state", counts, X),
    program("rnn number as a state unrolled", lambda K, x: counts(K, x, True), X, ways=KNOWN),
    program(
        "rnn mask is a list",
        lambda K, x, h: K.rnn(adds, x, [h], mask=[[1, 0], [0, 1]]),
        array(2, 2, 2),
        array(2, 2),
        expected=lambda x, h: [
            np.stack([h[0] + x[0, 0], h[1] + x[1, 1]]),
            np.stack([np.stack([h[0] + x[0, 0]] * 2), np.stack([0 * h[1], h[1] + x[1, 1]])]),
            np.stack([h[0] + x[0, 0], h[1] + x[1, 1]]),
        ],
        differs="a mask may be a list.",
    ),
    program(
        "rnn lengths in an array",
        lambda K, x, h: K.rnn(adds, x, [h], input_length=np.array([2, 1])),
        array(2, 2, 2),
        array(2, 2),
        expected=lambda x, h: [
            np.stack([h[0] + x[0].sum(0), h[1] + x[1, 0]]),
            np.stack([h[0] + x[0].cumsum(0), np.stack([h[1] + x[1, 0]] * 2)]),
            np.stack([h[0] + x[0].sum(0), h[1] + x[1, 0]]),
        ],
        differs="an array as `input_length` is taken like a tensor.",
    ),
]


# -- errors -----------------------------------------------------------------------------------------------------------


def refused(name, function, *arrays, **options):
    return program(f"rnn {name}", function, *arrays, raises=True, **options)


ERRORS = [
    refused("inputs of two axes", lambda K, x, h: K.rnn(adds, x, [h]), array(2, 3), array(2)),
    refused("no steps", lambda K, x, h: K.rnn(adds, x, [h]), array(2, 0, 4), H, ways=KNOWN),
    refused("no steps unrolled", lambda K, x, h: K.rnn(adds, x, [h], unroll=True), array(2, 0, 4), H, ways=KNOWN),
    refused("step is no function", lambda K, x, h: K.rnn(3, x, [h]), X, H),
    refused("states are None", lambda K, x: K.rnn(adds, x, None), X),
    refused("more states", lambda K, x, h: K.rnn(lambda x, s: (x, [x, x]), x, [h]), X, H),
    refused("fewer states", lambda K, x, h: K.rnn(lambda x, s: (x, [x]), x, [h, h]), X, H),
    refused("narrower state", lambda K, x, h: K.rnn(lambda x, s: (x, [x[:, :1]]), x, [h]), X, H, ways=KNOWN),
    refused("wider state", lambda K, x, h: K.rnn(adds, x, [h]), X, array(1, 4), ways=KNOWN),
    refused("mask with more steps", lambda K, x, h, m: K.rnn(adds, x, [h], mask=m), X, H, np.ones((2, 4)), ways=KNOWN),
    refused("mask of more samples", lambda K, x, h, m: K.rnn(adds, x, [h], mask=m), X, H, np.ones((3, 3)), ways=KNOWN),
    refused("lengths of two axes", lambda K, x, h, n: K.rnn(adds, x, [h], input_length=n), X, H, LENGTHS[:, None]),
    refused(
        "more lengths", lambda K, x, h, n: K.rnn(adds, x, [h], input_length=n), X, H, np.ones(3, "int32"), ways=KNOWN
    ),
]

CASES = [*combinations(), *OF_ALL_KINDS, *ERRORS]
