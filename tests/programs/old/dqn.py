"""Deep Q-network with a target network and a memory, in the manner of the tutorials of 2017."""
import numpy as np
import tensorflow as tf

np.random.seed(1)
tf.set_random_seed(1)


class Maze(object):
    """A grid of 4 by 4; the goal is one corner, a hole another."""
    n_actions, n_features = 4, 2

    def reset(self):
        self.pos = np.array([0., 0.])
        return self.pos / 4

    def step(self, action):
        move = [(0, 1), (0, -1), (1, 0), (-1, 0)][action]
        self.pos = np.clip(self.pos + move, 0, 3)
        if tuple(self.pos) == (3., 3.):
            return self.pos / 4, 1, True
        if tuple(self.pos) == (1., 2.):
            return self.pos / 4, -1, True
        return self.pos / 4, 0, False


class DeepQNetwork:
    def __init__(self, n_actions, n_features, learning_rate=0.01, reward_decay=0.9, e_greedy=0.9,
                 replace_target_iter=10, memory_size=50, batch_size=16):
        self.n_actions, self.n_features = n_actions, n_features
        self.lr, self.gamma, self.epsilon_max = learning_rate, reward_decay, e_greedy
        self.replace_target_iter, self.memory_size, self.batch_size = replace_target_iter, memory_size, batch_size
        self.learn_step_counter = self.memory_counter = 0
        self.memory = np.zeros((self.memory_size, n_features * 2 + 2))
        self._build_net()
        t_params = tf.get_collection('target_net_params')
        e_params = tf.get_collection('eval_net_params')
        self.replace_target_op = [tf.assign(t, e) for t, e in zip(t_params, e_params)]
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
        self.cost_his = []

    def _build_net(self):
        def build_layers(s, c_names, n_l1, w_initializer, b_initializer):
            with tf.variable_scope('l1'):
                w1 = tf.get_variable('w1', [self.n_features, n_l1], initializer=w_initializer, collections=c_names)
                b1 = tf.get_variable('b1', [1, n_l1], initializer=b_initializer, collections=c_names)
                l1 = tf.nn.relu(tf.matmul(s, w1) + b1)
            with tf.variable_scope('l2'):
                w2 = tf.get_variable('w2', [n_l1, self.n_actions], initializer=w_initializer, collections=c_names)
                b2 = tf.get_variable('b2', [1, self.n_actions], initializer=b_initializer, collections=c_names)
                return tf.matmul(l1, w2) + b2

        self.s = tf.placeholder(tf.float32, [None, self.n_features], name='s')
        self.q_target = tf.placeholder(tf.float32, [None, self.n_actions], name='Q_target')
        w_initializer = tf.random_normal_initializer(0., 0.3)
        b_initializer = tf.constant_initializer(0.1)
        with tf.variable_scope('eval_net'):
            names = ['eval_net_params', tf.GraphKeys.GLOBAL_VARIABLES]
            self.q_eval = build_layers(self.s, names, 10, w_initializer, b_initializer)
        with tf.variable_scope('loss'):
            self.loss = tf.reduce_mean(tf.squared_difference(self.q_target, self.q_eval))
        with tf.variable_scope('train'):
            params = tf.get_collection('eval_net_params')
            self._train_op = tf.train.RMSPropOptimizer(self.lr).minimize(self.loss, var_list=params)
        self.s_ = tf.placeholder(tf.float32, [None, self.n_features], name='s_')
        with tf.variable_scope('target_net'):
            names = ['target_net_params', tf.GraphKeys.GLOBAL_VARIABLES]
            self.q_next = build_layers(self.s_, names, 10, w_initializer, b_initializer)

    def store_transition(self, s, a, r, s_):
        self.memory[self.memory_counter % self.memory_size, :] = np.hstack((s, [a, r], s_))
        self.memory_counter += 1

    def choose_action(self, observation):
        if np.random.uniform() < self.epsilon_max:
            values = self.sess.run(self.q_eval, feed_dict={self.s: observation[np.newaxis, :]})
            return np.argmax(values)
        return np.random.randint(0, self.n_actions)

    def learn(self):
        if self.learn_step_counter % self.replace_target_iter == 0:
            self.sess.run(self.replace_target_op)
        size = min(self.memory_counter, self.memory_size)
        batch = self.memory[np.random.choice(size, size=self.batch_size), :]
        q_next, q_eval = self.sess.run([self.q_next, self.q_eval], feed_dict={
            self.s_: batch[:, -self.n_features:], self.s: batch[:, :self.n_features]})
        q_target = q_eval.copy()
        index = np.arange(self.batch_size, dtype=np.int32)
        q_target[index, batch[:, self.n_features].astype(int)] = \
            batch[:, self.n_features + 1] + self.gamma * np.max(q_next, axis=1)
        _, cost = self.sess.run([self._train_op, self.loss], feed_dict={
            self.s: batch[:, :self.n_features], self.q_target: q_target})
        self.cost_his.append(cost)
        self.learn_step_counter += 1


if __name__ == '__main__':
    env = Maze()
    RL = DeepQNetwork(env.n_actions, env.n_features)
    step = 0
    for episode in range(4):
        observation, total = env.reset(), 0
        for t in range(15):
            action = t % 4 if episode == 0 else RL.choose_action(observation)
            observation_, reward, done = env.step(action)
            RL.store_transition(observation, action, reward, observation_)
            if step > 15:
                RL.learn()
            observation = observation_
            total += reward
            step += 1
            if done:
                break
        print('episode', episode, 'steps', t + 1, 'reward', total)
    print('costs ' + ' '.join('%.4f' % c for c in RL.cost_his[:8]), len(RL.cost_his))
    print([v.name for v in tf.trainable_variables()], len(tf.global_variables()))
