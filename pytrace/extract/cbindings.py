"""What one C++ file gives to Python by hand: method tables, property tables, types, modules, pybind11 definitions.

Called once for every C++ file; a file that holds none of the key words costs one search. The text is read, not the
tree: tables are initialiser lists, and in the code templates (``tools/autograd/templates``) they hold ``${…}``, which
no grammar reads.

``extract`` returns {} or {"bindings": …} with

==============  ======================================================================================================
``tables``      (name, kind, line, rows, line of ``${py_method_defs}`` or 0); kind ``methods``, ``properties`` or
                ``slots``; rows are (Python name, line, C++ function, C++ setter)
``types``       (variable, ``tp_name``, line, names that its initialiser mentions)
``modules``     (module name of a ``PyModuleDef``, line, names that its initialiser mentions)
``fills``       (target, table): ``addPyMethodDefs(target, table)``, ``T.tp_methods = target.data()``,
                ``target[0] = accessor()[0]``, ``gather…(target)`` and ``target.assign(table…)``
``accessors``   (function, table) for a function whose body is ``return table;``
``renames``     (name, new name, line): the pairs with which a method table is given aliases
``definitions`` (owner, Python name, line, C++ function or "", how): pybind11's ``m.def``, ``.def`` of a class
``classes``     (Python name, C++ class, its further template arguments, Python class given as its base or "") of
                pybind11's classes: ``py::class_<Dog, Animal>(m, "Dog")``, ``py::class_<Dog>(m, "Dog", animal)``
``lambdas``     (owner, Python name, first line, last line) of definitions by a lambda: ``m.def("f", [](…) {…})``
``tensors``     C functions and getters that return a Tensor
``passes``      (C function, names without ``THPVariable_``): the generated functions that one written by hand calls
``uses``        what is put into modules, and where: see ``cbinding_uses``
``namespaces``  the namespaces that the file opens
``sharded``     whether the file is a template of which several are made (``${shard_id}``)
==============  ======================================================================================================
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from operator import itemgetter

from tree_sitter import Tree

from pytrace.extract import cbinding_uses
from pytrace.model import Facts

#: Bytes without which a file binds nothing.
_KEYWORDS = (b"PyMethodDef", b"PyGetSetDef", b"PyTypeObject", b"PyModuleDef", b"py::", b"pybind11", b"PyModule_")
# A pattern that begins with a literal is found many times faster than one that begins with ``\b``: see ``_whole``.
_TABLE = re.compile(
    r"(Py(?:MethodDef|GetSetDef|MappingMethods|SequenceMethods))\b(?:\s*,\s*\d+)?\s*>?\s+"
    r"(\w+)\s*(?:\[[^\]]*\])?\s*=?\s*\{"
)
_OBJECT = re.compile(r"(Py(?:TypeObject|ModuleDef))\s+(\w+)\s*=?\s*\{")
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|[{}()]|,', re.DOTALL)
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_QUOTED = re.compile(r'"([^"\\\n]*)"')
#: The name in a row of a table: Python's C API once wanted a ``char*`` (torch/csrc/cuda/Event.cpp).
_ROW_NAME = re.compile(r'(?:\(char\s*\*\)\s*|const_cast<char\s*\*>\(\s*)?"([^"\\\n]*)"')
_ADD = re.compile(r"THPUtils_addPyMethodDefs\(\s*(\w+)\s*,\s*([^;]*?)\)\s*;", re.DOTALL)
_SET = re.compile(r"\.tp_(?:methods|getset)\s*=\s*(\w+)")
_SLOT = re.compile(r"\]\s*=\s*([\w:]+)\(\)\[\d+\]")
_SLOT_OF = re.compile(r"(\w+)\[\d+$")
_GATHER = re.compile(r"(gather\w*)\(\s*(\w+)\s*\)\s*;")
_ASSIGN = re.compile(r"\b(\w+)\.(?:assign|insert)\(\s*(?:\1\.end\(\)\s*,\s*)?(\w+)\s*,")
_GATHERER = re.compile(r"void\s+(gather\w*?)(?:\$\{\w+\})?\(\s*std::vector<PyMethodDef>\s*&\s*(\w+)\s*\)\s*\{")
_ACCESSOR = re.compile(r"PyMethodDef\s*\*\s*(\w+)\(\)\s*\{\s*return\s+(?:std::data\()?(\w+)\)?\s*;")
_NAMESPACE = re.compile(r"namespace\s+([\w:]+)\s*\{")
_RENAMES = re.compile(
    r"std::pair<\s*const char\s*\*\s*,\s*const char\s*\*\s*>\s*,?\s*\d*\s*>\s*\w+\s*\{(.*?)\}\s*\}\s*\}", re.DOTALL
)
_PAIR = re.compile(r'\{\s*"(\w+)"\s*,\s*"(\w+)"')
#: A C function of the Python API, and what its body holds when it gives back a Tensor
#: (torch/csrc/autograd/python_variable.h, torch/csrc/autograd/utils/wrap_outputs.h).
_RESULT = re.compile(r"PyObject\s*\*\s*(\w+)\s*\([^;{}()]*\)\s*\{(.*?)\n\}", re.DOTALL)
_WRAPS = ("THPVariable_Wrap(", "THPVariable_to_type(")
_WRAPS_CALL = re.compile(r"wrap\((dispatch_\w+)\(")
#: ``return THPVariable_is_nonzero(self, args);``: functions that take the arguments of a Python call.
_PASSED = re.compile(r"return THPVariable_([a-z_]\w*)\(self_?, args")
_DISPATCH = re.compile(r"(dispatch_\w+)(\(| = \[\][^{}]*->\s*(?:at::)?Tensor\s*\{)")
_TENSOR_BEFORE = re.compile(r"\bTensor\s+$")
#: torch/csrc/autograd/python_variable.cpp: GetterBase wraps the Tensor that fn returns.
_GETTER = re.compile(r"struct\s+(\w+)\s*:\s*GetterBase<\1>\s*\{[^{}]*\bstatic\s+Tensor\s+fn\(")
_TEMPLATE_ROWS = "${py_method_defs}"

#: Names around a C function in a table: casts and wrappers that call it (torch/csrc/utils/pycfunction_helpers.h,
#: tools/autograd/templates/python_variable_methods.cpp).
_WRAPPERS = frozenset(
    (
        *("castPyCFunctionWithKeywords", "TypeError_to_NotImplemented_"),
        *("reinterpret_cast", "static_cast", "const_cast", "std::data", "void", "nullptr", "NULL"),
        *("PyCFunction", "PyCFunctionWithKeywords", "getter", "setter", "lenfunc", "binaryfunc", "ternaryfunc"),
        *("objobjargproc", "ssizeargfunc", "ssizeobjargproc", "objobjproc"),
    )
)

#: Slots of the tables of protocols, in the order of the C structs (Include/cpython/object.h), and what Python calls
#: them; a C function may stand for two methods.
_SLOTS = {
    "PyMappingMethods": (("__len__",), ("__getitem__",), ("__setitem__", "__delitem__")),
    "PySequenceMethods": (
        *(("__len__",), ("__add__",), ("__mul__",), ("__getitem__",), ()),
        *(("__setitem__",), (), ("__contains__",)),
    ),
}


def extract(tree: Tree | None, source: bytes) -> Facts:
    """The bindings of one file (see the module's docstring); {} when it has none.

    ``tree`` is not needed today; the signature is that of all extractors that share the tree of a C++ file.
    """
    # The third of the searches that would be needed for the key words themselves.
    if not (b"Py" in source or b"py::" in source or b"pybind11" in source):
        return {}
    if not any(word in source for word in _KEYWORDS):
        return {}
    facts = _File(source).read()
    return {"bindings": facts} if any(facts.values()) else {}


class _File:
    """One file's text, and the lines of its offsets."""

    def __init__(self, source: bytes) -> None:
        self.text = source.decode("latin-1")
        self._starts = list(accumulate(len(line) + 1 for line in self.text.split("\n")))

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset) + 1

    def read(self) -> Facts:
        facts: Facts = {}
        text = self.text
        if "PyMethodDef" in text or "PyGetSetDef" in text or "PyTypeObject" in text or "PyModuleDef" in text:
            facts["tables"] = list(self._tables())
            facts["types"], facts["modules"] = self._objects()
            facts["fills"] = list(self._fills())
            facts["accessors"] = [(m[1], m[2]) for m in _whole(_ACCESSOR, text)]
            facts["renames"] = list(self._renames())
            if facts["tables"]:
                facts["tensors"], facts["passes"] = self._functions()
        if "py::" in text or "pybind11::" in text:
            pybind = _Pybind(self)
            facts["definitions"], facts["lambdas"] = list(pybind.read()), pybind.lambdas
            facts["classes"] = pybind.classes
        if "PyModule_" in text or "PyType_Ready" in text or "addPyMethodDefs" in text:
            facts["uses"] = cbinding_uses.read(text, self.line)
        facts = {key: value for key, value in facts.items() if value}
        if facts:
            facts["namespaces"] = sorted(set(_namespaces(text)))
            if "${shard_id}" in text:
                facts["sharded"] = True
        return facts

    def initialiser(self, opening: int) -> tuple[int, list[tuple[int, int]]]:
        """(offset behind the brace that closes the one at ``opening``, ranges of its items)."""
        depth, start, items = 0, opening + 1, []
        for token in _TOKEN.finditer(self.text, opening):
            c = token[0]
            if c in "{(":
                depth += 1
            elif c in "})":
                depth -= 1
                if depth == 0:
                    items.append((start, token.start()))
                    return token.end(), items
            elif c == "," and depth == 1:
                items.append((start, token.start()))
                start = token.end()
        return len(self.text), items

    def _brace(self, start: int) -> int:
        """Offset of the next opening brace that is in no comment or string, -1 when there is none."""
        return next((t.start() for t in _TOKEN.finditer(self.text, start) if t[0] == "{"), -1)

    def _tables(self) -> Iterator[tuple[str, str, int, list[tuple[str, int, str, str]], int]]:
        for found in _whole(_TABLE, self.text):
            end, items = self.initialiser(found.end() - 1)
            slots = _SLOTS.get(found[1])
            rows: list[tuple[str, int, str, str]] = []
            if slots is not None:
                for names, (start, stop) in zip(slots, items):
                    item = _plain(self.text[start:stop])
                    where = self.line(start + _blank(self.text, start))
                    rows += [(name, where, function, "") for name in names if (function := _function(item))]
                kind = "slots"
            else:
                kind = "methods" if found[1] == "PyMethodDef" else "properties"
                rows = list(self._rows(kind, items, found.end() - 1))
            placeholder = self.text.find(_TEMPLATE_ROWS, found.end(), end)
            line = self.line(found.start())
            yield found[2], kind, line, rows, self.line(placeholder) if placeholder >= 0 else 0

    def _rows(self, kind: str, items: list[tuple[int, int]], opening: int) -> Iterator[tuple[str, int, str, str]]:
        first = _plain(self.text[slice(*items[0])]) if items else ""
        if first.startswith('"'):  # one definition, not an array: {"name", function, …}
            parts = [_plain(self.text[a:b]) for a, b in items]
            yield parts[0].strip('"'), self.line(opening), _function(parts[1]) if len(parts) > 1 else "", ""
            return
        for start, _ in items:
            brace = self._brace(start)
            if brace < 0:
                continue
            _, cells = self.initialiser(brace)
            parts = [_plain(self.text[a:b]) for a, b in cells]
            name = _ROW_NAME.match(parts[0]) if parts else None
            if name is None:
                nested = self.text.find("{", brace + 1)  # std::array<PyMethodDef, 1> x = {{{"name", …}}};
                if nested >= 0 and parts and parts[0].startswith("{"):
                    _, inner = self.initialiser(brace)
                    yield from self._rows(kind, inner, brace)
                continue
            at = self.line(self.text.index('"', brace))
            function = _function(parts[1]) if len(parts) > 1 else ""
            # The third cell of a method is its flags.
            yield name[1], at, function, _function(parts[2]) if kind == "properties" and len(parts) > 2 else ""

    def _objects(self) -> tuple[list[tuple[str, str, int, list[str]]], list[tuple[str, int, list[str]]]]:
        types, modules = [], []
        for found in _whole(_OBJECT, self.text):
            end, _ = self.initialiser(found.end() - 1)
            body = _plain(self.text[found.end() : end])
            name = _QUOTED.search(body)
            if name is None:
                continue
            mentioned = sorted(set(_NAME.findall(_QUOTED.sub("", body))) - _WRAPPERS)
            if found[1] == "PyTypeObject":
                types.append((found[2], name[1], self.line(found.start()), mentioned))
            else:
                modules.append((name[1], self.line(found.start()), mentioned))
        return types, modules

    def _fills(self) -> Iterator[tuple[str, str]]:
        text = self.text
        for found in _whole(_ADD, text) if "addPyMethodDefs" in text else ():
            names = [n for n in _NAME.findall(found[2]) if n not in _WRAPPERS]
            if names:
                yield found[1], names[-1]
        for found in _SET.finditer(text):
            target = _WORD_END.search(text, max(0, found.start() - _NEAR), found.start())
            if target:
                yield target[0], found[1]
        if "()[" in text:
            for found in _SLOT.finditer(text):
                target = _SLOT_OF.search(text, max(0, found.start() - _NEAR), found.start())
                if target:
                    yield target[1], found[1]
        if "gather" not in text:
            return
        for found in _whole(_GATHER, text):
            yield found[2], found[1]
        for found in _whole(_GATHERER, text):
            end, _ = self.initialiser(found.end() - 1)
            for inner in _ASSIGN.finditer(text, found.end(), end):
                yield found[1], inner[2]

    def _functions(self) -> tuple[list[str], list[tuple[str, list[str]]]]:
        """What the C functions of the Python API in this file return, and which of them they call."""
        tensors, passes, text = [], [], self.text
        if "THPVariable_" in text:
            dispatches = set(self._dispatches()) if "dispatch_" in text else set()
            bodies = {found[1]: found[2] for found in _whole(_RESULT, text)}
            for name, body in bodies.items():
                if "THPVariable_" not in body and "wrap(" not in body:
                    continue
                if any(word in body for word in _WRAPS) or any(c in dispatches for c in _WRAPS_CALL.findall(body)):
                    tensors.append(name)
                called = {other for other in _PASSED.findall(body) if f"THPVariable_{other}" not in bodies}
                if called:
                    passes.append((name, sorted(called)))
            tensors += [f"{found[1]}::getter" for found in _whole(_GETTER, text)]
        return sorted(tensors), passes

    def _dispatches(self) -> Iterator[str]:
        """``dispatch_…`` functions and lambdas that return a Tensor."""
        text = self.text
        for found in _whole(_DISPATCH, text):
            start = found.start()
            if found[2] != "(" or _TENSOR_BEFORE.search(text[max(0, start - _NEAR) : start]):
                yield found[1]

    def _renames(self) -> Iterator[tuple[str, str, int]]:
        if "ml_name" in self.text:
            for found in _RENAMES.finditer(self.text):
                for pair in _PAIR.finditer(self.text, found.start(), found.end()):
                    yield pair[1], pair[2], self.line(pair.start())


#: Where pybind11 code says something: a definition, a class, a submodule, an import.
#: One pattern a literal that they begin with: nine such searches take a tenth of the time of one with alternatives.
_DEFINITION = re.compile(r'def\w*\(\s*(?://[^\n]*\s*)*"(?P<name>[\w.]+)"')
_ANCHORS = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        ("class", r"class_\s*<"),
        ("class", r"enum_\s*<"),
        # torch/csrc/utils/pybind.h and torch/csrc/utils/py_context_manager: classes of context managers
        ("class", r"py_context_manager\w*\s*<"),
        ("import", r"module_?::import\("),
        # the same module under another name, and the parameter of the next function
        ("held", r"handle\(\s*(\w+)\s*\)"),
        ("held", r"reinterpret_borrow\s*<[\w:\s]+>\(\s*(\w+)\s*\)"),
        ("created", r"PyModule_Create\("),
        ("parameter", r"PyObject\s*\*\s*(\w+)\s*[,)]"),
        ("parameter", r"module_?\b\s*&?\s*(\w+)\s*[,)]"),
    )
)


def _anchors(text: str) -> list[tuple[int, str, re.Match[str]]]:
    """(offset, what, match) of every anchor, by position."""
    rows = [(found.start(), what, found) for what, pattern in _ANCHORS for found in pattern.finditer(text)]
    for found in _DEFINITION.finditer(text):
        dot = _end_of_code(text, found.start())
        if text[dot - 1 : dot] == ".":
            rows.append((dot - 1, "definition", found))
    rows.sort(key=itemgetter(0))
    return rows


def _end_of_code(text: str, offset: int) -> int:
    """``offset`` without the white space before it."""
    while offset and text[offset - 1].isspace():
        offset -= 1
    return offset


_WORD_END = re.compile(r"\w+$")
_BEFORE = re.compile(r"(\w+)\s*$")
_ASSIGNED = re.compile(r"(\w+)\s*(?:=\s*|\()(?:(?:py|pybind11)::)?$")
_CLASS = re.compile(r'[^;{}"]*?>\s*(\w+)?\s*[({]\s*(\w+)(?:\.ptr\(\))?\s*,\s*"(\w+)"')
#: What follows the name of a class when it is the variable of its base.
_GIVEN_BASE = re.compile(r"\s*,\s*(\w+)\s*[,)]")
#: ``py::class_<Module, Extra...> module)``: a parameter that is a class, whose name the caller knows.
_CLASS_PARAMETER = re.compile(r"[^;{}\"()]*>\s*&*\s*(\w+)\s*[,)]")
_MODULE_NAME = re.compile(r'PyModuleDef_HEAD_INIT\s*,[^"]{0,80}"([\w.]+)"')
_IMPORTED = re.compile(r'module_?::import\(\s*"([\w.]+)"')
_DEFINED_BY = re.compile(
    r"\s*,\s*&?\s*(?:(?:py|pybind11)::(?:cpp_function|overload_cast|init|call_guard)\b[^(]*\(\s*)*&?\s*(?:::)?([A-Za-z_][\w:]*)"
)
#: A lambda as the next argument, up to its parameters or body.
_LAMBDA = re.compile(
    r"\s*,\s*(?:(?:(?:py|pybind11)::cpp_function|torch::wrap_pybind_function\w*)\(\s*)?\[[^\[\]]*\]\s*[({]"
)
#: Variables that hold ``torch._C`` where nothing else is said (``initModule`` in torch/csrc/Module.cpp hands it on).
_ROOT_MODULE = "torch._C"
_NEAR = 80  #: characters before an anchor that may name a variable


class _Pybind:
    """Follows module variables and class chains through a file, top to bottom."""

    def __init__(self, file: _File) -> None:
        self.file = file
        self.text = file.text
        self.owners: dict[str, str] = {}
        self.chain = _ROOT_MODULE
        self.lambdas: list[tuple[str, str, int, int]] = []  #: see the module's docstring
        self.classes: list[tuple[str, str, list[str], str]] = []  #: the same

    def read(self) -> Iterator[tuple[str, str, int, str, str]]:
        """(owner, name, line, C++ function, how) of every definition whose owner is known."""
        text = self.text
        for start, what, found in _anchors(text):
            if what == "parameter":
                self.owners.pop(found[1], None)
                continue
            before = text[max(0, start - _NEAR) : start]
            if what == "definition":
                yield from self._definition(found, start, before)
                continue
            before = _WORD_END.sub("", before)  # intrusive_ptr_class_
            assigned = _ASSIGNED.search(before)
            if what in ("created", "held"):
                if assigned:
                    module = self._created(start) if what == "created" else self.owners.get(found[1])
                    self.owners[assigned[1]] = module if module is not None else _ROOT_MODULE
            elif what == "import":
                imported = _IMPORTED.match(text, start)
                if imported and assigned:
                    self.owners[assigned[1]] = imported[1]
            else:
                yield from self._class(found, assigned)

    def _created(self, offset: int) -> str | None:
        """The name of the module that is made here: that of the nearest ``PyModuleDef`` above."""
        names = [m[1] for m in _MODULE_NAME.finditer(self.text, 0, offset)]
        return names[-1] if names else None

    def _definition(self, found: re.Match[str], start: int, before: str) -> Iterator[tuple[str, str, int, str, str]]:
        receiver = _BEFORE.search(before)
        if receiver:
            word = start - len(before) + receiver.end(1)
            if "//" in self.text[self.text.rfind("\n", 0, word) + 1 : word]:
                receiver = None  # the last word of a comment in a chain
        how, name = found[0].partition("(")[0], found["name"]
        if how == "def_submodule":
            parent = self.owners.get(receiver[1], _ROOT_MODULE) if receiver else _ROOT_MODULE
            assigned = _ASSIGNED.search(before[: receiver.start()]) if receiver else None
            if assigned:
                self.owners[assigned[1]] = f"{parent}.{name}"
            return
        # ``m.def(…).def(…)`` goes on with m, ``py::class_<…>(m, "X").def(…)`` with X.
        if receiver:
            self.chain = self.owners.get(receiver[1], _ROOT_MODULE)
        if not self.chain:
            return
        self._lambda(name, found.end())
        function = _DEFINED_BY.match(self.text, found.end())
        cpp = function[1] if function and function[1] not in ("py", "pybind11") else ""
        yield self.chain, name, self.file.line(found.start("name")), "" if cpp.startswith("py::") else cpp, how

    def _lambda(self, name: str, offset: int) -> None:
        """Note where the lambda stands that is the next argument, if it is one."""
        start = _LAMBDA.match(self.text, offset)
        if start is None:
            return
        parameters = start.end() - 1
        behind = self.file.initialiser(parameters)[0] if self.text[parameters] == "(" else parameters
        body = self.text.find("{", behind)
        if body >= 0:
            end = self.file.initialiser(body)[0]
            self.lambdas.append((self.chain, name, self.file.line(parameters), self.file.line(end - 1)))

    def _class(self, found: re.Match[str], assigned: re.Match[str] | None) -> Iterator[tuple[str, str, int, str, str]]:
        head = _CLASS.match(self.text, found.end())
        if head is None:
            # The name is computed, or the class is a parameter: what is defined on it has no name that we know.
            given = _CLASS_PARAMETER.match(self.text, found.end())
            self.chain = ""
            if given or assigned:
                self.owners[given[1] if given else assigned[1]] = ""  # type: ignore[index]
            return
        owner = self.owners.get(head[2], _ROOT_MODULE)
        self.chain = f"{owner}.{head[3]}"
        for variable in (head[1], assigned[1] if assigned else None):
            if variable:
                self.owners[variable] = self.chain
        if found[0].startswith("class_"):
            cpp, *others = _template_arguments(self.text[found.end() : self.text.rindex(">", 0, head.start(2))])
            base = _GIVEN_BASE.match(self.text, head.end())
            self.classes.append((self.chain, cpp, others, self.owners.get(base[1], "") if base else ""))
        yield owner, head[3], self.file.line(head.start(3)), "", "class"


def _template_arguments(text: str) -> list[str]:
    """The template arguments that hold none themselves: of ``A, B, std::shared_ptr<A>`` the first two."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate([*text, ","]):
        if c == "," and depth == 0:
            parts.append(text[start:at].strip().removeprefix("::"))
            start = at + 1
        depth += (c == "<") - (c == ">")
    return [parts[0], *(part for part in parts[1:] if part and "<" not in part)]


def _whole(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches that begin a word: a ``\\b`` at the beginning of the pattern."""
    for found in pattern.finditer(text):
        before = text[found.start() - 1 : found.start()]
        if not (before.isalnum() or before == "_"):
            yield found


def _namespaces(text: str) -> Iterator[str]:
    """The namespaces that are opened at the beginning of a line."""
    for found in _NAMESPACE.finditer(text):
        start = found.start()
        if not text[text.rfind("\n", 0, start) + 1 : start].strip():
            yield found[1]


def _plain(text: str) -> str:
    """Text without comments, stripped."""
    return _COMMENT.sub(lambda m: m[1] or " ", text).strip()


def _blank(text: str, start: int) -> int:
    return len(text[start:]) - len(text[start:].lstrip())


def _function(cell: str) -> str:
    """The C++ function that a cell of a table names, through casts and wrappers; "" for ``nullptr``."""
    names = [name for name in _NAME.findall(cell) if name not in _WRAPPERS]
    return names[0] if names else ""
