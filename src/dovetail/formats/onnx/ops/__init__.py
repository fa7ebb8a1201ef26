"""Rows whose types several ops compute: functions of tensors and static values, in modules by family."""

from dovetail.formats.onnx.ops import arithmetic as arithmetic
from dovetail.formats.onnx.ops import attention as attention
from dovetail.formats.onnx.ops import images as images
from dovetail.formats.onnx.ops import indexing as indexing
from dovetail.formats.onnx.ops import linear as linear
from dovetail.formats.onnx.ops import losses as losses
from dovetail.formats.onnx.ops import normalization as normalization
from dovetail.formats.onnx.ops import recurrent as recurrent
from dovetail.formats.onnx.ops import reductions as reductions
from dovetail.formats.onnx.ops import resizing as resizing
from dovetail.formats.onnx.ops import shapes as shapes
from dovetail.formats.onnx.ops import signal as signal
from dovetail.formats.onnx.ops import tables as tables
from dovetail.formats.onnx.ops import windows as windows
