"""A saved model gets a normalization before its output, by an edit of its graph."""

import keras_dovetail
import dovetail as dt
import dovetail.compat.tensorflow as tf  # was: import tensorflow as tf
import keras  # was: tf.keras
import numpy as np
from tempfile import mkdtemp


# Create a simple saved model for demonstration
def create_dummy_model(export_path):
    input_data = keras.layers.Input(shape=(10,), dtype=tf.float32)
    layer1 = keras.layers.Dense(20, activation="relu")(input_data)
    output_data = keras.layers.Dense(5, activation="linear")(layer1)  # Output layer
    model = keras.Model(inputs=input_data, outputs=output_data)

    model.export(export_path)  # was: tf.saved_model.save(model, export_path)
    return model


# Path for the saved model
saved_model_path = mkdtemp()  # was: "dummy_model"
model = create_dummy_model(saved_model_path)


loaded_model = tf.saved_model.load(saved_model_path)
infer = loaded_model.signatures["serving_default"]

# Accessing the graph via backend
graph = infer.graph

# Identify the output layer to manipulate
output_tensor_name = "functional/dense_1/BiasAdd:0"  # was: "dense_1/BiasAdd:0"; Keras 3 puts the model's name before it
output_tensor = graph.get_tensor_by_name(output_tensor_name)

# Create a custom normalization layer
with graph.as_default():
    mean = tf.reduce_mean(output_tensor, axis=1, keepdims=True)
    stddev = tf.math.reduce_std(output_tensor, axis=1, keepdims=True)
    normalized_output = (output_tensor - mean) / (stddev + 1e-8)

# Replace the old output node with new normalized one
graph.replace_all_uses(output_tensor, normalized_output)  # was: a loop over output_tensor.consumers()

# Execution
with tf.compat.v1.Session(graph=graph) as sess:
    input_data = np.random.rand(1, 10).astype(np.float32)
    output_val = sess.run(normalized_output, feed_dict={infer.inputs[0]: input_data})

print("Output after graph modification:", output_val)

# Added: the edited model is saved, and loaded again
edited_model_path = mkdtemp()
dt.saved_model.save(loaded_model, edited_model_path)
output_again = tf.saved_model.load(edited_model_path).signatures["serving_default"](input_data)["output_0"]
