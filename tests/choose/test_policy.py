"""The policy on a virtual clock: the cost of learning, the choice, and mutants that are caught."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from pathlib import Path

import pytest

from dovetail.choose import estimates, ledger, policy
from dovetail.choose.estimates import Arm, Estimate, State
from dovetail.choose.ledger import MOST, SHARE, Ledger, Room
from dovetail.choose.report import trials
from dovetail.core.base import config
from dovetail.execute.choice import Strategy
from tests.choose.simulated import Machine, Process, random_set, recorded
from tests.conftest import SEED
from tests.parts import WHOLE

SETS = range(SEED, SEED + (1000 if WHOLE else 12))
WITHIN = 1.1  # the chosen strategy's time, at most, relative to the best time
RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())  # see benchmarks/README.md
IN_GROUPS = "MLP in groups"
LENGTHS = (1, 8, 64, 512, 4096, 32_768)  # numbers of a program's steps
ENOUGH = 25  # without noise, the best is known after this many times the cost of trying all
SETTLED = 100  # on a noisy machine, a process settles after this many times that cost


def change(monkeypatch, name, function):
    """Replace an estimate wherever it is asked for."""
    for module in (estimates, policy):
        monkeypatch.setattr(module, name, function)


def chosen(process):
    """The time of the champion, as a ratio to the best strategy's."""
    best = estimates.champion(process.state)
    return process.machine.seconds[best.strategy] / process.machine.best


def runs(error, **machine):
    """Processes that ran long enough to know the best strategy."""
    for seed in SETS:
        process = random_set(seed, error, **machine)
        process.run(seconds=ENOUGH * process.machine.cost_of_all + 60)
        yield process


def cost_of_a_job(process):
    """Seconds that one job or one duel may cost."""
    slowest = max(process.machine.seconds.values())
    return 1.3 * max(process.machine.starts.values()) + 60 * slowest


def overrun_of_a_turn(process):
    """Seconds by which learning may exceed its half: one turn, whose calls may take longer than was foreseen."""
    return 0.1 + (estimates.WARM + estimates.TURN) * max(process.machine.seconds.values())


def test_learning_takes_half_of_the_time_at_most():
    print(f"DOVETAIL_TEST_SEED={SEED}")
    for process in runs(0.7):
        assert process.overrun <= overrun_of_a_turn(process)


AS_QUICK = {0.2: (0.91, 0.93, 0.95, 0.96), 0.7: (0.88, 0.91, 0.94, 0.96)}  # error → means at the lengths below


def quickness(error, steps, ahead=0):
    """Time of the best single engine / time of the process, of sixty random sets."""
    ratios = []
    for seed in range(60):
        process = random_set(seed, error, ahead=ahead, noise=0.05)
        if process.machine.best * steps < 3000:
            process.run(steps=steps)
            ratios.append(process.machine.alone(steps) / process.now)
    return ratios


@pytest.mark.parametrize("error", AS_QUICK)
def test_programs_of_any_length_are_nearly_as_quick_as_by_the_best_engine(error):
    """Check that the program need not say its steps: learning may cost what was lost so far."""
    for steps, least in list(zip((512, 4096, 32_768, 262_144), AS_QUICK[error], strict=True))[: None if WHOLE else 2]:
        ratios = quickness(error, steps)
        assert statistics.geometric_mean(ratios) >= least, steps
        assert min(ratios) >= 0.55, steps


def test_a_known_number_of_steps_is_no_worse_than_an_unknown_one():
    for error in AS_QUICK:
        unknown, known = (statistics.geometric_mean(quickness(error, 512, ahead)) for ahead in (0, 512))
        assert known >= unknown - 0.005


def test_the_best_is_found_by_decisions_one_call_ahead():
    print(f"DOVETAIL_TEST_SEED={SEED}")
    ratios = []
    for seed in SETS:
        process = random_set(seed, 0.7)
        process.state.lag = 1
        process.run(seconds=ENOUGH * process.machine.cost_of_all + 60)
        ratios.append(chosen(process))
        assert process.overrun <= overrun_of_a_turn(process)
    assert sum(ratio <= WITHIN for ratio in ratios) >= 0.99 * len(ratios), sorted(ratios)[-5:]


@pytest.mark.parametrize(("machine", "share"), [({}, 0.99), ({"noise": 0.1, "drift": 0.2}, 0.98)], ids=str)
def test_the_best_is_found_where_predictions_mislead(machine, share):
    print(f"DOVETAIL_TEST_SEED={SEED}")
    ratios = [chosen(process) for process in runs(0.7, **machine)]
    assert sum(ratio <= WITHIN for ratio in ratios) >= share * len(ratios), sorted(ratios)[-5:]


@pytest.mark.parametrize("drift", [0.0, 0.2])
def test_the_best_is_settled_on_a_noisy_machine(drift):
    """Check times with 25 % of noise and slow drift, of which one in twenty is three times as long."""
    print(f"DOVETAIL_TEST_SEED={SEED}")
    ratios = []
    for process in runs(0.7, noise=0.25, disturbed=0.05, drift=drift):
        for times in range(ENOUGH, SETTLED, 5):
            if policy.is_settled(process.state):
                break
            process.run(seconds=times * process.machine.cost_of_all + 60)
        ratios.append(chosen(process))
    least = 0.98 - math.sqrt(0.98 * 0.02 / len(ratios))  # one standard error of the sample
    assert sum(ratio <= WITHIN for ratio in ratios) >= least * len(ratios), sorted(ratios)[-5:]


def test_a_process_is_never_much_slower_than_its_first_engine():
    """Check that each step comes at most one job and learning's share later than on the first engine alone."""
    for seed in SETS:
        process = random_set(seed, 0.2, ahead=20_000, noise=0.02)
        process.run(steps=20_000, seconds=600)
        start, step = process.machine.starts[process.first], process.machine.seconds[process.first]
        for steps, now in process.curve:
            alone = start + steps * step
            assert now <= alone / 0.9 + 0.3 + cost_of_a_job(process)


def is_late(rows, steps):
    """Whether a program takes over a tenth longer than by the best single engine for its number of steps."""
    process = recorded(rows, steps, within=1.5)
    process.run(steps=steps)
    return process.now > process.machine.alone(steps) / 0.9 + 0.3


@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_models_keep_within_the_ledger(name, steps):
    process = recorded(RECORDED[name], steps)
    process.run(steps=steps)
    assert process.overrun <= overrun_of_a_turn(process)


@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize("name", [name for name in RECORDED if name != IN_GROUPS])  # it first makes the single step
def test_recorded_models_are_as_quick_as_the_best_engine_where_predictions_are_close(name, steps):
    assert not is_late(RECORDED[name], steps)


def test_a_known_number_of_steps_chooses_the_first_engine():
    quick, slow = Strategy("compiled"), Strategy("interpreted")
    for start, steps, wanted in ((50.0, 10, slow), (50.0, 10_000, quick), (50.0, 0, slow), (2.0, 0, quick)):
        arms = [Arm(quick, Estimate(math.log(0.001), 0.1), start=start), Arm(slow, Estimate(math.log(0.01), 0.1))]
        assert policy.first(State({}, ahead=steps), arms) == wanted  # 0 announces nothing


def test_groups_that_an_earlier_process_measured_count_for_the_first_engine():
    slow, quick = Strategy("interpreted"), Strategy("compiled")
    arms = [Arm(slow, Estimate(math.log(0.008), 0.1)), Arm(quick, Estimate(math.log(0.001), 0.1), start=2.0)]
    group = Arm(slow._replace(group=32), Estimate(math.log(0.001), 0.1))
    state = State({arm.strategy: arm for arm in (*arms, group)})
    assert policy.first(state, arms) == slow
    assert policy.first(State({arm.strategy: arm for arm in arms}), arms) == quick


def after_ten_seconds():
    """The strategy of a model whose steps are quickest in groups on an engine with a long start."""
    process = recorded(RECORDED[IN_GROUPS], ahead=0)
    process.run(seconds=process.machine.before + 10)
    return estimates.champion(process.state).strategy


def test_a_start_is_worth_what_its_groups_of_steps_save():
    assert after_ten_seconds().engine == "jax"


def test_without_groups_the_best_engine_is_found_too_late(monkeypatch):
    change(monkeypatch, "groups_of", lambda state, arm: [])
    assert after_ten_seconds().engine == "numpy"


def test_a_candidate_like_the_champion_waits_for_another_engine():
    best, like, other = Strategy("a"), Strategy("a", threads=1), Strategy("b")
    arms = [Arm(s, Estimate(math.log(0.01), 0.3), is_ready=s != other) for s in (best, like, other)]
    state = State({arm.strategy: arm for arm in arms}, done=10**6, current=best)
    arms[0].saw([0.01] * 20)
    for is_worth, tried in ((True, None), (False, like)):
        arms[2].start = 0.1 if is_worth else 1e9
        policy.next_call(state, Room(1e6))
        assert (state.duel and state.duel.challenger) == tried
        state.duel = None


def test_a_trial_without_room_ends_when_the_challenger_is_slower():
    slow, quick = Strategy("interpreted"), Strategy("compiled")
    for room, least, most in ((1.0, 7, 60), (0.005, 3, 4)):
        arms = [Arm(s, Estimate(math.log(0.01), 0.3), is_ready=True) for s in (quick, slow)]
        arms[0].saw([0.01] * 20)
        state = State({arm.strategy: arm for arm in arms}, done=10**6, current=quick)
        calls = 0
        while calls < 100 and (calls == 0 or state.duel is not None):
            strategy, counts = policy.next_call(state, Room(room))
            policy.observe(state, strategy, 0.013 if strategy == slow else 0.01, counts)
            calls += 1
        assert state.current == quick and least <= calls <= most, (room, calls)


def test_a_bare_prediction_gets_the_work_of_the_program():
    """Check that engines differ little if the program spends its time between two calls."""
    slow, quick = Strategy("interpreted"), Strategy("compiled")
    for between, is_bare, expected in ((0.0, True, 1.0), (0.1, False, 101.0), (0.1, True, 1.0)):
        arms = [Arm(slow, Estimate(math.log(0.002 + between), 0.1), is_ready=True)]
        arms.append(Arm(quick, Estimate(math.log(0.001), 0.1), start=0.1, is_bare=is_bare))
        arms[0].saw([0.002 + between] * 60)
        state = State({arm.strategy: arm for arm in arms}, done=1000, between=between)
        gain = estimates.prospect(state, arms[1]).gain
        assert gain == pytest.approx(expected, rel=0.1), (between, is_bare)


def test_a_graph_starts_where_its_variables_are():
    here, there = Strategy("here"), Strategy("there")
    arms = [Arm(here, Estimate(math.log(0.01), 0.1)), Arm(there, Estimate(math.log(0.008), 0.1))]
    for move, wanted in ((0.0, there), (1.0, here)):
        assert policy.first(State({}, ahead=50, move=move, place="here"), arms) == wanted
    assert policy.first(State({}, ahead=50, move=1.0), arms) == there  # no engine has the variables yet


def test_moves_of_graphs_that_take_turns_are_part_of_their_cost():
    here, there = Strategy("here"), Strategy("there")
    arms = {
        here: Arm(here, Estimate(math.log(0.01), 0.1), is_ready=True),
        there: Arm(there, Estimate(math.log(0.005), 0.1)),
    }
    state = State(arms, done=1000, ahead=1000, current=here, move=0.1, place="here")
    gains = []
    for visits in (0, 10, 500):
        state.visits = visits
        gains.append(estimates.prospect(state, arms[there]).gain)
    assert gains[0] > gains[1] > gains[2] and gains[2] < 1e-3
    policy.visit(state, "there")
    assert state.place == "there" and estimates.prospect(state, arms[there]).gain > gains[0]


@pytest.mark.parametrize("failing", range(6))
def test_strategies_that_fail_leave_a_process_that_goes_on(failing):
    rng = random.Random(failing)
    process = random_set(failing, 0.7)
    last, *others = process.state.arms
    process.state.arms[last].is_ready = True
    process.machine.fails.update({s: rng.randrange(0, 9) for s in others})
    process.run(seconds=300)
    assert estimates.champion(process.state).strategy == last or not process.state.arms[last].problem


def test_a_process_goes_on_where_one_stopped():
    """Check that strategies that an earlier process measured are not tried again."""
    before = random_set(3, 0.7)
    before.run(seconds=ENOUGH * before.machine.cost_of_all + 60)
    measured = {s: statistics.median(a.times) for s, a in before.state.arms.items() if a.times}
    after = random_set(3, 0.7)
    for strategy, seconds in measured.items():
        after.state.arms[strategy].predicted = Estimate(math.log(seconds), 0.1)
    after.state.earlier = before.state.done
    after.run(seconds=before.now / 4)
    slow = {s for s, seconds in measured.items() if seconds > 1.5 * min(measured.values())}
    assert not slow.intersection(after.prepared)
    assert chosen(after) <= WITHIN


def disturbed_in_its_first_trial():
    """The champion after a quick strategy took eight times as long in its first trial, and the steps then doubled."""
    slow, quick = Strategy("interpreted"), Strategy("compiled")
    seconds, starts = {slow: 0.01, quick: 0.00167}, {slow: 0.0, quick: 20.0}
    arms = {s: Arm(s, Estimate(math.log(seconds[s]), 1.0), start=starts[s]) for s in seconds}
    process = Process(Machine(dict(seconds), starts), State(arms), seed=0)
    process.machine.seconds[quick] *= 8
    while not arms[quick].times or process.state.duel is not None:
        process.call()
    process.machine.seconds[quick] /= 8
    process.run(steps=2.2 * process.state.done)
    return estimates.champion(process.state).strategy.engine


def test_a_surprise_is_tried_again():
    assert disturbed_in_its_first_trial() == "compiled"


def test_a_policy_that_believes_the_first_trial_misses_the_best(monkeypatch):
    monkeypatch.setattr(policy, "OCCASIONS", 1)
    assert disturbed_in_its_first_trial() == "interpreted"


def test_a_surprise_is_repeated_when_twice_the_steps_are_made():
    slow, quick = Strategy("slow"), Strategy("quick")
    arms = [Arm(s, Estimate(math.log(0.01), 1.0), is_ready=True) for s in (quick, slow)]
    state, begun = State({arm.strategy: arm for arm in arms}, done=1000, current=quick), []
    arms[0].saw([0.01] * 20)
    while state.done < 40_000:
        strategy, counts = policy.next_call(state, Room(math.inf))
        if state.duel is not None and state.duel.calls == 0:
            begun.append(state.done)
        policy.observe(state, strategy, 0.08 if strategy == slow else 0.01, counts)
    first, second, third, *_ = begun
    assert second >= 2 * first and third >= 2 * second and state.current == quick
    assert arms[1].doubt == 0


def trials_of_a_loser(has_drifted=False):
    """The number of trials in a million steps of a challenger that always takes twice as long, with ever more room."""
    champion, loser = Strategy("a", group=32), Strategy("b")
    arms = [Arm(s, Estimate(math.log(0.0003), 0.3), is_ready=True) for s in (champion, loser)]
    state = State({arm.strategy: arm for arm in arms}, current=champion, widened=has_drifted)
    arms[0].saw([0.0003] * 20)
    trials, duel = 0, None
    while state.done < 10**6:
        strategy, counts = policy.next_call(state, Room(math.inf))
        trials, duel = trials + (state.duel is not None and state.duel is not duel), state.duel
        policy.observe(state, strategy, 0.0006 if strategy == loser else 0.0003, counts)
    assert state.current == champion
    return trials


@pytest.mark.parametrize("has_drifted", [False, True])
def test_a_challenger_that_lost_is_tried_again_when_twice_the_steps_are_made(has_drifted):
    assert 1 <= trials_of_a_loser(has_drifted) <= 20  # the logarithm of the steps


def test_after_a_drift_a_challenger_that_lost_may_be_tried_at_once():
    best, loser = Strategy("a"), Strategy("b")
    arms = {s: Arm(s, Estimate(math.log(0.01), 0.3), is_ready=True, again=10**9) for s in (best, loser)}
    state = State(arms, done=1000, current=best)
    arms[best].saw([0.01] * 20)
    policy.next_call(state, Room(math.inf))
    assert state.duel is None
    assert policy.watch(state, [0.03] * 50)
    policy.next_call(state, Room(math.inf))
    assert state.duel is not None and state.duel.challenger == loser


def test_drift_widens_what_is_believed():
    process = random_set(1, 0.3)
    process.run(seconds=60)
    best = estimates.champion(process.state)
    usual = statistics.median(best.times)
    assert not policy.watch(process.state, [1.2 * usual] * 50)
    assert policy.watch(process.state, [2 * usual] * 50)
    assert estimates.estimate(best, process.state.widened).spread > estimates.estimate(best).spread


def test_the_room_of_a_ledger():
    ledger_of_now = Ledger(lost=0.1, started=100.0)
    early, late = ledger_of_now.room(100 + ledger.QUIET / 2), ledger_of_now.room(200.0)
    assert early.free == -0.1 and late.free == pytest.approx(SHARE * 100 - 0.1)
    assert (early.most, late.most) == (MOST * ledger.QUIET / 2 - 0.1, MOST * 100 - 0.1)
    ledger_of_now.lose(-1.0)
    assert ledger_of_now.lost == 0.1


def test_a_setting_forbids_trials(monkeypatch):
    """Check a trial that costs nothing, one that has begun, and preparations."""
    arms = [Arm(Strategy(n), Estimate(math.log(0.01 / (i + 1)), 1.0), is_ready=i < 2) for i, n in enumerate("abc")]
    state = State({arm.strategy: arm for arm in arms}, done=10**6, current=Strategy("a"))
    books = Ledger(started=0.0)
    assert policy.next_jobs([state], books.room(100.0))
    policy.next_call(state, books.room(100.0))
    assert state.duel is not None
    monkeypatch.setattr(config, "_has_trials", config.trials())  # restored at the end
    config.set_trials(False)
    assert policy.next_call(state, books.room(100.0))[0] == Strategy("a") and state.duel is None
    assert not policy.next_jobs([state], books.room(100.0))
    with pytest.raises(TypeError, match="must be True or False, not 1"):
        config.set_trials(1)


def test_a_report_says_why_a_candidate_was_tried():
    process = random_set(2, 0.2)
    process.run(seconds=100)
    prepared = [strategy for strategy in process.state.arms if strategy in process.prepared]
    sentences = trials(process.state)
    assert sentences
    for strategy, sentence in zip(prepared, sentences, strict=True):
        arm = process.state.arms[strategy]
        reason = (
            r"because engine\d had lost [\d.e-]+ s"
            if arm.regret >= arm.cost
            else r"since it may be faster than engine\d"
        )
        assert re.fullmatch(rf"{strategy.name} was tried for [\d.e-]+ s {reason}", sentence)
        assert arm.cost >= process.machine.starts[strategy]
    assert any("had lost" in sentence for sentence in sentences)


def test_a_candidate_may_cost_what_the_process_has_lost_without_it():
    """Check that announced steps promise a gain, and are no regret."""
    slow, quick = Strategy("interpreted"), Strategy("compiled")
    for done, ahead, most, begins in ((50, 0, 9, False), (150, 0, 9, True), (150, 0, 0.9, False), (50, 900, 9, False)):
        arms = [Arm(slow, Estimate(math.log(0.02), 0.1), is_ready=True), Arm(quick, Estimate(math.log(0.01), 0.1), 1.0)]
        state = State({arm.strategy: arm for arm in arms}, done=done, ahead=ahead)
        assert bool(policy.next_jobs([state], Room(0.0, most))) is begins


def test_one_loss_pays_for_one_start():
    """Check that the start of another engine is charged to the loss, but leaves half of it."""
    slow, tried, quick = map(Strategy, ("interpreted", "tried", "compiled"))
    for cost, regret in ((0.0, 2.0), (0.5, 1.5), (9.0, 1.0)):
        arms = [
            Arm(slow, Estimate(math.log(0.02), 0.001), is_ready=True),
            Arm(tried, Estimate(math.log(0.03), 0.001), start=5.0, is_ready=True, cost=cost),
            Arm(quick, Estimate(math.log(0.01), 0.001), start=1.2, cost=1.0),  # its own, of an earlier trial
        ]
        state = State({arm.strategy: arm for arm in arms}, done=200)
        assert estimates.prospect(state, arms[2]).regret == pytest.approx(regret, rel=1e-2)
        assert bool(policy.next_jobs([state], Room(0.0, 9.0))) is (regret > 1.2)


# -- the time until the first engine is ready -------------------------------------------------------------------------


def beginning(**arms):
    """A state of strategies by name, each with the seconds of its start and of a step; the first one was chosen."""
    found = {
        Strategy(n): Arm(Strategy(n), Estimate(math.log(step), 0.01), start=start) for n, (start, step) in arms.items()
    }
    return State(found), next(iter(found))


@pytest.mark.parametrize(
    ("arms", "runs"),
    [
        ({"torch": (2.0, 0.01), "numpy": (0.1, 0.02)}, "numpy"),
        ({"torch": (2.0, 0.01), "numpy": (0.1, 1.0)}, None),  # which makes no three steps until torch is ready
        ({"torch": (0.4, 0.01), "numpy": (0.0, 0.02)}, None),  # which is no long start
        ({"jax": (3.0, 0.01), "torch": (2.0, 0.01), "numpy": (0.1, 0.5)}, "numpy"),
        ({"jax": (9.0, 0.01), "torch": (1.0, 0.01), "numpy": (0.1, 0.5)}, "torch"),  # it makes three steps earlier
        ({"jax": (9.0, 0.01)}, None),
    ],
)
def test_a_bridge(arms, runs):
    state, chosen = beginning(**arms)
    assert policy.bridge(state, chosen, state.arms.values()) == (runs and Strategy(runs))


@pytest.mark.parametrize(("ahead", "load", "is_bridged"), [(40, 1.9, True), (60, 1.9, False), (60, 0.5, True)])
def test_no_bridge_that_would_end_at_once(ahead, load, is_bridged):
    """It does not while a program is made, since calls go on meanwhile; they wait while a library is imported."""
    state, chosen = beginning(torch=(2.0, 0.01), numpy=(0.1, 0.03))
    state.ahead = ahead
    assert (policy.bridge(state, chosen, state.arms.values(), load) is not None) is is_bridged


@pytest.mark.parametrize(
    ("before", "ahead", "done", "is_over"),
    [
        (0, 0, 40, False),
        (0, 0, 60, True),
        (0, 110, 1, False),
        (0, 110, 20, False),
        (0, 110, 30, True),
        (0, 90, 30, False),
        (0, 90, 60, False),
        (40, 8, 40, False),
        (60, 8, 60, True),
    ],
)
def test_a_bridge_ends_when_the_first_strategy_saves_half_of_its_start(before, ahead, done, is_over):
    """As many steps are expected as have run.  If the program says its steps, they must save the whole start.

    A program that says a few steps, for the tenth time, may go on for as long.
    """
    state, chosen = beginning(torch=(2.0, 0.01), numpy=(0.1, 0.03))
    state.done, state.arms[Strategy("numpy")].is_ready = before, True
    if ahead:
        policy.announce(state, ahead)
    state.done = done
    assert policy.is_over(state, chosen) is is_over


@pytest.mark.parametrize("ahead", [0, 8])
@pytest.mark.parametrize(("earlier", "done", "is_over"), [(10_000, 20, False), (10_000, 30, True), (40, 30, False)])
def test_an_earlier_process_ends_a_bridge_sooner_but_not_at_once(earlier, done, is_over, ahead):
    """This program may be shorter, so as many steps must have run as save a quarter of the start.

    The earlier one may have said a few steps again and again, as this one does.
    """
    state, chosen = beginning(torch=(2.0, 0.01), numpy=(0.1, 0.03))
    policy.announce(state, ahead)
    state.earlier, state.done, state.arms[Strategy("numpy")].is_ready = earlier, done, True
    assert policy.is_over(state, chosen) is is_over


@pytest.mark.parametrize(
    ("done", "others", "is_over"), [(40, (), False), (40, (40,), True), (40, (3, 14), False), (2, (90,), False)]
)
def test_graphs_that_wait_for_one_library_pay_for_its_import_together(done, others, is_over):
    """Each must save half of its own program's cost first."""
    states = []
    for steps in (done, *others):
        state, chosen = beginning(torch=(2.0, 0.01), numpy=(0.1, 0.03))
        state.done, state.arms[Strategy("numpy")].is_ready = steps, True
        states.append(state)
    assert policy.is_over(states[0], chosen, load=1.8, others=states[1:]) is is_over


def test_a_bridge_ends_when_the_first_strategy_is_ready():
    """Its steps and their cost are no trial, and the first strategy goes on without one."""
    rows = {"jax": {"start": 4.0, "step": 0.01}, "numpy": {"start": 1.0, "step": 0.03}}
    rows = {n: {**row, "predicted step": row["step"], "predicted start": row["start"] - 1} for n, row in rows.items()}
    process = recorded(rows, ahead=10_000)
    assert process.now == 1.0 and process.state.current is None
    process.run(steps=38)
    assert process.state.arms[Strategy("numpy")].calls and not process.state.arms[Strategy("jax")].calls
    process.run(seconds=8)
    assert process.state.current == Strategy("jax") and process.ledger.lost == 0
    assert process.state.arms[Strategy("jax")].calls > 10


# -- mutants ----------------------------------------------------------------------------------------------------------


def test_without_a_ledger_learning_costs_too_much(monkeypatch):
    monkeypatch.setattr(Ledger, "room", lambda self, now: Room(math.inf))
    assert any(process.overrun > overrun_of_a_turn(process) for process in runs(0.7))


def test_without_a_bound_regret_costs_too_much(monkeypatch):
    monkeypatch.setattr(ledger, "MOST", math.inf)
    assert any(process.overrun > overrun_of_a_turn(process) for process in runs(1.4))


def test_without_regret_programs_are_slower(monkeypatch):
    monkeypatch.setattr(Room, "of", lambda self, regret: self.free)
    ratios = quickness(0.7, 512)
    assert statistics.geometric_mean(ratios) < AS_QUICK[0.7][0] and min(ratios) < 0.55


def test_without_uncertainty_the_best_is_found_less_often(monkeypatch):
    found = sum(chosen(process) <= WITHIN for process in runs(1.2))
    whole = estimates.estimate
    change(monkeypatch, "estimate", lambda *args: whole(*args)._replace(spread=1e-6))
    assert sum(chosen(process) <= WITHIN for process in runs(1.2)) < found - len(SETS) / 10


def test_with_the_programs_number_alone_the_best_is_not_found(monkeypatch):
    change(monkeypatch, "remaining", lambda state: state.ahead)
    ratios = [chosen(process) for process in runs(0.7)]
    assert sum(ratio <= WITHIN for ratio in ratios) < 0.9 * len(ratios)


@pytest.mark.parametrize("weight", ["start", "step"])
def test_with_start_costs_or_steps_alone_recorded_models_are_late(monkeypatch, weight):
    """A bridge would make up for a start that is late, and regret for steps that are slow."""

    def first(state, arms):
        return min(arms, key=lambda arm: arm.start if weight == "start" else arm.predicted.seconds).strategy

    monkeypatch.setattr(policy, "first", first)
    monkeypatch.setattr(policy, "bridge", lambda state, strategy, arms: None)
    monkeypatch.setattr(Room, "of", lambda self, regret: self.free)
    assert any(is_late(RECORDED[name], steps) for name in RECORDED if name != IN_GROUPS for steps in LENGTHS)


def test_states_of_several_graphs_share_one_budget():
    states = [random_set(seed, 0.1).state for seed in range(3)]
    for state in states:
        state.done = 10**6
    assert all(state.arms[strategy].start == 0 for state, strategy in policy.next_jobs(states, Room(0.0)))
    found = policy.next_jobs(states, Room(math.inf))
    assert {id(state) for state, _ in found} == {id(state) for state in states}
    assert not any(state.arms[strategy].is_ready for state, strategy in found)
    worth = [estimates.prospect(state, state.arms[strategy]) for state, strategy in found]
    assert [p.gain / max(p.cost, policy.TINY) for p in worth] == sorted(
        (p.gain / max(p.cost, policy.TINY) for p in worth), reverse=True
    )
    room = worth[1].cost
    assert len(policy.next_jobs(states, Room(room))) == sum(p.cost <= room for p in worth)  # the others wait


# -- pressure of other programs, and the cost of a trial


def two(fast=0.01, slow=0.02, **state):
    """A state of two strategies that can run, with five times each, on the faster one."""
    arms = {
        Strategy(name): Arm(Strategy(name), Estimate(math.log(t), 0.5), is_ready=True)
        for name, t in (("fast", fast), ("slow", slow))
    }
    for name, seconds in (("fast", fast), ("slow", slow)):
        arms[Strategy(name)].saw([seconds] * 5)
    return State(arms, current=Strategy("fast"), **state)


def test_times_under_pressure_are_compared_with_each_other_only():
    state = two(done=100)
    policy.press(state, is_pressed=True)
    for _ in range(20):
        policy.observe(state, Strategy("fast"), 0.05)
    assert estimates.champion(state).strategy.engine == "fast"
    slow = estimates.expected(state, state.arms[Strategy("slow")])
    assert slow.seconds == pytest.approx(0.1, rel=0.1) and slow.spread >= 0.25  # as much slower as the champion
    policy.press(state, is_pressed=False)
    assert state.arms[Strategy("fast")].times == [0.01] * 5


@pytest.mark.parametrize(("press", "chosen"), [(policy.press, "fast"), (lambda *args: None, "slow")])
def test_without_pressure_other_programs_decide(press, chosen):
    state = two(done=100)
    press(state, True)
    for _ in range(20):
        policy.observe(state, Strategy("fast"), 0.05)
    state.current = None
    assert estimates.champion(state).strategy.engine == chosen


@pytest.mark.parametrize(("threads", "champion", "wanted"), [(0, 0.04, 0.06), (0, 1.0, 1.5), (1, 1.0, 0.045)])
def test_a_strategy_that_was_never_tried_gets_slower_as_the_champion_does(threads, champion, wanted):
    """Check one thread, too: it loses a share of its processor, and never waits for other threads that do."""
    state, strategy = two(done=100), Strategy("new", threads=threads)
    state.arms[strategy] = new = Arm(strategy, Estimate(math.log(0.015), 0.1))
    policy.press(state, is_pressed=True)
    policy.observe(state, Strategy("fast"), champion)
    assert estimates.expected(state, new).seconds == pytest.approx(wanted, rel=0.1)


def test_a_trial_ends_in_its_warm_up_if_that_takes_far_longer_than_foreseen():
    """Check that a step predicted at 32 ms that takes 4,000 is not repeated, comes again, and is believed at last."""
    state, room = two(0.05, 0.032, done=1000), Room(100.0, 100.0)
    slow = state.arms[Strategy("slow")]
    slow.times = []
    for occasion in range(1, policy.OCCASIONS + 1):
        strategy, counts = policy.next_call(state, room)
        assert strategy.engine == "slow" and not counts
        assert policy.observe(state, strategy, 4.0, counts) == pytest.approx(3.95, rel=0.01)
        assert state.duel is None and slow.occasions == occasion and slow.again == 2 * state.done
        assert policy.next_call(state, room)[0].engine == "fast"
        state.done = slow.again
    assert slow.times == [4.0] * policy.OCCASIONS and policy.next_call(state, room)[0].engine == "fast"


def test_nothing_is_prepared_during_a_trial_of_its_graph():
    state, room = two(0.05, 0.032, done=1000), Room(100.0, 100.0)
    state.arms[Strategy("new")] = Arm(Strategy("new"), Estimate(math.log(0.01), 0.5), start=0.1)
    assert [strategy.engine for _, strategy in policy.next_jobs([state], room)] == ["new"]
    policy.next_call(state, room)
    assert state.duel is not None and not policy.next_jobs([state], room)


def test_an_equal_graph_goes_on_with_the_steps_and_times_of_the_first():
    before = two(done=1000)
    state = State({s: Arm(s, arm.predicted) for s, arm in before.arms.items()})
    policy.go_on(state, before)
    assert state.done == 1000 and state.arms[Strategy("slow")].times == [0.02] * 5
    assert not any(arm.is_ready for arm in state.arms.values())
