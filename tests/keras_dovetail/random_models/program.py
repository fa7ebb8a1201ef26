"""Random programs: a model, how it is compiled, and calls of it, all as data that a seed determines."""

from __future__ import annotations

import random
from typing import Any

from tests.keras_dovetail.random_models import training
from tests.keras_dovetail.random_models.data import Data, Draw, Shape, new, some
from tests.keras_dovetail.random_models.layers import ANY, MERGES, OPS, RANDOM, TABLES, TO_VECTORS, Drawn

NOISY = ("Normalization", "Attention", "softmax")  # some weights before or in these have no gradient
POLICIES = ("float32",) * 8 + ("mixed_bfloat16", "mixed_float16")


def program(seed: int) -> Data:
    """A random program.

    Args:
        seed: the seed of all choices.

    Returns:
        Data with these keys: "seed"; "policy", a dtype policy; "model", see `_Model`; "compile", the arguments of
        `compile`; "again", the arguments of a second call; "sizes"; "calls", a list of dictionaries.
    """
    draw = random.Random(seed)
    policy = draw.choice(POLICIES)
    model = _Model(draw, policy).data
    batch = draw.randint(3, 5)
    rest = draw.choice([0, *range(1, batch)])
    compiled = _compiled(draw, model)
    sizes = {
        "samples": batch * draw.randint(2, 4) + rest,
        "batch": batch,
        "rest": rest,
        "has_classes": [head["task"] for head in model["heads"]] in (["classes"], ["yes or no"]),
        "trains": not any(name in str(model) for name in RANDOM),
        "has_schedule": "schedules" in str(compiled["optimizer"]),
    }
    return {
        "seed": seed,
        "policy": policy,
        "model": model,
        "compile": compiled,
        "again": {**_compiled(draw, model), "optimizer": new("optimizers.SGD", learning_rate=0.05, momentum=0.5)},
        "sizes": sizes,
        "calls": training.calls(draw, sizes),
    }


def _compiled(draw: Draw, model: Data) -> Data:
    """The arguments of `compile`."""
    has_noise = any(name in str(model) for name in NOISY)
    heads, by_name = model["heads"], model["outputs_as"] == "dict"
    found: Data = {"optimizer": training.optimizer(draw, has_noise)}
    losses = [training.loss(draw, head["task"], head["activation"]) for head in heads]
    metrics = [training.metrics(draw, head["task"], head["activation"]) for head in heads]
    weighted = [training.metrics(draw, head["task"], head["activation"]) for head in heads]
    found["loss"] = _arranged(losses, by_name)
    found["metrics"] = _arranged(metrics, by_name)
    if draw.random() < 0.25:
        found["weighted_metrics"] = _arranged(weighted, by_name)
    if len(heads) > 1 and draw.random() < 0.5:
        found["loss_weights"] = _arranged([0.3, 2.0], by_name)
    way = draw.choice([{}, {}, {}, {"run_eagerly": True}, {"steps_per_execution": 2}, {"jit_compile": False}])
    return {**found, **way, **some(draw, 0.1, auto_scale_loss=False)}


def _arranged(values: list[Any], by_name: bool) -> Any:
    if by_name:
        return {f"out{i}": value for i, value in enumerate(values)}
    return values[0] if len(values) == 1 else values


class _Model:
    """A model that is drawn at random.

    Attributes:
        data: a dictionary with these keys.
            "style": "functional", "sequential" or "subclass".
            "kind": a class in `keras3_own`, or "".
            "inputs": the parts of each sample.
            "inputs_as", "outputs_as": "one", "list" or "dict".
            "nodes": layers with the numbers of the tensors that they take. Inputs have the first numbers.
            "heads": the outputs.
    """

    def __init__(self, draw: Draw, policy: str) -> None:
        self._draw, self._policy = draw, policy
        style = draw.choice(["functional", "functional", "functional", "sequential", "subclass"])
        count = 1 if style == "sequential" else draw.choice([1, 1, 2])
        self._inputs = [self._input(i) for i in range(count)]
        self._nodes: list[Data] = []
        self._shapes: list[Shape] = [tuple(x["shape"]) for x in self._inputs]
        for i, given in enumerate(self._inputs):
            if given["kind"] == "words":
                layer = new("layers.Embedding", input_dim=9, output_dim=3, mask_zero=draw.random() < 0.8)
                self._add(Drawn(layer, (*given["shape"], 3)), [i])
            elif given["kind"] == "padded":
                self._add(Drawn(new("layers.Masking"), self._shapes[i]), [i])
        self._chain() if style == "sequential" else self._grow()
        heads = self._heads(1 if style == "sequential" else draw.choice([1, 1, 2]))
        kinds = {"functional": ["", "", "own.Stepped", "own.Doubled"], "sequential": [""], "subclass": ["own.Replayed"]}
        self.data = {
            "style": style,
            "kind": draw.choice(kinds[style]),
            "deferred": style == "sequential" and draw.random() < 0.3,
            "inputs": self._inputs,
            "inputs_as": draw.choice(["list", "dict"]) if count > 1 else draw.choice(["one", "one", "one", "dict"]),
            "outputs_as": draw.choice(["list", "dict"]) if len(heads) > 1 else "one",
            "nodes": self._nodes,
            "heads": heads,
        }
        if style == "sequential":
            self.data["inputs_as"] = "one"

    def _input(self, number: int) -> Data:
        kind = self._draw.choice(["vector", "vector", "vector", "sequence", "padded", "words", "words", "image"])
        length = self._draw.randint(3, 5)
        shape = {"vector": [4], "words": [length], "image": [6, 6, 2]}.get(kind, [length, 3])
        kinds = {"words": ["int32", "int64"]}.get(kind, ["float32", "float32", "float64"])
        return {"name": f"in{number}", "kind": kind, "shape": shape, "dtype": self._draw.choice(kinds)}

    def _add(self, drawn: Drawn, takes: list[int]) -> int:
        """Add a node, and return the number of its tensor."""
        node = {"layer": drawn.layer, "takes": takes * drawn.takes}
        node |= {"call": drawn.call} if drawn.call else {}
        node |= {"apart": True} if drawn.apart else {}
        node |= {"pick": drawn.pick} if drawn.pick is not None else {}
        self._nodes.append(node)
        self._shapes.append(drawn.shape)
        return len(self._shapes) - 1

    def _layer(self, taken: int, names: tuple[str, ...] = ()) -> int:
        """Add a random layer of the given names, or of any, behind a tensor."""
        shape = self._shapes[taken]
        table = TABLES[len(shape)]
        if not names:
            names = tuple(name for name in table if name not in ANY) * 2 + tuple(ANY)
        drawn = table[self._draw.choice(names)](self._draw, shape)
        if self._policy == "float32" and drawn.layer["new"] != "Sequential" and self._draw.random() < 0.04:
            drawn.layer["with"]["dtype"] = self._draw.choice(["mixed_bfloat16", "float32"])
        return self._add(drawn, [taken])

    def _chain(self) -> None:
        """Add layers one behind another, which a sequential model can have."""
        for _ in range(self._draw.randint(1, 4)):
            before = len(self._nodes)
            self._layer(len(self._shapes) - 1)
            if any(name in self._nodes[-1] for name in ("call", "apart", "pick")) or len(self._nodes[-1]["takes"]) > 1:
                del self._nodes[before:], self._shapes[before + 1 :]
        self._to_vector(len(self._shapes) - 1, is_chain=True)

    def _grow(self) -> None:
        """Add layers behind any tensors, merges of two tensors, and repeated calls of layers."""
        for _ in range(self._draw.randint(2, 6)):
            choice, taken = self._draw.random(), self._any()
            if choice < 0.15 and self._again(taken):
                continue
            if choice < 0.35 and self._merged(taken):
                continue
            self._layer(taken)

    def _any(self) -> int:
        """One of the last tensors that layers take; words are not among them."""
        fit = [i for i in range(len(self._shapes)) if i >= len(self._inputs) or self._inputs[i]["kind"] != "words"]
        return self._draw.choice(fit[-3:])

    def _again(self, taken: int) -> bool:
        """Call a layer again with another tensor of the same shape, if there is one."""
        offset = len(self._inputs)
        shape = self._shapes[taken]
        fit = [
            i
            for i, node in enumerate(self._nodes)
            if "layer" in node and "apart" not in node and len(node["takes"]) == 1
            and self._shapes[node["takes"][0]] == shape and "Embedding" not in node["layer"]["new"]
        ]  # fmt: skip
        if not fit:
            return False
        number = self._draw.choice(fit)
        more = {name: self._nodes[number][name] for name in ("call", "pick") if name in self._nodes[number]}
        self._nodes.append({"again": number, "takes": [taken], **more})
        self._shapes.append(self._shapes[offset + number])
        return True

    def _merged(self, taken: int) -> bool:
        """Merge two tensors of equal shape by a layer or an op of Keras, or apply an op to one."""
        offset, shape = len(self._inputs), self._shapes[taken]
        others = [i for i in range(offset, len(self._shapes)) if self._shapes[i] == shape and i != taken]
        if taken < offset:
            return False
        if others and self._draw.random() < 0.6:
            kind = self._draw.choice(MERGES)
            width = shape[-1] * (2 if kind == "Concatenate" else 1)
            self._add(Drawn(new(f"layers.{kind}"), (*shape[:-1], width)), [taken, self._draw.choice(others)])
            return True
        takes = [taken, self._draw.choice(others)] if others else [taken]
        self._nodes.append({"op": self._draw.choice(OPS[len(takes)]), "takes": takes})
        self._shapes.append(shape)
        return True

    def _to_vector(self, taken: int, is_chain: bool = False) -> int:
        """Turn a sequence or an image into a vector."""
        while len(self._shapes[taken]) > 1:
            names = TO_VECTORS[len(self._shapes[taken])]
            taken = self._layer(taken, names[1:] if is_chain else names)
        return taken

    def _heads(self, count: int) -> list[Data]:
        """The outputs. Each depends on all inputs, since the loose ends of the graph are joined first."""
        used = {i for node in self._nodes for i in node["takes"]}
        ends = [i for i in range(len(self._shapes)) if i not in used]
        is_sequence = len(ends) == 1 and len(self._shapes[ends[0]]) == 2 and self._draw.random() < 0.6
        if is_sequence:
            trunk = ends[0]
        else:
            vectors = [self._to_vector(i) for i in ends]
            trunk = vectors[0]
            if len(vectors) > 1:
                width = sum(self._shapes[i][0] for i in vectors)
                trunk = self._add(Drawn(new("layers.Concatenate"), (width,)), vectors)
        return [self._head(i, trunk) for i in range(count)]

    def _head(self, number: int, trunk: int) -> Data:
        task = self._draw.choice(list(training.TASKS))
        of = training.TASKS[task]
        activation = self._draw.choice(of.activations)
        options = {"units": of.units, "activation": activation, "name": f"out{number}"}
        if self._policy != "float32":
            options["dtype"] = "float32"
        shape = self._shapes[trunk][:-1]
        place = self._add(Drawn(new("layers.Dense", **options), (*shape, of.units)), [trunk])
        return {"task": task, "activation": activation, "value": place, "shape": list(shape)}
