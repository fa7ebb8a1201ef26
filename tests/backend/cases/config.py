"""Cases of the settings."""

from contextlib import contextmanager

from tests.backend.parity import call, program

EAGER = ("eager",)


@contextmanager
def kept(K):
    """Whether the settings are restored, both here and in the oracle."""
    before = K.floatx(), K.epsilon(), K.image_data_format()
    try:
        yield
    finally:
        K.set_floatx(before[0])
        K.set_epsilon(before[1])
        K.set_image_data_format(before[2])


def settings(K):
    with kept(K):
        first = [K.floatx(), K.epsilon(), K.image_data_format()]
        K.set_floatx("float64")
        K.set_epsilon(1e-3)
        K.set_image_data_format("channels_first")
        return [*first, K.floatx(), K.epsilon(), K.image_data_format(), K.constant(1).dtype.name, K.zeros((2,))]


def bfloat16(K):
    with kept(K):
        K.set_floatx("bfloat16")
        return K.floatx()


def scope(K):
    with K.name_scope("block") as name:
        return name


NAMES = "floatx set_floatx epsilon set_epsilon image_data_format set_image_data_format"

CASES = [
    program(NAMES, settings, ways=EAGER),
    program(
        "set_floatx bfloat16",
        bfloat16,
        ways=EAGER,
        differs='"bfloat16" is accepted, as in Keras 3; tf.keras refuses it.',
        expected=lambda: "bfloat16",
    ),
    call("set_floatx", "int32", ways=EAGER, raises=True),
    call("set_floatx", "float8", ways=EAGER, raises=True),
    call("set_image_data_format", "channels_middle", ways=EAGER, raises=True),
    call("set_image_data_format", None, ways=EAGER, raises=True),
    program("name_scope", scope, ways=EAGER),
    *(
        call("normalize_data_format", given, ways=EAGER, expected=lambda found=found: found)
        for given, found in [
            (None, "channels_last"),
            ("channels_first", "channels_first"),
            ("Channels_Last", "channels_last"),
        ]
    ),
]
