"""Cases of padding."""

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call, program

FORMATS = (None, "channels_last", "channels_first")

CASES = [
    call("temporal_padding", array(2, 3, 2)),
    call("temporal_padding", array(2, 3, 2), (0, 2)),
    call("temporal_padding", array(2, 3, 2), padding=[1, 0]),
    call("temporal_padding", array(0, 3, 2)),
    call("temporal_padding", array(1, 0, 2), (1, 1)),
    call("temporal_padding", ints(1, 2, 2)),
    call("temporal_padding", bools(1, 2, 2)),
    call("temporal_padding", array(1, 2, 2, dtype="float16"), (0, 0)),
    call("temporal_padding", array(2, 3), raises=True),
    call("temporal_padding", array(2, 3, 2), (-1, 1), raises=True),
    call("spatial_2d_padding", array(2, 3, 2, 2)),
    *(call("spatial_2d_padding", array(1, 2, 3, 2), ((1, 0), (0, 2)), data_format=f) for f in FORMATS),
    call("spatial_2d_padding", ints(1, 2, 2, 1), [[1, 1], [2, 2]]),
    call("spatial_2d_padding", array(0, 2, 2, 1)),
    call("spatial_2d_padding", array(2, 3, 2), raises=True),
    call("spatial_2d_padding", array(1, 2, 2, 1), data_format="channels", raises=True),
    call("spatial_2d_padding", array(1, 2, 2, 1), ((0, -1), (0, 0)), raises=True),
    call("spatial_3d_padding", array(1, 2, 2, 2, 1)),
    *(call("spatial_3d_padding", array(1, 2, 1, 2, 2), ((1, 0), (0, 2), (1, 1)), data_format=f) for f in FORMATS),
    call("spatial_3d_padding", ints(1, 1, 2, 1, 1), [[1, 1], [0, 0], [2, 2]]),
    call("spatial_3d_padding", array(2, 3, 2, 1), raises=True),
    call("spatial_3d_padding", array(1, 2, 2, 2, 1), data_format="channels", raises=True),
    program(
        "temporal_padding by a dimension", lambda K, x: K.temporal_padding(x, (K.shape(x)[1] - 1, 0)), array(2, 3, 2)
    ),
]
