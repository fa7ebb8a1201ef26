"""TensorFlow 1's sequences to sequences: `contrib.seq2seq` and `legacy_seq2seq`."""
