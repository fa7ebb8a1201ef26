"""Names of TensorFlow's private modules that are not public: its tools for Python functions, and functions of ops."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode, table
from dovetail.compat.tensorflow.entries import second, value
from dovetail.compat.tensorflow.names.array.core import TFOldShape, convert_to_tensor
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.graph.graph import (
    GraphKeys,
    control_dependencies,
    executing_eagerly,
    get_collection,
    get_default_graph,
    group,
    nodes_of,
)
from dovetail.compat.tensorflow.table import function, in_v1, row
from dovetail.core.base.dimension import dimension
from dovetail.core.base.errors import op_error

ALSO = {  # module → private name:public name
    "ops.array_ops": "shape_internal:shape",
    "ops.init_ops": "Constant:constant_initializer Ones:ones_initializer Zeros:zeros_initializer "
    "RandomNormal:random_normal_initializer RandomUniform:random_uniform_initializer "
    "TruncatedNormal:truncated_normal_initializer VarianceScaling:variance_scaling_initializer",
    "ops.gradients_impl": "gradients_v2:gradients",
    "ops.variable_scope": "variable:Variable",
    "ops.gen_array_ops": "concat_v2:concat gather_v2:gather pack:stack unpack:unstack "
    "tensor_scatter_max:tensor_scatter_nd_max tensor_scatter_min:tensor_scatter_nd_min",
    "ops.gen_linalg_ops": "log_matrix_determinant:linalg.slogdet lu:linalg.lu matrix_square_root:linalg.sqrtm",
    "ops.gen_math_ops": "_sum:reduce_sum _max:reduce_max _range:range mat_mul:matmul mul:multiply select:where "
    "sub:subtract floor_mod:mod next_after:math.nextafter real_div:realdiv truncate_div:truncatediv "
    "truncate_mod:truncatemod",
    "layers.utils": "constant_value:contrib.layers.utils.constant_value "
    "smart_cond:python.framework.smart_cond.smart_cond",
    "framework.ops": "internal_convert_to_tensor:convert_to_tensor "
    "convert_to_tensor_or_indexed_slices:convert_to_tensor",
    "framework.tensor_shape": "dimension_value:compat.dimension_value dimension_at_index:compat.dimension_at_index",
    "client.device_lib": "list_local_devices:config.list_logical_devices",
    "framework.device_spec": "DeviceSpecV1:DeviceSpec DeviceSpecV2:DeviceSpec",
}
for _module, _pairs in ALSO.items():
    for _private, _, _public in (pair.partition(":") for pair in _pairs.split()):
        second(f"python.{_module}.{_private}", _public, "v1 v2")

for _name, _op in {"relu_grad": ops.relu_grad, "relu6_grad": ops.relu6_grad}.items():
    row(f"python.ops.gen_nn_ops.{_name} python.ops.gen_nn_ops._{_name}", _op, "gradients:g features:y")

SHAPES: dict[str, Callable[..., Any]] = {  # functions of the module of shapes
    "scalar": lambda: TFOldShape([]),
    "vector": lambda length: TFOldShape([length]),
    "matrix": lambda rows, cols: TFOldShape([rows, cols]),
    "unknown_shape": lambda rank=None, ndims=None: TFOldShape(None if rank is ndims else [None] * (rank or ndims or 0)),
    "as_shape": TFOldShape,
    "as_dimension": dimension,
}
for _name, _shape in SHAPES.items():
    value(f"python.framework.tensor_shape.{_name}", _shape)

for _name, _collection in {"shared": GraphKeys.RESOURCES, "local": GraphKeys.LOCAL_RESOURCES}.items():
    value(f"python.ops.resources.{_name}_resources", functools.partial(get_collection, _collection))


@function("python.ops.resources.initialize_resources")
def initialize_resources(resource_list: Any, name: str = "init") -> Any:
    """The operation that makes resources: none, since tables and others make themselves.

    Source: `tensorflow.python.ops.resources.initialize_resources`.
    """
    return group(name=name)


# -- decorators -------------------------------------------------------------------------------------------------------


def _plain(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that takes arguments, and returns the function or class as it is."""
    return lambda decorated: decorated


value(
    "python.util.deprecation.deprecated python.util.deprecation.deprecated_args "
    "python.util.deprecation.deprecated_arg_values python.util.tf_export.tf_export python.util.tf_export.keras_export "
    "python.util.tf_export.estimator_export python.framework.ops.RegisterShape python.framework.ops.RegisterStatistics",
    _plain,
)
value("python.util.tf_should_use.should_use_result", _plain())
value("python.util.tf_contextlib.contextmanager", contextlib.contextmanager)


@function("python.util.deprecation.deprecated_argument_lookup")
def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has two names.

    Raises:
        ValueError: both have a value.

    Source: `tensorflow.python.util.deprecation.deprecated_argument_lookup`.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise op_error(ValueError, old_name, f"the argument has a value, and {new_name} too; give {new_name} alone.")
    return old_value


@function("python.util.tf_decorator.make_decorator")
def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Give the function of a decorator the name, the text and the module of the function that it calls.

    Source: `tensorflow.python.util.tf_decorator.make_decorator`.
    """
    return functools.wraps(target)(decorator_func)


value("python.util.tf_decorator.unwrap", lambda decorated: ([], inspect.unwrap(decorated)))

# -- inspection -------------------------------------------------------------------------------------------------------

for _name in inspect.__all__:
    value(f"python.util.tf_inspect.{_name}", getattr(inspect, _name))


@function("python.util.tf_inspect.getargspec")
def getargspec(func: Any) -> inspect.FullArgSpec:
    """The parameters of a function: `args`, `varargs`, `keywords`, `defaults`.

    Source: `tensorflow.python.util.tf_inspect.getargspec`.
    """
    return inspect.getfullargspec(func)


@function("python.estimator.util.fn_args python.util.function_utils.fn_args")
def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of a function's parameters, without the object of a method.

    Source: `tensorflow.python.util.function_utils.fn_args`.
    """
    return tuple(inspect.signature(fn).parameters)


@function("python.util.all_util.make_all")
def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """The public names of an imported module.

    Source: `tensorflow.python.util.all_util.make_all`.
    """
    return [name for name in dir(sys.modules[module_name]) if not name.startswith("_")]


@function("python.util.all_util.remove_undocumented")
def remove_undocumented(module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None) -> None:
    """Do nothing: a module keeps its names.

    Source: `tensorflow.python.util.all_util.remove_undocumented`.
    """


# -- graphs -----------------------------------------------------------------------------------------------------------

value("python.tf2.enabled", lambda: graph_mode.graph() is None)
value("python.ops.variable_scope.resource_variables_enabled", lambda: True)
value("python.ops.control_flow_util.GraphOrParentsInXlaContext", lambda graph: False)
value("python.ops.io_ops.ReaderBase", type("ReaderBase", (), {}))  # the base of a program's own readers
value(  # of several processes, so nothing is one
    "python.training.sync_replicas_optimizer.SyncReplicasOptimizer", type("SyncReplicasOptimizer", (), {})
)
value("python.eager.context.in_eager_mode", executing_eagerly)
value("python.eager.context.in_graph_mode", lambda: not executing_eagerly())


@function("python.framework.tensor_util.constant_value")
def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as an array; None if it is not known before a run.

    Source: `tensorflow.python.framework.tensor_util.constant_value`.
    """
    return table.constant_value(tensor)


@function("python.framework.ops._get_graph_from_inputs")
def graph_from_inputs(op_input_list: Any, graph: Any = None) -> Any:
    """The graph of the tensors that have one; else the default graph.

    Raises:
        ValueError: a tensor is of another graph.

    Source: `tensorflow.python.framework.ops._get_graph_from_inputs`.
    """
    nodes = nodes_of(op_input_list)
    common = graph or next((node.graph for node in nodes), None) or get_default_graph()
    for node in nodes:
        if node.graph is not common:
            problem = (
                "not from the passed-in graph"
                if graph
                else f"not of the graph of {nodes[0].name!r}; all must be from the same graph"
            )
            raise op_error(ValueError, "_get_graph_from_inputs", f"{node.name!r} is {problem}.")
    return common


@function("python.framework.ops.convert_n_to_tensor")
def convert_n_to_tensor(
    values: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Any]:
    """A tensor for each value.

    Source: `tensorflow.python.framework.ops.convert_n_to_tensor`.
    """
    names = [None if name is None else f"{name}_{i}" for i in range(len(values))]
    convert = convert_to_tensor
    return [convert(value, dtype, own, preferred_dtype) for value, own in zip(values, names, strict=True)]


@function("python.ops.control_flow_ops.with_dependencies")
def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """A tensor whose value waits for operations.

    Source: `tensorflow.python.ops.control_flow_ops.with_dependencies`.
    """
    with control_dependencies(dependencies):
        return ops.identity(output_tensor, name=name)


@function("python.framework.smart_cond.smart_cond", scope=True)
def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """The result of one of two functions: at once if the condition is known, else by `tf.cond`.

    Source: `tensorflow.python.framework.smart_cond.smart_cond`.
    """
    known = constant_value(pred)
    if known is None:
        return in_v1(cond)(pred, true_fn, false_fn)
    return true_fn() if known else false_fn()


@function("python.ops.nn_grad._BroadcastMul")
def broadcast_mul(vec: Any, mat: Any) -> Any:
    """The rows of a matrix, each times its number.

    Source: `tensorflow.python.ops.nn_grad._BroadcastMul`.
    """
    return ops.expand_dims(vec, -1) * mat
