"""Classify toy sequences of various lengths with dynamic_rnn (TensorFlow 1.x)."""
from __future__ import print_function

import random

import numpy as np
import tensorflow as tf


class ToySequenceData(object):
    """Class 0: linear sequences; class 1: random ones. Sequences are padded with zeros."""

    def __init__(self, n_samples=60, max_seq_len=10, min_seq_len=3, max_value=100):
        self.data, self.labels, self.seqlen = [], [], []
        for i in range(n_samples):
            length = random.randint(min_seq_len, max_seq_len)
            self.seqlen.append(length)
            if random.random() < .5:
                rand_start = random.randint(0, max_value - length)
                s = [[float(i) / max_value] for i in range(rand_start, rand_start + length)]
                self.labels.append([1., 0.])
            else:
                s = [[float(random.randint(0, max_value)) / max_value] for i in range(length)]
                self.labels.append([0., 1.])
            s += [[0.] for i in range(max_seq_len - length)]
            self.data.append(s)
        self.batch_id = 0

    def next(self, batch_size):
        if self.batch_id == len(self.data):
            self.batch_id = 0
        end = min(self.batch_id + batch_size, len(self.data))
        found = (self.data[self.batch_id:end], self.labels[self.batch_id:end], self.seqlen[self.batch_id:end])
        self.batch_id = end
        return found


learning_rate = 0.05
training_steps = 30
batch_size = 20
display_step = 10
seq_max_len = 10
n_hidden = 16
n_classes = 2

random.seed(1)
trainset = ToySequenceData(n_samples=60, max_seq_len=seq_max_len)
testset = ToySequenceData(n_samples=30, max_seq_len=seq_max_len)

x = tf.placeholder("float", [None, seq_max_len, 1])
y = tf.placeholder("float", [None, n_classes])
seqlen = tf.placeholder(tf.int32, [None])

weights = {'out': tf.Variable(tf.random_normal([n_hidden, n_classes]))}
biases = {'out': tf.Variable(tf.zeros([n_classes]))}


def dynamicRNN(x, seqlen, weights, biases):
    cell = tf.nn.rnn_cell.BasicLSTMCell(n_hidden)
    cell = tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=1.0)
    with tf.variable_scope('classifier', initializer=tf.random_uniform_initializer(-0.3, 0.3)):
        outputs, states = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, sequence_length=seqlen)
    # the last output that counts of each sequence
    batch = tf.shape(outputs)[0]
    index = tf.range(0, batch) * seq_max_len + (seqlen - 1)
    last = tf.gather(tf.reshape(outputs, [-1, n_hidden]), index)
    return tf.matmul(last, weights['out']) + biases['out'], states


pred, states = dynamicRNN(x, seqlen, weights, biases)
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
optimizer = tf.train.GradientDescentOptimizer(learning_rate=learning_rate).minimize(cost)
correct_pred = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
accuracy = tf.reduce_mean(tf.cast(correct_pred, tf.float32))
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for step in range(1, training_steps + 1):
        batch_x, batch_y, batch_seqlen = trainset.next(batch_size)
        sess.run(optimizer, feed_dict={x: batch_x, y: batch_y, seqlen: batch_seqlen})
        if step % display_step == 0 or step == 1:
            acc, loss = sess.run([accuracy, cost], feed_dict={x: batch_x, y: batch_y, seqlen: batch_seqlen})
            print("Step " + str(step) + ", Minibatch Loss= " + "{:.5f}".format(loss) +
                  ", Training Accuracy= " + "{:.4f}".format(acc))
    print("Optimization Finished!")
    feed = {x: testset.data, y: testset.labels, seqlen: testset.seqlen}
    print("Testing Accuracy:", "%.4f" % sess.run(accuracy, feed_dict=feed))
    final = sess.run(states, feed_dict=feed)
    print("c %.5f h %.5f" % (np.abs(final.c).mean(), np.abs(final.h).mean()), final.h.shape)
    for v in tf.trainable_variables():
        print(v.name, v.get_shape().as_list())
