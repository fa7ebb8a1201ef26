"""Rules of CTC: the bodies of the loss and of its decoders, each as one program."""

from dovetail.core.rules import EAGER, PROGRAM
from dovetail.engines.body_rules import DECODERS, body_rule
from dovetail.engines.tensorflow.executable import as_program
from dovetail.engines.tensorflow.tables import rules

for _name in ("CTCLoss", *DECODERS):  # in a graph, gradients of the loss need to see its body
    _layers = (EAGER, PROGRAM) if _name in DECODERS else (EAGER,)
    rules(_name, layers=_layers)(as_program(body_rule(_name, "tensorflow")))
