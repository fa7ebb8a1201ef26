"""The modules of `tf.contrib` that share functions: TF-Slim has all of layers and framework."""

FRAMEWORK = "contrib.framework contrib.slim"
LAYERS = "contrib.layers contrib.slim"
INITIALIZERS, REGULARIZERS = (  # with the modules that programs find inside
    " ".join([LAYERS, *(f"{place}.{inner}" for place in LAYERS.split())]) for inner in ("initializers", "regularizers")
)


def under(modules: str, names: str) -> str:
    """The names in several modules, as the table takes them.

    Example:
        >>> under(LAYERS, "l1_regularizer")
        'contrib.layers.l1_regularizer contrib.slim.l1_regularizer'
    """
    return " ".join(f"{module}.{name}" for name in names.split() for module in modules.split())
