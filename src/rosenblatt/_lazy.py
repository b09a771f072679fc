"""Names that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str | None], namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping
        The module each public name lives in; None for a name that is a submodule itself.
    namespace : dict
        The package's ``globals()``, in which a name stays once it has been used.

    Examples
    --------
    >>> found = {}
    >>> get, names = lazily("os", {"join": "os.path", "path": None}, found)
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
