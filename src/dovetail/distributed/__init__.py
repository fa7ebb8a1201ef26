"""Several processes that compute one program; the collectives are ops, such as `dovetail.ops.all_reduce`."""

from dovetail.distributed.checkpoints import Checkpoints as Checkpoints
from dovetail.distributed.gradients import average as average
from dovetail.distributed.processes import barrier as barrier
from dovetail.distributed.processes import init as init
from dovetail.distributed.processes import rank as rank
from dovetail.distributed.processes import world_size as world_size
