"""Tensors added, multiplied, summed and reshaped in K."""

from dovetail import backend as K  # was: import tensorflow.keras.backend as K

a = K.constant([[1, 2], [3, 4]])
b = K.constant([[5, 6], [7, 8]])

sum_ab = K.sum(a + b)
product_ab = K.prod(a * b)
reshaped_a = K.reshape(a, (4,))

print("Sum:", K.eval(sum_ab))  # 36.0; the comment said 30.0
print("Product:", K.eval(product_ab))  # 40320.0; the comment said 384.0
print("Reshaped:", K.eval(reshaped_a))  # [1. 2. 3. 4.]
