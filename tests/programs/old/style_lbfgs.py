"""Style transfer: an image is optimised by L-BFGS towards content and style (TensorFlow 1.x)."""
from __future__ import print_function

import argparse

import numpy as np
import scipy.misc
import tensorflow as tf

parser = argparse.ArgumentParser(description='Neural style')
parser.add_argument('--iterations', type=int, default=6)
parser.add_argument('--content-weight', type=float, default=1.0)
parser.add_argument('--style-weight', type=float, default=10.0)
parser.add_argument('--tv-weight', type=float, default=1e-3)
args = parser.parse_args()

LAYERS = ['conv1_1', 'relu1_1', 'pool1', 'conv2_1', 'relu2_1']
CONTENT_LAYERS = ['relu2_1']
STYLE_LAYERS = ['relu1_1', 'relu2_1']


def make_weights():
    """Filters like those of a trained network: smooth, and of unit size."""
    rng = np.random.RandomState(7)
    found = {}
    for name, n_in, n_out in (('conv1_1', 3, 6), ('conv2_1', 6, 8)):
        found[name] = ((rng.randn(3, 3, n_in, n_out) / np.sqrt(9 * n_in)).astype(np.float32),
                       0.1 * np.ones(n_out, np.float32))
    return found


def build_model(image, weights):
    net, current = {'input': image}, image
    for name in LAYERS:
        kind = name[:4]
        if kind == 'conv':
            kernels, bias = weights[name]
            current = tf.nn.conv2d(current, tf.constant(kernels), strides=(1, 1, 1, 1), padding='SAME')
            current = tf.nn.bias_add(current, bias)
        elif kind == 'relu':
            current = tf.nn.relu(current)
        elif kind == 'pool':
            current = tf.nn.avg_pool(current, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding='SAME')
        net[name] = current
    return net


def gram_matrix(x, area, depth):
    F = tf.reshape(x, (area, depth))
    return tf.matmul(tf.transpose(F), F)


def content_layer_loss(p, x):
    _, h, w, d = p.get_shape()
    K = 1. / (2. * h.value ** 0.5 * w.value ** 0.5 * d.value ** 0.5)
    return K * tf.reduce_sum(tf.pow((x - p), 2))


def style_layer_loss(a, x):
    _, h, w, d = a.get_shape()
    M, N = h.value * w.value, d.value
    A, G = gram_matrix(a, M, N), gram_matrix(x, M, N)
    return (1. / (4 * N ** 2 * M ** 2)) * tf.reduce_sum(tf.pow((G - A), 2))


def sum_losses(sess, net, image, layers, layer_loss):
    total = 0.
    for layer in layers:
        sess.run(net['input'].assign(image))
        fixed = tf.convert_to_tensor(sess.run(net[layer]))
        total += layer_loss(fixed, net[layer])
    return total / float(len(layers))


def minimize_with_lbfgs(sess, net, optimizer, init_img):
    sess.run(tf.global_variables_initializer())
    sess.run(net['input'].assign(init_img))
    optimizer.minimize(sess)


grid = np.linspace(0, 1, 16)
content_img = np.stack([np.outer(grid, grid ** k) for k in (0, 1, 2)], axis=-1)[np.newaxis].astype(np.float32)
style_img = (0.5 + 0.5 * np.sin(np.arange(16 * 16 * 3).reshape(1, 16, 16, 3))).astype(np.float32)
init_img = 0.5 * content_img + 0.2

with tf.device('/cpu:0'), tf.Session(config=tf.ConfigProto(log_device_placement=False)) as sess:
    net = build_model(tf.Variable(np.zeros((1, 16, 16, 3), dtype=np.float32)), make_weights())
    sess.run(tf.global_variables_initializer())
    L_style = sum_losses(sess, net, style_img, STYLE_LAYERS, style_layer_loss)
    L_content = sum_losses(sess, net, content_img, CONTENT_LAYERS, content_layer_loss)
    L_tv = tf.image.total_variation(net['input'])[0]
    L_total = args.content_weight * L_content + args.style_weight * L_style + args.tv_weight * L_tv
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(
        L_total, method='L-BFGS-B', options={'maxiter': args.iterations, 'disp': 0})
    sess.run(net['input'].assign(init_img))
    print('before: %.5f' % sess.run(L_total))
    minimize_with_lbfgs(sess, net, optimizer, init_img)
    after = sess.run([L_total, L_content, L_style, L_tv])
    print('after: ' + ' '.join('%.4f' % value for value in after))
    out = np.clip(sess.run(net['input'])[0], 0, 1)
    scipy.misc.imsave('out.png', out)
    print('image %s %.4f' % (out.shape, out.mean()))
