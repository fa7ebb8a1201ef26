"""TensorFlow's names for tensors: made, cut, joined, picked and sorted; nested structures, and sparse tensors."""
