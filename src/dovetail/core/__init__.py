"""The base of all other packages: types, tensors, the table of ops, and the way from a call to a rule."""

import sys

if not hasattr(sys.modules[__name__.partition(".")[0]], "__distribution__"):
    raise ImportError(
        "the package `dovetail` here belongs to another project of this name, which was installed over Dovetail's own. "
        "Run `pip uninstall dovetail`, then `pip install --force-reinstall keras-dovetail`."
    )
