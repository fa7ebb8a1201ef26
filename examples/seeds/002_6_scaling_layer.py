"""A layer that multiplies its input by a learned factor."""

import keras_dovetail
from keras.layers import Layer  # was: from tensorflow.keras.layers import Layer
from dovetail import backend as K  # was: import tensorflow.keras.backend as K


class ScalingLayer(Layer):
    def __init__(self, **kwargs):
        super(ScalingLayer, self).__init__(**kwargs)

    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(1,), initializer="ones", trainable=True)
        super(ScalingLayer, self).build(input_shape)

    def call(self, inputs):
        return K.multiply(inputs, self.scale)  # Dovetail's own: no Keras has it

    def compute_output_shape(self, input_shape):
        return input_shape


from keras.models import Sequential  # was: from tensorflow.keras.models import Sequential

model = Sequential([ScalingLayer(input_shape=(10,))])

# Added: returns of ten stocks in calm days, and in days that are 2.5 times as volatile; the layer finds the factor.
import numpy as np

calm = np.random.randn(200, 10)
model.compile(optimizer="adam", loss="mse")
model.optimizer.learning_rate = 0.05
model.fit(calm, 2.5 * calm, epochs=40, verbose=0)
print("Scale:", K.eval(model.layers[0].scale))
