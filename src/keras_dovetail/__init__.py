"""Dovetail as a Keras backend: `import keras_dovetail` before `keras`, and Keras runs on Dovetail's engines."""

from keras_dovetail import finder

finder.install()
