"""Models and weights of Keras 1, 2 and 3 in their files, which become models of Keras 3, without TensorFlow and h5py.

    from dovetail.interop import keras_files
    model = keras_files.load_model("of_2017.h5", custom_objects={"Scale": Scale})

On Dovetail, `keras.models.load_model`, `model.load_weights` and `model.save_weights` do the same.
"""

from dovetail.interop.keras_files.files import load_model as load_model
from dovetail.interop.keras_files.files import load_weights as load_weights
from dovetail.interop.keras_files.files import save_weights as save_weights
