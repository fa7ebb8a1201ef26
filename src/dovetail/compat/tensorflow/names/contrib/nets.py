"""`tf.contrib.slim.nets`: the networks VGG and AlexNet, and residual networks of both versions.

Source: `tf.contrib.slim.nets` of TensorFlow 1.15, the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.contrib.arg_scope import add_arg_scope, arg_scope
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.variables.initializers import Constant, TruncatedNormal, Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape

PLACE = "contrib.slim.nets"
LINEAR = {"activation_fn": None, "normalizer_fn": None}  # arguments of a convolution alone


def _slim(name: str) -> Any:
    return named(f"contrib.slim.{name}")


@contextmanager
def _noting(scope: Any, *functions: Any) -> Iterator[Callable[[], dict[str, Any]]]:
    """A block in which the outputs of functions are noted; it gives a function that returns them by their names."""
    key = f"{scope.original_name_scope}_end_points"
    with arg_scope(list(functions), outputs_collections=key):
        yield lambda: dict(_slim("utils.convert_collection_to_dict")(key))


# -- plain networks ---------------------------------------------------------------------------------------------------


@contextmanager
def _arg_scope(bias: Any, weight_decay: float) -> Iterator[Any]:
    conv2d, dense = _slim("conv2d"), _slim("fully_connected")
    given = {"activation_fn": ops.relu, "weights_regularizer": _slim("l2_regularizer")(weight_decay)}
    with arg_scope([conv2d, dense], biases_initializer=bias, **given), arg_scope([conv2d], padding="SAME") as scope:
        yield scope


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of the layers of VGG, for `tf.contrib.slim.arg_scope`."""
    with _arg_scope(Zeros(), weight_decay) as scope:
        return scope


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """The arguments of the layers of AlexNet, for `tf.contrib.slim.arg_scope`."""
    with _arg_scope(Constant(0.1), weight_decay), arg_scope([_slim("max_pool2d")], padding="VALID") as scope:
        return scope


def _classified(
    net: Any, size: int, num_classes: int, keep: float, is_training: bool, last: dict[str, Any] | None = None
) -> Any:
    """The logits of the classes, by layers that see a whole image."""
    conv2d, dropout = _slim("conv2d"), _slim("dropout")
    net = conv2d(net, 4096, [size, size], padding="VALID", scope="fc6")
    net = dropout(net, keep, is_training=is_training, scope="dropout6")
    net = conv2d(net, 4096, [1, 1], scope="fc7")
    net = dropout(net, keep, is_training=is_training, scope="dropout7")
    return conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **(last or {}))


def _plain(name: str, body: Callable[[Any], Any], size: int, image: int, of_classes: Any) -> Callable[..., Any]:
    """A network of convolutions and pools, and of layers that see a whole image.

    Args:
        name: the name.
        body: inputs → the outputs of the convolutions.
        size: the height and width of these for an image of the default size.
        image: the default size.
        of_classes: makes a scope for the layers of classes, and further arguments of the last.
    """

    def network(
        inputs: Any,
        num_classes: int = 1000,
        is_training: bool = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: str | None = name,
    ) -> tuple[Any, dict[str, Any]]:
        with variable_scope(scope, name, [inputs]) as opened:
            parts = [_slim(part) for part in ("conv2d", "fully_connected", "max_pool2d")]
            with _noting(opened, *parts) as noted:
                given, last = of_classes()
                net = body(inputs)
                with arg_scope([_slim("conv2d")], **given):
                    net = _classified(net, size, num_classes, dropout_keep_prob, is_training, last)
                points = noted()
                if spatial_squeeze:
                    net = ops.squeeze(net, [1, 2], name="fc8/squeezed")
                    points[f"{opened.name}/fc8"] = net
                return net, points

    network.__name__, network.default_image_size = name, image  # type: ignore[attr-defined]
    network.__doc__ = f"The logits of classes by the network {name}, and the outputs of its layers by their names."
    return network


def _vgg(counts: Sequence[int]) -> Callable[[Any], Any]:
    def body(net: Any) -> Any:
        for number, (count, depth) in enumerate(zip(counts, (64, 128, 256, 512, 512), strict=True), 1):
            net = _slim("repeat")(net, count, _slim("conv2d"), depth, [3, 3], scope=f"conv{number}")
            net = _slim("max_pool2d")(net, [2, 2], scope=f"pool{number}")
        return net

    return body


def _alexnet(net: Any) -> Any:
    conv2d, pool = _slim("conv2d"), _slim("max_pool2d")
    net = conv2d(net, 64, [11, 11], 4, padding="VALID", scope="conv1")
    net = pool(net, [3, 3], 2, scope="pool1")
    net = pool(conv2d(net, 192, [5, 5], scope="conv2"), [3, 3], 2, scope="pool2")
    for number, depth in ((3, 384), (4, 384), (5, 256)):
        net = conv2d(net, depth, [3, 3], scope=f"conv{number}")
    return pool(net, [3, 3], 2, scope="pool5")


VGG = {"vgg_a": (1, 1, 2, 2, 2), "vgg_16": (2, 2, 3, 3, 3), "vgg_19": (2, 2, 4, 4, 4)}
for _name, _counts in VGG.items():
    value(f"{PLACE}.vgg.{_name}", _plain(_name, _vgg(_counts), 7, 224, lambda: ({}, {})), "v1")
value(f"{PLACE}.vgg.vgg_arg_scope", vgg_arg_scope, "v1")
value(f"{PLACE}.alexnet.alexnet_v2_arg_scope", alexnet_v2_arg_scope, "v1")


def _of_alexnet() -> tuple[dict[str, Any], dict[str, Any]]:
    given = {"weights_initializer": TruncatedNormal(0.0, 0.005), "biases_initializer": Constant(0.1)}
    return given, {"biases_initializer": Zeros()}


value(f"{PLACE}.alexnet.alexnet_v2", _plain("alexnet_v2", _alexnet, 5, 224, _of_alexnet), "v1")

# -- residual networks ------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A block of units: its scope, the function of a unit, and the arguments of each unit.

    Source: `tf.contrib.slim.nets.resnet_utils.Block`.
    """

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


def subsample(inputs: Any, factor: int, scope: str | None = None) -> Any:
    """One of `factor` rows and columns of images."""
    return inputs if factor == 1 else _slim("max_pool2d")(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: str | None = None
) -> Any:
    """A convolution whose padding does not depend on the size of the images."""
    conv2d = _slim("conv2d")
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    whole = (kernel_size - 1) * rate
    before = whole // 2
    padded = ops.pad(inputs, [(0, 0), *[(before, whole - before)] * 2, (0, 0)])
    return conv2d(padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Sequence[Block], output_stride: int | None = None, outputs_collections: Any = None
) -> Any:
    """The outputs of blocks; from `output_stride` on, units see farther in place of taking fewer rows and columns.

    Raises:
        ValueError: the blocks do not have this stride.
    """
    current, rate = 1, 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as opened:
            for number, unit in enumerate(block.args, 1):
                with variable_scope(f"unit_{number}"):
                    own = unit.get("stride", 1)
                    if current == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= own
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        current *= own
            net = _slim("utils.collect_named_outputs")(outputs_collections, opened.name, net)
    if output_stride is not None and current != output_stride:
        problem = f"the stride of the blocks is {current}, and cannot be {output_stride}."
        raise op_error(ValueError, f"tf.{PLACE}.resnet_utils.stack_blocks_dense", problem)
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """The arguments of the layers of residual networks, for `tf.contrib.slim.arg_scope`."""
    normal: dict[str, Any] = {"decay": batch_norm_decay, "epsilon": batch_norm_epsilon, "scale": batch_norm_scale}
    normal["updates_collections"] = GraphKeys.UPDATE_OPS
    given = {
        "weights_regularizer": _slim("l2_regularizer")(weight_decay),
        "weights_initializer": _slim("variance_scaling_initializer")(),
        "activation_fn": ops.relu,
        "normalizer_fn": _slim("batch_norm"),
        "normalizer_params": normal,
    }
    convolutions, pools = arg_scope([_slim("conv2d")], **given), arg_scope([_slim("max_pool2d")], padding="SAME")
    with convolutions, arg_scope([_slim("batch_norm")], **normal), pools as scope:
        return scope


def _bottleneck(version: int) -> Callable[..., Any]:
    @add_arg_scope
    def bottleneck(
        inputs: Any,
        depth: int,
        depth_bottleneck: int,
        stride: int,
        rate: int = 1,
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Any:
        """A unit: its inputs, and three convolutions of them, added."""
        conv2d, of_2 = _slim("conv2d"), version == 2
        linear = {"activation_fn": None} | ({"normalizer_fn": None} if of_2 else {})
        with variable_scope(scope, f"bottleneck_v{version}", [inputs]) as opened:
            net = _slim("batch_norm")(inputs, activation_fn=ops.relu, scope="preact") if of_2 else inputs
            if depth == static_shape(inputs)[-1]:
                shortcut = subsample(inputs, stride, "shortcut")
            else:
                shortcut = conv2d(net, depth, [1, 1], stride=stride, scope="shortcut", **linear)
            net = conv2d(net, depth_bottleneck, [1, 1], stride=1, scope="conv1")
            net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
            net = conv2d(net, depth, [1, 1], stride=1, scope="conv3", **linear)
            output = shortcut + net if of_2 else ops.relu(shortcut + net)
            return _slim("utils.collect_named_outputs")(outputs_collections, opened.name, output)

    return bottleneck


def _root(net: Any, output_stride: int | None, linear: dict[str, Any]) -> tuple[Any, int | None]:
    """The first convolution and pool, which take one of four rows and columns; and the stride that is left.

    Raises:
        ValueError: the stride is no multiple of 4.
    """
    if output_stride is not None and output_stride % 4:
        problem = f"output_stride must be a multiple of 4, not {output_stride}."
        raise op_error(ValueError, f"tf.{PLACE}", problem)
    with arg_scope([_slim("conv2d")], **linear):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    net = _slim("max_pool2d")(net, [3, 3], stride=2, scope="pool1")
    return net, None if output_stride is None else output_stride // 4


def _resnet(version: int, bottleneck: Callable[..., Any]) -> Callable[..., Any]:
    def resnet(
        inputs: Any,
        blocks: Sequence[Block],
        num_classes: int | None = None,
        is_training: bool = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        include_root_block: bool = True,
        reuse: Any = None,
        scope: str | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs of a residual network of some blocks, and the outputs of its parts by their names."""
        normal = _slim("batch_norm")
        with (
            variable_scope(scope, f"resnet_v{version}", [inputs], reuse=reuse) as opened,
            _noting(opened, _slim("conv2d"), bottleneck, stack_blocks_dense) as noted,
            arg_scope([normal], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                net, output_stride = _root(net, output_stride, LINEAR if version == 2 else {})
            net = stack_blocks_dense(net, blocks, output_stride)
            net = normal(net, activation_fn=ops.relu, scope="postnorm") if version == 2 else net
            net = ops.mean(net, [1, 2], True, name="pool5") if global_pool else net
            if num_classes is None:
                return net, noted()
            net = _slim("conv2d")(net, num_classes, [1, 1], scope="logits", **LINEAR)
            return net, {**noted(), "predictions": _slim("softmax")(net, scope="predictions")}

    return resnet


def _block(bottleneck: Callable[..., Any]) -> Callable[..., Block]:
    def block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
        """A block of units, of which the last takes one of `stride` rows and columns."""
        unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth, "stride": 1}
        return Block(scope, bottleneck, [unit] * (num_units - 1) + [{**unit, "stride": stride}])

    return block


UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def _of_depth(name: str, make: Callable[..., Any], block: Callable[..., Block], counts: Sequence[int]) -> Any:
    def network(
        inputs: Any,
        num_classes: int | None = None,
        is_training: bool = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: Any = None,
        scope: str | None = name,
    ) -> tuple[Any, dict[str, Any]]:
        rows = zip((1, 2, 3, 4), (64, 128, 256, 512), counts, (2, 2, 2, 1), strict=True)
        blocks = [block(f"block{number}", depth, count, stride) for number, depth, count, stride in rows]
        root = True
        return make(inputs, blocks, num_classes, is_training, global_pool, output_stride, root, reuse, scope)

    network.__name__, network.default_image_size = name, 224  # type: ignore[attr-defined]
    network.__doc__ = f"The residual network {name}: its outputs, and those of its parts by their names."
    return network


for _part in (Block, subsample, conv2d_same, stack_blocks_dense, resnet_arg_scope):
    value(f"{PLACE}.resnet_utils.{_part.__name__}", _part, "v1")
for _version in (1, 2):
    _title = f"resnet_v{_version}"
    _unit = _bottleneck(_version)
    _made = {"bottleneck": _unit, _title: _resnet(_version, _unit), f"{_title}_block": _block(_unit)}
    _made |= {"resnet_arg_scope": resnet_arg_scope}
    for _depth, _units in UNITS.items():
        _name = f"{_title}_{_depth}"
        _made[_name] = _of_depth(_name, _made[_title], _made[f"{_title}_block"], _units)
    for _name, _function in _made.items():
        value(f"{PLACE}.{_title}.{_name}", _function, "v1")
