"""Models and weights of Keras 2 in the files of TensorFlow: Keras 3 models are built of them, without TensorFlow."""
