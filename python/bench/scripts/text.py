"""Texts as rows of numbers."""

from collections import Counter
from pathlib import Path

import torch

WORDS = 8000  # the rest is one word more; all 33,000 would spend the time on the last layer


def characters(directory):
    """Tiny Shakespeare: the text, and the number of characters."""
    text = (Path(directory) / "tinyshakespeare.txt").read_text()
    numbers = {character: i for i, character in enumerate(sorted(set(text)))}
    return torch.tensor([numbers[character] for character in text]), len(numbers)


def words(directory):
    """WikiText-2: the text, and the number of words."""
    lines = (Path(directory) / "wikitext-2" / "train.txt").read_text().split("\n")
    text = [word for line in lines for word in line.split() + ["<eos>"]]
    frequent = [word for word, _ in Counter(text).most_common(WORDS)]
    numbers = {word: i + 1 for i, word in enumerate(frequent)}
    return torch.tensor([numbers.get(word, 0) for word in text]), WORDS + 1


def batchify(text, columns, rank, ranks):
    """Columns of consecutive words, dealt out to the ranks."""
    rows = len(text) // (columns * ranks)
    text = text[: rows * columns * ranks].view(columns * ranks, rows)
    return text[rank * columns : (rank + 1) * columns].t().contiguous()


def window(columns, step, length):
    """The words of a step, and the words that follow them."""
    start = step * length % (len(columns) - 1 - length)
    return columns[start : start + length], columns[start + 1 : start + 1 + length].reshape(-1)
