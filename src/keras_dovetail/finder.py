"""The import hook that lets Keras find the backend "dovetail".

Keras 3.16 has a list of pluggable backends, to which `pluggable.py` adds the name.  Keras 3.15 has none: `twins.py`
changes the source of some of its modules.  On both, `twins.py` takes an import of JAX out of one module, and the hook
calls functions with modules of Keras: its settings become Dovetail's, and once all of Keras is imported, ops learn to
take its tensors.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

BACKEND = "dovetail"

CONFIG = "keras.src.backend.config"  # Keras' settings

# Module → the functions of this package that are called with Keras' settings before it is executed. In Keras 3.16, the
# settings import this module at their end, and it imports modules that take functions and names from them.
PRECEDED = {"keras.src.backend.common": ("keras_dovetail.settings:share", "keras_dovetail.pluggable:add")}

# Module → the function that is called with it once it is executed.
FOLLOWED = {
    "keras": "keras_dovetail.kinds:register_kinds",
    "keras.src.backend.common.dtypes": "keras_dovetail.settings:keep_floatx",
    "keras.src.callbacks.tensorboard": "keras_dovetail.src.tensorboard:write_by_dovetail",
    "keras.src.dtype_policies.dtype_policy": "keras_dovetail.src.tensors:unwrap_inputs",
    "keras.src.distribution.distribution_lib": "keras_dovetail.src.parallel.layouts:undo_at_end",
    "keras.src.export.tfsm_layer": "keras_dovetail.tfsm_layer:run_on_dovetail",
    "keras.src.layers.layer": "keras_dovetail.src.phase:follow",
    "keras.src.layers.normalization.batch_normalization": "keras_dovetail.src.parallel.whole_batch:synchronize",
    "keras.src.models.model": "keras_dovetail.exports:write_by_dovetail",
    "keras.src.ops.node": "keras_dovetail.src.lines:follow",
    "keras.src.optimizers.optimizer": "keras_dovetail.pluggable:inherit",
    "keras.src.saving.saving_api": "keras_dovetail.files:read_by_dovetail",
    "keras.src.saving.serialization_lib": "keras_dovetail.imported:wait_for_tensorflow",
    "keras.src.trainers.trainer": "keras_dovetail.steps_for_jax:refuse",
    **{
        f"keras.src.utils.{kind}dataset_utils": "keras_dovetail.datasets:give_ours"
        for kind in ("", "audio_", "image_", "text_", "timeseries_")
    },
    "keras.src.utils.jax_layer": "keras_dovetail.foreign_layers:call_jax_functions",
    "keras.src.utils.rng_utils": "keras_dovetail.imported:wait_for_tensorflow",
    "keras.src.utils.torch_utils": "keras_dovetail.foreign_layers:wrap_torch_modules",
    "jax": "keras_dovetail.jax_values:accept",
    "tensorflow": "keras_dovetail.seeds:seed_tensorflow",
}

_FOLLOWED = {*PRECEDED, *FOLLOWED}


def install() -> None:
    """Import Keras with Dovetail as its backend from now on.

    Raises:
        ImportError: Keras was imported before, on another backend.
    """
    if installed() is None:  # it stays when Keras reloads itself
        if "keras" in sys.modules:
            advice = "import keras_dovetail first, or set KERAS_BACKEND=dovetail in the environment"
            raise ImportError(f"keras was imported before keras_dovetail, on another backend: {advice}.")
        sys.meta_path.insert(0, _Finder())
    os.environ["KERAS_BACKEND"] = BACKEND


def installed() -> _Finder | None:
    """The finder that `install` added; `keras_dovetail.pth` asks it, too."""
    return next((each for each in sys.meta_path if type(each) is _Finder), None)


class _Finder(MetaPathFinder):
    """The finder of Keras' modules, and of TensorFlow, whose loader may change them or call functions with them."""

    def __init__(self) -> None:
        self._version = ""  # of the Keras that is imported
        self._names = _FOLLOWED

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            if name == "keras":
                self._version = version_of(Path(spec.loader.path).parent)
                self._names = _FOLLOWED | _rewritten(self._version)
            spec.loader = _Loader(name, spec.loader.path, self._version)
        return spec


class _Loader(SourceFileLoader):
    """The loader of a module, perhaps with changed source; it calls the module's followers once that is executed.

    Python's cached code of the unchanged source is neither read nor written.
    """

    def __init__(self, name: str, path: str, version: str) -> None:
        super().__init__(name, path)
        self._version = version

    def get_code(self, fullname: str) -> CodeType | None:
        if fullname not in _rewritten(self._version):
            return super().get_code(fullname)
        from keras_dovetail import twins

        try:
            tree = twins.changed(fullname, self.get_data(self.path))
        except LookupError as problem:
            raise _refusal(problem) from None
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        if self.name == "keras":
            _check(self._version)
        with _importing() if self.name == "keras" else nullcontext():
            for function in PRECEDED.get(self.name, ()):
                _call(function, sys.modules[CONFIG])
            super().exec_module(module)
            if self.name in FOLLOWED:
                _call(FOLLOWED[self.name], module)


def _call(function: str, module: ModuleType) -> None:
    package, name = function.split(":")
    getattr(import_module(package), name)(module)


def _rewritten(version: str) -> set[str]:
    """The modules of a version of Keras whose source is changed."""
    from keras_dovetail import twins  # Python starts without it

    return {twins.IMPORTS_JAX, *(twins.MODULES if has_twins(version) else ())}


def has_twins(version: str) -> bool:
    """Whether modules of this version of Keras are changed, since it has no list of pluggable backends."""
    return version.startswith("3.15.")


def version_of(folder: Path) -> str:
    """The version of the Keras in a folder, whose distribution may have another name; "" if it is not known."""
    path = folder / "src" / "version.py"
    match = re.search(r'^__version__ = "(.+)"', path.read_text(), re.MULTILINE) if path.exists() else None
    return match[1] if match else ""


def _check(version: str) -> None:
    from dovetail.interop.privates import TESTED  # imported with Keras, not before

    if not version:
        raise _refusal("of the one here the version is not known")
    if not any(version == each or version.startswith(f"{each}.") for each in TESTED):
        raise _refusal(f"this is Keras {version}")


def _refusal(problem: object) -> ImportError:
    from dovetail.interop.privates import TESTED

    tested, advice = " and ".join(TESTED), f"pip install keras=={TESTED[0]}"
    return ImportError(f"Dovetail is a backend of Keras {tested}, but {problem}: {advice}")


def _importing() -> AbstractContextManager[None]:
    from dovetail.core.base.garbage import importing

    return importing()
