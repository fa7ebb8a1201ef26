"""Files of Keras 1, 2 and 3 as plain data: configurations of models, weights of layers."""
