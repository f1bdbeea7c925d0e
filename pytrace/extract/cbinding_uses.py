"""Where C++ puts types, tables, modules and objects into Python: the statements of the initialisers of ``torch._C``.

``read`` gives rows (line, what, name, owner, value, guard), in order of position:

==========  =================================================================================================
``type``    ``PyType_Ready(&T)``, ``PyModule_AddType(module, &T)``: value is the variable T
``object``  ``PyModule_AddObject(module, "Size", (PyObject*)&T)``, ``set_module_attr("name", value)``: name is
            what Python sees, value the first variable of the last argument, owner the variable of the module
``unnamed`` the same with a name that is computed (``type_name.c_str()``): name is the expression. When it is a
            parameter of a function of this file, the calls of that function with a string are ``object`` rows
            (torch/csrc/autograd/functions/init.cpp: ``addClass<C, T>(module, type, "Error")``)
``table``   ``THPUtils_addPyMethodDefs(methods, source)``: value is the table or the function that gives it
``module``  ``x = PyModule_Create(&def)``: value is the variable of the definition, owner that of the module
``import``  ``x = PyImport_ImportModule("torch")``, ``PyModule_New("…")``: name is the module's, owner the variable
==========  =================================================================================================

The order of the calls that lead here is that of the C++ call graph; ``link/init_order.py`` joins both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import itemgetter

from pytrace.extract.cpp_guards import guards_of
from pytrace.extract.cpp_text import close_of, split_top

# One pattern a literal that they begin with: such are found many times faster than alternatives.
_CALLS = (
    re.compile(
        r"(?P<how>Py(?:Type_Ready|Module_Add(?:Object(?:Ref)?|Type)|Module_(?:Create|New)|Import_ImportModule))\s*\("
    ),
    re.compile(r"(?P<how>set_module_attr)\s*\("),
    re.compile(r"(?P<how>THPUtils_addPyMethodDefs)\s*\("),
)
_WORD = re.compile(r"\w")
#: A function that is given a name, and the name of one of its parameters.
_FUNCTION = re.compile(r"(?P<name>\w+)\((?P<parameters>[^(){};]*\bconst char\s*\*[^(){};]*)\)\s*\{")
_PARAMETER = re.compile(r"\w+(?=\s*$)")
_NAMES = re.compile(r"[A-Za-z_][\w:]*")
_STRING = re.compile(r'\s*"([\w.]+)"\s*$')
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?:=\s*(?:\w+\()?|\()\s*$")
#: What may stand around the variable that is put into a module: casts, the API's own words.
_CASTS = frozenset(
    ("PyObject", "PyTypeObject", "reinterpret_cast", "static_cast", "const_cast", "std", "data", "std::data", "struct")
)
#: ``set_module_attr`` is a local function of ``initModule`` (torch/csrc/Module.cpp): the module is ``module``.
_MODULE = "module"

Row = tuple[int, str, str, str, str, str]


def read(text: str, line_of: Callable[[int], int]) -> list[Row]:
    """The statements of one file; ``line_of`` gives the line of an offset."""
    guards = guards_of(text)
    rows: list[tuple[int, tuple[str, str, str, str]]] = []
    for found in _calls(text):
        for row in _statement(text, found):
            named = list(_named_by_caller(text, found.start(), row)) if row[0] == "unnamed" else []
            rows += named or [(found.start(), row)]
    return [(line_of(offset), *row, guards.at(offset)) for offset, row in sorted(rows, key=itemgetter(0))]


def _calls(text: str) -> list[re.Match[str]]:
    """The calls of ``_CALLS``, by position."""
    found = [m for pattern in _CALLS for m in pattern.finditer(text)]
    return sorted((m for m in found if not _WORD.match(text, max(0, m.start() - 1), m.start())), key=re.Match.start)


def _statement(text: str, found: re.Match[str]) -> Iterator[tuple[str, str, str, str]]:
    """(what, name, owner, value) of one call; nothing for a declaration, a ``#define`` or what is not understood."""
    parts = split_top(text[found.end() : close_of(text, found.end() - 1, len(text)) - 1])
    how = found["how"]
    if not parts or "##" in parts[0]:
        return
    if how == "PyType_Ready":
        yield "type", "", "", _variable(parts[0])
    elif how in ("PyModule_Create", "PyModule_New", "PyImport_ImportModule"):
        assigned = _ASSIGNED.search(text, max(0, found.start() - 80), found.start())
        variable = assigned[1] if assigned else ""
        string = _STRING.match(parts[0])
        if how == "PyModule_Create":
            yield "module", "", variable, _variable(parts[0])
        elif string and variable:  # of a module that exists, or of a new one
            yield "import", string[1], variable, ""
    elif how == "PyModule_AddType" and len(parts) > 1:
        yield "type", "", _variable(parts[0]), _variable(parts[1])
    elif how == "THPUtils_addPyMethodDefs" and len(parts) > 1 and "*" not in parts[1].split("(")[0]:
        yield "table", "", _variable(parts[0]), _variable(parts[1])
    elif how == "set_module_attr" and len(parts) > 1:
        yield from _added(parts[0], _MODULE, parts[1])
    elif how.startswith("PyModule_AddObject") and len(parts) > 2:
        yield from _added(parts[1], _variable(parts[0]), parts[2])


def _named_by_caller(
    text: str, offset: int, row: tuple[str, str, str, str]
) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
    """(offset, row) of the calls that give the function around ``offset`` the name, the module and the value."""
    _, name, owner, value = row
    around = [
        found for found in _FUNCTION.finditer(text, 0, offset) if close_of(text, found.end() - 1, len(text)) > offset
    ]
    if not around:
        return
    names = [_PARAMETER.search(part.partition("=")[0]) for part in split_top(around[-1]["parameters"])]
    places = {found[0]: place for place, found in enumerate(names) if found}
    if not {name, owner, value} <= places.keys():
        return
    for call in re.finditer(rf"\b{around[-1]['name']}\s*(?:<[^;(){{}}]*>)?\s*\(", text[around[-1].end() :]):
        start = around[-1].end() + call.end()
        parts = split_top(text[start : close_of(text, start - 1, len(text)) - 1])
        if len(parts) > max(places[each] for each in (name, owner, value)):
            for made in _added(parts[places[name]], _variable(parts[places[owner]]), parts[places[value]]):
                yield start - len(call[0]), made


def _added(name: str, owner: str, value: str) -> Iterator[tuple[str, str, str, str]]:
    string = _STRING.match(name)
    if string:
        yield "object", string[1], owner, _variable(value)
    elif "char" not in name and "#" not in name:  # a parameter's declaration; the body of a macro
        yield "unnamed", " ".join(name.split()), owner, _variable(value)


def _variable(expression: str) -> str:
    """The variable or function in an expression, through casts: ``(PyObject*)&THPSizeType`` -> ``THPSizeType``."""
    return next((name for name in _NAMES.findall(expression) if name not in _CASTS), "")
