"""Attributes of other libraries: the error names the line and shows a step; classes and objects may have them."""

from __future__ import annotations

import pytest

import dovetail as dt
from dovetail.core.base.lacking import STEP, lacks
from tests.libraries import Library

torch = Library("torch")


@pytest.mark.parametrize("name", ["backward", "grad", "requires_grad", "requires_grad_", "retain_grad", "_id"])
@pytest.mark.parametrize("made", [lambda: dt.ops.ones(2), lambda: dt.Variable([1.0]), lambda: recorded()])
def test_the_error_names_the_line_and_shows_a_step(name, made):
    value = made()
    assert not hasattr(value, name)
    with pytest.raises(AttributeError, match=rf"^{type(value).__name__}\.{name} at test_lacking\.py:\d+: ") as caught:
        getattr(value, name)
    assert str(caught.value).endswith(STEP)


def recorded():
    seen = []
    dt.function(lambda x: seen.append(x) or x)(dt.ops.ones(2))
    return seen[0]


def test_a_value_without_a_gradient():
    with pytest.raises(AttributeError, match=r"x\.numpy\(\) has the numbers, and dovetail\.ops\.stop_gradient"):
        dt.ops.ones(2).detach()


@pytest.mark.parametrize("call", ["add", "mean", "nn.functional.relu"])
def test_functions_of_torch(call):
    function = torch
    for part in call.split("."):
        function = getattr(function, part)
    given = (dt.ops.ones(2), dt.ops.ones(2)) if call == "add" else (dt.ops.ones(2),)
    with pytest.raises(TypeError, match=r"^torch\.\w+ at test_lacking\.py:\d+: PyTorch's functions take"):
        function(*given)


def test_what_torch_may_do_with_tensors():
    x = dt.ops.constant([1.0, 2.0])
    for made in (torch.tensor(x), torch.as_tensor(x), torch.from_numpy(x.numpy()), torch.from_dlpack(x)):
        assert made.tolist() == [1.0, 2.0]
    assert dt.ops.convert(torch.ones(2) + x).numpy().tolist() == [2.0, 3.0]
    assert dt.ops.convert(x * torch.ones(2)).numpy().tolist() == [1.0, 2.0]


def test_classes_and_objects_may_have_the_names():
    @lacks("cuda cpu", "it has no devices.")
    class Thing:
        pass

    class Other(Thing):
        cuda = 1

    thing = Other()
    assert thing.cuda == 1 and not hasattr(thing, "cpu")
    thing.cpu = 2
    assert thing.cpu == 2
