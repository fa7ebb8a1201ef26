"""House prices with a few wild errors: Huber's loss, written in K, weighs the errors less than squares do."""

import keras_dovetail
from dovetail import backend as K  # was: import tensorflow.keras.backend as K


def huber_loss(y_true, y_pred, delta=1.0):
    error = y_true - y_pred
    is_small_error = K.abs(error) <= delta
    squared_loss = 0.5 * K.square(error)
    linear_loss = delta * K.abs(error) - 0.5 * delta**2
    return K.mean(K.switch(is_small_error, squared_loss, linear_loss), axis=-1)


# Added: houses, whose prices depend on their area, rooms, age and distance from the centre; one price in ten was
# written down ten times too high.
import numpy as np
from keras import Sequential
from keras.layers import Dense, Input, Normalization

area, rooms = np.random.uniform(40, 200, 500), np.random.randint(1, 8, 500)
age, distance = np.random.uniform(0, 80, 500), np.random.uniform(0, 20, 500)
houses = np.stack([area, rooms, age, distance], axis=1)
prices = (1.5 * area + 10 * rooms - 0.8 * age - 4 * distance + 150) / 100
written = np.where(np.random.rand(500) < 0.1, 10 * prices, prices)

errors = {}
for loss in (huber_loss, "mse"):
    scaled = Normalization()
    scaled.adapt(houses)
    model = Sequential([Input((4,)), scaled, Dense(1)])

    model.compile(optimizer="adam", loss=loss)  # was: loss=huber_loss
    model.optimizer.learning_rate = 0.05
    model.fit(houses, written, epochs=20, verbose=0)

    name = getattr(loss, "__name__", loss)
    errors[name] = np.abs(model.predict(houses, verbose=0)[:, 0] - prices).mean()
    print(f"{name}: the prices are off by {errors[name]:.2f} on average")
