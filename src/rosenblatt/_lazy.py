"""Names that are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str,
    homes: Mapping[str, str | None],
    namespace: dict[str, Any],
    more: Callable[[], Mapping[str, str]] = dict,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that imports its public names on first use.

    `homes` maps each name to its module, or to None if it is a submodule itself; `namespace` is
    the package's ``globals()``, which caches the imported names. `more` returns further names,
    when they are asked for; with it the package has an ``__all__``, too.

    >>> get, names = lazily("os", {"join": "os.path", "path": None}, {})
    >>> get("join")("a", "b"), names()
    ('a/b', ['join', 'path'])
    """

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted({*homes, *more()} | ({"__version__"} & namespace.keys()))
        if name not in homes and (name.startswith("_") or name not in more()):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name] if name in homes else more()[name]
        value = getattr(import_module(home), name) if home else import_module(f"{package}.{name}")
        namespace[name] = value
        return value

    return get, lambda: sorted({*homes, *more()})
