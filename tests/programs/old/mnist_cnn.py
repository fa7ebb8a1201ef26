"""A convolutional network for MNIST, in the manner of TensorFlow 1.0 (early 2017)."""
from __future__ import print_function

import os
import tempfile

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string('data_dir', 'MNIST_data', 'Directory with the MNIST files')
flags.DEFINE_integer('max_steps', 12, 'Number of steps')
flags.DEFINE_integer('batch_size', 20, 'Batch size')
flags.DEFINE_float('learning_rate', 1e-3, 'Learning rate')


def weight_variable(shape, name):
    initial = tf.truncated_normal(shape, stddev=0.1)
    return tf.Variable(initial, name=name)


def bias_variable(shape, name):
    return tf.Variable(tf.constant(0.1, shape=shape), name=name)


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding='SAME')


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')


def variable_summaries(var):
    with tf.name_scope('summaries'):
        mean = tf.reduce_mean(var)
        tf.summary.scalar('mean', mean)
        stddev = tf.sqrt(tf.reduce_mean(tf.square(var - mean)))
        tf.summary.scalar('stddev', stddev)
        tf.summary.histogram('histogram', var)


def deepnn(x, keep_prob):
    with tf.name_scope('reshape'):
        x_image = tf.reshape(x, [-1, 28, 28, 1])
        tf.summary.image('input', x_image, 2)
    with tf.name_scope('conv1'):
        W_conv1 = weight_variable([5, 5, 1, 8], 'W')
        variable_summaries(W_conv1)
        h_pool1 = max_pool_2x2(tf.nn.relu(conv2d(x_image, W_conv1) + bias_variable([8], 'b')))
    with tf.name_scope('conv2'):
        W_conv2 = weight_variable([5, 5, 8, 16], 'W')
        h_pool2 = max_pool_2x2(tf.nn.relu(conv2d(h_pool1, W_conv2) + bias_variable([16], 'b')))
    with tf.name_scope('fc1'):
        flat = tf.reshape(h_pool2, [-1, 7 * 7 * 16])
        h_fc1 = tf.nn.relu(tf.matmul(flat, weight_variable([7 * 7 * 16, 64], 'W')) + bias_variable([64], 'b'))
    with tf.name_scope('dropout'):
        h_drop = tf.nn.dropout(h_fc1, keep_prob)
    with tf.name_scope('fc2'):
        return tf.matmul(h_drop, weight_variable([64, 10], 'W')) + bias_variable([10], 'b')


def main(_):
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, validation_size=20)
    x = tf.placeholder(tf.float32, [None, 784], name='x')
    y_ = tf.placeholder(tf.float32, [None, 10], name='y_')
    keep_prob = tf.placeholder(tf.float32)
    y_conv = deepnn(x, keep_prob)

    with tf.name_scope('loss'):
        cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y_conv))
        tf.summary.scalar('cross_entropy', cross_entropy)
    global_step = tf.Variable(0, name='global_step', trainable=False)
    rate = tf.train.exponential_decay(FLAGS.learning_rate, global_step, 5, 0.9, staircase=True)
    train_step = tf.train.AdamOptimizer(rate).minimize(cross_entropy, global_step=global_step)
    with tf.name_scope('accuracy'):
        correct = tf.equal(tf.argmax(y_conv, 1), tf.argmax(y_, 1))
        accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

    logs = tempfile.mkdtemp()
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter(logs, tf.get_default_graph())
    saver = tf.train.Saver(max_to_keep=2)
    config = tf.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.max_steps):
            batch = mnist.train.next_batch(FLAGS.batch_size, shuffle=False)
            feed = {x: batch[0], y_: batch[1], keep_prob: 0.5}
            if i % 4 == 0:
                loss, acc = sess.run([cross_entropy, accuracy], feed_dict={x: batch[0], y_: batch[1], keep_prob: 1.0})
                print('step %d, loss %.4f, training accuracy %.3f' % (i, loss, acc))
                writer.add_summary(sess.run(merged, feed_dict=feed), i)
                saver.save(sess, os.path.join(logs, 'model.ckpt'), global_step=i)
            train_step.run(feed_dict=feed)
        writer.close()
        print('test accuracy %.3f' % accuracy.eval(
            feed_dict={x: mnist.test.images, y_: mnist.test.labels, keep_prob: 1.0}))
        print('step', sess.run(global_step), 'rate %.6f' % sess.run(rate))
        saver.restore(sess, tf.train.latest_checkpoint(logs))
        print('restored at step', tf.train.global_step(sess, global_step))
        assert any(f.startswith('events.out') for f in os.listdir(logs))


if __name__ == '__main__':
    tf.app.run()
