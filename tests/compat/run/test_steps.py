"""Loops that end after some steps of training: small programs, and how many turns they take."""

from __future__ import annotations

import ast
import re
import threading
import traceback
from contextlib import nullcontext
from weakref import WeakSet

import dovetail.compat.tensorflow.compat.v1 as tf
import pytest

from dovetail.compat import running
from dovetail.compat.run import steps
from dovetail.compat.run.steps import limited
from tests import keras_backends
from tests.libraries import checks_of, require

CHECKS = "tests.compat.run.keras_checks"
STEPS = 3
TF = """
import dovetail.compat.tensorflow.compat.v1 as tf
w = tf.get_variable("w", [], initializer=tf.ones_initializer())
loss = w * w
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
"""
KERAS = """
class Model:
    def train_on_batch(self, x): return 0.0
model = Model()
"""
ALONE = ""
TF2 = """
import dovetail.compat.tensorflow as tf
w = tf.Variable(1.0)
class Optimizer:
    def apply_gradients(self, pairs): w.assign_sub(0.1 * list(pairs)[0][0])
optimizer = Optimizer()
"""
BOTH = TF + "d_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss * 2)\n"

# A prelude, and the turns that `a` and `b` count with three steps; then the program.
PROGRAMS = """
# TF 3 0
for i in range(9): a += 1; sess.run(train_op)
# TF 2 0
for i in range(2): a += 1; sess.run(train_op)
# TF 3 0
for i in range(9): a += 1; _, l = sess.run([train_op, loss], feed_dict={})
# TF 3 0
for i in range(9): a += 1; sess.run({'train': train_op, 'loss': loss})
# TF 3 0
for i in range(9): a += 1; sess.run(fetches=(loss, [train_op]))
# TF 3 0
for i in range(9): a += 1; train_op.run(session=sess)
# TF 9 0
for i in range(9): a += 1; sess.run(loss)
# TF 3 0
for i in range(9): a += 1; sess.run(train_op.name)
# TF 3 0
for i in range(9): a += 1; sess.run([loss.name, "GradientDescent"])
# TF 9 0
for i in range(9): a += 1; sess.run(loss.name)
# TF 3 0
one_step = sess.make_callable(train_op)
for i in range(9): a += 1; one_step()
# TF 9 3
value, step = sess.make_callable(loss), sess.make_callable([loss, "GradientDescent"])
for i in range(9): a += 1; value()
for i in range(9): b += 1; step()
# TF 9 1
for i in range(9): a += 1
else: b = 1
# TF 3 1
for i in range(9): a += 1; sess.run(train_op)
else: b = 1
# TF 6 0
for i in range(9):
  a += 1
  if i % 2: sess.run(train_op)
# TF 2 0
for i in range(9):
  a += 1
  sess.run(train_op)
  if a == 2: break
# TF 3 0
while True: a += 1; sess.run(train_op)
# TF 3 1
while a < 9:
  a += 1
  sess.run(train_op)
else: b = 1
# TF 1 3
for e in range(4):
  a += 1
  for i in range(9): b += 1; sess.run(train_op)
# TF 2 3
for e in range(4):
  a += 1
  for i in range(2): b += 1; sess.run(train_op)
# TF 3 5
for e in range(4):
  for i in range(9): a += 1; sess.run(train_op)
  for i in range(5): b += 1; sess.run(loss)
# TF 1 6
for e in range(4):
  a += 1
  for i in range(9):
    sess.run(train_op)
    for j in range(2): b += 1
# BOTH 3 6
for i in range(9):
  a += 1
  for j in range(2): b += 1; sess.run(d_op)
  sess.run(train_op)
# BOTH 3 3
for e in range(9):
  for i in range(5): a += 1; sess.run(d_op)
  for i in range(5): b += 1; sess.run(train_op)
# BOTH 3 3
for i in range(9): a += 1; sess.run(train_op)
for i in range(9): b += 1; sess.run(d_op)
# TF 2 3
def one():
  global b
  for i in range(2): b += 1; sess.run(train_op)
for e in range(9): a += 1; one()
# TF 3 0
def one(): sess.run(train_op)
for e in range(9): a += 1; one()
# TF 3 0
class M:
  def fit(self, x):
    self.op = train_op
    sess.run(self.op)
m = M()
for e in range(9): a += 1; m.fit(1)
# TF 12 0
def epoch(op):
  global a
  for i in range(9): a += 1; sess.run([loss, op])
epoch(train_op); epoch(tf.no_op())
# TF 3 0
ema = tf.train.ExponentialMovingAverage(0.9)
with tf.control_dependencies([train_op]): last = tf.group(ema.apply([w]))
sess.run(tf.global_variables_initializer())
for i in range(9): a += 1; sess.run(last)
# TF 5 10
ops = [tf.train.GradientDescentOptimizer(0.1 * k).minimize(loss) for k in range(5)]
for k in range(5): a += 1; ops.append(tf.train.GradientDescentOptimizer(0.1).minimize(loss))
b = len(ops)
# TF 3 0
def batches():
  for i in range(9): yield i
for x in batches(): a += 1; sess.run(train_op)
# TF 3 2
for x, y in zip(range(9), range(9)): a += 1; sess.run(train_op); b = y
# TF 2 3
try:
  while True:
    a += 1
    if a == 2: raise ValueError
    sess.run(train_op)
except ValueError: pass
for i in range(9): b += 1; sess.run(train_op)
# ALONE 3 0
class S:
  def run(self, x): pass
sess, update = S(), 1
for i in range(9): a += 1; sess.run([update])
# ALONE 3 0
class S:
  def run(self, x): pass
sess, ops = S(), {'opt': 1}
for i in range(9): a += 1; sess.run(ops['opt'])
# ALONE 9 0
class S:
  def run(self, x): pass
sess, score = S(), 1
for i in range(9): a += 1; sess.run([score])
# KERAS 3 0
for i in range(9): a += 1; model.train_on_batch(1)
# KERAS 2 3
for e in range(9):
  a += 1
  for i in range(2): b += 1; loss = model.train_on_batch(1)
# KERAS 3 0
class K: function = staticmethod(lambda *x, updates: abs)
train = K.function([1], [2], updates=[3])
for i in range(9): a += 1; train(1)
# TF2 3 0
for i in range(9):
  a += 1
  with tf.GradientTape() as tape: y = w * w
  optimizer.apply_gradients([(tape.gradient(y, w), w)])
# TF2 3 0
@tf.function
def step(x):
  optimizer.apply_gradients([(x, w)])
for i in range(9): a += 1; step(tf.constant(1.0))
"""
CASES = re.findall(r"^# (\w+) (\d+) (\d+)\n(.*?)(?=^# |\Z)", PROGRAMS, re.MULTILINE | re.DOTALL)


def run(text, **names):
    names = {"a": 0, "b": 0, "__name__": "old", **names}
    exec(compile(limited(ast.parse(text), STEPS), "old.py", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def no_operations(monkeypatch):
    monkeypatch.setattr(steps, "_MADE", WeakSet())


@pytest.mark.parametrize(("before", "a", "b", "program"), CASES, ids=range(len(CASES)))
def test_turns(before, a, b, program):
    with tf.Graph().as_default() if before in ("TF", "BOTH") else nullcontext():
        found = run(globals()[before] + program)
    assert (found["a"], found["b"]) == (int(a), int(b))


def test_threads_count_for_themselves():
    text = """
def work(k):
    for i in range(9):
        turns[k] += 1
        model.train_on_batch(1)
threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    assert run(KERAS + text, turns=[0, 0], threading=threading)["turns"] == [3, 3]


def test_lines_of_errors_and_docstrings_stay():
    text = '"""Text."""\nfrom __future__ import division\n\nfor i in range(3):\n    x = (\n        1 / (1 - i))\n'
    names = {"__name__": "old"}
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile(limited(ast.parse(text), 9), "old.py", "exec"), names)
    assert [line.lineno for line in traceback.extract_tb(caught.tb) if line.filename == "old.py"] == [6]
    assert names["__doc__"] == "Text." and names["i"] == 1


def test_what_is_no_step_is_as_it_was():
    text = """
def numbers():
    for i in range(5):
        x = yield i
found = [x for x in numbers()]
class Own:
    def run(self, *args, **kwargs): return args, kwargs
    def fit(self, x): return x
own = Own()
found += [own.run(1, b=2), own.fit(3)]
for i in range(2):
    for j in range(20):
        if j == 5: continue
        if j == 7: break
    else:
        found = []
    found.append(j)
"""
    assert run(text)["found"] == [0, 1, 2, 3, 4, ((1,), {"b": 2}), 3, 7, 7]


def test_a_program_that_is_run(tmp_path):
    tmp_path.joinpath("trained.py").write_text(
        "def train(sess, op):\n    for i in range(9): sess.run(op)\n    return i"
    )
    made = TF.replace("import dovetail.compat.tensorflow.compat.v1 as tf", "import trained\nimport tensorflow as tf")
    tmp_path.joinpath("old.py").write_text(f"{made}print(trained.train(sess, train_op))\nlast = sess.run(w)\n")
    with running(tmp_path / "old.py", steps=2) as program:
        assert abs(program.run()["last"] - 0.8**2) < 1e-6


def test_steps_of_another_file(tmp_path):
    step = "\n@tf.function\ndef train_step():\n    optimizer.apply_gradients([(w, w)])\n"
    tmp_path.joinpath("trained.py").write_text(TF2.replace("dovetail.compat.tensorflow", "tensorflow") + step)
    tmp_path.joinpath("old.py").write_text("import trained\nfor i in range(9): trained.train_step()\n")
    with running(tmp_path / "old.py", kind="tf2", steps=2) as program:
        assert program.run()["i"] == 1


def test_steps_that_call_an_optimizer_of_another_file(tmp_path):
    other = TF2.replace("dovetail.compat.tensorflow", "tensorflow") + (
        "class Trainer:\n    def apply(self): optimizer.apply_gradients([(w, w)])\ndef learn(): Trainer().apply()\n"
    )
    tmp_path.joinpath("trained.py").write_text(other)
    text = """
import tensorflow as tf
from trained import learn
@tf.function
def train(): learn()
step = tf.function(learn)
look = tf.function(abs)
class Model:
    @tf.function
    def go(self): learn()
model = Model()
turns = [0, 0, 0, 0]
for _ in range(9): turns[0] += 1; train()
for _ in range(9): turns[1] += 1; step()
for _ in range(9): turns[2] += 1; model.go()
for _ in range(9): turns[3] += 1; look(tf.constant(1.0))
"""
    tmp_path.joinpath("old.py").write_text(text)
    with running(tmp_path / "old.py", kind="tf2", steps=2) as program:
        assert program.run()["turns"] == [2, 2, 2, 9]


def test_functions_with_updates_are_steps_wherever_they_are_made():
    text = """
def function(inputs, outputs, updates=()):
    call = lambda x: (inputs, updates)
    call.outputs = outputs
    return call
def made(updates): return K.function([1], [2], updates)
class K: function = function
class Agent:
    def __init__(self): self.step = made(["w"])
agent, look, turns = Agent(), K.function([1], [2]), [0, 0]
for _ in range(9): turns[0] += 1; last = agent.step(3)
for _ in range(9): turns[1] += 1; look(3)
"""
    found = run(text)
    assert found["turns"] == [STEPS, 9] and found["last"] == ([1], ["w"]) and found["agent"].step.outputs == [2]


def test_steps_of_a_graph_from_a_file(tmp_path):
    """Check a graph that TensorFlow's words made: no optimizer is called in the program."""
    text = (
        TF.replace("dovetail.compat.tensorflow.compat.v1", "tensorflow")
        + f"""
tf.train.Saver().save(sess, {str(tmp_path / "model")!r})
tf.reset_default_graph()
sess = tf.Session()
tf.train.import_meta_graph({str(tmp_path / "model.meta")!r}).restore(sess, {str(tmp_path / "model")!r})
turns = [0, 0]
for _ in range(9): turns[0] += 1; sess.run("GradientDescent")
for _ in range(9): turns[1] += 1; sess.run("w:0")
"""
    )
    tmp_path.joinpath("old.py").write_text(text)
    with running(tmp_path / "old.py", kind="tf1", steps=2) as program:
        assert program.run()["turns"] == [2, 9]


@pytest.mark.parametrize("check", [check for check in checks_of(CHECKS) if "data" not in check])
def test_keras(check):
    require("keras", "its models are fitted")
    keras_backends.check(CHECKS, check, "dovetail")
