"""The engines: one module or package for each library that computes, and the table of what is known before it loads."""

from dovetail.core.engines.engine_registry import BuiltIn

BUILT_IN = {
    "numpy": BuiltIn("dovetail.engines.numpy", "numpy", "pip install numpy"),
    "torch": BuiltIn(
        "dovetail.engines.torch",
        "torch",
        "pip install torch",
        ("torch", "torch:Tensor", "dovetail.engines.torch.dimensions:Dimensions"),
    ),
    "jax": BuiltIn(
        "dovetail.engines.jax",
        "jax",
        "pip install jax",
        ("jax", "jaxlib", "dovetail.engines.jax.dimensions:Dimensions"),
        {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    ),
    "tensorflow": BuiltIn(
        "dovetail.engines.tensorflow",
        "tensorflow",
        "pip install tensorflow",
        ("tensorflow",),
        {"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
    ),
    "onnxruntime": BuiltIn("dovetail.engines.onnx_runtime", "onnxruntime", "pip install onnxruntime", is_listed=False),
    "openvino": BuiltIn("dovetail.engines.openvino", "openvino", "pip install openvino", is_listed=False),
}
