"""Files of reviews, and models to compare."""

from __future__ import annotations

import numpy as np

WORDS = [f"w{i}" for i in range(400)]
SIGNS = {"pos": ["good", "fun", "great"], "neg": ["bad", "dull", "awful"]}


def write_reviews(path, rows=900, seed=0):
    """A CSV file whose texts hold commas, quotes and line breaks."""
    generator = np.random.default_rng(seed)
    lines = ["sentiment,review"]
    for i in range(rows):
        label = ("pos", "neg")[int(generator.integers(2))]
        of = SIGNS[label] if generator.random() < 0.8 else [w for s in SIGNS.values() for w in s]
        words = [WORDS[int(j)] for j in generator.integers(0, len(WORDS), 8)]
        text = f"the {of[int(generator.integers(len(of)))]} film {' '.join(words)}"
        lines.append(f'{label},"a ""quoted"",\n{text}"' if i % 5 == 0 else f"{label},{text}")
    path.write_text("\n".join(lines) + "\n")
    return path


def same_bits(one, other):
    """Whether two models are equal to the last bit."""
    return (
        one.classes == other.classes
        and all(
            getattr(one, name).tobytes() == getattr(other, name).tobytes()
            for name in ("columns", "weights", "bias")
        )
        and one.history == other.history
        and one.parameters == other.parameters
    )
