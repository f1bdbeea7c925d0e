#!/usr/bin/env python3
"""Write the tables of ``pytrace/link/vendor_headers.py``: which C functions the methods of public C++ headers call.

usage: vendor_headers.py onednn INCLUDE > pytrace/link/onednn.txt
       vendor_headers.py cudnn_frontend INCLUDE > pytrace/link/cudnn_frontend.txt

For oneDNN ``INCLUDE`` is a folder with ``ideep.hpp`` (github.com/intel/ideep, a tag made for PyTorch) and
``oneapi/dnnl/dnnl.hpp`` (github.com/oneapi-src/oneDNN), whose ``dnnl_config.h`` and ``dnnl_version.h`` are made by
oneDNN's CMake. The headers are read by clang (``pip install libclang``; the standard library's headers are asked of
``g++``), so that overloads, base classes, default arguments and implicit constructors are those of C++. What a template
calls on its parameter is taken from the types of the arguments where it is called. Destructors and what is called
through a pointer are left out.

For cuDNN it is the ``include`` folder of github.com/NVIDIA/cudnn-frontend without ``thirdparty``. A compiler cannot
read these headers without CUDA's and cuDNN's own; pytrace reads them itself, as it reads PyTorch.
"""

from __future__ import annotations

import keyword
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clang import cindex  # type: ignore[import-not-found,import-untyped,unused-ignore]

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytrace.extract import cpp
from pytrace.link import link
from pytrace.link.cpp_types import kind_of

PREFIX = "dnnl_"
NAMESPACES = ("ideep", "dnnl")
SOURCE = """#include <cassert>
#include <oneapi/dnnl/dnnl_ukernel.hpp>
#include <ideep.hpp>
#include <ideep_pin_singletons.hpp>
"""
KIND = cindex.CursorKind
FUNCTIONS = {KIND.FUNCTION_DECL, KIND.CXX_METHOD, KIND.CONSTRUCTOR, KIND.FUNCTION_TEMPLATE, KIND.CONVERSION_FUNCTION}
CLASSES = {KIND.CLASS_DECL, KIND.STRUCT_DECL, KIND.CLASS_TEMPLATE}
Key = tuple[str, int]


def system_includes() -> list[str]:
    """Where ``g++`` looks for the standard library's headers."""
    told = subprocess.run(["g++", "-E", "-x", "c++", "-", "-v"], input="", capture_output=True, text=True).stderr
    return [line.strip() for line in told.splitlines() if line.startswith(" /")]


class Headers:
    """The functions of the headers, and what each calls."""

    def __init__(self, include: str) -> None:
        arguments = ["-std=c++17", f"-I{include}", *(a for folder in system_includes() for a in ("-isystem", folder))]
        self.include = include
        self.unit = cindex.Index.create().parse("all.cpp", args=arguments, unsaved_files=[("all.cpp", SOURCE)])
        for told in self.unit.diagnostics:
            if told.severity >= cindex.Diagnostic.Error:
                sys.exit(str(told))
        self.defined: dict[Key, Any] = {}
        self.classes: dict[str, tuple[str, list[str]]] = {}
        self.aliases: dict[str, tuple[str, str]] = {}
        self._collect(self.unit.cursor)
        self.templates = {k for k, v in self.defined.items() if v.kind == KIND.FUNCTION_TEMPLATE}
        self._needs = {k: self._asked(self.defined[k]) for k in self.templates}
        self.calls = {k: self._calls(v) for k, v in self.defined.items()}

    def _ours(self, cursor: Any) -> bool:
        file = cursor.location.file
        return file is not None and file.name.startswith(self.include)

    def _collect(self, cursor: Any) -> None:
        for child in cursor.get_children():
            if child.location.file and not self._ours(child):
                continue
            if child.kind in FUNCTIONS:
                if _has_body(child):
                    self.defined[key(child)] = child
            elif child.kind in CLASSES:
                if child.is_definition():
                    bases = [
                        qualified(template_of(b.type.get_canonical().get_declaration()))
                        for b in child.get_children()
                        if b.kind == KIND.CXX_BASE_SPECIFIER
                    ]
                    self.classes[qualified(child)] = child.location.file.name, bases
                self._collect(child)
            elif child.kind in (KIND.TYPE_ALIAS_DECL, KIND.TYPEDEF_DECL):
                named = plain(child.underlying_typedef_type, child)
                if named != qualified(child):
                    self.aliases[qualified(child)] = child.location.file.name, named
            elif child.kind in (KIND.NAMESPACE, KIND.LINKAGE_SPEC, KIND.UNEXPOSED_DECL):
                self._collect(child)

    def _asked(self, template: Any) -> set[str]:
        """Names of the methods that a template, or one that it may hand its argument to, calls on a parameter."""
        names, seen, todo = set(), {key(template)}, [template]
        while todo:
            for node in todo.pop().walk_preorder():
                if node.kind == KIND.CALL_EXPR and node.referenced is None:
                    first = next(iter(node.get_children()), None)
                    if first is not None and first.kind == KIND.MEMBER_REF_EXPR:
                        names.add([t.spelling for t in first.get_tokens()][-1])
                elif node.kind == KIND.OVERLOADED_DECL_REF:
                    for k in self.templates:
                        if self.defined[k].spelling == node.spelling and k not in seen:
                            seen.add(k)
                            todo.append(self.defined[k])
        return names

    def _target(self, cursor: Any, seen: set[tuple[Key, str]] | None = None) -> set[str | Key]:
        """What a call of ``cursor`` calls: a C function by name, functions of the headers by key."""
        found = template_of(template_of(cursor).get_definition() or cursor)
        if found.kind == KIND.FUNCTION_DECL and found.spelling.startswith(PREFIX) and not _has_body(found):
            return {found.spelling}
        if not self._ours(found):
            return set()
        if key(found) in self.defined:
            return {key(found)}
        return self._implicit(found, seen or set()) if found.kind == KIND.CONSTRUCTOR else set()

    def _implicit(self, constructor: Any, seen: set[tuple[Key, str]]) -> set[str | Key]:
        """What a constructor that C++ defines by itself calls: that of the same kind of bases and fields."""
        owner = constructor.semantic_parent
        kind = next((k for k in ("copy", "move") if getattr(constructor, f"is_{k}_constructor")()), "default")
        if (key(owner), kind) in seen:
            return set()
        seen.add((key(owner), kind))
        found: set[str | Key] = set()
        for part in owner.get_children():
            if part.kind in (KIND.FIELD_DECL, KIND.CXX_BASE_SPECIFIER):
                declared = template_of(part.type.get_canonical().get_declaration())
                for method in declared.get_children() if self._ours(declared) else ():
                    if method.kind == KIND.CONSTRUCTOR and getattr(method, f"is_{kind}_constructor")():
                        found |= self._target(method, seen)
        return found

    def _methods(self, declared: Any, name: str) -> set[str | Key]:
        found: set[str | Key] = set()
        for part in (declared.get_definition() or declared).get_children():
            if part.kind in FUNCTIONS and part.spelling == name:
                found |= self._target(part)
            elif part.kind == KIND.CXX_BASE_SPECIFIER and not found:
                found |= self._methods(part.type.get_canonical().get_declaration(), name)
        return found

    def _calls(self, function: Any) -> set[str | Key]:
        found: set[str | Key] = set()
        for node in function.walk_preorder():  # default arguments as well: who leaves them out runs them
            if node.kind != KIND.CALL_EXPR:
                continue
            if node.referenced is not None:
                targets = self._target(node.referenced)
                found |= targets
                for template in targets:
                    names = self._needs.get(template) if isinstance(template, tuple) else None
                    if names:
                        found |= self._given(node, names)
                continue
            callee = next((n for n in node.walk_preorder() if n.kind == KIND.OVERLOADED_DECL_REF), None)
            if callee is not None and callee.extent.start.offset == node.extent.start.offset:
                for number in range(cindex.conf.lib.clang_getNumOverloadedDecls(callee)):
                    found |= self._target(cindex.conf.lib.clang_getOverloadedDecl(callee, number))
        return found

    def _given(self, call: Any, names: set[str]) -> set[str | Key]:
        found: set[str | Key] = set()
        for argument in call.get_arguments():
            kind = argument.type.get_canonical()
            declared = (kind.get_pointee() if kind.kind == cindex.TypeKind.LVALUEREFERENCE else kind).get_declaration()
            if self._ours(declared):
                for name in names:
                    found |= self._methods(declared, name)
        return found

    def reached(self, start: Key) -> set[str]:
        """The C functions that a function calls, itself or by others of the headers."""
        seen, todo, found = {start}, [start], set()
        while todo:
            for target in self.calls[todo.pop()]:
                if isinstance(target, str):
                    found.add(target)
                elif target not in seen:
                    seen.add(target)
                    todo.append(target)
        return found


def _has_body(cursor: Any) -> bool:
    return any(c.kind == KIND.COMPOUND_STMT for c in cursor.get_children())


def template_of(cursor: Any) -> Any:
    """The template that a specialisation is made from, or the cursor itself."""
    found = cindex.conf.lib.clang_getSpecializedCursorTemplate(cursor)
    return cursor if found is None or found.kind.is_invalid() else found


def key(cursor: Any) -> Key:
    """Where it is declared."""
    return (cursor.location.file.name if cursor.location.file else "", cursor.location.offset)


def qualified(cursor: Any) -> str:
    """``ideep::tensor::desc::desc``, without template arguments."""
    parts: list[str] = []
    while cursor is not None and cursor.kind != KIND.TRANSLATION_UNIT:
        name = cursor.spelling
        parts.append(name if name.startswith("operator") else name.split("<")[0])
        cursor = cursor.semantic_parent
    return "::".join(reversed([p for p in parts if p]))


def plain(kind: Any, cursor: Any) -> str:
    """A type as the table has it: a class of the headers by its qualified name, anything else as "?"."""
    base = kind.get_canonical()
    while base.kind in (cindex.TypeKind.LVALUEREFERENCE, cindex.TypeKind.RVALUEREFERENCE, cindex.TypeKind.POINTER):
        base = base.get_pointee()
    name = qualified(base.get_declaration())
    return name if name.partition("::")[0] in NAMESPACES and base.kind == cindex.TypeKind.RECORD else "?"


#: A row before it is written: name, smallest and largest number of arguments, class of the result or "?", C functions.
Row = tuple[str, int, int, str, frozenset[str]]


def by_clang(include: str) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
    """Rows and declarations of classes and aliases by header, for oneDNN."""
    headers = Headers(include)
    rows: dict[str, list[Row]] = defaultdict(list)
    declared: dict[str, list[str]] = defaultdict(list)
    for where, function in headers.defined.items():
        name = qualified(function)
        hidden = function.access_specifier in (cindex.AccessSpecifier.PRIVATE, cindex.AccessSpecifier.PROTECTED)
        if hidden or name.partition("::")[0] not in NAMESPACES:
            continue
        parameters = [p for p in function.get_children() if p.kind == KIND.PARM_DECL]
        least = sum(not any(token.spelling == "=" for token in p.get_tokens()) for p in parameters)
        returns = plain(function.result_type, function)
        rows[where[0]].append((name, least, len(parameters), returns, frozenset(headers.reached(where))))
    for name, (file, bases) in headers.classes.items():
        if name.partition("::")[0] in NAMESPACES:
            bases = [base for base in bases if base.partition("::")[0] in NAMESPACES]
            declared[file].append(" ".join(["class", name, *bases]))
    for name, (file, target) in headers.aliases.items():
        if name.partition("::")[0] in NAMESPACES:
            declared[file].append(f"alias {name} {target}")
    return rows, declared


def by_pytrace(include: str, namespace: str) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
    """The same for headers that no compiler can read here."""
    files = {str(path): cpp.extract(path.read_bytes()) for path in sorted(Path(include).rglob("*.h"))}
    graph = link({path: ("cpp", facts) for path, facts in files.items()})
    names = {node[0]: node[2] for node in graph.nodes}
    ids = {(node[2], node[4], node[5]): node[0] for node in graph.nodes}
    reached: dict[int, set[int]] = defaultdict(set)
    used: dict[int, set[str]] = defaultdict(set)
    for src, dst, kind, *_ in graph.edges:
        if kind == "calls_library":
            used[src].add(names[dst])
        elif kind in ("calls", "may_call"):
            reached[src].add(dst)

    def closure(start: int) -> frozenset[str]:
        seen, todo, found = {start}, [start], set()
        while todo:
            here = todo.pop()
            found |= used[here]
            todo += [there for there in reached[here] if there not in seen]
            seen |= reached[here]
        return frozenset(name for name in found if "::" not in name)

    classes = {row[0] for facts in files.values() for row in facts.get("classes", ())}

    def owner(written: str, scope: str) -> str:
        bare = kind_of(written).removeprefix("ptr ")
        while bare and scope:
            if f"{scope}::{bare}" in classes:
                return f"{scope}::{bare}"
            scope = scope.rpartition("::")[0]
        return bare if bare in classes else "?"

    rows: dict[str, list[Row]] = defaultdict(list)
    declared: dict[str, list[str]] = defaultdict(list)
    for path, facts in files.items():
        for name, kind, line, _end, parameters, returns, _local, cls, *_ in facts.get("functions", ()):
            bare = name.rpartition("::")[2]
            hidden = "::detail::" in name or bare[0] == "~" or bare in ("catch", "if", "for") or keyword.iskeyword(bare)
            if hidden or kind != "function" or not name.startswith(namespace + "::"):
                continue
            least = sum(not default for _type, _name, default in parameters)
            found = closure(ids[name, path, line])
            rows[path].append((name, least, len(parameters), owner(returns, cls or name.rpartition("::")[0]), found))
        for name, bases, *_ in facts.get("classes", ()):
            if name.startswith(namespace + "::") and "::detail::" not in name:
                known = [meant for base in bases if (meant := owner(base, name.rpartition("::")[0])) != "?"]
                declared[path].append(" ".join(["class", name, *known]))
        for what, name, target, scope, _line in facts.get("usings", ()):
            if what == "alias" and scope.startswith(namespace) and name:
                declared[path].append(f"alias {scope}::{name} {owner(target, scope)}")
    return rows, declared


def written(rows: dict[str, list[Row]], declared: dict[str, list[str]], prefix: str, include: str) -> Iterable[str]:
    """The lines of the table: overloads that call the same are one row, those that do not tell their arguments."""
    groups: dict[str, dict[frozenset[str], list[tuple[str, Row]]]] = defaultdict(dict)
    for file, of_file in rows.items():
        for row in of_file:
            groups[row[0]].setdefault(row[4], []).append((file, row))
    sets: dict[frozenset[str], int] = {}
    lines: dict[str, list[str]] = defaultdict(list)
    for name, by_calls in groups.items():
        for calls, found in by_calls.items():
            number = f"@{sets.setdefault(calls, len(sets))}" if calls else "-"
            least, most = min(row[1] for _, row in found), max(row[2] for _, row in found)
            returns = {row[3] for _, row in found}
            count = "*" if len(by_calls) == 1 else f"{least}-{most}"
            lines[found[0][0]].append(f"{name} {count} {returns.pop() if len(returns) == 1 else '?'} {number}")
    for known, at in sets.items():
        yield f"@{at} {' '.join(sorted(name.removeprefix(prefix) for name in known))}"
    for file in list(dict.fromkeys([*declared, *lines])):
        yield f"in {file.removeprefix(include)}"
        yield from sorted(set(declared.get(file, ())))
        yield from sorted(set(lines.get(file, ())))


def main() -> int:
    """Read, and print the table."""
    what, include = sys.argv[1], sys.argv[2].rstrip("/") + "/"
    if what == "onednn":
        print("\n".join(written(*by_clang(include), PREFIX, include)))
    else:
        print("\n".join(written(*by_pytrace(include, "cudnn_frontend"), "cudnn", include)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
