"""Training in half precision: a policy for all layers, and a loss that is scaled so that no gradient vanishes."""

import keras_dovetail
from keras.mixed_precision import set_global_policy  # was: from tensorflow.keras.mixed_precision import …

set_global_policy("mixed_float16")

# Added: handwritten digits, and a model.
from keras import Sequential
from keras.layers import Dense, Input
from sklearn.datasets import load_digits

images, y_train = load_digits(return_X_y=True)
x_train = images / 16
model = Sequential([Input((64,)), Dense(32, activation="relu"), Dense(10, activation="softmax", dtype="float32")])

model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
history = model.fit(x_train, y_train, epochs=5, verbose=0)
print("Losses:", history.history["loss"])
