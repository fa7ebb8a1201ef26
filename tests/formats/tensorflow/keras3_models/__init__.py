"""The models of `models/`: stock TensorFlow, Keras and tf_keras make them; the tests read them without these.

    python -m tests.formats.tensorflow.keras3_models [FOLDER] [NAME ...]

Each model is a row: a builder, below the decorator that saves what it builds, with the inputs of a call.  The file
`NAME.npz` has what TensorFlow was given and what it computed.
"""
