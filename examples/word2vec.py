"""Words as vectors, in TensorFlow 1's style: skip-grams with negative sampling, saved and restored.

    DOVETAIL_ENGINE=tensorflow python examples/word2vec.py

Each word of a text learns to tell the words next to it from random other words, so words with the same neighbours get
similar vectors. The text consists of sentences of a small grammar, so it is known which words are alike. The learning
rate falls with the steps, which a variable counts. Halfway, the program saves the weights, and another session restores
them and goes on.

Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality".

Only one line is new:  import tensorflow as tf  is now  import dovetail.compat.tensorflow as tf
"""

import argparse
import tempfile

import numpy as np

import dovetail.compat.tensorflow as tf

KINDS = {
    "who": ["cat", "dog", "horse", "mouse", "bird"],
    "does": ["eats", "likes", "finds", "wants", "takes"],
    "which": ["red", "sweet", "old", "small", "cold"],
    "what": ["apple", "cake", "carrot", "cheese", "nut"],
    "where": ["garden", "kitchen", "street", "forest", "house"],
}
SENTENCE = ["the", "who", "does", "the", "which", "what", "in", "the", "where"]
WORDS = sorted({"the", "in"}.union(*KINDS.values()))
NUMBERS = {word: number for number, word in enumerate(WORDS)}
DIMENSIONS, WINDOW, NEGATIVE, BATCH = 12, 2, 5, 64


def text(sentences, random):
    """The words of sentences, as numbers: a row for each sentence."""
    kinds = [KINDS.get(kind, [kind]) for kind in SENTENCE]
    return np.array([[NUMBERS[words[random.randint(len(words))]] for words in kinds] for _ in range(sentences)])


def pairs_of(rows):
    """Each word paired with each word near it in its sentence, and the frequency of each word."""
    places = range(rows.shape[1])
    near = [(i, j) for i in places for j in places if 0 < abs(i - j) <= WINDOW]
    return np.concatenate([rows[:, pair] for pair in near]), np.bincount(rows.ravel(), minlength=len(WORDS))


class SkipGram:
    """The net and its training; `like` has, for each word, the words with the smallest angles to its vector."""

    def __init__(self, steps):
        random = np.random.RandomState(0)
        self.word = tf.placeholder(tf.int32, [None], name="word")
        self.near = tf.placeholder(tf.int32, [None], name="near")
        self.others = tf.placeholder(tf.int32, [None, NEGATIVE], name="others")
        first = random.uniform(-0.5, 0.5, (len(WORDS), DIMENSIONS)).astype("float32")
        with tf.variable_scope("skip_gram"):
            self.vectors = tf.get_variable("vectors", initializer=first)
            contexts = tf.get_variable("contexts", [len(WORDS), DIMENSIONS], initializer=tf.zeros_initializer())
        vector = tf.expand_dims(tf.nn.embedding_lookup(self.vectors, self.word), 1)
        near = tf.expand_dims(tf.nn.embedding_lookup(contexts, self.near), 1)
        candidates = tf.concat([near, tf.nn.embedding_lookup(contexts, self.others)], axis=1)
        logits = tf.reduce_sum(vector * candidates, axis=2)  # of the right word, and of the drawn words
        is_near = tf.concat([tf.ones_like(logits[:, :1]), tf.zeros_like(logits[:, 1:])], axis=1)
        each = tf.nn.sigmoid_cross_entropy_with_logits(labels=is_near, logits=logits)
        self.loss = tf.reduce_mean(tf.reduce_sum(each, axis=1))
        self.count = tf.train.get_or_create_global_step()
        self.rate = tf.train.polynomial_decay(1.0, self.count, steps, 0.05)
        self.step = tf.train.GradientDescentOptimizer(self.rate).minimize(self.loss, global_step=self.count)
        unit = tf.nn.l2_normalize(self.vectors, axis=1)
        self.like = tf.nn.top_k(tf.matmul(unit, unit, transpose_b=True), 4).indices
        self.saver = tf.train.Saver(max_to_keep=2)

    def train(self, session, steps, data, random):
        """Train for some steps, and return the losses."""
        pairs, counts = data
        chances = np.cumsum(counts**0.75 / (counts**0.75).sum())
        losses = []
        for _ in range(steps):
            word, near = pairs[random.randint(len(pairs), size=BATCH)].T
            others = np.searchsorted(chances, random.rand(BATCH, NEGATIVE)).clip(max=len(WORDS) - 1)
            feeds = {self.word: word, self.near: near, self.others: others}
            losses.append(session.run([self.loss, self.step], feeds)[0])
        return losses


def main(arguments=None):
    """Train, save halfway, go on in another session, and print which words are alike; return the findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1500, help="how many batches are learned from (1500)")
    steps = parser.parse_args(arguments).steps
    random = np.random.RandomState(1)
    data = pairs_of(text(500, random))
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        net = SkipGram(steps)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = net.train(session, steps // 2, data, random)
            net.saver.save(session, f"{folder}/words", global_step=net.count)
        print(f"Halfway the loss is {np.mean(losses[-20:]):.3f}, of {losses[0]:.3f} in the beginning")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())  # overwrites all weights, before they are restored
            net.saver.restore(session, tf.train.latest_checkpoint(folder))
            losses += net.train(session, steps - steps // 2, data, random)
            vectors, like, rate = session.run([net.vectors, net.like, net.rate])
    print(f"In the end it is {np.mean(losses[-20:]):.3f}, at a rate of {rate:.2f}")
    found = {word: [WORDS[j] for j in like[number] if j != number] for word, number in NUMBERS.items()}
    for word in ("cat", "eats", "cheese", "forest"):
        print(f"{word:7} is like {', '.join(found[word])}")
    right = np.mean([other in words for words in KINDS.values() for word in words for other in found[word]])
    print(f"{right:.0%} of the words that are alike are of one kind")
    return {"losses": losses, "vectors": vectors, "rate": rate, "right": right}


if __name__ == "__main__":
    main()
