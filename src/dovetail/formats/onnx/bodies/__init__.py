"""Rows whose types several ops compute: functions of tensors and static values, in modules by family."""

from dovetail.formats.onnx.bodies import arithmetic as arithmetic
from dovetail.formats.onnx.bodies import attention as attention
from dovetail.formats.onnx.bodies import images as images
from dovetail.formats.onnx.bodies import indexing as indexing
from dovetail.formats.onnx.bodies import linear as linear
from dovetail.formats.onnx.bodies import losses as losses
from dovetail.formats.onnx.bodies import normalization as normalization
from dovetail.formats.onnx.bodies import recurrent as recurrent
from dovetail.formats.onnx.bodies import reductions as reductions
from dovetail.formats.onnx.bodies import resizing as resizing
from dovetail.formats.onnx.bodies import shapes as shapes
from dovetail.formats.onnx.bodies import signal as signal
from dovetail.formats.onnx.bodies import tables as tables
from dovetail.formats.onnx.bodies import windows as windows
