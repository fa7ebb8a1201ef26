"""Types of TensorFlow that Dovetail does not compute, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

REASONS = """
FIFOQueueV2 RandomShuffleQueueV2 PaddingFIFOQueueV2 QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2
    QueueEnqueueV2 QueueEnqueueManyV2: it waits for threads that fill a queue; feed its results
IteratorV2 IteratorGetNext OneShotIterator: it reads the data of a program; feed its results
SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 StatelessSampleDistortedBoundingBox: it draws boxes until one
    fits, for the input of training; feed its results
RegexSplitWithOffsets WordpieceTokenizeWithOffsets SentencepieceOp SentencepieceTokenizeOp: it is no op of TensorFlow,
    but of the package tensorflow-text
DenseToDenseSetOperation: its results have as many rows as the sets have elements in common, and no op counts these
XlaCallModule: it holds a program in StableHLO; export the model with native_serialization=False
FractionalMaxPool FractionalAvgPool: its windows have random sizes
"""

UNREAD: Mapping[str, str] = {
    name: reason
    for names, _, reason in (line.partition(": ") for line in REASONS.strip().replace("\n    ", " ").splitlines())
    for name in names.split()
}
