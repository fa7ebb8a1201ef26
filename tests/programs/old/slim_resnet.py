"""A small residual network with TF-Slim, as in the models' zoo of 2017."""
from __future__ import absolute_import, division, print_function

import collections

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim


class Block(collections.namedtuple('Block', ['scope', 'unit_fn', 'args'])):
    """A named tuple that describes a block of units."""


def resnet_arg_scope(weight_decay=0.0001, batch_norm_decay=0.9, batch_norm_epsilon=1e-5):
    batch_norm_params = {
        'decay': batch_norm_decay,
        'epsilon': batch_norm_epsilon,
        'scale': True,
        'updates_collections': tf.GraphKeys.UPDATE_OPS,
    }
    with slim.arg_scope(
            [slim.conv2d],
            weights_regularizer=slim.l2_regularizer(weight_decay),
            weights_initializer=slim.variance_scaling_initializer(),
            activation_fn=tf.nn.relu,
            normalizer_fn=slim.batch_norm,
            normalizer_params=batch_norm_params):
        with slim.arg_scope([slim.batch_norm], **batch_norm_params):
            with slim.arg_scope([slim.max_pool2d], padding='SAME') as arg_sc:
                return arg_sc


def subsample(inputs, factor, scope=None):
    if factor == 1:
        return inputs
    return slim.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@slim.add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, outputs_collections=None, scope=None):
    with tf.variable_scope(scope, 'bottleneck_v2', [inputs]) as sc:
        depth_in = slim.utils.last_dimension(inputs.get_shape(), min_rank=4)
        preact = slim.batch_norm(inputs, activation_fn=tf.nn.relu, scope='preact')
        if depth == depth_in:
            shortcut = subsample(inputs, stride, 'shortcut')
        else:
            shortcut = slim.conv2d(preact, depth, [1, 1], stride=stride, normalizer_fn=None,
                                   activation_fn=None, scope='shortcut')
        residual = slim.conv2d(preact, depth_bottleneck, [1, 1], stride=1, scope='conv1')
        residual = slim.conv2d(residual, depth_bottleneck, 3, stride=stride, scope='conv2')
        residual = slim.conv2d(residual, depth, [1, 1], stride=1, normalizer_fn=None,
                               activation_fn=None, scope='conv3')
        output = shortcut + residual
        return slim.utils.collect_named_outputs(outputs_collections, sc.original_name_scope, output)


def resnet(inputs, blocks, num_classes, is_training=True, reuse=None, scope='resnet_v2'):
    with tf.variable_scope(scope, 'resnet_v2', [inputs], reuse=reuse) as sc:
        end_points_collection = sc.name + '_end_points'
        with slim.arg_scope([slim.conv2d, bottleneck], outputs_collections=end_points_collection):
            with slim.arg_scope([slim.batch_norm], is_training=is_training):
                net = slim.conv2d(inputs, 8, 3, stride=1, activation_fn=None, normalizer_fn=None, scope='conv1')
                for block in blocks:
                    with tf.variable_scope(block.scope, 'block', [net]):
                        for i, unit in enumerate(block.args):
                            with tf.variable_scope('unit_%d' % (i + 1), values=[net]):
                                net = block.unit_fn(net, **unit)
                net = slim.batch_norm(net, activation_fn=tf.nn.relu, scope='postnorm')
                net = tf.reduce_mean(net, [1, 2], name='pool5', keep_dims=True)
                net = slim.conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope='logits')
                logits = tf.squeeze(net, [1, 2], name='SpatialSqueeze')
                end_points = slim.utils.convert_collection_to_dict(end_points_collection)
                end_points['predictions'] = slim.softmax(logits, scope='predictions')
                return logits, end_points


def main():
    rng = np.random.RandomState(3)
    images_np = rng.rand(16, 12, 12, 3).astype(np.float32)
    labels_np = rng.randint(0, 4, 16)
    blocks = [
        Block('block1', bottleneck, [dict(depth=16, depth_bottleneck=4, stride=1)] * 2),
        Block('block2', bottleneck, [dict(depth=32, depth_bottleneck=8, stride=2)]),
    ]
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 12, 12, 3])
        labels = tf.placeholder(tf.int64, [None])
        with slim.arg_scope(resnet_arg_scope()):
            logits, end_points = resnet(images, blocks, 4)
        tf.losses.sparse_softmax_cross_entropy(labels, logits)
        total_loss = tf.losses.get_total_loss()
        global_step = slim.get_or_create_global_step()
        train_op = slim.learning.create_train_op(
            total_loss, tf.train.MomentumOptimizer(0.05, 0.9), global_step=global_step, clip_gradient_norm=4)
        print(sorted(end_points)[:3], len(end_points))
        print('regularization losses', len(tf.losses.get_regularization_losses()))
        print('update ops', len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
        print('model variables', len(slim.get_model_variables()))
        with tf.Session(graph=graph) as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            for step in range(6):
                loss = sess.run(train_op, {images: images_np, labels: labels_np})
                print('step %d loss %.4f' % (step, loss))
            mean = [v for v in slim.get_model_variables() if v.op.name.endswith('postnorm/moving_mean')][0]
            print(mean.op.name, '%.5f' % sess.run(mean).mean(), sess.run(global_step))
            excluded = slim.get_variables_to_restore(exclude=['resnet_v2/logits', 'global_step'])
            print('to restore', len(excluded))


if __name__ == '__main__':
    main()
