"""A variational autoencoder for MNIST as a class with a session (after the style of 2016)."""
from __future__ import print_function

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data


def xavier_init(fan_in, fan_out, constant=1):
    """Xavier initialization of network weights."""
    low = -constant * np.sqrt(6.0 / (fan_in + fan_out))
    high = constant * np.sqrt(6.0 / (fan_in + fan_out))
    return tf.random_uniform((fan_in, fan_out), minval=low, maxval=high, dtype=tf.float32)


class VariationalAutoencoder(object):
    def __init__(self, network_architecture, transfer_fct=tf.nn.softplus, learning_rate=0.001, batch_size=100):
        self.network_architecture = network_architecture
        self.transfer_fct = transfer_fct
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.x = tf.placeholder(tf.float32, [None, network_architecture["n_input"]])
        self._create_network()
        self._create_loss_optimizer()
        init = tf.global_variables_initializer()
        self.sess = tf.InteractiveSession()
        self.sess.run(init)

    def _create_network(self):
        weights = self._initialize_weights(**self.network_architecture)
        self.z_mean, self.z_log_sigma_sq = self._recognition_network(
            weights["weights_recog"], weights["biases_recog"])
        n_z = self.network_architecture["n_z"]
        eps = tf.random_normal((self.batch_size, n_z), 0, 1, dtype=tf.float32)
        self.z = tf.add(self.z_mean, tf.multiply(tf.sqrt(tf.exp(self.z_log_sigma_sq)), eps))
        self.x_reconstr_mean = self._generator_network(weights["weights_gener"], weights["biases_gener"])

    def _initialize_weights(self, n_hidden_recog_1, n_hidden_gener_1, n_input, n_z):
        all_weights = dict()
        all_weights['weights_recog'] = {
            'h1': tf.Variable(xavier_init(n_input, n_hidden_recog_1)),
            'out_mean': tf.Variable(xavier_init(n_hidden_recog_1, n_z)),
            'out_log_sigma': tf.Variable(xavier_init(n_hidden_recog_1, n_z))}
        all_weights['biases_recog'] = {
            'b1': tf.Variable(tf.zeros([n_hidden_recog_1], dtype=tf.float32)),
            'out_mean': tf.Variable(tf.zeros([n_z], dtype=tf.float32)),
            'out_log_sigma': tf.Variable(tf.zeros([n_z], dtype=tf.float32))}
        all_weights['weights_gener'] = {
            'h1': tf.Variable(xavier_init(n_z, n_hidden_gener_1)),
            'out_mean': tf.Variable(xavier_init(n_hidden_gener_1, n_input))}
        all_weights['biases_gener'] = {
            'b1': tf.Variable(tf.zeros([n_hidden_gener_1], dtype=tf.float32)),
            'out_mean': tf.Variable(tf.zeros([n_input], dtype=tf.float32))}
        return all_weights

    def _recognition_network(self, weights, biases):
        layer_1 = self.transfer_fct(tf.add(tf.matmul(self.x, weights['h1']), biases['b1']))
        z_mean = tf.add(tf.matmul(layer_1, weights['out_mean']), biases['out_mean'])
        z_log_sigma_sq = tf.add(tf.matmul(layer_1, weights['out_log_sigma']), biases['out_log_sigma'])
        return (z_mean, z_log_sigma_sq)

    def _generator_network(self, weights, biases):
        layer_1 = self.transfer_fct(tf.add(tf.matmul(self.z, weights['h1']), biases['b1']))
        return tf.nn.sigmoid(tf.add(tf.matmul(layer_1, weights['out_mean']), biases['out_mean']))

    def _create_loss_optimizer(self):
        reconstr_loss = -tf.reduce_sum(self.x * tf.log(1e-10 + self.x_reconstr_mean)
                                       + (1 - self.x) * tf.log(1e-10 + 1 - self.x_reconstr_mean), 1)
        latent_loss = -0.5 * tf.reduce_sum(1 + self.z_log_sigma_sq - tf.square(self.z_mean)
                                           - tf.exp(self.z_log_sigma_sq), 1)
        self.cost = tf.reduce_mean(reconstr_loss + latent_loss)
        self.optimizer = tf.train.AdamOptimizer(learning_rate=self.learning_rate).minimize(self.cost)

    def partial_fit(self, X):
        opt, cost = self.sess.run((self.optimizer, self.cost), feed_dict={self.x: X})
        return cost

    def transform(self, X):
        return self.sess.run(self.z_mean, feed_dict={self.x: X})

    def generate(self, z_mu=None):
        if z_mu is None:
            z_mu = np.random.normal(size=(self.batch_size, self.network_architecture["n_z"]))
        return self.sess.run(self.x_reconstr_mean, feed_dict={self.z: z_mu})


mnist = input_data.read_data_sets('MNIST_data', one_hot=True, validation_size=20)
n_samples = mnist.train.num_examples
architecture = dict(n_hidden_recog_1=32, n_hidden_gener_1=32, n_input=784, n_z=4)
vae = VariationalAutoencoder(architecture, batch_size=20)
for epoch in range(2):
    avg_cost = 0.
    total_batch = int(n_samples / 20)
    for i in range(total_batch):
        batch_xs, _ = mnist.train.next_batch(20, shuffle=False)
        avg_cost += vae.partial_fit(batch_xs) / n_samples * 20
    print("Epoch:", '%04d' % (epoch + 1), "cost=", "{:.6f}".format(avg_cost))
z = vae.transform(mnist.test.images[:20])
print("z", z.shape, "%.5f" % np.abs(z).mean())
print("generated", "%.5f" % vae.generate(np.zeros((20, 4))).mean())
