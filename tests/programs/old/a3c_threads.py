"""Asynchronous advantage actor-critic on a corridor: workers in threads share a global network (TensorFlow 1.x)."""
import threading

import numpy as np
import tensorflow as tf

N_S, N_A = 5, 2
N_WORKERS = 2
MAX_GLOBAL_EP = 6
GLOBAL_NET_SCOPE = 'Global_Net'
UPDATE_GLOBAL_ITER = 4
GAMMA = 0.9
ENTROPY_BETA = 0.001
GLOBAL_RUNNING_R = []
GLOBAL_EP = 0


class Corridor(object):
    """Walk right to reach the reward; the actions are drawn by a generator of the worker."""

    def reset(self):
        self.place, self.t = 0, 0
        return self.state()

    def state(self):
        s = np.zeros(N_S, dtype=np.float32)
        s[self.place] = 1
        return s

    def step(self, a):
        self.t += 1
        self.place = max(0, self.place - 1) if a == 0 else self.place + 1
        done = self.place == N_S - 1 or self.t >= 12
        return self.state(), 1.0 if self.place == N_S - 1 else -0.1, done


class ACNet(object):
    def __init__(self, scope, globalAC=None):
        with tf.variable_scope(scope):
            self.s = tf.placeholder(tf.float32, [None, N_S], 'S')
            self.a_prob, self.v, self.a_params, self.c_params = self._build_net(scope)
            if globalAC is None:
                return
            self.a_his = tf.placeholder(tf.int32, [None, ], 'A')
            self.v_target = tf.placeholder(tf.float32, [None, 1], 'Vtarget')
            td = tf.subtract(self.v_target, self.v, name='TD_error')
            with tf.name_scope('c_loss'):
                self.c_loss = tf.reduce_mean(tf.square(td))
            with tf.name_scope('a_loss'):
                log_prob = tf.reduce_sum(tf.log(self.a_prob + 1e-5) * tf.one_hot(self.a_his, N_A, dtype=tf.float32),
                                         axis=1, keep_dims=True)
                exp_v = log_prob * tf.stop_gradient(td)
                entropy = -tf.reduce_sum(self.a_prob * tf.log(self.a_prob + 1e-5), axis=1, keep_dims=True)
                self.a_loss = tf.reduce_mean(-(ENTROPY_BETA * entropy + exp_v))
            with tf.name_scope('local_grad'):
                self.a_grads = tf.gradients(self.a_loss, self.a_params)
                self.c_grads = tf.gradients(self.c_loss, self.c_params)
            with tf.name_scope('sync'):
                with tf.name_scope('pull'):
                    self.pull_a = [l_p.assign(g_p) for l_p, g_p in zip(self.a_params, globalAC.a_params)]
                    self.pull_c = [l_p.assign(g_p) for l_p, g_p in zip(self.c_params, globalAC.c_params)]
                with tf.name_scope('push'):
                    self.update_a = OPT_A.apply_gradients(zip(self.a_grads, globalAC.a_params))
                    self.update_c = OPT_C.apply_gradients(zip(self.c_grads, globalAC.c_params))

    def _build_net(self, scope):
        w_init = tf.random_normal_initializer(0., .1)
        with tf.variable_scope('actor'):
            l_a = tf.layers.dense(self.s, 16, tf.nn.relu6, kernel_initializer=w_init, name='la')
            a_prob = tf.layers.dense(l_a, N_A, tf.nn.softmax, kernel_initializer=w_init, name='ap')
        with tf.variable_scope('critic'):
            l_c = tf.layers.dense(self.s, 8, tf.nn.relu6, kernel_initializer=w_init, name='lc')
            v = tf.layers.dense(l_c, 1, kernel_initializer=w_init, name='v')
        a_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope + '/actor')
        c_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope + '/critic')
        return a_prob, v, a_params, c_params


class Worker(object):
    def __init__(self, number, globalAC):
        self.number, self.name = number, 'W_%i' % number
        self.env, self.rng = Corridor(), np.random.RandomState(number)
        self.AC = ACNet(self.name, globalAC)

    def work(self):
        global GLOBAL_EP
        while not COORD.should_stop() and GLOBAL_EP < MAX_GLOBAL_EP:
            with TURN:  # episodes take turns, so that a run can be repeated
                while GLOBAL_EP % N_WORKERS != self.number and GLOBAL_EP < MAX_GLOBAL_EP:
                    TURN.wait()
                if GLOBAL_EP < MAX_GLOBAL_EP:
                    self.episode()
                    GLOBAL_EP += 1
                TURN.notify_all()

    def episode(self):
        s, ep_r, done, step = self.env.reset(), 0., False, 0
        buffer_s, buffer_a, buffer_r = [], [], []
        while not done:
            prob = SESS.run(self.AC.a_prob, {self.AC.s: s[np.newaxis, :]})[0]
            a = int(self.rng.rand() > prob[0])
            s_, r, done = self.env.step(a)
            ep_r += r
            buffer_s.append(s), buffer_a.append(a), buffer_r.append(r)
            step += 1
            if step % UPDATE_GLOBAL_ITER == 0 or done:
                v_s_ = 0. if done else SESS.run(self.AC.v, {self.AC.s: s_[np.newaxis, :]})[0, 0]
                target = []
                for r in buffer_r[::-1]:
                    v_s_ = r + GAMMA * v_s_
                    target.append(v_s_)
                feed = {self.AC.s: np.vstack(buffer_s), self.AC.a_his: np.array(buffer_a),
                        self.AC.v_target: np.array(target[::-1])[:, np.newaxis]}
                SESS.run([self.AC.update_a, self.AC.update_c], feed)
                SESS.run([self.AC.pull_a, self.AC.pull_c])
                buffer_s, buffer_a, buffer_r = [], [], []
            s = s_
        GLOBAL_RUNNING_R.append(ep_r if not GLOBAL_RUNNING_R else 0.9 * GLOBAL_RUNNING_R[-1] + 0.1 * ep_r)
        print(self.name, "Ep:", GLOBAL_EP, "| Ep_r: %.3f" % GLOBAL_RUNNING_R[-1])


if __name__ == "__main__":
    SESS = tf.Session()
    with tf.device("/cpu:0"):
        OPT_A = tf.train.RMSPropOptimizer(0.01, name='RMSPropA')
        OPT_C = tf.train.RMSPropOptimizer(0.02, name='RMSPropC')
        GLOBAL_AC = ACNet(GLOBAL_NET_SCOPE)
        workers = [Worker(i, GLOBAL_AC) for i in range(N_WORKERS)]
    COORD = tf.train.Coordinator()
    TURN = threading.Condition()
    SESS.run(tf.global_variables_initializer())
    threads = []
    for worker in workers:
        t = threading.Thread(target=lambda worker=worker: worker.work())
        t.start()
        threads.append(t)
    COORD.join(threads)
    values = SESS.run(GLOBAL_AC.v, {GLOBAL_AC.s: np.eye(N_S)})
    print('values', ' '.join('%.4f' % v for v in values[:, 0]))
