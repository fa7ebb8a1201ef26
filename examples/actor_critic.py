"""Actor-critic learning in TensorFlow 1's style: two workers with copies of a net, which they train in turn.

    DOVETAIL_ENGINE=torch python examples/actor_critic.py

A worker walks through a maze by its own copy of the net. After some steps it takes the gradients of its copy, clips
them by their norm, applies them to the shared net, and pulls that net's weights. The critic estimates the worth of each
place, and the actor moves towards steps that turned out better than the estimate. Variable scopes keep the nets apart,
and collections find their weights.

Source: Mnih et al. 2016, "Asynchronous methods for deep reinforcement learning"; its workers run at the same time.

Only one line is new:  import tensorflow as tf  is now  import dovetail.compat.tensorflow as tf
"""

import argparse

import numpy as np

import dovetail.compat.tensorflow as tf

MAZE = ["S....", ".###.", "...#.", ".#.#.", ".#..G"]
SIDE, MOVES = 5, [(-1, 0), (0, 1), (1, 0), (0, -1)]
DISCOUNT, STEPS, PATIENCE = 0.95, 8, 40  # per step; steps before each update; steps until a walk is given up


class Walk:
    """A worker's position in the maze: each step costs a little, and the goal gives 1."""

    def __init__(self):
        self.start()

    def start(self):
        self.row, self.column, self.age = 0, 0, 0

    @property
    def place(self):
        return self.row * SIDE + self.column

    def step(self, move):
        row, column = self.row + MOVES[move][0], self.column + MOVES[move][1]
        if 0 <= row < SIDE and 0 <= column < SIDE and MAZE[row][column] != "#":
            self.row, self.column = row, column
        self.age += 1
        found = MAZE[self.row][self.column] == "G"
        return (1.0 if found else -0.02), found or self.age == PATIENCE


def dense(x, name, units, random):
    """A dense layer; NumPy draws its first weights, so that they are the same in every net and on every engine."""
    with tf.variable_scope(name):
        inputs = x.shape.as_list()[-1]
        first = random.normal(0, np.sqrt(1 / inputs), (inputs, units)).astype("float32")
        kernel = tf.get_variable("kernel", [inputs, units], initializer=tf.constant_initializer(first))
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(x, kernel), bias)


class Net:
    """The actor and the critic, which share a layer; `scope` keeps one net's weights apart from another's."""

    def __init__(self, scope):
        random = np.random.RandomState(0)
        with tf.variable_scope(scope):
            self.places = tf.placeholder(tf.int32, [None], name="places")
            hidden = tf.tanh(dense(tf.one_hot(self.places, SIDE * SIDE), "hidden", 32, random))
            self.logits = dense(hidden, "actor", len(MOVES), random)
            self.values = tf.squeeze(dense(hidden, "critic", 1, random), axis=1)
            self.policy = tf.nn.softmax(self.logits)
        self.weights = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)


class Worker(Net):
    """A copy of the net, its training operations, and a walk."""

    def __init__(self, scope, shared, optimizer):
        super().__init__(scope)
        with tf.name_scope(scope):
            self.moves = tf.placeholder(tf.int32, [None], name="moves")
            self.returns = tf.placeholder(tf.float32, [None], name="returns")
            better = self.returns - self.values
            surprise = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.moves, logits=self.logits)
            actor = tf.reduce_mean(surprise * tf.stop_gradient(better))
            critic = 0.5 * tf.reduce_mean(tf.square(better))
            entropy = -tf.reduce_mean(tf.reduce_sum(self.policy * tf.nn.log_softmax(self.logits), axis=1))
            self.loss = actor + critic - 0.01 * entropy
            gradients, self.norm = tf.clip_by_global_norm(tf.gradients(self.loss, self.weights), 1.0)
            pairs = zip(gradients, shared.weights, strict=True)
            self.push = optimizer.apply_gradients(pairs, tf.train.get_or_create_global_step())
            self.pull = tf.group(*[mine.assign(its) for mine, its in zip(self.weights, shared.weights, strict=True)])
        self.walk = Walk()

    def act(self, session, random):
        """Walk some steps; return the places, the moves, the moves' returns, and the lengths of walks that ended."""
        places, moves, rewards, ended = [], [], [], []
        for _ in range(STEPS):
            policy = session.run(self.policy, {self.places: [self.walk.place]})[0]
            move = min(int(np.searchsorted(np.cumsum(policy), random.rand())), len(MOVES) - 1)
            places.append(self.walk.place)
            reward, is_over = self.walk.step(move)
            moves.append(move)
            rewards.append(reward)
            if is_over:
                ended.append(self.walk.age)
                self.walk.start()
                break
        last = 0.0 if ended else session.run(self.values, {self.places: [self.walk.place]})[0]
        returns = []
        for reward in reversed(rewards):
            last = reward + DISCOUNT * last
            returns.append(last)
        return places, moves, returns[::-1], ended

    def train(self, session, random):
        """Walk, and apply the gradients to the shared net; return the loss, and the lengths of walks that ended."""
        session.run(self.pull)
        places, moves, returns, ended = self.act(session, random)
        feeds = {self.places: places, self.moves: moves, self.returns: returns}
        return session.run([self.loss, self.push], feeds)[0], ended


def main(arguments=None):
    """Train, and print the lengths of walks; return the losses, these lengths and the shared net's policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1500, help="how often a worker trains (1500)")
    updates = parser.parse_args(arguments).updates
    random, losses, lengths = np.random.RandomState(1), [], []
    with tf.Graph().as_default():
        shared = Net("shared")
        optimizer = tf.train.RMSPropOptimizer(0.01, decay=0.99, epsilon=1e-3)
        workers = [Worker(f"worker_{i}", shared, optimizer) for i in range(2)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in range(updates):
                loss, ended = workers[i % len(workers)].train(session, random)
                losses.append(loss)
                lengths += ended
                if (i + 1) % (updates // 5) == 0:
                    print(f"{i + 1:5} updates  walks of {np.mean(lengths[-10:] or PATIENCE):.1f} steps")
            policy = session.run(shared.policy, {shared.places: np.arange(SIDE * SIDE)})
            count = session.run(tf.train.get_global_step())
    print("\n".join("".join("^>v<"[policy[r * SIDE + c].argmax()] for c in range(SIDE)) for r in range(SIDE)))
    return {"losses": losses, "lengths": lengths, "policy": policy, "updates": count}


if __name__ == "__main__":
    main()
