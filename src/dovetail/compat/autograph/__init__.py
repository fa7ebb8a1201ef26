"""AutoGraph: a program's `if`, `while`, `for` on tensors of a graph become branches and loops of the graph."""
