"""The wire formats of TensorFlow, TensorBoard and ONNX: messages, records, tables and checkpoints.

Messages are rows of fields; the `protobuf` library makes classes of them at run time.  Nothing here imports TensorFlow.
The extra `formats` installs `protobuf` and `google-crc32c`, which are imported when a file is first read or written.
"""
