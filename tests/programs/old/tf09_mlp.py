"""A multilayer perceptron in the words of TensorFlow 0.9 (June 2016)."""
import os
import tempfile

import numpy as np
import tensorflow as tf

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_float('learning_rate', 0.1, 'Initial learning rate.')
flags.DEFINE_integer('max_steps', 20, 'Number of steps to run trainer.')
flags.DEFINE_integer('hidden1', 12, 'Number of units in hidden layer 1.')
flags.DEFINE_integer('batch_size', 16, 'Batch size.')

NUM_CLASSES = 3
NUM_FEATURES = 6


def inference(features, hidden1_units):
    """Build the model up to where it may be used for inference."""
    with tf.name_scope('hidden1'):
        weights = tf.Variable(tf.truncated_normal([NUM_FEATURES, hidden1_units], stddev=1.0 / NUM_FEATURES ** 0.5),
                              name='weights')
        biases = tf.Variable(tf.zeros([hidden1_units]), name='biases')
        hidden1 = tf.nn.relu(tf.matmul(features, weights) + biases)
        tf.histogram_summary('hidden1/activations', hidden1)
    with tf.name_scope('halves'):
        left, right = tf.split(1, 2, hidden1)
        both = tf.concat(1, [tf.mul(left, right), tf.sub(left, right)])
        both.set_shape([None, hidden1_units])
    with tf.name_scope('softmax_linear'):
        weights = tf.Variable(tf.truncated_normal([hidden1_units, NUM_CLASSES], stddev=0.3), name='weights')
        biases = tf.Variable(tf.zeros([NUM_CLASSES]), name='biases')
        return tf.add(tf.matmul(both, weights), biases)


def loss(logits, labels):
    batch_size = tf.size(labels)
    labels = tf.expand_dims(labels, 1)
    indices = tf.expand_dims(tf.range(0, batch_size, 1), 1)
    concated = tf.concat(1, [indices, labels])
    onehot_labels = tf.sparse_to_dense(concated, tf.pack([batch_size, NUM_CLASSES]), 1.0, 0.0)
    cross_entropy = tf.nn.softmax_cross_entropy_with_logits(logits, onehot_labels, name='xentropy')
    tf.add_to_collection('losses', tf.reduce_mean(cross_entropy, name='xentropy_mean'))
    decay = tf.mul(tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if 'weights' in v.op.name]), 1e-3)
    tf.add_to_collection('losses', decay)
    return tf.add_n(tf.get_collection('losses'), name='total_loss')


def training(loss, learning_rate):
    tf.scalar_summary(loss.op.name, loss)
    global_step = tf.Variable(0, name='global_step', trainable=False)
    lr = tf.train.exponential_decay(learning_rate, global_step, 10, 0.5, staircase=True)
    tf.scalar_summary('learning_rate', lr)
    averages = tf.train.ExponentialMovingAverage(0.9, global_step)
    apply_gradient = tf.train.GradientDescentOptimizer(lr).minimize(loss, global_step=global_step)
    with tf.control_dependencies([apply_gradient]):
        return averages.apply(tf.trainable_variables()), averages, global_step


def evaluation(logits, labels):
    correct = tf.nn.in_top_k(logits, labels, 1)
    return tf.reduce_sum(tf.cast(correct, tf.int32))


def main(_):
    rng = np.random.RandomState(4)
    all_features = rng.randn(64, NUM_FEATURES).astype('float32')
    all_labels = (all_features[:, 0] > 0).astype('int32') + (all_features[:, 1] > 0.5).astype('int32')
    with tf.Graph().as_default():
        features = tf.placeholder('float', shape=(None, NUM_FEATURES))
        labels = tf.placeholder(tf.int32, shape=(None,))
        logits = inference(features, FLAGS.hidden1)
        total = loss(logits, labels)
        train_op, averages, global_step = training(total, FLAGS.learning_rate)
        eval_correct = evaluation(logits, labels)
        summary_op = tf.merge_all_summaries()
        init = tf.initialize_all_variables()
        saver = tf.train.Saver(tf.all_variables())
        sess = tf.Session()
        train_dir = tempfile.mkdtemp()
        summary_writer = tf.train.SummaryWriter(train_dir, sess.graph)
        sess.run(init)
        for step in range(FLAGS.max_steps):
            start = step * FLAGS.batch_size % 64
            feed_dict = {features: all_features[start:start + FLAGS.batch_size],
                         labels: all_labels[start:start + FLAGS.batch_size]}
            _, loss_value = sess.run([train_op, total], feed_dict=feed_dict)
            if step % 5 == 0:
                print('Step %d: loss = %.4f' % (step, loss_value))
                summary_writer.add_summary(sess.run(summary_op, feed_dict=feed_dict), step)
                summary_writer.flush()
        path = saver.save(sess, os.path.join(train_dir, 'checkpoint'), global_step=global_step)
        print('saved ' + os.path.basename(path))
        feed_dict = {features: all_features, labels: all_labels}
        print('correct %d of %d' % (sess.run(eval_correct, feed_dict=feed_dict), 64))
        average = averages.average(tf.trainable_variables()[0])
        print('average %.5f' % np.abs(sess.run(average)).mean())
        state = tf.train.get_checkpoint_state(train_dir)
        saver.restore(sess, state.model_checkpoint_path)
        print('step %d' % sess.run(global_step))


if __name__ == '__main__':
    tf.app.run()
