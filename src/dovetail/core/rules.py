"""Rules: how an engine computes each op, declared once in the engine's files.

A rule is a function of the library's own arrays, with the op's parameters.  Most ops have one rule for all the ways in
which an op is computed.  If these ways differ, a rule names its layers:

    eager    a single call from Python
    program  an operation of a compiled program
    out      the same, with the result written into an array given as `out=`; a rule with several results may return
             new arrays instead of given ones that do not suit it
    native   a call on values of the library's own users
    over     an operation at the end of a program, with the results written over arguments that nothing needs any more:
             the rule returns C functions that write, and the arrays of the results; see `Rules.written`

An op may have several named rules for a layer; calls use the first that fits.  Further rules compute the same in
another way; programs use them if a plan prefers them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

from dovetail.core.base.cache import Computed

Rule = Callable[..., Any]
Maker = Callable[[Any], Rule | None]
Finish = Callable[[str, str, Rule], Rule]

LAYERS = EAGER, PROGRAM, OUT, NATIVE, OVER = ("eager", "program", "out", "native", "over")
CALLS = (EAGER, PROGRAM, NATIVE)  # layers whose results are new arrays
WITH_OUT = (*CALLS, OUT)
DEFAULT = "default"


class Variant(NamedTuple):
    """One rule of an op for one layer.

    Attributes:
        name: distinguishes it from the op's other rules.
        rule: the function.
        when: (operation of a graph) → whether it fits the operation; None if it fits all.
        is_further: whether it is used only if a plan prefers it.
    """

    name: str
    rule: Rule
    when: Callable[[Any], bool] | None = None
    is_further: bool = False


class Rules(Mapping[str, Rule]):
    """A table of rules; as a mapping, the rules that programs call by default.

    rules = Rules({"Tanh": np.tanh})               the library's function fits as it is

    @rules("Sum", "Mean")                          it does not fit: a function with the op's parameters
    def _(x, axis, keepdims): ...

    @rules("MatMul", layers=WITH_OUT)              it takes `out=`, too
    @rules("Conv2D", variant="float", when=...)    it is for some operations
    @rules.alternative("patches", "Conv2D")            it is another way to compute the op

    @rules.specialized("Sum")                            a rule for one operation, whose static arguments are known
    def _(operation): ...

    Attributes:
        fresh: ops without a rule for `out` whose rules never return a view of an argument.
        by_table: ops whose native rules the library cannot differentiate; the op's gradient does it.
        written: op → the parameters (lists of tensors) over whose arrays its rule for `over` writes its results, in
            their order.  The rule itself writes nothing: a program ends with calls of the C functions that it returns,
            with no bytecode between them.  The rule may copy an array first, if it is not contiguous.
    """

    def __init__(self, rules: Mapping[str, Rule] | None = None, finish: Finish | None = None) -> None:
        self._declared: dict[str, list[tuple[Sequence[str], Variant]]] = {}
        self._names: dict[str, set[str]] = {layer: set() for layer in LAYERS}
        self._finish = finish
        self._variants = {layer: Computed(partial(self._finished, layer)) for layer in LAYERS}
        self._defaults = {layer: Computed(partial(self._default, layer)) for layer in LAYERS}
        self._makers: dict[str, Maker] = {}
        self._closed = False
        self.fresh: set[str] = set()
        self.by_table: set[str] = set()
        self.written: dict[str, tuple[str, ...]] = {}
        self |= rules or {}

    def __call__(
        self,
        *names: str,
        layers: tuple[str, ...] = CALLS,
        variant: str = DEFAULT,
        when: Callable[[Any], bool] | None = None,
    ) -> Callable[[Rule], Rule]:
        """Decorator that declares the rule of some ops.

        Args:
            names: the ops.
            layers: the layers of the rule.
            variant: its name among the op's rules.
            when: (operation of a graph) → whether the rule fits it; only programs ask.

        Raises:
            ValueError: the op has a rule of this name for one of the layers.
            TypeError: the table's engine exists already.
        """

        def declare(rule: Rule) -> Rule:
            self._declare(layers, names, Variant(variant, rule, when))
            return rule

        return declare

    def alternative(
        self, variant: str, *names: str, when: Callable[[Any], bool] | None = None
    ) -> Callable[[Rule], Rule]:
        """Decorator that declares another rule of programs for some ops, for plans that prefer it.

        Args:
            variant: its name.
            names: the ops.
            when: (operation of a graph) → whether the rule fits it.

        Raises:
            ValueError: an op has a rule of this name.
            TypeError: the table's engine exists already.
        """

        def declare(rule: Rule) -> Rule:
            self._declare((PROGRAM,), names, Variant(variant, rule, when, is_further=True))
            return rule

        return declare

    def _declare(self, layers: Sequence[str], names: Sequence[str], variant: Variant) -> None:
        if self._closed:
            raise _refusal(names)
        if len({*layers}) < len(layers):
            raise ValueError(f"{', '.join(names)}: the rule names a layer twice, in {layers}.")
        for name in names:
            for others, other in self._declared.get(name, ()):
                if other.name == variant.name and not {*layers}.isdisjoint(others):
                    layer = next(one for one in layers if one in others)
                    problem = f"{name} has a rule {variant.name!r} for the layer {layer!r} already"
                    raise ValueError(f"{problem}: give the new rule another name, as in variant='blocked'.")
        self._put(layers, names, variant)

    def _put(self, layers: Sequence[str], names: Sequence[str], variant: Variant) -> None:
        for name in names:
            self._declared.setdefault(name, []).append((layers, variant))
        for layer in layers:
            if variant.when is None and not variant.is_further:
                self._names[layer].update(names)
            if self._variants[layer]:
                self._forget(layer, names)

    def _forget(self, layer: str, names: Sequence[str]) -> None:
        for name in names:
            self._variants[layer].pop(name, None)
            self._defaults[layer].pop(name, None)

    def __setitem__(self, name: str, rule: Rule) -> None:
        self._declare(CALLS, (name,), Variant(DEFAULT, rule))

    def __ior__(self, rules: Mapping[str, Rule]) -> Rules:
        for name, rule in rules.items():
            self[name] = rule
        return self

    def specialized(self, *names: str) -> Callable[[Maker], Maker]:
        """Decorator that declares a maker of rules for one operation of a program, quicker than a rule that fits all.

        The maker takes the operation, and returns a function of its tensor arguments alone, or None.

        Raises:
            TypeError: the table's engine exists already.
        """

        def declare(make: Maker) -> Maker:
            if self._closed:
                raise _refusal(names)
            self._makers.update(dict.fromkeys(names, make))
            return make

        return declare

    # lookup

    def specialized_rule(self, operation: Any) -> Rule | None:
        """The function of its tensor arguments that computes an operation in a program; None if no maker gives one."""
        make = self._makers.get(operation.type)
        return None if make is None else make(operation)

    def variants(self, name: str, layer: str = PROGRAM) -> tuple[Variant, ...]:
        """The rules of an op for a layer; the first that fits an operation is the default.

        Example:
            >>> import numpy as np
            >>> rules = Rules({"Tanh": np.tanh})
            >>> _ = rules("Tanh", variant="by exp")(lambda x: 1 - 2 / (np.exp(2 * x) + 1))
            >>> [variant.name for variant in rules.variants("Tanh")]
            ['default', 'by exp']
        """
        return self._variants[layer][name]

    def _finished(self, layer: str, name: str) -> tuple[Variant, ...]:
        """The rules of an op for a layer, as calls and programs use them."""
        variants = [variant for layers, variant in self._declared.get(name, ()) if layer in layers]
        finish = self._finish
        return tuple(variants if finish is None else [v._replace(rule=finish(layer, name, v.rule)) for v in variants])

    def _default(self, layer: str, name: str) -> Rule | None:
        usual = (v.rule for v in self._variants[layer][name] if v.when is None and not v.is_further)
        return next(usual, None)

    def fitting(self, operation: Any, layer: str = PROGRAM, preferred: Collection[str] = ()) -> Variant | None:
        """The rule for an operation of a graph: the first preferred one that fits, else the first usual one."""
        fitting = [v for v in self.variants(operation.type, layer) if v.when is None or v.when(operation)]
        wanted = (v for v in fitting if v.name in preferred)
        return next(wanted, next((v for v in fitting if not v.is_further), None))

    def layer(self, layer: str) -> Mapping[str, Any]:
        """The rule of an op that calls use in a layer: the first one without a condition; None if there is none.

        A rule is finished when it is first asked for, so `names` has the ops that have one.
        """
        return self._defaults[layer]

    def names(self, layer: str = PROGRAM) -> Set[str]:
        """The names of the ops that have a rule without a condition for a layer."""
        return self._names[layer]

    def __getitem__(self, name: str) -> Rule:
        rule = self._defaults[PROGRAM][name]
        if rule is None:
            raise KeyError(name)
        return rule

    def __contains__(self, name: object) -> bool:
        return name in self._names[PROGRAM]

    def __iter__(self) -> Iterator[str]:
        return filter(self._names[PROGRAM].__contains__, self._declared)

    def __len__(self) -> int:
        return len(self._names[PROGRAM])

    # tables of engines

    def completed(self, others: Mapping[str, Rule], finish: Finish) -> Rules:
        """Make the table of an engine; neither that one nor this one takes declarations from now on.

        Args:
            others: rules for the ops that have none here.
            finish: (layer, name of the op, rule) → the rule to call.
        """
        table = Rules({name: rule for name, rule in others.items() if name not in self._declared}, finish)
        table._declared |= self._declared
        for layer in LAYERS:
            table._names[layer] |= self._names[layer]
        table.fresh, table.by_table = self.fresh, self.by_table
        table.written, table._makers = self.written, self._makers
        table._closed = self._closed = True
        return table

    def add(self, name: str, rule: Rule) -> None:
        """Add the rule of an op that a program registered to the table of an existing engine.

        Args:
            name: the op, which has no rule yet.
            rule: for all calls.
        """
        self._put(CALLS, (name,), Variant(DEFAULT, rule))

    def remove(self, name: str) -> None:
        """Undo `add`."""
        del self._declared[name]
        for layer in CALLS:
            self._names[layer].discard(name)
            self._forget(layer, (name,))

    def on_native_values(self) -> Rules:
        """The same table for values of the library's own users, with the layer `native` in all calls."""
        table = Rules()
        table._declared, table.fresh, table._closed = self._declared, self.fresh, True
        for layer in CALLS:
            table._names[layer] = self._names[NATIVE]
            table._variants[layer], table._defaults[layer] = self._variants[NATIVE], self._defaults[NATIVE]
        for layer in (OUT, OVER):
            table._variants[layer], table._defaults[layer] = Computed(lambda name: ()), Computed(lambda name: None)
        return table

    @property
    def is_native(self) -> bool:
        """Whether `on_native_values` made the table."""
        return self._variants[EAGER] is self._variants[NATIVE]


def _refusal(names: Sequence[str]) -> Exception:
    problem = "an engine's rules are declared before it is made, and not changed afterwards"
    return TypeError(f"{', '.join(names)}: {problem}.")
