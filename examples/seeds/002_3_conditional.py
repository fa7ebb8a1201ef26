"""One of two results, picked by a condition, in K."""

from dovetail import backend as K  # was: import tensorflow.keras.backend as K

x = K.constant(5.0)
condition = K.greater(x, 0.0)

result = K.switch(condition, K.square(x), K.abs(x))

print("Result:", K.eval(result))  # 25.0
