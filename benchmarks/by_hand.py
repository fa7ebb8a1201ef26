"""The same training steps as an expert writes them in jax, torch and TensorFlow, for the comparison in `steps.py`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import tensorflow as tf
import torch
import torch.nn.functional as F
from jax import lax

# -- jax: one jitted step, parameters donated -------------------------------------------------------------------------


def _cross_entropy(logits: Any, targets: Any) -> Any:
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(logits), axis=-1))


def jax_mlp(parameters: Any, x: Any, y: Any) -> Any:
    *hidden, (w, b) = zip(parameters[::2], parameters[1::2], strict=True)
    for weights, bias in hidden:
        x = jax.nn.relu(x @ weights + bias)
    return _cross_entropy(x @ w + b, y)


def _jax_block(x: Any, kernel: Any, bias: Any) -> Any:
    x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(jax.nn.relu(x + bias), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def jax_cnn(parameters: Any, x: Any, y: Any) -> Any:
    k1, b1, k2, b2, w, b = parameters
    x = _jax_block(_jax_block(x, k1, b1), k2, b2)
    return _cross_entropy(x.reshape(x.shape[0], -1) @ w + b, y)


def jax_lstm(parameters: Any, x: Any, y: Any) -> Any:
    wx, wh, b, w, c = parameters
    steps = jnp.transpose(x @ wx + b, (1, 0, 2))

    def cell(state: Any, row: Any) -> Any:
        hidden, memory = state
        i, f, o, g = jnp.split(row + hidden @ wh, 4, axis=-1)
        memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(memory), memory), None

    zeros = jnp.zeros((x.shape[0], wh.shape[0]))
    (hidden, _), _ = lax.scan(cell, (zeros, zeros), steps)
    return _cross_entropy(hidden @ w + c, y)


def jax_step(loss: Any) -> Any:
    def make(program: Any) -> Any:
        def update(parameters: Any, *batch: Any) -> Any:
            value, gradients = jax.value_and_grad(loss)(parameters, *batch)
            return [p - program.rate * g for p, g in zip(parameters, gradients, strict=True)], value

        compiled = jax.jit(update, donate_argnums=0)
        state = [jnp.array(p) for p in program.parameters()]
        batch = [jnp.array(b) for b in program.batch()]

        def step() -> Any:
            nonlocal state
            state, value = compiled(state, *batch)
            return value

        return step

    return make


# -- torch: no autograd, the backward pass by hand --------------------------------------------------------------------


def _loss_and_gradient(logits: Any, y: Any) -> Any:
    logs = torch.log_softmax(logits, -1)
    return -(y * logs).sum() / len(y), (logs.exp() - y) / len(y)


def torch_mlp(p: Any, x: Any, y: Any) -> Any:
    weights, biases = p[::2], p[1::2]
    inputs = [x]
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        inputs.append(torch.addmm(b, inputs[-1], w).relu_())
    loss, g = _loss_and_gradient(torch.addmm(biases[-1], inputs[-1], weights[-1]), y)
    gradients: list[Any] = []
    for i in range(len(weights) - 1, -1, -1):
        gradients = [inputs[i].T @ g, g.sum(0), *gradients]
        if i:
            g = torch.ops.aten.threshold_backward(g @ weights[i].T, inputs[i], 0)
    return loss, gradients


def _torch_block(x: Any, kernel: Any, bias: Any) -> Any:
    active = F.conv2d(x, kernel, bias, padding=1).relu_()
    pooled, where = torch.ops.aten.max_pool2d_with_indices(active, [2, 2], [2, 2])
    return active, pooled, where


def _torch_block_backward(g: Any, x: Any, kernel: Any, active: Any, where: Any, need_input: bool) -> Any:
    g = torch.ops.aten.max_pool2d_with_indices_backward(g, active, [2, 2], [2, 2], [0, 0], [1, 1], False, where)
    g = torch.ops.aten.threshold_backward(g, active, 0)
    settings = ([kernel.shape[0]], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [need_input, True, True])
    return torch.ops.aten.convolution_backward(g, x, kernel, *settings)


def torch_cnn(p: Any, x: Any, y: Any) -> Any:
    k1, b1, k2, b2, w, b = p
    a1, p1, i1 = _torch_block(x, k1, b1)
    a2, p2, i2 = _torch_block(p1, k2, b2)
    flat = p2.permute(0, 2, 3, 1).reshape(len(x), -1)
    loss, g = _loss_and_gradient(torch.addmm(b, flat, w), y)
    g2 = (g @ w.T).reshape(len(x), 7, 7, 64).permute(0, 3, 1, 2)
    g1, dk2, db2 = _torch_block_backward(g2, p1, k2, a2, i2, True)
    _, dk1, db1 = _torch_block_backward(g1, x, k1, a1, i1, False)
    return loss, [dk1, db1, dk2, db2, flat.T @ g, g.sum(0)]


def torch_lstm(p: Any, x: Any, y: Any) -> Any:
    wx, wh, b, w, c = p
    batch, length, features = x.shape
    units = len(wh)
    steps = torch.addmm(b, x.reshape(-1, features), wx).reshape(batch, length, 4 * units).transpose(0, 1)
    hidden = memory = torch.zeros(batch, units)
    kept = []
    for row in steps.unbind(0):
        gates = torch.addmm(row, hidden, wh)
        i, f, o = torch.sigmoid(gates[:, : 3 * units]).chunk(3, 1)
        g = torch.tanh(gates[:, 3 * units :])
        new = f * memory + i * g
        t = torch.tanh(new)
        kept.append((i, f, o, g, t, memory, hidden))
        memory, hidden = new, o * t
    loss, d = _loss_and_gradient(torch.addmm(c, hidden, w), y)
    dw, dc = hidden.T @ d, d.sum(0)
    dh, dm = d @ w.T, torch.zeros(batch, units)
    dwh = torch.zeros_like(wh)
    rows = []
    for i, f, o, g, t, memory, hidden in reversed(kept):
        dm = dm + dh * o * (1 - t * t)
        parts = (dm * g * i * (1 - i), dm * memory * f * (1 - f), dh * t * o * (1 - o), dm * i * (1 - g * g))
        dgates = torch.cat(parts, 1)
        rows.append(dgates)
        dwh.addmm_(hidden.T, dgates)
        dh, dm = dgates @ wh.T, dm * f
    flat = torch.stack(rows[::-1], 1).reshape(-1, 4 * units)
    return loss, [x.reshape(-1, features).T @ flat, dwh, flat.sum(0), dw, dc]


def _as_torch_kernel(kernel: Any) -> Any:
    return kernel.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def torch_step(backward: Any, images: bool = False) -> Any:
    def make(program: Any) -> Any:
        state = [torch.tensor(p) for p in program.parameters()]
        x, y = (torch.tensor(b) for b in program.batch())
        if images:  # kernels as torch keeps them, and images channels-last, the fastest layout on a CPU
            state = [
                p.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last) if p.ndim == 4 else p for p in state
            ]
            x = x.permute(0, 3, 1, 2)

        @torch.no_grad()
        def step() -> Any:
            loss, gradients = backward(state, x, y)
            for p, g in zip(state, gradients, strict=True):
                p.sub_(g, alpha=program.rate)
            return loss

        return step

    return make


# -- TensorFlow: variables, a tape inside tf.function, XLA where it is faster -----------------------------------------


def tensorflow_mlp(parameters: Any, x: Any, y: Any) -> Any:
    *hidden, (w, b) = zip(parameters[::2], parameters[1::2], strict=True)
    for weights, bias in hidden:
        x = tf.nn.relu(x @ weights + bias)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, x @ w + b))


def _tensorflow_block(x: Any, kernel: Any, bias: Any) -> Any:
    return tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)), 2, 2, "VALID")


def tensorflow_cnn(parameters: Any, x: Any, y: Any) -> Any:
    k1, b1, k2, b2, w, b = parameters
    x = _tensorflow_block(_tensorflow_block(x, k1, b1), k2, b2)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, tf.reshape(x, (x.shape[0], -1)) @ w + b))


def tensorflow_lstm(parameters: Any, x: Any, y: Any) -> Any:
    wx, wh, b, w, c = parameters
    steps = tf.transpose(x @ wx + b, (1, 0, 2))

    def cell(at: Any, hidden: Any, memory: Any) -> Any:
        i, f, o, g = tf.split(steps[at] + hidden @ wh, 4, -1)
        memory = tf.sigmoid(f) * memory + tf.sigmoid(i) * tf.tanh(g)
        return at + 1, tf.sigmoid(o) * tf.tanh(memory), memory

    zeros = tf.zeros((x.shape[0], wh.shape[0]))
    length = x.shape[1]
    _, hidden, _ = tf.while_loop(lambda at, *_: at < length, cell, (0, zeros, zeros), maximum_iterations=length)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, hidden @ w + c))


def tensorflow_step(loss: Any, xla: bool = True) -> Any:
    def make(program: Any) -> Any:
        state = [tf.Variable(p) for p in program.parameters()]
        batch = [tf.constant(b) for b in program.batch()]

        @tf.function(autograph=False, jit_compile=xla or None)
        def update(*batch: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(state, *batch)
            for p, g in zip(state, tape.gradient(value, state), strict=True):
                p.assign_sub(program.rate * g)
            return value

        return lambda: update(*batch)

    return make


STEPS = {
    ("jax", "tiny"): jax_step(jax_mlp),
    ("jax", "mlp"): jax_step(jax_mlp),
    ("jax", "cnn"): jax_step(jax_cnn),
    ("jax", "lstm"): jax_step(jax_lstm),
    ("torch", "tiny"): torch_step(torch_mlp),
    ("torch", "mlp"): torch_step(torch_mlp),
    ("torch", "cnn"): torch_step(torch_cnn, images=True),
    ("torch", "lstm"): torch_step(torch_lstm),
    ("tensorflow", "tiny"): tensorflow_step(tensorflow_mlp),
    ("tensorflow", "mlp"): tensorflow_step(tensorflow_mlp),
    ("tensorflow", "cnn"): tensorflow_step(tensorflow_cnn, xla=False),
    ("tensorflow", "lstm"): tensorflow_step(tensorflow_lstm),
}
WAIT = {"torch": lambda value: value, "jax": jax.block_until_ready, "tensorflow": lambda value: value.numpy()}
