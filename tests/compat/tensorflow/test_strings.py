"""Strings of TensorFlow 1's programs: placeholders, variables, functions, readers and decoders, against TensorFlow."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1

from dovetail.compat.tensorflow.names.strings.tensors import NUMBERS
from tests.libraries import require

WORDS = np.array([b"hello big  world", b"", b"a,b;c", "grün".encode()], object)
NUMERALS = np.array([[b"1.5", b"-2"], [b"3e2", b"7"]], object)


def parts(sparse: Any) -> list[Any]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


# Functions of `tf` and `fed`, which makes a placeholder of strings; the results are compared.
CASES: dict[str, Callable[[Any, Any], Any]] = {
    "a placeholder": lambda tf, fed: fed(WORDS),
    "join": lambda tf, fed: tf.string_join([fed(WORDS), "x", fed(WORDS)], "-"),
    "split a list": lambda tf, fed: parts(tf.string_split([fed(WORDS)[0]])),
    "add": lambda tf, fed: ["x" + fed(WORDS), fed(WORDS) + "x"],
    "split": lambda tf, fed: parts(tf.string_split(fed(WORDS), " ,")),
    "split into bytes": lambda tf, fed: parts(tf.string_split(fed(WORDS), "")),
    "split with empty": lambda tf, fed: tf.string_split(fed(WORDS), " ", skip_empty=False).values,
    "to float": lambda tf, fed: tf.string_to_number(fed(NUMERALS)),
    "to int": lambda tf, fed: tf.string_to_number(fed(NUMERALS[:, 1]), tf.int32),
    "of ints": lambda tf, fed: tf.as_string(tf.constant([[1, -2]])),
    "of floats": lambda tf, fed: tf.as_string([1.5, 2.25], precision=1, width=6),
    "of bools": lambda tf, fed: tf.as_string([True, False]),
    "hash fast": lambda tf, fed: tf.string_to_hash_bucket_fast(fed(WORDS), 1000),
    "hash": lambda tf, fed: tf.string_to_hash_bucket(fed(WORDS), 1000),
    "hash strong": lambda tf, fed: tf.string_to_hash_bucket_strong(fed(WORDS), 1000, [1, 2]),
    "replace": lambda tf, fed: tf.regex_replace(fed(WORDS), "[lo]+", "<\\0>"),
    "replace once": lambda tf, fed: tf.regex_replace(fed(WORDS), "l", "", replace_global=False),
    "match": lambda tf, fed: tf.strings.regex_full_match(fed(WORDS), "h.*"),
    "part": lambda tf, fed: tf.substr(fed(NUMERALS), 0, 1),
    "length": lambda tf, fed: [tf.strings.length(fed(WORDS)), tf.strings.length(fed(WORDS), unit="UTF8_CHAR")],
    "case": lambda tf, fed: [tf.strings.upper(fed(WORDS)), tf.strings.lower(fed(WORDS), encoding="utf-8")],
    "strip": lambda tf, fed: tf.string_strip(tf.string_join(["  ", fed(WORDS), "\n"])),
    "base64": lambda tf, fed: tf.decode_base64(tf.encode_base64(fed(WORDS))),
    "join an axis": lambda tf, fed: [tf.reduce_join(fed(NUMERALS), axis) for axis in (0, 1, None, [0, 1])],
    "raw": lambda tf, fed: tf.decode_raw(fed(np.array([b"ab", b"cd"], object)), tf.uint8),
    "raw of one": lambda tf, fed: tf.decode_raw(fed(np.array(b"abcdefgh", object)), tf.int16, little_endian=False),
    "equal": lambda tf, fed: [tf.equal(fed(WORDS), fed(WORDS)[::-1]), tf.not_equal(fed(WORDS), "")],
    "moved": lambda tf, fed: [
        tf.reshape(fed(NUMERALS), [-1]), tf.transpose(fed(NUMERALS)), tf.concat([fed(NUMERALS), fed(NUMERALS)], 1),
        tf.stack([fed(WORDS), fed(WORDS)]), tf.expand_dims(fed(WORDS), 0), tf.gather(fed(WORDS), [2, 0]),
        tf.where(tf.constant([[True, False]] * 2), fed(NUMERALS), fed(NUMERALS[::-1])), tf.identity(fed(WORDS)),
    ],
    "shapes": lambda tf, fed: [tf.shape(fed(NUMERALS)), tf.size(fed(WORDS)), tf.rank(fed(NUMERALS))],
    "constants": lambda tf, fed: [
        tf.constant(["a", "b", "c"])[tf.argmax([0, 0, 1])], tf.gather(tf.constant(["a", "b"]), tf.argmax([0, 1, 1])),
        tf.string_join(["a", tf.constant("b")]),
    ],
    "default": lambda tf, fed: tf.placeholder_with_default(["x", "y"], [None]),
    "python": lambda tf, fed: tf.py_func(
        lambda x, n: (x + b"!", n * np.float32(2)), [fed(WORDS), [1.5]], [tf.string, tf.float32]
    ),
    "branches": lambda tf, fed: tf.cond(tf.equal(fed(WORDS)[0], "hello big  world"), lambda: 1, lambda: 2),
    "lines": lambda tf, fed: tf.decode_csv(
        fed(np.array([b'1,2.5,"a,b"', b"7,,c"], object)), [[0], [1.5], ["none"]]
    ),
    "lines with more": lambda tf, fed: tf.decode_csv(
        fed(np.array([b"1;x;NA", b"2;y;3"], object)),
        [tf.constant([], tf.int64), tf.constant([9.0])], ";", select_cols=[0, 2],
        na_value="NA",
    ),
    "a table": lambda tf, fed: tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["", "a,b;c"], [3, 4]), -1
    ).lookup(fed(WORDS)),
    "a table of words": lambda tf, fed: tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([3, 4], tf.int64), ["three", "four"]), "UNK"
    ).lookup(tf.constant([[4, 5]], tf.int64)),
}  # fmt: skip


def plain(found: Any) -> Any:
    if isinstance(found, (list, tuple)):
        return [plain(x) for x in found]
    return [np.shape(found), np.asarray(found).tolist()]


def outcome(tf: Any, case: Callable[[Any, Any], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        feeds: dict[Any, Any] = {}

        def fed(values: Any) -> Any:
            made = tf.placeholder(tf.string, [None, *values.shape[1:]] if values.ndim else [])
            feeds[made] = values
            return made

        found = case(tf, fed)
        session.run(tf.tables_initializer())
        return plain(session.run(found, feeds))


@pytest.mark.parametrize("name", CASES)
def test_functions_of_strings(name, engine):
    require("tensorflow", "the oracle")
    import tensorflow

    assert outcome(v1, CASES[name]) == outcome(tensorflow.compat.v1, CASES[name])


# Functions of `tf` and three words, which are Python's, constants or placeholders.
MOVING: dict[str, Callable[[Any, Any], Any]] = {
    "reshape": lambda tf, w: [tf.reshape(w, [3, 1]), tf.reshape("abc", [])],
    "gather": lambda tf, w: [tf.gather(w, [2, 0]), tf.gather_nd(w, [[1]])],
    "join": lambda tf, w: [tf.stack([w, w]), tf.concat([w, w], 0), tf.stack(["x", w[0]])],
    "repeat": lambda tf, w: [tf.tile(w, [2]), tf.fill([2], w[0]), tf.broadcast_to(w, [2, 3])],
    "axes": lambda tf, w: [tf.expand_dims(w, 0), tf.squeeze([w]), tf.transpose([w]), tf.reverse(w, [0])],
    "compare": lambda tf, w: [tf.equal("a", w), tf.not_equal(w, w), tf.count_nonzero(tf.equal(w, w))],
    "count": lambda tf, w: [tf.shape(w), tf.size(w), tf.rank([w])],
    "cut": lambda tf, w: [tf.slice(w, [1], [2]), tf.strided_slice(w, [0], [2]), *tf.split(w, 3), *tf.unstack(w)],
    "cut into sizes": lambda tf, w: [*tf.split(tf.reshape(w, [1, 3]), [1, 2], 1), *tf.unstack([w, w], axis=1)],
    "turn": lambda tf, w: [tf.roll(w, 1, 0), tf.reverse_sequence([w], [2], 1), *tf.tuple([tf.constant(1), w])],
    "scatter": lambda tf, w: [tf.scatter_nd([[4], [0], [2]], w, [5]), *tf.unique(tf.concat([w, w], 0))],
    "choose": lambda tf, w: [
        tf.where([True, False, True], w, ["x", "y", "z"]),
        tf.boolean_mask(w, [True, False, True]),
    ],
    "divide": lambda tf, w: tf.dynamic_partition(w, [0, 1, 0], 2),
    "stitch": lambda tf, w: tf.dynamic_stitch([[2, 0], [1]], [w[:2], w[2:]]),
    "pad": lambda tf, w: [tf.pad(w, [[1, 1]], constant_values="x"), tf.pad([w], [[0, 1], [1, 0]])],
    "choose along axes": lambda tf, w: [tf.gather([w, w], [2, 0], axis=1), tf.batch_gather([w, w], [[0], [1]])],
    "choose rows": lambda tf, w: tf.where([True, False], [w, w], [["x", "y", "z"], w]),
    "repeat each": lambda tf, w: tf.repeat(w, 2),
    "axes of two": lambda tf, w: [
        *(tf.transpose([w, w], [1, 0]), tf.reverse([w, w], [1]), tf.expand_dims(w, -1), tf.tile([w], [2, 1])),
        *(tf.squeeze([[w]], [0, 1]), tf.reshape([w, w], [3, -1]), tf.concat([[w], [w]], 1), tf.stack([w, w], 1)),
    ],
    "sparse": lambda tf, w: tf.sparse_to_dense([0, 2], [4], w[:2], default_value="d"),
    "fill": lambda tf, w: [
        tf.pad(w, [[0, 1]], name="filled"),
        tf.zeros_like(w),
        tf.zeros_like(w, "int32"),
        tf.identity(w, "same"),
    ],
}


@pytest.mark.parametrize("given", ["python", "constant", "placeholder"])
@pytest.mark.parametrize("name", MOVING)
def test_strings_move_as_numbers_do(name, given, engine):
    def found(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            words = np.array([b"a", b"b", b"c"], object)
            given_words = {"python": ["a", "b", "c"], "constant": tf.constant(words), "placeholder": None}[given]
            fed = tf.placeholder(tf.string, [3])
            results = MOVING[name](tf, fed if given_words is None else given_words)
            return plain(session.run(results, {fed: words}))

    require("tensorflow", "the oracle")
    import tensorflow

    assert found(v1) == found(tensorflow.compat.v1)


# Functions of `tf` and a matrix of two rows of words.
LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda tf, w: [tf.map_fn(lambda row: row[0], w), tf.map_fn(lambda row: tf.reverse(row, [0]), w)],
    "made": lambda tf, w: tf.map_fn(lambda row: tf.string_join([row[0], row[1]]), w, dtype=tf.string),
    "of numbers": lambda tf, w: tf.map_fn(tf.as_string, tf.constant([1, 2]), dtype=tf.string),
    "to numbers": lambda tf, w: tf.map_fn(tf.strings.length, w, dtype=tf.int32),
    "both": lambda tf, w: tf.map_fn(lambda r: (r[0], tf.strings.length(r)), w, dtype=(tf.string, tf.int32)),
    "of two": lambda tf, w: tf.map_fn(lambda x: tf.string_join([*x], "-"), (w[0], w[1]), dtype=tf.string),
    "fold": lambda tf, w: [
        tf.foldl(lambda a, r: tf.string_join([a, r]), w),
        tf.foldr(lambda a, r: r, w, tf.constant(["", ""])),
    ],
    "scan": lambda tf, w: [
        tf.scan(lambda a, r: tf.string_join([a, r]), w),
        tf.scan(lambda n, r: n + tf.strings.length(r), w, tf.constant([1, 2])),
    ],
    "while": lambda tf, w: tf.while_loop(
        lambda n, s: tf.logical_and(n < 3, tf.not_equal(s[0], "x")),
        lambda n, s: (n + 1, tf.string_join([s, "!"])),
        [0, w[0]],
    ),
}


@pytest.mark.parametrize("shape", [(2, 2), (None, 2)])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_carry_strings(name, shape, engine):
    def found(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            words = np.array([[b"a", b"bc"], [b"", b"d"]], object)
            fed, constant = tf.placeholder(tf.string, shape), tf.constant(words)
            results = [LOOPS[name](tf, fed), LOOPS[name](tf, constant)]
            return plain(session.run(results, {fed: words}))

    require("tensorflow", "the oracle")
    import tensorflow

    assert found(v1) == found(tensorflow.compat.v1)


# Functions of `tf` and three words, in arrays of strings.
ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "write": lambda tf, w: tf.TensorArray(tf.string, 3).write(0, w[0]).write(2, "z").write(1, w[1]).stack(),
    "read": lambda tf, w: tf.TensorArray(tf.string, 3).unstack(w).read(1),
    "gather": lambda tf, w: tf.TensorArray(tf.string, 3).unstack(w).gather([2, 0]),
    "scatter": lambda tf, w: tf.TensorArray(tf.string, 3).scatter([2, 0, 1], w).stack(),
    "split": lambda tf, w: tf.TensorArray(tf.string, 2, infer_shape=False).split(w, [1, 2]).read(1),
    "concat": lambda tf, w: tf.TensorArray(tf.string, 2, infer_shape=False).write(0, w).write(1, w[:1]).concat(),
    "size": lambda tf, w: tf.TensorArray(tf.string, 3).unstack(w).size(),
    "loop": lambda tf, w: tf.while_loop(
        lambda i, array: i < 3,
        lambda i, array: (i + 1, array.write(i, tf.string_join([w[i], tf.as_string(i)]))),
        [0, tf.TensorArray(tf.string, 3, element_shape=[])],
    )[1].stack(),
    "read in a loop": lambda tf, w: tf.while_loop(
        lambda i, text, array: i < 3,
        lambda i, text, array: (i + 1, tf.string_join([text, array.read(i)]), array),
        [0, "", tf.TensorArray(tf.string, 3).unstack(w)],
    )[1],
}


@pytest.mark.parametrize("is_fed", [True, False])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_hold_strings(name, is_fed, engine):
    def found(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            words = np.array([b"a", b"bc", b""], object)
            fed = tf.placeholder(tf.string, [3])
            result = ARRAYS[name](tf, fed if is_fed else tf.constant(words))
            return result.dtype.name, plain(session.run(result, {fed: words}))

    require("tensorflow", "the oracle")
    import tensorflow

    assert found(v1) == found(tensorflow.compat.v1)


def of_functions(tf: Any) -> list[Any]:
    """Strings that compiled functions give."""
    traces = []

    @tf.function
    def words(x, number):
        traces.append(number)
        if tf.equal(x[0], "a"):
            x = tf.strings.join([x, "!"])
        return {"b": x, "a": (tf.strings.length(x), number * 2)}

    @tf.function
    def known(number):
        return [tf.constant(["x", "y"]), tf.as_string(number)]

    class Joined:
        @tf.function
        def of(self, x):
            return tf.strings.join([x, x])

    inner = tf.function(lambda x: tf.strings.length(Joined().of(x)))
    found = [words(tf.constant(["a", "bc"]), tf.constant(1)), words(tf.constant(["d", ""]), tf.constant(2))]
    found += [known(tf.constant(3)), Joined().of(tf.constant("ab")), inner(tf.constant(["e"]))]
    kept = known.get_concrete_function(tf.constant(0))
    found.append([kept(tf.constant(7)), len(traces)])
    return [tf.nest.map_structure(lambda part: plain(part.numpy() if hasattr(part, "numpy") else part), one)
            for one in found] + [list(found[0])]  # fmt: skip


def test_functions_give_strings(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    from dovetail.compat import tensorflow as ours

    assert of_functions(ours) == of_functions(tensorflow)


def stored(tf: Any) -> list[Any]:
    """Results of variables of strings."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable("first", name="v", trainable=False)
        w = tf.get_variable("w", initializer=tf.constant(["a", "b"]), trainable=False)
        given = tf.placeholder(tf.string, [2])
        step = tf.assign(w, tf.string_join([given, "!"]))
        session.run(tf.global_variables_initializer())
        found = [v.name, plain(session.run([v, w])), plain(session.run(step, {given: ["x", "y"]}))]
        found += [plain(session.run([w, v, tf.string_join([v, "?"])])), plain(v.eval()), len(tf.trainable_variables())]
        session.run(v.assign("second"))
        return [*found, plain(session.run(v)), w.shape.as_list()]


def test_variables_of_strings(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    assert stored(v1) == stored(tensorflow.compat.v1)


def by_names(tf: Any) -> list[Any]:
    """What fetches by names, and tensors that the graph gives by names, say of strings."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.string, [None], name="x")
        tf.strings.upper(x, name="upper")
        tf.identity(x, name="same")
        kept = tf.Variable("kept", name="kept", use_resource=False)
        found = [graph.get_tensor_by_name("upper:0"), graph.as_graph_element("upper:0")]
        length = tf.strings.length(found[0])
        session.run(kept.initializer)
        wanted = ["same:0", {"a": "upper:0", "n": length}, found, found[0].op.outputs[0], "kept:0"]
        return [one.dtype.name for one in found] + plain(session.run(wanted, {"x:0": WORDS}))


@pytest.mark.parametrize("given", [[0], np.array([1]), [2.5], 3], ids=str)
def test_numbers_are_not_fed_for_strings(given):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.string)
        with pytest.raises(TypeError, match="takes strings"):
            session.run(x, {x: given})
        assert session.run(x, {x: []}).shape == session.run(x, {x: np.array([], object)}).shape == (0,)


def test_strings_that_are_fed_for_numbers_are_read():
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32)
        assert session.run(x * 2.0, {x: ["3", "4.5"]}).tolist() == [6.0, 9.0]
        with pytest.raises(ValueError, match="could not convert"):
            session.run(x, {x: "three"})


def test_strings_are_fetched_by_their_names():
    require("tensorflow", "the oracle")
    import tensorflow

    assert repr(by_names(v1)) == repr(by_names(tensorflow.compat.v1))


def definition() -> bytes:
    """A graph of TensorFlow with strings."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        x, word = tf.compat.v1.placeholder(tf.string, [None], "x"), tf.constant("k", name="word")
        tf.strings.length(tf.strings.join([x, "-", word], name="joined"), name="length")
        tf.identity(x, name="same")
        tf.where(tf.equal(x, word), x, tf.fill(tf.shape(x), "other"), name="chosen")
        tf.multiply(tf.strings.to_number(tf.strings.regex_replace(x, "k", "3")), [2.0], name="number")
        tf.compat.v1.string_split(x, "k")
        return graph.as_graph_def().SerializeToString()


def imported(tf: Any, data: bytes) -> list[Any]:
    """What sessions give of the graph, imported three times: as it is, for strings of the graph, and for known ones."""
    message = tf.GraphDef.FromString(data)
    wanted = ["joined:0", "length:0", "same:0", "chosen:0", "number:0", "StringSplit/StringSplit:1"]
    with tf.Graph().as_default(), tf.Session() as session:
        mine = tf.placeholder(tf.string, [None])
        *found, x = tf.import_graph_def(message, name="a", return_elements=[*wanted, "x:0"])
        fed = tf.import_graph_def(message, {"x:0": tf.strings.join([mine, "5"])}, wanted)
        known = tf.import_graph_def(message, {"x:0": tf.constant(["8"])}, wanted, name="")
        again = [tf.strings.length(found[0]), x.dtype.name]
        results = [
            session.run([*found, again[0]], {x: ["k", "6"]}),
            session.run("a/joined:0", {"a/x:0": ["new"], "a/word:0": "fed"}),
            session.run(fed, {mine: ["k"]}),
            session.run(known),
        ]
        return [plain(one) for one in results] + again[1:]


def test_imported_graphs_compute_strings(engine):
    require("tensorflow", "the oracle")
    import tensorflow

    data = definition()
    assert repr(imported(v1, data)) == repr(imported(tensorflow.compat.v1, data))


@pytest.mark.parametrize("is_edited", [False, True])
def test_strings_of_own_definitions_stay_strings(is_edited):
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(v1.string, [None], name="x")
        v1.strings.length(v1.identity(v1.strings.join([x, v1.constant("k")], name="y"), name="z"), name="n")
    message = graph.as_graph_def()
    if is_edited:
        message.node.add(name="more", op="NoOp")
    with v1.Graph().as_default(), v1.Session() as session:
        v1.import_graph_def(message, {"x:0": v1.constant(["a", "bb"])}, name="given")
        v1.import_graph_def(message, name="")
        found = session.run(["y:0", "z:0", "n:0", "given/y:0"], {"x:0": ["a", "bb"]})
    assert [one.tolist() for one in found] == [[b"ak", b"bbk"], [b"ak", b"bbk"], [2, 3], [b"ak", b"bbk"]]


def chosen(tf):
    """Strings that conditions give."""
    with tf.Graph().as_default(), tf.Session() as session:
        p, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
        x = tf.placeholder(tf.string, [None])
        twice = lambda: tf.strings.join([x, x])  # noqa: E731
        found = [
            tf.cond(p, lambda: x, twice),
            tf.cond(p, lambda: {"a": x, "n": n * 2.0}, lambda: {"a": tf.constant(["q"]), "n": n}),
            tf.cond(p, lambda: tf.cond(n > 0.0, twice, lambda: x), lambda: tf.constant(["q"])),
            tf.case([(p, lambda: tf.constant("a"))], default=lambda: tf.constant("b")),
            tf.strings.length(tf.cond(p, lambda: x, twice)),
        ]
        return [session.run(found, {p: value, x: ["r", "st"], n: 1.0}) for value in (True, False)]


def test_conditions_give_strings(engine):
    require("tensorflow", "it is compared")
    import tensorflow

    assert repr(chosen(v1)) == repr(chosen(tensorflow.compat.v1))
    with v1.Graph().as_default(), pytest.raises(TypeError, match="strings in one branch"):
        v1.cond(v1.placeholder(v1.bool, []), lambda: v1.constant("a"), lambda: v1.constant(1))


def test_numbers_do_not_replace_strings_of_imported_graphs():
    require("tensorflow", "it makes the graph")
    message = v1.GraphDef.FromString(definition())
    with v1.Graph().as_default():
        for given in ({"x:0": v1.placeholder(v1.int64, [None])}, {"x:0": [1]}, {"length:0": "text"}):
            with pytest.raises(TypeError, match="strings"):
                v1.import_graph_def(message, given)


def test_strings_of_a_run_are_free_after_it():
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.string, [])
        joined = v1.string_join([x, "-end"])
        session.run(joined, {x: "0"})
        before = len(NUMBERS)
        for number in range(5):
            assert session.run(joined, {x: f"{number}"}) == f"{number}-end".encode()
        assert len(NUMBERS) == before


# -- tables -----------------------------------------------------------------------------------------------------------

KEYS = ["b", "other", "", "a"]


def looked_up(tf: Any, lookup: Any, path: str) -> list[Any]:
    """The values of keys outside of graphs, and the sizes of the tables."""
    items = tf.lookup.KeyValueTensorInitializer
    tables = [
        (tf.lookup.StaticHashTable(items(["a", "b"], [1, 2]), -1), KEYS),
        (tf.lookup.StaticHashTable(items([1, 2], ["x", "y"]), "none"), tf.constant([[2, 7]])),
        (lookup.index_table_from_tensor(["a", "b"], 5), KEYS),
        (lookup.index_table_from_tensor([7, 9], 5, dtype=tf.int64), tf.constant([9, 8, -3], tf.int64)),
        (lookup.index_table_from_file(path, vocab_size=2, default_value=-2), ["b", "c"]),
        (lookup.index_to_string_table_from_tensor(["a"], "gone"), tf.constant([0, 1], tf.int64)),
        (lookup.index_to_string_table_from_file(path), tf.constant([2, 9], tf.int64)),
    ]
    pairs = [
        (table.lookup(keys if hasattr(keys, "shape") else tf.constant(keys)), table.size()) for table, keys in tables
    ]
    return [(values.numpy().tolist(), int(size)) for values, size in pairs]


def test_tables_outside_of_graphs(engine, tmp_path):
    require("tensorflow", "the oracle")
    import tensorflow
    from tensorflow.python.ops import lookup_ops

    import dovetail.compat.tensorflow as ours

    path = tmp_path / "words.txt"
    path.write_text("a\nb\nlast one\n")
    found = looked_up(ours, ours.compat.v1.contrib.lookup, str(path))
    assert found == looked_up(tensorflow, lookup_ops, str(path))
    table = ours.lookup.StaticHashTable(ours.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    assert table.lookup(KEYS).numpy().tolist() == found[0][0]


# -- readers ----------------------------------------------------------------------------------------------------------


def picture(number: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((np.arange(48, dtype="uint8") * number).reshape(4, 4, 3)).save(file, "PNG")
    return file.getvalue()


def sequence(tf: Any) -> bytes:
    """An example whose steps have numbers, words, and words of any number."""
    feature = lambda **kind: tf.train.Feature(**kind)  # noqa: E731
    words = lambda *words: feature(bytes_list=tf.train.BytesList(value=words))  # noqa: E731
    number = lambda n: feature(int64_list=tf.train.Int64List(value=[n, n + 1]))  # noqa: E731
    steps = {"n": [number(1), number(5)], "word": [words(b"a"), words(b"b")], "any": [words(), words(b"c", b"d")]}
    lists = {key: tf.train.FeatureList(feature=each) for key, each in steps.items()}
    context = tf.train.Features(feature={"size": number(7), "name": words(b"x")})
    whole = tf.train.SequenceExample(context=context, feature_lists=tf.train.FeatureLists(feature_list=lists))
    return whole.SerializeToString()


@pytest.mark.parametrize("given", ["constant", "placeholder"])
def test_records_of_graphs(given, engine):
    require("tensorflow", "the oracle")
    import tensorflow

    def found(tf: Any) -> Any:
        record = sequence(tf)
        example = tf.train.SequenceExample.FromString(record).context
        both = [record, tf.train.Example(features=example).SerializeToString()]
        with tf.Graph().as_default(), tf.Session() as session:
            fed = [tf.placeholder(tf.string, []) if given == "placeholder" else tf.constant(one) for one in both]
            kinds = {"size": tf.FixedLenFeature([2], tf.int64), "name": tf.VarLenFeature(tf.string)}
            context, steps = tf.parse_single_sequence_example(
                fed[0],
                kinds,
                {
                    "n": tf.FixedLenSequenceFeature([2], tf.int64),
                    "word": tf.FixedLenSequenceFeature([], tf.string),
                    "any": tf.VarLenFeature(tf.string),
                },
            )
            single, several = tf.parse_single_example(fed[1], kinds), tf.parse_example([fed[1], fed[1]], kinds)
            results = [steps["n"], steps["word"], *parts(steps["any"])]
            for one in (context, single, several):
                results += [one["size"], *parts(one["name"])]
            shapes = [x.shape.as_list() for x in (context["size"], steps["n"], single["size"])]
            feeds = dict(zip(fed, both, strict=True)) if given == "placeholder" else {}
            return shapes, plain(session.run(results, feeds))

    assert found(v1) == found(tensorflow.compat.v1)


@pytest.mark.parametrize("kind", ["png", "jpeg"])
@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_encoded(kind, channels, engine):
    require("tensorflow", "the oracle")
    import tensorflow

    pixels = np.random.default_rng(channels).integers(0, 256, (9, 7, channels), "uint8")

    def encoded(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            given = tf.placeholder(tf.uint8, [None, None, channels])
            return session.run(getattr(tf.image, f"encode_{kind}")(given), {given: pixels})

    found, wanted = (tensorflow.io.decode_image(encoded(tf)).numpy() for tf in (v1, tensorflow.compat.v1))
    np.testing.assert_allclose(found.astype(int), wanted.astype(int), atol=0 if kind == "png" else 3)


def test_pictures_that_are_not_encoded():
    with v1.Graph().as_default(), v1.Session() as session:
        found = v1.image.encode_png(v1.zeros([2, 2, 3]))
        with pytest.raises(NotImplementedError, match=r"EncodePng.*uint8 of the shape \(height, .*not float32"):
            session.run(found)


def write(folder: Path) -> None:
    """Write the files that readers read."""
    for number in range(2):
        (folder / f"{number}.csv").write_text("h,e\n" + "".join(f"{i + number / 2},{'ab'[i % 2]}\n" for i in range(3)))
        (folder / f"{number}.bin").write_bytes(b"HH" + bytes(range(number, number + 6)) + b"F")
        (folder / f"{number}.png").write_bytes(picture(number + 1))
        with v1.python_io.TFRecordWriter(str(folder / f"{number}.records")) as writer:
            for i in range(3):
                values = {
                    "x": v1.train.Feature(float_list=v1.train.FloatList(value=[i, number])),
                    "label": v1.train.Feature(bytes_list=v1.train.BytesList(value=[f"l{i}".encode()])),
                    "ids": v1.train.Feature(int64_list=v1.train.Int64List(value=range(i))),
                    "png": v1.train.Feature(bytes_list=v1.train.BytesList(value=[picture(i + 1)])),
                }
                writer.write(v1.train.Example(features=v1.train.Features(feature=values)).SerializeToString())


def lines(tf: Any, folder: Path, queue: Callable[..., Any]) -> Any:
    key, value = tf.TextLineReader(skip_header_lines=1).read(queue("csv"))
    x, name = tf.decode_csv(value, [[0.0], [""]])
    return tf.train.batch([x, name, tf.substr(key, -5, 5)], 2)


def records(tf: Any, folder: Path, queue: Callable[..., Any]) -> Any:
    features = {
        "x": tf.FixedLenFeature([2], tf.float32), "label": tf.FixedLenFeature([], tf.string),
        "png": tf.FixedLenFeature((), tf.string), "more": tf.FixedLenFeature([1], tf.int64, [8]),
    }  # fmt: skip
    reader = tf.TFRecordReader()
    found = tf.parse_single_example(reader.read(queue("records"))[1], features)
    image = tf.image.decode_png(found.pop("png"), channels=3)
    image.set_shape([4, 4, 3])
    found["sum"] = tf.reduce_sum(tf.cast(image, tf.float32))
    return tf.train.batch(found, 3)


def several_records(tf: Any, folder: Path, queue: Callable[..., Any]) -> Any:
    _, found = tf.TFRecordReader().read_up_to(queue("records"), 2)
    parsed = tf.parse_example(found, {"ids": tf.VarLenFeature(tf.int64), "label": tf.VarLenFeature(tf.string)})
    return [*parts(parsed["ids"]), *parts(parsed["label"])]


def bytes_of_files(tf: Any, folder: Path, queue: Callable[..., Any]) -> Any:
    _, found = tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1).read(queue("bin"))
    return tf.decode_raw(found, tf.uint8)


def whole_files(tf: Any, folder: Path, queue: Callable[..., Any]) -> Any:
    _, found = tf.WholeFileReader().read(queue("png"))
    return [tf.image.decode_image(found), tf.image.decode_png(tf.read_file(str(folder / "0.png")), channels=4)[0, 0]]


def read(tf: Any, folder: Path, pipeline: Callable[..., Any]) -> list[Any]:
    """The results of a pipeline until its files end."""

    def queue(kind: str) -> Any:
        names = [str(folder / f"{number}.{kind}") for number in range(2)]
        return tf.train.string_input_producer(names, num_epochs=2, shuffle=False)

    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        wanted, coord = pipeline(tf, folder, queue), tf.train.Coordinator()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            while not coord.should_stop():
                one = session.run(wanted)
                found.append(plain([one[key] for key in sorted(one)] if isinstance(one, dict) else one))
        coord.request_stop()
        coord.join(threads)
    return found


@pytest.mark.parametrize("pipeline", [lines, records, several_records, bytes_of_files, whole_files])
def test_readers(pipeline, engine, tmp_path):
    require("tensorflow", "the oracle")
    import tensorflow

    write(tmp_path)
    found = read(v1, tmp_path, pipeline)
    assert len(found) > 3 and found == read(tensorflow.compat.v1, tmp_path, pipeline)
