"""Skip-gram word vectors with noise-contrastive estimation (TensorFlow 0.x to 1.x)."""
from __future__ import absolute_import, division, print_function

import collections
import math
import random

import numpy as np
import tensorflow as tf
from six.moves import xrange

TEXT = """the quick brown fox jumps over the lazy dog while the small cat sleeps near the old house and the dog
runs after the fox but the cat only looks at the dog and sleeps again in the house the fox runs over the hill
and the lazy cat sees the quick fox from the house when the old dog jumps""".split()
vocabulary_size = 20


def build_dataset(words, n_words):
    count = [['UNK', -1]]
    count.extend(collections.Counter(words).most_common(n_words - 1))
    dictionary = dict()
    for word, _ in count:
        dictionary[word] = len(dictionary)
    data = list()
    unk_count = 0
    for word in words:
        index = dictionary.get(word, 0)
        if index == 0:
            unk_count += 1
        data.append(index)
    count[0][1] = unk_count
    return data, count, dictionary, dict(zip(dictionary.values(), dictionary.keys()))


data, count, dictionary, reverse_dictionary = build_dataset(TEXT, vocabulary_size)
print('Most common words (+UNK)', count[:3])
data_index = 0


def generate_batch(batch_size, num_skips, skip_window):
    global data_index
    assert batch_size % num_skips == 0
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    for _ in range(span):
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    for i in range(batch_size // num_skips):
        targets = [w for w in range(span) if w != skip_window]
        for j, target in enumerate(random.sample(targets, num_skips)):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[target]
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    return batch, labels


random.seed(5)
batch_size, embedding_size, skip_window, num_skips, num_sampled = 16, 8, 1, 2, 6
valid_examples = np.array([1, 2, 3])

graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
    valid_dataset = tf.constant(valid_examples, dtype=tf.int32)
    with tf.device('/cpu:0'):
        embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable(
            tf.truncated_normal([vocabulary_size, embedding_size], stddev=1.0 / math.sqrt(embedding_size)))
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    loss = tf.reduce_mean(tf.nn.nce_loss(weights=nce_weights, biases=nce_biases, labels=train_labels,
                                         inputs=embed, num_sampled=num_sampled, num_classes=vocabulary_size))
    optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized_embeddings = embeddings / norm
    valid_embeddings = tf.nn.embedding_lookup(normalized_embeddings, valid_dataset)
    similarity = tf.matmul(valid_embeddings, normalized_embeddings, transpose_b=True)
    init = tf.global_variables_initializer()

with tf.Session(graph=graph) as session:
    init.run()
    print('Initialized')
    average_loss = 0
    for step in xrange(12):
        batch_inputs, batch_labels = generate_batch(batch_size, num_skips, skip_window)
        _, loss_val = session.run([optimizer, loss], feed_dict={train_inputs: batch_inputs,
                                                                train_labels: batch_labels})
        average_loss += loss_val
        if step % 4 == 3:
            print('Average loss at step ', step, ': %.4f' % (average_loss / 4))
            average_loss = 0
    sim = similarity.eval()
    for i in xrange(len(valid_examples)):
        valid_word = reverse_dictionary[valid_examples[i]]
        print('Nearest to %s: %.4f' % (valid_word, np.sort(sim[i, :])[-2]))
    print('norms %.4f' % norm.eval().mean())
