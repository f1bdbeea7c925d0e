"""Functions that classes are given as template arguments: who uses the class runs them.

Handles of vendors' libraries are made so: ``HandlePool<cublasHandle_t, createHandle, destroyHandle>``
(aten/src/ATen/cuda/detail/DeviceThreadHandles.h), ``Descriptor<…, &cudnnCreateTensorDescriptor, …>``
(aten/src/ATen/cudnn/Descriptors.h).
"""

from __future__ import annotations

import re

from pytrace.extract.cpp_text import split_top, template_arguments
from pytrace.link.cpp_types import kind_of
from pytrace.link.functions import FunctionTable, Symbol
from pytrace.link.libraries import vendor_of

#: What ends an object runs where its life ends: nothing in the graph follows destructors.
_ENDS = re.compile(r"[Dd]estroy|[Dd]elete|[Ff]ree")


class Given:
    """What the classes of a tree are given."""

    def __init__(self, functions: FunctionTable) -> None:
        self.functions = functions
        self._givers: dict[str, tuple[str, ...]] = {}
        self._by_alias: dict[tuple[str, str, str], list[list[Symbol]]] = {}

    def givers(self, owner: str) -> tuple[str, ...]:
        """Of a class and those of its fields, which are made with it, the ones whose bases are given functions."""
        found = self._givers.get(owner)
        if found is None:
            classes = self.functions.classes
            inside = [
                name
                for info in classes.get(owner, ())
                for kind in map(kind_of, info.fields.values())
                if " " not in kind
                for name in self.functions.class_names(kind, owner, info.file)
            ]
            found = tuple(q for q in dict.fromkeys([owner, *inside]) if any(info.given for info in classes.get(q, ())))
            self._givers[owner] = found
        return found

    def to_bases(self, owner: str, path: str, ends: bool = True) -> list[str]:
        """A vendor's functions that the bases of ``owner``, as the file sees it, are given: by name.

        Who makes an object of the class runs them. Who calls a method of the base from within the class may have the
        object made, but not ended (``ends``).
        """
        names = [
            part.lstrip("& ").strip()
            for info in self.functions.infos(owner, path)
            for base in info.given
            for part in split_top(base)
            if part.startswith("&")
        ]
        return [name for name in names if vendor_of(name) and (ends or not _ENDS.search(name))]

    def by_alias(self, name: str, scope: str, path: str) -> list[list[Symbol]]:
        """The functions that ``using NAME = Pool<handle_t, create, destroy>`` gives, but those that end an object."""
        key = (name, scope, path)
        found = self._by_alias.get(key)
        if found is None:
            given = [
                part.lstrip("& ")
                for _, target in self.functions.names_of(name.rpartition("::")[2], path)
                if "<" in target
                for part in split_top(template_arguments(target))
            ]
            found = self._by_alias[key] = [
                symbols
                for part in given
                if not _ENDS.search(part)
                and (symbols := self.functions.lookup(part, scope, path))
                and not symbols[0].owner
            ]
        return found
