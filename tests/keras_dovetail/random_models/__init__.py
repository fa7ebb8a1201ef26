"""Random Keras models as plain data, run on Keras' own backends and on Dovetail, and compared.

    python -m tests.keras_dovetail.random_models --count 150

`program.py` draws a program from a seed: a model, its compilation, and calls of `fit`, `evaluate`, `save` and others.
`keras3_run.py` runs programs in a process with one backend of Keras.  `compare.py` judges the results.
`keras3_faults.py` runs programs with faults in Dovetail.
"""
