"""Cases of graph mode: sessions, scopes, collections, variables, gradients and devices of TensorFlow 1."""

import itertools

import numpy as np

from dovetail.ops.samples import array
from tests.compat.tensorflow.parity import EAGER, program

NUMBERS = itertools.count()


def in_graph(name, build, *arrays, **options):
    """A program that builds its own graph and runs it in a session: build(v1, session) → results."""

    def run(tf, *given):
        v1 = tf.compat.v1
        with v1.Graph().as_default(), v1.Session() as session:
            return build(v1, session, *[np.asarray(x) for x in given])

    return program(name, run, *arrays, ways=EAGER, **options)


def layers(v1, session, x):
    inputs = v1.placeholder(v1.float32, [None, 3], name="x")
    with v1.variable_scope("net"):
        w = v1.get_variable("w", initializer=np.arange(6, dtype="float32").reshape(3, 2))
        b = v1.get_variable("b", [2], initializer=v1.ones_initializer())
        y = v1.identity(v1.nn.relu(v1.matmul(inputs, w) + b), name="y")
    with v1.variable_scope("net", reuse=True):
        same = v1.get_variable("w", [3, 2]) is w
    session.run(v1.global_variables_initializer())
    found = session.run({"y": y, "by name": "net/y:0"}, {inputs: x})
    return [found, same, w.name, w.op.name, y.name, [v.name for v in v1.trainable_variables()]]


def scopes(v1, session):
    names = []
    with v1.variable_scope("a") as scope:
        names += [scope.name, v1.get_variable_scope().name, v1.constant(1.0, name="c").name]
        with v1.variable_scope("b"):
            names.append(v1.get_variable("v", [1]).name)
    with v1.variable_scope("a", reuse=v1.AUTO_REUSE):
        names += [v1.constant(1.0, name="c").name, v1.get_variable("new", [1]).name]
    with v1.variable_scope(scope):
        names.append(v1.get_variable("third", [1]).name)
    for _ in range(2):
        with v1.variable_scope(None, default_name="layer"):
            names.append(v1.get_variable("v", [1]).name)
    with v1.name_scope("n") as whole:
        names += [
            whole,
            v1.zeros([1], name="z").name,
            v1.Variable(1.0, name="v").name,
            v1.get_variable("top", [1]).name,
        ]
        with v1.name_scope("m"):
            names.append(v1.no_op(name="nothing").name)
    with v1.name_scope("n"), v1.name_scope(whole):
        names.append(v1.ones([1], name="o").name)
    names += [v1.Variable(1.0, name="v").name, v1.Variable(1.0, name="v").name]
    return names


def getter(v1, session):
    def doubled(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 2.0

    with v1.variable_scope("s", custom_getter=doubled, initializer=v1.constant_initializer(3.0)):
        v = v1.get_variable("v", [2], regularizer=lambda w: v1.reduce_sum(w))
    session.run(v1.global_variables_initializer())
    return session.run([v, v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)[0]])


def assigned(v1, session):
    v = v1.Variable([1.0, 2.0], name="v")
    add, sub = v1.assign_add(v, [1.0, 1.0]), v.assign_sub([0.5, 0.5])
    with v1.control_dependencies([add]):
        after = v.read_value() * 10.0
    other = v1.Variable(1.0, name="other")
    both = v1.group(v.assign([7.0, 7.0]), other.assign_add(1.0), v1.no_op(), name="both")
    session.run(v1.global_variables_initializer())
    found = [session.run(add), session.run(after), session.run(sub), session.run(both) is None, session.run([v, other])]
    session.run(v.initializer)
    v.load([9.0, 9.0], session)
    return [*found, v.eval(session), v.value().eval(session=session), v.dtype == v1.float32, list(v.shape), both.name]


def scopes_without_a_name(v1, session):
    found = [v1.get_variable_scope().reuse]
    with v1.variable_scope("m"), v1.variable_scope("") as inner:
        found += [v1.get_variable("a", [1]).name, inner.name, inner.reuse]
    with v1.variable_scope("") as outer:
        return [*found, v1.get_variable("b", [1]).name, outer.name]


def stopped(v1, session):
    x = v1.placeholder(v1.float32, [2])
    a = x * 2.0
    b = a * 3.0 + x
    y = v1.reduce_sum(a * b)
    found = [v1.gradients(y, [x, a], stop_gradients=tensors) for tensors in ([a], b, [a, b], [], None)]
    return session.run([g for gradients in found for g in gradients if g is not None], {x: [1.0, 2.0]})


def imported_with(v1, session):
    with v1.Graph().as_default() as graph:
        x, w = v1.placeholder(v1.float32, [None, 2], name="x"), v1.ones([2, 1], name="w")
        v1.add(v1.matmul(x, w), v1.constant([1.0], name="b"), name="y")
    w = v1.Variable([[2.0], [3.0]])
    session.run(v1.global_variables_initializer())
    given = {"w:0": w, "b": np.float32([5.0])}
    x, y = v1.import_graph_def(graph.as_graph_def(), given, ["x:0", "y:0"])
    return session.run([y, v1.gradients(y, w)[0]], {x: [[1.0, 1.0], [2.0, 0.0]]})


def scattered(v1, session):
    v, count = v1.Variable(np.arange(8.0, dtype="float32").reshape(4, 2)), v1.Variable([1, 2, 3])
    changes = [
        v1.scatter_update(v, [0, 2], [[1.0, 1.0], [2.0, 2.0]]),
        v1.scatter_add(v, [1, 1], [[5.0, 5.0], [1.0, 0.0]]),
        v1.scatter_sub(v, 3, [1.0, 2.0]),
        v1.scatter_max(v, [[0], [1]], [[[3.0, 0.0]], [[0.0, 3.0]]]),
        v1.scatter_min(v, [0], 0.5),
        v1.scatter_nd_update(v, [[0, 1]], [9.0]),
        v1.scatter_nd_add(v, [[1]], [[1.0, 2.0]]),
        v1.scatter_nd_sub(v, [[3, 0]], [4.0]),
        v1.scatter_add(count, [0, 2], [1, 1]),
    ]
    session.run(v1.global_variables_initializer())
    return [session.run(change) for change in changes] + session.run([v, count])


def templates(v1, session):
    def scaled(x, first, name="s"):
        return x * v1.get_variable(name, [], initializer=v1.constant_initializer(first))

    triple = v1.make_template("net", scaled, first=3.0)
    other = v1.make_template("net", scaled, first=5.0)
    named = v1.make_template("other", scaled, unique_name_="mine", first=7.0)
    early = v1.make_template("early", scaled, create_scope_now_=True, first=2.0)
    with v1.variable_scope("early"):
        v1.get_variable("taken", [])
    found = [f(v1.constant(float(i))) for i, f in enumerate((triple, triple, other, named, early))]
    session.run(v1.global_variables_initializer())
    told = [triple.variable_scope_name, [v.name for v in triple.variables], [v.name for v in named.trainable_variables]]
    try:
        triple(v1.constant(1.0), name="new")
    except ValueError:
        told.append("no new variables")
    return [session.run(found), told, [v.name for v in v1.global_variables()]]


def uninitialized(v1, session):
    v1.Variable(1.0)
    session.run(v1.global_variables_initializer())
    missing = v1.report_uninitialized_variables()
    return [len(session.run(missing)), len(session.run([missing])[0]), len(missing.eval(session=session))]


def operation(v1, session):
    x = v1.placeholder(v1.float32, [2, 3], name="x")
    y = v1.matmul(x, x, transpose_b=True, name="y")
    step = v1.assign(v1.Variable(1.0, name="v"), 3.0)
    session.run(v1.global_variables_initializer())
    op = y.op
    found = [op.name, op.type, [t.name for t in op.inputs], [t.name for t in op.values()], op.get_attr("transpose_b")]
    found += [op.node_def.name, op.node_def.op, list(op.node_def.input), op.op_def.name, len(op.traceback) > 0]
    found += [
        op.graph is v1.get_default_graph(),
        sorted({user.name for user in x.consumers()}),
        y.value_index,
        len(op.control_inputs),
    ]
    return [*found, step.op.run(), session.run([op, op], {x: np.ones((2, 3))}), y.eval({x: np.ones((2, 3))})]


def edited(v1, session):
    x = v1.placeholder(v1.float32, [2, 2], name="x")
    y = v1.matmul(v1.nn.relu(x), x, name="y")
    before = session.run(y, {x: [[1.0, -2.0], [3.0, 4.0]]})
    y.op._set_attr("transpose_a", v1.AttrValue(b=True))
    y.op._update_input(0, x)
    y.op._set_device("/device:CPU:0")
    with v1.Session() as after:
        return [before, after.run(y, {x: [[1.0, -2.0], [3.0, 4.0]]}), y.op.device, y.device]


def gradient_of_one_operation(v1, session):
    name = f"Tenfold{next(NUMBERS)}"

    @v1.RegisterGradient(name)
    def _(op, gradient):
        return [gradient * 10.0]

    x = v1.placeholder(v1.float32, [2])
    y = v1.nn.relu(x) + v1.nn.relu(x * 3.0, name="other")
    (found,) = [op for op in v1.get_default_graph().get_operations() if op.type == "Relu" and op.name != "other"]
    found._set_attr("_gradient_op_type", v1.AttrValue(s=name.encode()))
    return session.run(v1.gradients(y, x), {x: [1.0, -1.0]})


def adversarial(v1, session, x):
    inputs, weights = v1.placeholder(v1.float32, [None, 3]), v1.constant([[1.0], [-2.0], [0.5]])
    scores = v1.matmul(inputs, weights)
    loss = v1.nn.sigmoid_cross_entropy_with_logits(labels=v1.ones_like(scores), logits=scores)
    slope = v1.clip_by_value(v1.gradients(v1.reduce_sum(loss), inputs)[0], -0.1, 0.1)
    other = v1.stop_gradient(inputs + 0.05 * v1.sign(slope))
    return session.run([slope, other, v1.matmul(other, weights) - scores], {inputs: x})


def defaults(v1, session):
    rows = v1.placeholder_with_default(np.ones((1, 2), "float32"), [None, 2])
    anything = v1.placeholder_with_default(v1.constant(3.0), None)
    fixed = v1.placeholder_with_default(v1.zeros([2]), [2])
    shapes = [rows.shape.as_list(), fixed.shape.as_list()]
    results = [rows * 2.0, anything + 1.0, fixed, v1.gradients(v1.reduce_sum(rows**2), rows)[0]]
    found = [session.run(results), session.run(results, {rows: np.ones((3, 2)), anything: [1.0, 2.0]}), shapes]
    for shape in ([3, 2], [1]):
        try:
            found.append(v1.placeholder_with_default(np.ones((1, 2), "float32"), shape).name)
        except ValueError:
            found.append("refused")
    return found


def beside_arrays(v1, session):
    x, n = v1.placeholder(v1.float32, [2]), v1.placeholder(v1.int32, [2])
    v, half = v1.Variable([1.0, 2.0]), v1.cast(x, v1.float16)
    session.run(v1.global_variables_initializer())
    found = [x * np.float64(2), np.sqrt(2.0) * x, np.array([1.0, 2.0]) - x, x / np.array([1, 2]), x ** np.float64(2)]
    found += [
        np.float64(2) ** x,
        x > np.float64(0.5),
        v * np.log(2.0),
        np.log(2.0) / v,
        [1.0, 2.0] - half,
        n + np.int64(1),
    ]
    found += [
        x[None] @ np.ones((2, 1)),
        v1.map_fn(lambda row: row * np.float64(3), x),
        v1.gradients(x * np.float64(2), x),
    ]
    return session.run(found, {x: [1.0, -2.0], n: [1, 2]})


def collections(v1, session):
    a, b = v1.constant(1.0), v1.constant(2.0)
    v1.add_to_collection("losses", a)
    v1.add_to_collection("losses", b)
    v1.get_collection_ref("losses").append(a)
    local = v1.Variable(1.0, collections=[v1.GraphKeys.LOCAL_VARIABLES], trainable=False)
    v1.Variable(2.0, trainable=False)
    counts = [len(f()) for f in (v1.global_variables, v1.trainable_variables, v1.local_variables)]
    session.run([v1.local_variables_initializer(), v1.variables_initializer([local])])
    return [session.run(v1.add_n(v1.get_collection("losses"))), counts, v1.get_collection("none")]


def modes(tf):
    v1 = tf.compat.v1
    outside = v1.executing_eagerly()
    with v1.Graph().as_default() as graph:
        inside = v1.executing_eagerly()
        same = v1.get_default_graph() is graph
        x = v1.placeholder_with_default(v1.constant(2.0), [])
        y = v1.square(x)
        with v1.Session(graph=graph):
            return [outside, inside, same, y.eval(), y.eval({x: 3.0}), v1.get_default_session() is not None]


def gradients(v1, session, x):
    inputs = v1.placeholder(v1.float32, [None])
    y = v1.reduce_sum(inputs**3)
    (g,) = v1.gradients(y, inputs)
    other = v1.constant(1.0)
    fixed = v1.constant([1.0, 2.0])
    (hessian,) = v1.hessians(v1.reduce_sum(fixed**3), fixed)
    (of_any_size,) = v1.hessians(y + v1.reduce_prod(inputs), inputs)
    (zero,) = v1.gradients(y, [other], unconnected_gradients="zero")
    return session.run([g, hessian, of_any_size, zero], {inputs: x})


def modules(tf):
    class Inner(tf.Module):
        def __init__(self):
            super().__init__(name="inner")
            self.w = tf.Variable([1.0])

    class Outer(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts = [Inner(), Inner()]
            self.frozen = tf.Variable(2, trainable=False)

    outer = Outer()
    return [
        len(outer.variables),
        len(outer.trainable_variables),
        len(outer.submodules),
        outer.name,
        outer.parts[0].name,
    ]


def eager_variable(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v)
    g = tape.gradient(y, v)
    v.assign_add([1.0, 1.0])
    v.scatter_nd_update([[0]], [9.0])
    return [g, v.numpy(), v.name, v.trainable, isinstance(v, tf.Variable), tf.Variable(lambda: tf.ones([2])).value()]


def overridden(tf):
    name = f"Tenfold{next(NUMBERS)}"  # a name can be registered once

    @tf.RegisterGradient(name)
    def _(op, g):
        return 10.0 * g * op.inputs[0]

    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.constant([1.0, 2.0])
        with graph.gradient_override_map({"Identity": name}):
            y = v1.identity(x, name="changed")
        plain = v1.identity(x)
        operation = graph.get_operation_by_name("changed")
        found = [v1.gradients(t, x)[0] for t in (y, plain)]
        return [*session.run(found), isinstance(operation, tf.Operation), operation.type, operation.name]


def devices(v1, session):
    with v1.device("/cpu:0"), v1.container("c"):
        a = v1.constant(1.0)
    config = v1.ConfigProto(allow_soft_placement=True, gpu_options=v1.GPUOptions())
    config.gpu_options.allow_growth = True
    with v1.colocate_with(a.op), v1.Session(config=config) as other:
        return other.run(a + 1.0, options=v1.RunOptions(), run_metadata=v1.RunMetadata())


DTYPES = [
    "float16",
    "float64",
    "bfloat16",
    "bool",
    "int8",
    "int16",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
]

CASES = [
    program("RegisterGradient Operation", overridden, ways=EAGER),
    in_graph("device container colocate_with ConfigProto GPUOptions RunOptions RunMetadata", devices),
    program(
        " ".join(DTYPES),
        lambda tf: [
            [
                getattr(tf, n).name,
                getattr(tf, n).is_floating,
                getattr(tf, n).is_integer,
                tf.zeros([1], getattr(tf, n)).dtype == n,
            ]
            for n in DTYPES
        ],
        ways=EAGER,
    ),
    program("__version__ version.VERSION", lambda tf: [tf.__version__, tf.version.VERSION], ways=EAGER),
    program(
        "config.set_soft_device_placement debugging.set_log_device_placement",
        lambda tf: [
            tf.config.set_soft_device_placement(True) is None,
            tf.debugging.set_log_device_placement(False) is None,
        ],
        ways=EAGER,
    ),
    in_graph(
        "placeholder variable_scope get_variable Session global_variables_initializer trainable_variables",
        layers,
        array(2, 3),
    ),
    in_graph("variable_scope name_scope get_variable_scope AUTO_REUSE no_op Variable", scopes),
    in_graph("get_variable (getter, regularizer)", getter),
    in_graph("placeholder Variable (arrays beside)", beside_arrays),
    in_graph("variable_scope get_variable_scope (without a name)", scopes_without_a_name),
    in_graph("gradients (stopped)", stopped),
    in_graph("placeholder_with_default (shapes)", defaults),
    in_graph("Operation Tensor placeholder (what they say of themselves)", operation),
    in_graph("AttrValue", edited),
    in_graph("RegisterGradient (of one operation)", gradient_of_one_operation),
    in_graph("gradients (by the input)", adversarial, array(4, 3)),
    in_graph(
        "scatter_update scatter_add scatter_sub scatter_max scatter_min "
        "scatter_nd_update scatter_nd_add scatter_nd_sub",
        scattered,
    ),
    in_graph("make_template", templates),
    in_graph("report_uninitialized_variables", uninitialized),
    in_graph("import_graph_def (with variables and arrays)", imported_with),
    in_graph("assign assign_add assign_sub control_dependencies group Variable", assigned),
    in_graph(
        "add_to_collection get_collection get_collection_ref local_variables global_variables GraphKeys", collections
    ),
    program(
        "Graph executing_eagerly get_default_graph placeholder_with_default get_default_session", modes, ways=EAGER
    ),
    in_graph("gradients hessians", gradients, array(3)),
    program("Module", modules, ways=EAGER),
    program("Variable", eager_variable, ways=EAGER),
]
