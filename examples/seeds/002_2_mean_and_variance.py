"""The mean and the variance of a tensor in K."""

from dovetail import backend as K  # was: import tensorflow.keras.backend as K

x = K.constant([1.0, 2.0, 3.0, 4.0])

mean_x = K.mean(x)
variance_x = K.var(x)

print("Mean:", K.eval(mean_x))  # 2.5
print("Variance:", K.eval(variance_x))  # 1.25
