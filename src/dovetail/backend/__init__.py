"""K: the classic Keras backend API, on every engine.

    from dovetail import backend as K

The functions are thin layers over `dovetail.ops`, with the semantics of the old `keras.backend`.  They compute eagerly,
and are recorded inside `dovetail.function` and on placeholders.  They take engines' own values and Keras tensors.

This is one mutable module, as it was in Keras: programs may replace a function, such as `K.update`.  So K's functions
look each other up here in each call (`K.update(...)`), and never import each other.
"""

from dovetail.backend import experimental as experimental
from dovetail.backend.activation import *
from dovetail.backend.arithmetic import *
from dovetail.backend.comparison import *
from dovetail.backend.config import *
from dovetail.backend.control import *
from dovetail.backend.convolution import *
from dovetail.backend.creation import *
from dovetail.backend.ctc import *
from dovetail.backend.differentiation import *
from dovetail.backend.images import *
from dovetail.backend.joining import *
from dovetail.backend.legacy import *
from dovetail.backend.legacy import absent as __getattr__  # noqa: F401  # called for names that K lacks
from dovetail.backend.local import *
from dovetail.backend.losses import *
from dovetail.backend.naming import *
from dovetail.backend.normalization import *
from dovetail.backend.operators import *
from dovetail.backend.padding import *
from dovetail.backend.phase import *
from dovetail.backend.pooling import *
from dovetail.backend.printing import *
from dovetail.backend.products import *
from dovetail.backend.random import *
from dovetail.backend.recurrent import *
from dovetail.backend.reduction import *
from dovetail.backend.session import *
from dovetail.backend.shapes import *
from dovetail.backend.sparse import *
from dovetail.backend.state import *
from dovetail.backend.symbolic import *
from dovetail.backend.table import add_functions as _add_functions

_add_functions(globals())
_add_functions(vars(experimental))
