"""What a rank trains with Keras' BackupAndRestore: undisturbed, until an error, and on from there.

`test_backups.py` starts it with several ranks, and again with another number of them.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from pathlib import Path

import keras
import numpy as np

import dovetail as dt

keras.distribution.initialize()
keras.config.set_floatx("float64")
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(50, 6)), RNG.integers(0, 3, 50)  # batches of 12 rows, and a last one of 2
EPOCHS = 4


class Lost(keras.callbacks.Callback):
    """Ends training by an error on each rank, in the third epoch."""

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == 2 and batch == 3:
            raise InterruptedError

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch


def batches():
    """An endless generator that draws its own rows, of which an epoch has four batches."""
    while True:
        rows = np.random.permutation(50)[:12]  # noqa: NPY002  # the state that a checkpoint keeps
        yield X[rows], Y[rows]


DATA = {
    "shuffled arrays": lambda: {"x": X, "y": Y, "batch_size": 12},
    "a generator": lambda: {"x": batches(), "steps_per_epoch": 4, "shuffle": False},
}


def train(data, *callbacks):
    """The losses and accuracies of the epochs, and all variables in the end."""
    keras.utils.clear_session()
    keras.distribution.set_distribution(keras.distribution.DataParallel())
    keras.utils.set_random_seed(3)
    layers = keras.layers
    norm = layers.BatchNormalization(momentum=0.7)
    norm.synchronized = True  # else its numbers depend on the number of ranks
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, "tanh"),
            norm,
            layers.Dropout(0.3),
            layers.Dense(3, "softmax"),
        ]
    )
    optimizer = keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.8, gradient_accumulation_steps=2)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    try:
        history = model.fit(**DATA[data](), epochs=EPOCHS, verbose=0, callbacks=list(callbacks)).history
    except InterruptedError:
        return None, None
    return history, [v.numpy() for v in [*model.variables, *optimizer.variables]]


def close(ours, theirs):
    """Check that a run that was resumed in the third epoch equals one that was not disturbed."""
    for key in ("loss", "accuracy"):
        np.testing.assert_allclose(ours[0][key], theirs[0][key][EPOCHS - len(ours[0][key]) :], atol=1e-9, err_msg=key)
    assert len(ours[0]["loss"]) == 2, ours[0]
    for one, other in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def backup(folder, save_freq):
    return keras.callbacks.BackupAndRestore(folder, save_freq=save_freq, delete_checkpoint=False)


def main(what: str, folder: Path) -> None:
    rank = dt.distributed.rank()
    for data in DATA:
        for save_freq in (6, "epoch"):  # an epoch has fewer batches
            place = folder / f"{data} {save_freq}"
            if what == "begin":
                whole = train(data)
                assert train(data, backup(place, save_freq), Lost()) == (None, None)
                for thread in threading.enumerate():
                    if thread.name == "checkpoint":  # the last one, which a lost process may not have finished
                        thread.join()
                dt.distributed.barrier()
                if rank == 0:
                    shutil.copytree(place, folder / f"{data} {save_freq} kept")
                    text = json.dumps([whole[0], [a.tolist() for a in whole[1]]])
                    (folder / f"{data} {save_freq}.json").write_text(text)
                dt.distributed.barrier()
            else:
                whole = json.loads((folder / f"{data} {save_freq}.json").read_text())
                place = folder / f"{data} {save_freq} in {dt.distributed.world_size()}"
                if rank == 0:
                    shutil.copytree(folder / f"{data} {save_freq} kept", place)
                dt.distributed.barrier()
            close(train(data, backup(place, save_freq)), whole)
            print("checked", data, save_freq, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
