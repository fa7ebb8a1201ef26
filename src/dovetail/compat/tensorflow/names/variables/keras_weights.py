"""Weights of Keras' layers that are made while a graph of TensorFlow 1 is open: they are in its collections.

So `minimize` trains them, `tf.train.Saver()` saves them, and `global_variables_initializer` gives them first values.
They have one value in the process, which all sessions and Keras share.
"""

from __future__ import annotations

from typing import Any

from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.variables.variables import TFVariable, first_tensor, unique_name
from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.core.values.value_kinds import register
from dovetail.core.values.variable import STATE


class KerasWeight(TFVariable):
    """The variable in a weight of Keras, with the names and methods of TensorFlow's.

    Attributes:
        weight: the `keras.Variable`.
        graph: the session graph in whose collections it is, the latest of several.

    Source: the weights of `tf.keras.layers.Layer`, in a graph of TensorFlow 1.
    """

    weight: Any

    @classmethod
    def of(cls, weight: Any) -> KerasWeight:
        """The variable in a weight, which is in no collection by this."""
        variable = weight._value
        if not hasattr(variable, "op"):
            cls._name(weight, variable, weight.path)
        return variable

    @classmethod
    def _name(cls, weight: Any, variable: Any, name: str) -> None:
        variable.__class__ = cls  # plans and layers know the variable
        variable.name, variable.weight = f"{name}:0", weight
        variable.op = VariableOperation(variable)

    @classmethod
    def put(cls, weight: Any, variable: Any, name: str, graph: Any) -> None:
        """Put the variable in a weight into the collections of a graph, under a name or that with a number added."""
        with graph.at_scope(""):
            name = unique_name(graph, name)
        cls._name(weight, variable, name)
        variable.graph = graph
        graph.add_variable_operation(variable.op)
        with graph.as_default():
            variable.initial_value = first_tensor(graph, weight.first_value, variable.dtype, name)
        keys = [GraphKeys.GLOBAL_VARIABLES, *([GraphKeys.TRAINABLE_VARIABLES] if weight.begins_trained else [])]
        graph.add_to_collections(keys, variable)

    @property
    def constraint(self) -> Any:
        """The function that optimizers apply to the new value."""
        return self.weight.constraint

    @constraint.setter
    def constraint(self, value: Any) -> None:
        """Leave it to Keras."""

    @property
    def is_given(self) -> bool:
        """Whether a program or a file gave it a value, which initializers of many variables leave."""
        return self.weight.is_given

    @property
    def initializer(self) -> Any:
        """The operation that gives the first value again."""
        return self.graph.initializer([self], f"{self.op_name}/Assign")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "graph": None, "initial_value": None}


register(KerasWeight, STATE)
