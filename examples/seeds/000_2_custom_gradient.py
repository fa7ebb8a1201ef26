"""A custom gradient that is registered under a name: it clips gradients while a variable is trained."""

import dovetail.compat.tensorflow as tf  # was: import tensorflow as tf
from dovetail.compat.tensorflow.python.framework import ops  # was: from tensorflow.python.framework import ops

tf.compat.v1.disable_eager_execution()  # added: TensorFlow 2 needs it, too


# Define custom clipping function (a simple example)
def custom_clip(grad):
    return tf.clip_by_value(grad, -0.1, 0.1)


# Custom gradient function using backend utilities
def custom_grad_fn(op, grads):
    grad = grads[0]
    clipped_grad = custom_clip(grad)
    return [clipped_grad]


# Register gradient op for specific variable
@ops.RegisterGradient("CustomClipGradient")
def _custom_grad(op, grad):
    return custom_grad_fn(op, [grad])


# Example variable and optimizer
x = tf.Variable(2.0, dtype=tf.float32)
# Was: x itself in the loss, and tf.raw_ops.CustomClipGradient of each gradient.  A registered gradient is no op, also
# in TensorFlow; here it is the gradient of an Identity.
with tf.compat.v1.get_default_graph().gradient_override_map({"Identity": "CustomClipGradient"}):
    clipped_on_the_way_back = tf.identity(x)
loss = tf.square(clipped_on_the_way_back - 1)  # A trivial loss function

# Apply the gradients directly after calculating
optimizer = tf.compat.v1.train.GradientDescentOptimizer(learning_rate=0.01)
grads_and_vars = optimizer.compute_gradients(loss, [x])
apply_grads = optimizer.apply_gradients(grads_and_vars)

printed = []  # added
with tf.compat.v1.Session() as sess:
    sess.run(tf.compat.v1.global_variables_initializer())
    for i in range(5):
        _, loss_val, grad_val = sess.run([apply_grads, loss, grads_and_vars])
        printed.append((loss_val, grad_val[0][0].item()))  # added
        print(f"Iteration {i + 1}: Loss={loss_val:.4f}, Gradient={grad_val[0][0].item():.4f}")
    trained = sess.run(x)  # added
