"""Operations of a small graph: one is on the GPU, and the others are on the CPU."""

import dovetail.compat.tensorflow as tf  # was: import tensorflow as tf

tf.compat.v1.disable_eager_execution()  # added: TensorFlow 2 needs it, too

# Placeholder for input
input_tensor = tf.compat.v1.placeholder(tf.float32, shape=(None, 10), name="input")

# First operation: Linear layer, intended for CPU
with tf.device("/cpu:0"):
    weights1 = tf.Variable(tf.random.normal((10, 20)), name="weights1")
    bias1 = tf.Variable(tf.random.normal((20,)), name="bias1")
    output1 = tf.matmul(input_tensor, weights1) + bias1

# Second operation: Activation function, intended for GPU
with tf.device("/gpu:0"):
    output2 = tf.nn.relu(output1, name="relu_output")

# Third operation: Final linear layer, intended for CPU again
with tf.device("/cpu:0"):
    weights2 = tf.Variable(tf.random.normal((20, 5)), name="weights2")
    bias2 = tf.Variable(tf.random.normal((5,)), name="bias2")
    output3 = tf.matmul(output2, weights2) + bias2

# Create session (using legacy tf.compat.v1.)
# Added: soft placement, without which TensorFlow 2 refuses "/gpu:0" where there is no GPU, too.
config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
with tf.compat.v1.Session(config=config) as sess:
    sess.run(tf.compat.v1.global_variables_initializer())
    # Dummy data for execution
    dummy_input = tf.random.normal((2, 10)).eval(session=sess)
    result = sess.run(output3, feed_dict={input_tensor: dummy_input})
    weights = sess.run([weights1, bias1, weights2, bias2])  # added, to check the result

print("Output shape:", result.shape)  # Output shape: (2, 5)
