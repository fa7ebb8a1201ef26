"""Tensors added and multiplied in K, and the results as numbers."""

import numpy as np

from dovetail import backend as K  # was: K = keras.backend, which no longer has them

tensor1 = K.constant(np.array([[1, 2], [3, 4]]))
tensor2 = K.constant(np.array([[5, 6], [7, 8]]))

sum_tensor = K.add(tensor1, tensor2)  # Dovetail's own: no Keras has it

print(K.eval(sum_tensor))

dot_product = K.dot(tensor1, tensor2)
print(K.eval(dot_product))
