"""ONNX models: their nodes as rows, and their reading."""
