"""Wasserstein GAN with gradient penalty on eight Gaussians, in the manner of 2017."""
from __future__ import print_function

import numpy as np
import tensorflow as tf

DIM = 24
LAMBDA = .1
CRITIC_ITERS = 2
BATCH_SIZE = 32
ITERS = 6
FIXED_GENERATOR = False

rng = np.random.RandomState(0)
_params = {}


def param(name, value):
    """A shared variable, made at its first use."""
    if name not in _params:
        _params[name] = tf.Variable(value, name=name)
    return _params[name]


def params_with_name(name):
    return [p for n, p in sorted(_params.items()) if name in n]


def Linear(name, input_dim, output_dim, inputs):
    with tf.name_scope(name):
        stdev = np.sqrt(2. / (input_dim + output_dim))
        values = rng.uniform(low=-stdev * np.sqrt(3), high=stdev * np.sqrt(3), size=(input_dim, output_dim))
        weight = param(name + '.W', values.astype('float32'))
        result = tf.matmul(inputs, weight)
        return tf.nn.bias_add(result, param(name + '.b', np.zeros(output_dim, dtype='float32')))


def ReLULayer(name, n_in, n_out, inputs):
    return tf.nn.relu(Linear(name + '.Linear', n_in, n_out, inputs))


def Generator(n_samples, real_data, noise):
    if FIXED_GENERATOR:
        return real_data + (1. * tf.random_normal(tf.shape(real_data)))
    output = ReLULayer('Generator.1', 2, DIM, noise)
    output = ReLULayer('Generator.2', DIM, DIM, output)
    return Linear('Generator.4', DIM, 2, output)


def Discriminator(inputs):
    output = ReLULayer('Discriminator.1', 2, DIM, inputs)
    output = ReLULayer('Discriminator.2', DIM, DIM, output)
    output = Linear('Discriminator.4', DIM, 1, output)
    return tf.reshape(output, [-1])


real_data = tf.placeholder(tf.float32, shape=[None, 2])
noise = tf.placeholder_with_default(tf.random_normal([BATCH_SIZE, 2]), shape=[None, 2])
fake_data = Generator(BATCH_SIZE, real_data, noise)
disc_real = Discriminator(real_data)
disc_fake = Discriminator(fake_data)

disc_cost = tf.reduce_mean(disc_fake) - tf.reduce_mean(disc_real)
gen_cost = -tf.reduce_mean(disc_fake)

# the penalty of the gradient between real and generated points
alpha = tf.random_uniform(shape=[BATCH_SIZE, 1], minval=0., maxval=1.)
interpolates = alpha * real_data + ((1 - alpha) * fake_data)
disc_interpolates = Discriminator(interpolates)
gradients = tf.gradients(disc_interpolates, [interpolates])[0]
slopes = tf.sqrt(tf.reduce_sum(tf.square(gradients), reduction_indices=[1]))
gradient_penalty = tf.reduce_mean((slopes - 1) ** 2)
disc_cost += LAMBDA * gradient_penalty

disc_params = params_with_name('Discriminator')
gen_params = params_with_name('Generator')
disc_train_op = tf.train.AdamOptimizer(learning_rate=1e-3, beta1=0.5, beta2=0.9).minimize(
    disc_cost, var_list=disc_params)
gen_train_op = tf.train.AdamOptimizer(learning_rate=1e-3, beta1=0.5, beta2=0.9).minimize(
    gen_cost, var_list=gen_params)

print("Generator params:")
for var in gen_params:
    print("\t{}\t{}".format(var.name, var.get_shape()))
print("Discriminator params:")
for var in disc_params:
    print("\t{}\t{}".format(var.name, var.get_shape()))


def inf_train_gen():
    scale = 2.
    angles = np.arange(8) * np.pi / 4
    centers = scale * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    while True:
        points = rng.randn(BATCH_SIZE, 2) * .02
        yield ((points + centers[rng.randint(8, size=BATCH_SIZE)]) / 1.414).astype('float32')


with tf.Session() as session:
    session.run(tf.initialize_all_variables())
    gen = inf_train_gen()
    for iteration in range(ITERS):
        if iteration > 0:
            session.run(gen_train_op)
        for i in range(CRITIC_ITERS):
            cost, penalty, _ = session.run([disc_cost, gradient_penalty, disc_train_op],
                                           feed_dict={real_data: next(gen)})
        print('iter %d disc cost %.5f penalty %.5f' % (iteration, cost, penalty))
    samples = session.run(fake_data, {noise: np.ones((3, 2), 'float32')})
    print('samples', samples.shape, ' '.join('%.4f' % v for v in samples[0]))
