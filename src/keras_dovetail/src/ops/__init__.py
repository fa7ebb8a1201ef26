"""The functions of a Keras backend, written over Dovetail's ops: one module for each that Keras' own backends have."""
