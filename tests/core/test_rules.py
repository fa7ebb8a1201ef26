"""Tables of rules: layers, variants, and lookups by engines."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.rules import CALLS, EAGER, LAYERS, NATIVE, OUT, PROGRAM, WITH_OUT, Rules
from dovetail.core.tensor import Tensor
from dovetail.engines import numpy as living


class WrappingEngine(living.NumPyEngine):
    """NumPy, with rules wrapped differently in each layer."""

    def eager_rule(self, rule):
        return lambda *args: rule(*args)

    def native_rule(self, name, rule):
        return lambda *args: rule(*args)


def engine_with(*declared):
    """NumPy with only the declared rules for Tanh: (layers, variant, when, rule)."""
    rules = Rules({name: rule for name, rule in living.rules.items() if name != "Tanh"})
    for layers, variant, when, rule in declared:
        rules("Tanh", layers=layers, variant=variant, when=when)(rule)
    return WrappingEngine(rules)


def constant(number):
    return lambda x, **out: np.full_like(x, number)


def test_each_layer_has_its_own_rule():
    found = engine_with(*(((layer,), "default", None, constant(i)) for i, layer in enumerate(LAYERS)))
    x = np.zeros(2, "float32")
    assert found.eager_rules["Tanh"](x)[0] == 0 and found.rules["Tanh"](x)[0] == 1
    assert found.rules.layer(OUT)["Tanh"](x, out=x)[0] == 2 and found.native.eager_rules["Tanh"](x)[0] == 3
    assert found.native.rules["Tanh"](x)[0] == 3 and found.out_rules == {"Tanh"} and not found.native.out_rules
    assert ops.tanh(Tensor(x, found)).tolist() == [0, 0]


def test_an_op_without_a_rule_in_a_layer_runs_by_its_body():
    rules = Rules(living.rules)
    rules("Silu", layers=(PROGRAM,))(constant(7))
    found = WrappingEngine(rules)
    assert "Silu" in found.rules and found.eager_rules["Silu"] is None and "Silu" not in found.native.rules
    assert ops.silu(Tensor(np.zeros(1, "float32"), found)).tolist() == [0]


def operation(dtype):
    return dt.function(lambda x: ops.tanh(x)).graph(dt.spec((2,), dtype)).operations[-1]


def test_a_program_takes_the_first_rule_that_fits():
    def wide(operation):
        return operation.inputs[0].dtype == "float64"

    found = engine_with((CALLS, "wide", wide, constant(1)), (CALLS, "default", None, constant(2)))
    x = np.zeros(1)
    assert found.rule_for(operation("float64"))(x) == 1
    assert found.rule_for(operation("float32"))(x) == 2
    assert found.rule_for(operation("float32"), OUT) is None
    assert found.eager_rules["Tanh"](x) == found.rules["Tanh"](x) == 2  # eager calls ignore `when`


def test_a_rule_may_be_bound_to_an_operation():
    rules = Rules(living.rules)

    @rules.specialized("Sum")
    def _(operation):
        axis = operation.attrs["axis"]
        return None if axis is None else lambda x: np.full_like(np.sum(x, axis), 7)

    x = Tensor(np.ones((2, 3), "float32"), WrappingEngine(rules))
    compiled = dt.function(lambda x: (ops.sum(x, axis=1), ops.sum(x)))
    assert [y.tolist() for y in compiled(x)] == [[7, 7], 6]
    assert ops.sum(x, axis=1).tolist() == [3, 3]  # single calls have no operation


def test_the_first_of_several_is_the_default():
    found = engine_with((WITH_OUT, "default", None, constant(1)), ((PROGRAM,), "other", None, constant(2)))
    assert [v.name for v in found.rules.variants("Tanh")] == ["default", "other"]
    assert [v.name for v in found.rules.variants("Tanh", OUT)] == ["default"]
    assert found.rules.variants("Tanh")[1].rule(np.zeros(1)) == 2 and found.rules.variants("Nothing") == ()
    assert found.rules["Tanh"](np.zeros(1)) == found.rule_for(operation("float32"))(np.zeros(1)) == 1


def test_a_rule_is_declared_once():
    rules = Rules({"Tanh": np.tanh})
    with pytest.raises(ValueError, match=r"Tanh has a rule 'default' for the layer 'eager' already: .* another name"):
        rules["Tanh"] = np.cosh
    with pytest.raises(ValueError, match="'out'"):
        rules("Sinh", layers=(OUT, OUT))(np.sinh)
    assert rules["Tanh"] is np.tanh


def test_the_table_of_an_engine_stays():
    rules = Rules(living.rules)
    found = WrappingEngine(rules)
    for table in (rules, found.rules, found.native.rules):
        with pytest.raises(TypeError, match="declared before it is made"):
            table["Sinc"] = np.sinc
        with pytest.raises(TypeError, match="declared before it is made"):
            table.specialized("Sinc")(lambda operation: None)
    assert not hasattr(table, "pop") and not hasattr(table, "update")


def test_native_rules_are_those_of_the_table(engine):
    found = current_engine()
    assert found.native.native is found.native and found.native.name == found.name
    assert found.native.rules.layer(PROGRAM) is found.native.eager_rules is found.rules.layer(NATIVE)
    assert found.eager_rules is found.rules.layer(EAGER) is not found.native.eager_rules


def test_an_engine_completes_its_table_with_rules_for_ops_that_have_none():
    own, other = constant(1), constant(2)
    rules = Rules({"Tanh": own})
    rules("Silu", layers=(PROGRAM,))(own)
    found = rules.completed({"Tanh": other, "Exp": other, "Silu": other}, lambda layer, name, rule: rule)
    assert (found["Tanh"], found["Exp"], found["Silu"]) == (own, other, own)
    assert found.names(EAGER) == {"Tanh", "Exp"}  # Silu's body makes single calls
    assert found.specialized_rule(operation("float32")) is None


def test_an_engine_finishes_a_rule_when_it_is_first_asked_for():
    rules, finished = Rules({"Tanh": constant(1), "Exp": constant(1)}), []
    rules("Tanh", layers=(PROGRAM,), variant="other")(constant(2))

    def finish(layer, name, rule):
        finished.append((layer, name, rule(np.zeros(1))))
        return constant(3)

    found = rules.completed({}, finish)
    assert found.names() == {"Tanh", "Exp"} and "Tanh" in found and "Sinh" not in found and not finished
    for _ in range(2):
        assert [found["Tanh"](np.zeros(1)), found.layer(NATIVE)["Exp"](np.zeros(1))] == [3, 3]
        assert [variant.rule(np.zeros(1)) for variant in found.variants("Tanh")] == [3, 3]
    assert finished == [(PROGRAM, "Tanh", 1), (PROGRAM, "Tanh", 2), (NATIVE, "Exp", 1)]
    assert rules["Tanh"](np.zeros(1)) == 1


def test_rules_are_added_and_removed_after_they_were_asked_for():
    found = Rules({"Exp": constant(1)}).completed({}, lambda layer, name, rule: rule)
    assert found.layer(EAGER)["Tanh"] is None and found.get("Tanh") is None and found.variants("Tanh") == ()
    for _ in range(2):
        found.add("Tanh", np.tanh)
        assert found["Tanh"] is found.layer(EAGER)["Tanh"] is found.on_native_values()["Tanh"] is np.tanh
        assert "Tanh" in found.names(NATIVE) and list(found) == ["Exp", "Tanh"]
        found.remove("Tanh")
        assert found.layer(EAGER)["Tanh"] is None and "Tanh" not in found and list(found) == ["Exp"]
