"""An existing model gets a normalization before its output, by an edit of its graph."""

import keras_dovetail
import dovetail as dt
import dovetail.compat.tensorflow as tf  # was: import tensorflow as tf
import keras  # was: tf.keras
import numpy as np


# Create a simple saved model for demonstration
def create_dummy_model():
    input_data = keras.layers.Input(shape=(10,), dtype=tf.float32)
    layer1 = keras.layers.Dense(20, activation="relu")(input_data)
    output_data = keras.layers.Dense(5, activation="linear")(layer1)  # Output layer
    return keras.Model(inputs=input_data, outputs=output_data)  # was: saved, as TensorFlow's SavedModel


# Was: the graph of the signature "serving_default" of a loaded SavedModel.  Dovetail reads no SavedModel; it traces the
# model.  Like a signature's graph, this one ends in an Identity.
model = create_dummy_model()
graph = tf.function(lambda inputs: tf.identity(model(inputs), name="output")).graph(dt.spec((None, 10)))
graph.freeze()  # added: TensorFlow needs it, too, since a signature's layers are in a function that the graph calls

# Identify the output layer to manipulate
output_tensor_name = "functional/dense_1/AddV2:0"  # was: "dense_1/BiasAdd:0"; TensorFlow needs the full name, too
output_tensor = graph.get_tensor_by_name(output_tensor_name)

# Create a custom normalization layer
consumers = output_tensor.consumers()  # added: taken before there are new ones; TensorFlow needs it, too
with graph.as_default():
    mean = tf.reduce_mean(output_tensor, axis=1, keepdims=True)
    stddev = tf.math.reduce_std(output_tensor, axis=1, keepdims=True)
    normalized_output = (output_tensor - mean) / (stddev + 1e-8)

    # Replace the old output node with new normalized one
    output_op = output_tensor.op

    # Find the consumers of the original tensor
    for consumer in consumers:  # was: in output_op.outputs[0].consumers()
        consumer._update_input(0, normalized_output)

# Execution
with tf.compat.v1.Session(graph=graph) as sess:
    input_data = np.random.rand(1, 10).astype(np.float32)
    output_val = sess.run(normalized_output, feed_dict={graph.inputs[0]: input_data})  # was: infer.inputs[0]
    output_of_graph = sess.run("output:0", feed_dict={graph.inputs[0]: input_data})  # added

print("Output after graph modification:", output_val)
