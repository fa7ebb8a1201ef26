"""`tf.contrib.learn.preprocessing`: words of texts as numbers."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.core.base.errors import op_error

TITLE = "tf.contrib.learn.preprocessing.VocabularyProcessor"
WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|['\w\-]+")


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text.

    Source: `tf.contrib.learn.preprocessing.tokenizer`.

    Example:
        >>> list(tokenizer(["Don't panic, HTMLParser"]))
        [["Don't", 'panic', 'HTML', 'Parser']]
    """
    yield from map(WORD.findall, iterator)


class CategoricalVocabulary:
    """Numbers for words, in the order in which they are met; 0 is for words that are not known.

    Source: `tf.contrib.learn.preprocessing.CategoricalVocabulary`.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token, self._support_reverse, self._is_frozen = unknown_token, support_reverse, False
        self._mapping, self._freq = {unknown_token: 0}, Counter[str]()

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Give no more numbers to new words; or do again."""
        self._is_frozen = freeze

    def get(self, category: str) -> int:
        """The number of a word; a new word gets the next one, or 0 if the vocabulary is frozen."""
        return self._mapping.get(category, 0) if self._is_frozen else self._mapping.setdefault(category, len(self))

    def add(self, category: str, count: int = 1) -> None:
        """Count a word."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keep the words that were met more than `min_frequency` times, the most frequent first."""
        order = sorted(sorted(self._freq.items()), key=lambda item: -item[1])
        self._freq = Counter({w: n for w, n in order if n > min_frequency and not 0 < max_frequency <= n})
        self._mapping = {word: number for number, word in enumerate([self._unknown_token, *self._freq])}

    def reverse(self, class_id: int) -> str:
        """The word of a number.

        Raises:
            ValueError: the vocabulary was made without `support_reverse`.
        """
        if not self._support_reverse:
            raise op_error(ValueError, TITLE, "the vocabulary was made with support_reverse=False.")
        return [*self._mapping][class_id]


class VocabularyProcessor:
    """A processor of texts into rows of the numbers of their words.

    Args:
        max_document_length: the length of each row, which is cut or filled up with 0.
        min_frequency: words that `fit` does not meet more often get no number.
        vocabulary: the numbers of words; by default none are known.
        tokenizer_fn: a function of texts that gives the words of each.

    Source: `tf.contrib.learn.preprocessing.VocabularyProcessor`.

    Example:
        >>> words = VocabularyProcessor(4)
        >>> [row.tolist() for row in words.fit_transform(["the cat sat", "the dog"])], len(words.vocabulary_)
        ([[1, 2, 3, 0], [1, 4, 0, 0]], 5)
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = CategoricalVocabulary() if vocabulary is None else vocabulary
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learn the words of texts."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[np.ndarray]:
        """Learn the words of texts, and give the row of each text."""
        texts = list(raw_documents)
        return self.fit(texts).transform(texts)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """The row of each text."""
        for words in self._tokenizer(raw_documents):
            numbers = [self.vocabulary_.get(word) for word in words][: self.max_document_length]
            yield np.array(numbers + [0] * (self.max_document_length - len(numbers)), np.int64)

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The text of each row."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Write the words and settings as JSON; the function that finds words is not written."""
        known = self.vocabulary_
        said = {"words": [*known._mapping], "counts": known._freq, "is_frozen": known._is_frozen}
        lengths = {"max_document_length": self.max_document_length, "min_frequency": self.min_frequency}
        Path(filename).write_text(json.dumps(said | lengths), encoding="utf-8")

    @classmethod
    def restore(cls, filename: str | os.PathLike[str]) -> VocabularyProcessor:
        """Read what `save` wrote.

        Raises:
            ValueError: the file is none of these, as a file that TensorFlow pickled.
        """
        try:
            said = json.loads(Path(filename).read_bytes())
            words, lengths = said["words"], (said["max_document_length"], said["min_frequency"])
        except (ValueError, KeyError, TypeError) as error:
            problem = f"{filename} has no vocabulary as JSON. Pickled ones may execute code: fit the texts again."
            raise op_error(ValueError, f"{TITLE}.restore", problem) from error
        known = CategoricalVocabulary(words[0])
        known._mapping = {word: number for number, word in enumerate(words)}
        known._freq, known._is_frozen = Counter(said["counts"]), said["is_frozen"]
        return cls(*lengths, vocabulary=known)


for _one in (CategoricalVocabulary, VocabularyProcessor, tokenizer):
    value(f"contrib.learn.preprocessing.{_one.__name__}", _one, "v1")
