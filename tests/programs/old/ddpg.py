"""Deep deterministic policy gradient on a point that is to be moved to the origin (TensorFlow 1.x)."""
import numpy as np
import tensorflow as tf

np.random.seed(2)

LR_A, LR_C, GAMMA, TAU = 0.001, 0.002, 0.9, 0.05
MEMORY_CAPACITY, BATCH_SIZE = 40, 16
S_DIM, A_DIM, A_BOUND = 3, 2, 1.5


class Point(object):
    def reset(self):
        self.s = np.random.uniform(-1, 1, S_DIM)
        return self.s.copy()

    def step(self, a):
        self.s[:2] = np.clip(self.s[:2] + 0.3 * a, -2, 2)
        self.s[2] += 0.1
        return self.s.copy(), -np.abs(self.s[:2]).sum()


class Actor(object):
    def __init__(self, sess):
        self.sess = sess
        with tf.variable_scope('Actor'):
            self.a = self._build_net(S, scope='eval_net', trainable=True)
            self.a_ = self._build_net(S_, scope='target_net', trainable=False)
        self.e_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='Actor/eval_net')
        self.t_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='Actor/target_net')

    def _build_net(self, s, scope, trainable):
        with tf.variable_scope(scope):
            init_w = tf.contrib.layers.xavier_initializer()
            init_b = tf.constant_initializer(0.001)
            net = tf.layers.dense(s, 20, activation=tf.nn.relu6, kernel_initializer=init_w, bias_initializer=init_b,
                                  name='l1', trainable=trainable)
            net = tf.layers.dense(net, 10, activation=tf.nn.relu, kernel_initializer=init_w, bias_initializer=init_b,
                                  name='l2', trainable=trainable)
            with tf.variable_scope('a'):
                actions = tf.layers.dense(net, A_DIM, activation=tf.nn.tanh, kernel_initializer=init_w,
                                          name='a', trainable=trainable)
                return tf.multiply(actions, A_BOUND, name='scaled_a')

    def add_grad_to_graph(self, a_grads):
        with tf.variable_scope('policy_grads'):
            self.policy_grads = tf.gradients(ys=self.a, xs=self.e_params, grad_ys=a_grads)
        with tf.variable_scope('A_train'):
            opt = tf.train.AdamOptimizer(-LR_A)
            self.train_op = opt.apply_gradients(zip(self.policy_grads, self.e_params))

    def choose_action(self, s):
        return self.sess.run(self.a, feed_dict={S: s[np.newaxis, :]})[0]


class Critic(object):
    def __init__(self, sess, a, a_):
        self.sess = sess
        with tf.variable_scope('Critic'):
            self.a = tf.stop_gradient(a)
            self.q = self._build_net(S, self.a, 'eval_net', trainable=True)
            self.q_ = self._build_net(S_, a_, 'target_net', trainable=False)
        self.e_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='Critic/eval_net')
        self.t_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='Critic/target_net')
        with tf.variable_scope('target_q'):
            self.target_q = R + GAMMA * self.q_
        with tf.variable_scope('TD_error'):
            self.loss = tf.reduce_mean(tf.squared_difference(self.target_q, self.q))
        with tf.variable_scope('C_train'):
            self.train_op = tf.train.AdamOptimizer(LR_C).minimize(self.loss)
        with tf.variable_scope('a_grad'):
            self.a_grads = tf.gradients(self.q, self.a)[0]

    def _build_net(self, s, a, scope, trainable):
        with tf.variable_scope(scope):
            init_w = tf.contrib.layers.xavier_initializer()
            n_l1 = 20
            w1_s = tf.get_variable('w1_s', [S_DIM, n_l1], initializer=init_w, trainable=trainable)
            w1_a = tf.get_variable('w1_a', [A_DIM, n_l1], initializer=init_w, trainable=trainable)
            b1 = tf.get_variable('b1', [1, n_l1], initializer=tf.constant_initializer(0.01), trainable=trainable)
            net = tf.nn.relu(tf.matmul(s, w1_s) + tf.matmul(a, w1_a) + b1)
            return tf.layers.dense(net, 1, kernel_initializer=init_w, trainable=trainable)


class Memory(object):
    def __init__(self, capacity, dims):
        self.capacity, self.data, self.pointer = capacity, np.zeros((capacity, dims)), 0

    def store_transition(self, s, a, r, s_):
        self.data[self.pointer % self.capacity, :] = np.hstack((s, a, [r], s_))
        self.pointer += 1

    def sample(self, n):
        return self.data[np.random.choice(self.capacity, size=n), :]


with tf.name_scope('S'):
    S = tf.placeholder(tf.float32, shape=[None, S_DIM], name='s')
with tf.name_scope('R'):
    R = tf.placeholder(tf.float32, [None, 1], name='r')
with tf.name_scope('S_'):
    S_ = tf.placeholder(tf.float32, shape=[None, S_DIM], name='s_')

sess = tf.Session()
actor = Actor(sess)
critic = Critic(sess, actor.a, actor.a_)
actor.add_grad_to_graph(critic.a_grads)
soft_replace = [[tf.assign(t, (1 - TAU) * t + TAU * e) for t, e in zip(net.t_params, net.e_params)]
                for net in (actor, critic)]
sess.run(tf.global_variables_initializer())
env, M = Point(), Memory(MEMORY_CAPACITY, 2 * S_DIM + A_DIM + 1)
var = 1.0
for episode in range(4):
    s, total = env.reset(), 0
    for j in range(20):
        a = np.clip(np.random.normal(actor.choose_action(s), var), -A_BOUND, A_BOUND)
        s_, r = env.step(a)
        M.store_transition(s, a, r / 10, s_)
        if M.pointer > MEMORY_CAPACITY:
            var *= .99
            sess.run(soft_replace)
            b_M = M.sample(BATCH_SIZE)
            b_s, b_a = b_M[:, :S_DIM], b_M[:, S_DIM: S_DIM + A_DIM]
            b_r, b_s_ = b_M[:, -S_DIM - 1: -S_DIM], b_M[:, -S_DIM:]
            _, loss = sess.run([critic.train_op, critic.loss], {S: b_s, critic.a: b_a, R: b_r, S_: b_s_})
            sess.run(actor.train_op, feed_dict={S: b_s})
            if j % 10 == 0:
                print('loss %.5f' % loss)
        s = s_
        total += r
    print('Episode:', episode, ' Reward: %.4f' % total, 'Explore: %.3f' % var)
for t in (actor.t_params + critic.t_params)[:6]:
    print(t.name, '%.4f' % np.abs(sess.run(t)).mean())
