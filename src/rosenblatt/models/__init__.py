"""Models of raw rows: the results of training on files, and their files."""

from rosenblatt._lazy import lazily

_HOME: dict[str, str | None] = {
    "Explanation": f"{__name__}.explanation",
    "Model": f"{__name__}.model",
    "from_fasttext": f"{__name__}.fasttext_file",
    "load": f"{__name__}.model_file",
    "read_model": f"{__name__}.model_file",
    "save": f"{__name__}.model_file",
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
