"""Act on a module at the moment somebody else imports it, so that recording a script imports nothing early.

Importing torch before the script does would change it: thread counts and allocator settings are read at that moment.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def on_import(name: str, action: Callable[[ModuleType], None]) -> None:
    """Call `action` with the module `name` once it is imported; at once where it has been already."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
    else:
        sys.meta_path.insert(0, _Finder(name, action))


class _Finder(MetaPathFinder):
    """Stands aside for every module but one, and for that one only once."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._action = action

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Let the other finders find the module, and put ourselves around its loader."""
        del path, target
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._action)
        return spec


class _Loader(Loader):
    """Loads as the module's own loader does, then acts."""

    def __init__(self, inner: Any, action: Callable[[ModuleType], None]) -> None:  # noqa: ANN401
        self._inner = inner
        self._action = action

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Answer for the module's own loader, which others may ask for source or data."""
        return getattr(self._inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave the module's creation to its own loader."""
        return self._inner.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, give it its own loader back, act."""
        self._inner.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        module.__loader__ = self._inner
        self._action(module)
