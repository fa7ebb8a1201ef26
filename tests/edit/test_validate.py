"""Validation: it finds and names every error in a graph."""

import re

import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.validate import problems


@pytest.fixture
def graph():
    graph = dt.Graph("test")
    x = graph.placeholder(dt.spec((2, 3)), "x")
    y = ops.tanh(x)
    with graph.control_dependencies([y.op]):
        z = ops.exp(x)
    q, _ = ops.qr(y)
    total = ops.scan(lambda s, row: (ops.tanh(s + row), None), x[0], z)[0]
    graph.outputs = [total, q]
    return graph


def only(graph, type_):
    (found,) = (op for op in graph.operations if op.type == type_)
    return found


def _swap_outputs(graph):
    only(graph, "Qr").outputs.reverse()


def _wait_for_what_follows(graph):
    tanh, exp = only(graph, "Tanh"), only(graph, "Exp")
    tanh._control_inputs = {exp: None}
    exp._control_outputs = {tanh: None}


def _forget_a_waiter(graph):
    only(graph, "Tanh")._control_outputs = {}


def _forget_a_consumer(graph):
    del graph.inputs[0]._uses[only(graph, "Tanh")]


def _count_a_consumer_twice(graph):
    graph.inputs[0]._uses[only(graph, "Tanh")] = [0, 0]


def _know_a_stranger_as_consumer(graph):
    only(graph, "Tanh").outputs[0]._uses[dt.Graph().placeholder(dt.spec(()), "lost").op] = [0]


def _know_another_as_consumer(graph):
    only(graph, "Tanh").outputs[0]._uses[only(graph, "Exp")] = [0]


def _forget_a_type(graph):
    del graph.by_type["Tanh"]


def _keep_a_type(graph):
    graph.by_type["Lost"] = {only(graph, "Exp"): None}


def _drop_an_input(graph):
    only(graph, "Qr").inputs.pop()


def _drop_a_layout(graph):
    only(graph, "Exp").layout = ()


def _drop_a_name(graph):
    del graph._operations["Tanh"]


def _exchange_names(graph):
    names = graph._operations
    names["Tanh"], names["Exp"] = names["Exp"], names["Tanh"]


def _lose_an_output(graph):
    list.append(graph.outputs, dt.Graph().placeholder(dt.spec(()), "lost"))  # past the check


def _lose_an_input(graph):
    graph.inputs.append(dt.Graph().placeholder(dt.spec(()), "lost"))


def _another_maker(graph):
    only(graph, "Exp").outputs[0].op = only(graph, "Tanh")


def _another_shape(graph):
    only(graph, "Exp").outputs[0].shape = (3, 2)


def _another_shape_in_a_body(graph):
    only(only(graph, "Scan").attr("body"), "Tanh").outputs[0].shape = (4,)


def _another_shape_of_a_bodys_input(graph):
    only(graph, "Scan").attr("body").inputs[1].shape = (4,)


def _another_dtype_of_a_bodys_input(graph):
    only(graph, "Scan").attr("body").inputs[1].dtype = graph.inputs[0].dtype.__class__("int32")


def _more_inputs_of_a_body(graph):
    body = only(graph, "Scan").attr("body")
    body.inputs.append(body.inputs[0])


def _another_type_of_attribute(graph):
    only(graph, "Qr").attrs["mode"] = "full"


def _another_form_of_attribute(graph):
    only(graph, "Scan").attrs["reverse"] = 0


def _an_attribute_of_no_parameter(graph):
    only(graph, "Exp").attrs["axis"] = 0


FAULTS = {
    _another_type_of_attribute: r"Qr Qr> has an attribute that its op does not accept: mode must be one of 'reduced'",
    _another_form_of_attribute: r"<operation Scan Scan> holds reverse=0, not False",
    _an_attribute_of_no_parameter: r"Exp Exp> has an attribute that its op does not accept: there is no param",
    _swap_outputs: r"<operation Qr Qr> has the output <graph tensor Qr:1 .*>, which names <operation Qr Qr>",
    _wait_for_what_follows: r"<operation Tanh Tanh> waits for <operation Exp Exp>, which does not stand before it",
    _forget_a_waiter: r"<operation Exp Exp> waits for <operation Tanh Tanh>, which .* does not know of it",
    _forget_a_consumer: r"<operation Tanh Tanh> takes <graph tensor x:0 .*>, which does not know it as a consumer",
    _count_a_consumer_twice: r"<operation Tanh Tanh> takes <graph tensor x:0 .*>, which does not know it as a consumer",
    _know_a_stranger_as_consumer: r"Tanh> has the output <graph tensor Tanh:0 .*>, which counts <operation lost",
    _know_another_as_consumer: r"Tanh> has the output <graph tensor Tanh:0 .*>, which counts <operation Exp Exp>",
    _forget_a_type: r"`by_type` holds more or fewer\. .*<operation Tanh Tanh> is not found by its type",
    _keep_a_type: r"\d+ operations stand in order, but `by_type` holds more or fewer",
    _drop_an_input: r"<operation Qr Qr> has 0 inputs, but the layout",
    _drop_a_layout: r"<operation Exp Exp> has 1 inputs, but the layout \(\)",
    _drop_a_name: r"\d+ operations stand in order, but \d+ are named\. <operation Tanh Tanh> is not found by its name",
    _exchange_names: r"<operation Tanh Tanh> is not found by its name\. .*<operation Exp Exp> is not found by its name",
    _lose_an_output: r"the output <graph tensor lost:0 .*> is of no operation in the graph",
    _lose_an_input: r"the input <graph tensor lost:0 .*> is of no operation in the graph",
    _another_maker: r"<operation Exp Exp> has the output <graph tensor Tanh:0 .*>, which names <operation Tanh Tanh>",
    _another_shape: r"<operation Exp Exp> has the output <graph tensor Exp:0 .*>, but its type rule says \(2, 3\)",
    _another_shape_in_a_body: r"in body: <operation Tanh Tanh> .*, but its type rule says \(3,\)",
    _another_shape_of_a_bodys_input: r"gives float32\[3\] to the input .* of its body",
    _another_dtype_of_a_bodys_input: r"gives float32\[3\] to the input .* of its body",
    _more_inputs_of_a_body: r"<operation Scan Scan> gives 2 tensors to its body, which takes 3",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_a_fault_is_found(graph, fault):
    graph.validate()
    fault(graph)
    found = " ".join(problems(graph))
    assert re.search(FAULTS[fault], found), found


def test_less_that_is_known_is_no_fault(graph):
    only(graph, "Exp").outputs[0].shape = (None, 3)
    assert list(problems(graph)) == []
    graph.validate()


def test_all_faults_are_told_at_once(graph):
    _another_shape(graph)
    _forget_a_waiter(graph)
    with pytest.raises(
        ValueError, match=r"the graph 'test' is not valid: .*does not know of it\. .*type rule says"
    ) as error:
        graph.validate()
    assert "<operation Scan Scan> is refused by its type rule: " in str(error.value)
    assert all(problem.endswith(".") and not problem.endswith("..") for problem in problems(graph))
