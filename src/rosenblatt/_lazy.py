"""Names that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str | None], namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that imports its public names on first use.

    `homes` maps each name to its module, or to None if it is a submodule itself; `namespace` is
    the package's ``globals()``, which caches the imported names.

    >>> get, names = lazily("os", {"join": "os.path", "path": None}, {})
    >>> get("join")("a", "b"), names()
    ('a/b', ['join', 'path'])
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = getattr(import_module(home), name) if home else import_module(f"{package}.{name}")
        namespace[name] = value
        return value

    return get, lambda: sorted(homes)
