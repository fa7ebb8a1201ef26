"""Steps that change 12 variables, to be interrupted; as a program, signals interrupt them at random moments.

python -m tests.functions.interrupted ENGINE SEED
"""

import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import dovetail as dt
import dovetail.backend as K
from dovetail import ops
from dovetail.choose import measurer
from dovetail.core.base.scopes import record_on, scopes
from dovetail.core.engines.engine_registry import current_engine

COUNT = 12
LONG_AGO = -1e12  # seconds; after so long, learning may cost anything
SIZES = (3, 2000)  # elements: too few for planned buffers, and enough


class Stop(Exception):
    """The exception of a program's own signal handler."""


RAISED = (KeyboardInterrupt, Stop, MemoryError)


class Steps:
    """Variables that all count the same steps, and a function that makes one.

    Attributes:
        run: make one step, which adds 1 to all variables.
    """

    owned = False  # whether only the variables hold the new buffers

    def __init__(self, make=dt.Variable):
        self.variables = [make(np.zeros(SIZES[i % 2], "float32"), name=f"v{i}") for i in range(COUNT)]
        self.rate = make(1.0, name="rate")
        self._pool = ThreadPoolExecutor(1)
        self._others = dt.Variable(0.0)

    def values(self):
        """The value of each variable, whose elements are all equal."""
        found = [v.numpy() for v in self.variables]
        assert all((value == value[0]).all() for value in found)
        return [float(value[0]) for value in found]

    def check(self, before):
        """Check that all values are old or all are new, and return the number of finished steps.

        No lock is held and nothing is left behind.
        """
        values = self.values()
        assert set(values) in ({before}, {before + 1}), values
        assert self._pool.submit(self._locks_are_free).result(timeout=60)
        assert scopes().tapes == scopes().graphs == ()
        jax, torch = (sys.modules.get(name) for name in ("jax", "torch"))
        if hasattr(jax, "config"):  # the attribute is missing while a background thread imports jax
            assert not jax.config.jax_enable_x64
        if hasattr(torch, "is_grad_enabled"):
            assert torch.is_grad_enabled()
        return values[0]

    def _locks_are_free(self):
        return all(v.guard.holding(bool) is False for v in self.variables)

    def check_next(self, before):
        """Check that the next step works, and that its buffers belong to the variables alone again."""
        self.run()
        assert set(self.values()) == {before + 1}
        if self.owned:
            assert all(not v._buffer.shared and not v._buffer.claimed for v in self.variables)
        return before + 1


class Compiled(Steps):
    owned = True

    def __init__(self):
        super().__init__()

        @dt.function
        def step():
            for v in self.variables:
                v.assign_add(ops.ones(v.shape) * self.rate)
            return ops.sum(self.variables[0])

        self.run = step


class Trained(Steps):
    """Steps in which an optimizer changes every other variable; its averages are variables, too."""

    owned = True

    def __init__(self):
        super().__init__()
        trained, counted = self.variables[::2], self.variables[1::2]
        self.means, self.squares = ([dt.Variable(np.zeros(v.shape, "float32")) for v in trained] for _ in range(2))

        @dt.function
        def step():
            given = [[v.value for v in variables] for variables in (trained, self.means, self.squares)]
            gradients = [-v - 1.0 for v in given[0]]
            after = ops.adam_step(given[0], gradients, *given[1:], self.rate, 0.0, 0.0, 0.0)
            for v, value in zip([*trained, *self.means, *self.squares], after, strict=True):
                v.assign(value)
            for v in counted:
                v.assign_add(ops.ones(v.shape) * self.rate)
            return ops.sum(self.variables[1])

        self.run = step

    def values(self):
        """The values, and numbers from the averages: the last step's gradient is minus the count of steps."""
        found = [*(-v.numpy() for v in self.means), *(np.sqrt(v.numpy()) for v in self.squares)]
        assert all((value == value[0]).all() for value in found)
        return [*super().values(), *(float(value[0]) for value in found)]


class Chosen(Compiled):
    """Steps whose engine is chosen by measuring, while candidates are compiled in the background."""

    owned = False

    def __init__(self):
        super().__init__()
        measurer.ledger.started = LONG_AGO
        self.run = dt.function(self.run._python, engine="auto")


class Read(Compiled):
    """Steps after each of which somebody reads a variable, so that the plan finds the variables again."""

    owned = False

    def __init__(self):
        super().__init__()
        step = self.run
        self.run = lambda: [self.variables[0].read(), step()][1]


class TwoEngines(Steps):
    """Steps that change every other variable on another engine, with values from both engines."""

    owned = True

    def __init__(self):
        super().__init__()
        graph = dt.function(self._step).graph()
        other = next(name for name in dt.list_engines() if name != current_engine().name)
        for type, period in (("AddV2", 2), ("Exp", 3)):
            for operation in [op for op in graph.operations if op.type == type][::period]:
                operation.engine = other
        self.run = dt.function(graph)

    def _step(self):
        for v in self.variables:
            v.assign_add(ops.exp(ops.zeros(v.shape) * self.rate))
        return ops.sum(self.variables[1])


class Taped(Steps):
    def __init__(self):
        super().__init__()

        @dt.function
        def step(x):
            for v in self.variables:
                v.assign(v + self.rate)
            return x * self.rate

        self.x = ops.constant(2.0)
        self.step = step
        self.tape = dt.GradientTape(persistent=True)

    def run(self):
        with record_on([self.tape]):
            return self.step(self.x)


class Session(Steps):
    def __init__(self):
        super().__init__(K.variable)
        x = K.placeholder(())
        self.function = K.function([x], [x * 2.0], updates=[(v, v + self.rate) for v in self.variables])
        K.clear_session()  # else K records all computations with these variables from now on

    def run(self):
        return self.function([1.0])


class Assign(Steps):
    def __init__(self):
        super().__init__()
        del self.variables[1:]

    def run(self):
        self.variables[0].assign(self.variables[0].numpy() + 1.0)


class AssignAdd(Assign):
    def run(self):
        self.variables[0].assign_add(self.rate)


SITUATIONS = {
    "compiled": Compiled,
    "read": Read,
    "trained": Trained,
    **({"two engines": TwoEngines} if len(dt.list_engines()) > 1 else {}),
    "taped": Taped,
    "session": Session,
    "assign": Assign,
    "assign_add": AssignAdd,
}


def interrupted_by_signals(steps, rng, times, errors=RAISED):
    """Interrupt steps by the handler of a signal, at random moments."""
    for _ in range(10):
        steps.run()
    done = steps.check(9)
    start = time.perf_counter()
    for _ in range(20):
        done = steps.check_next(done)
    lasts = (time.perf_counter() - start) / 20
    armed = []

    def handler(number, frame):
        if armed:
            raise armed.pop()

    signal.signal(signal.SIGALRM, handler)
    for i in range(times):
        before = done
        armed.append(errors[i % len(errors)])
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3 * lasts))
            while armed:
                before = done
                steps.run()
                done += 1
        except BaseException as error:  # a library may turn it into another error: TensorFlow into a SystemError
            if armed:
                raise AssertionError("no signal came") from error
        done = steps.check(before if done == before + 1 and steps.values()[0] == before + 1 else done)
        done = steps.check_next(done)


def main(engine, seed):
    rng = random.Random(seed)
    with dt.engine(engine):
        for name, make in SITUATIONS.items():
            interrupted_by_signals(make(), rng, 200 if name == "compiled" else 30)
            print(name, "is right")
        interrupted_by_signals(Chosen(), rng, 200, (KeyboardInterrupt, Stop))  # a MemoryError drops a candidate
        print("chosen is right")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
