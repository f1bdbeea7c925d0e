"""Facts of one C, C++, CUDA, HIP, Objective-C++ or Metal file.

``extract(source)`` parses the same-length-normalised bytes once with the CUDA grammar (which extends the C++ one) and
reads what ``queries/cpp/structure.scm`` captures, in order of position. What comes out, all plain values:

functions   rows of ``Function``: every definition, in order of position
calls       rows of ``Call``: what a function's body calls, launches, constructs or names; lambdas belong to the function
            around them
classes     rows of ``Class``
usings      (kind, name, target, scope): using declarations, aliases, typedefs, namespace aliases
includes    included paths as written
defines     rows of macros.Define
constants   (name, value, conditional): macros that are plainly true or false
invocations (name, arguments, line, scope, guard): macro calls at file, namespace or class level
environments {function: {name: type expression}} of functions with possible macro calls
dtypes      (function, macro, label, types, line) of AT_DISPATCH_*
globals     (name, type): variables and constants of a namespace
prototypes  (name, scope, parameters): declarations without a body (they hold the default arguments)
errors      number of ERROR nodes' presence: 0 or 1
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytrace.extract import cbindings, cpp_dtypes, macros, registrations
from pytrace.extract.cpp_guards import PreprocessorGuards, clip
from pytrace.extract.cpp_text import (
    close_of,
    split_top,
    squeeze,
    template_arguments,
    without_templates,
)
from pytrace.extract.cpp_types import UNKNOWN, type_of
from pytrace.extract.normalise import normalise
from pytrace.extract.queries import load
from pytrace.model import Facts

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree

VERSION = 1


class Function(NamedTuple):
    """One definition."""

    name: str  #: qualified
    kind: str  #: function | kernel (``__global__``) | device (``__device__`` only)
    line: int
    end_line: int
    parameters: tuple[tuple[str, str, str], ...]  #: (type, name, default) as written
    returns: str  #: return type as written
    local: bool  #: internal linkage: static, or in an anonymous namespace
    owner: str  #: the class it is a member of, qualified, or ""
    templates: str  #: template parameter list as written, or ""
    guard: str  #: preprocessor guard around it
    macro: str = ""  #: the macro that made it, when its text is an expansion


class Call(NamedTuple):
    """One thing that a function's body reaches for."""

    function: int  #: index into functions
    kind: str  #: f call, m method call, k launch, n construction, r reference to a function, b binary operator, p printed, t template argument, c use of a class template
    name: str  #: callee without template arguments
    line: int
    guard: str
    arguments: tuple[str, ...]  #: type expressions
    receiver: str  #: type expression of the receiver (kind m, b, i), or ""
    templates: str  #: template arguments as written
    raw: str = ""  #: text of the arguments of a possible macro call


class Class(NamedTuple):
    """One class or struct with a body."""

    name: str
    bases: tuple[str, ...]
    line: int
    end_line: int
    fields: tuple[tuple[str, str], ...]  #: (type, name)
    templates: str
    local: bool


@cache
def parser() -> Parser:
    """The CUDA parser of this process."""
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


@cache
def _query() -> Query:
    from tree_sitter import Query

    language = parser().language
    assert language is not None
    query: Query = Query(language, load("cpp/structure"))
    return query


def extract(source: bytes) -> Facts:
    """Facts of the file with these bytes; see the module's docstring. Never raises for any input."""
    clean = normalise(source)
    tree = parser().parse(clean)
    facts = structure(tree, clean, source.decode("latin-1"))
    facts.update(registrations.extract(tree, source))
    facts.update(cbindings.extract(tree, clean))
    rows = macros.defines(source)
    if rows:
        facts["defines"] = rows
        constants = _constants(rows, source.decode("latin-1"))
        if constants:
            facts["constants"] = constants
    return facts


def _constants(rows: list[tuple[str, tuple[str, ...] | None, str | None, int]], text: str) -> list[tuple[str, bool, bool]]:
    """(name, value, conditional) of the macros that are plainly true or false: what ``#if NAME()`` decides for every build."""
    found = [(name, body, line) for name, parameters, body, line in rows if not parameters and body in ("true", "false", "0", "1")]
    if not found:
        return []
    guards = PreprocessorGuards(text)
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    return [(name, body in ("true", "1"), bool(guards.at(starts[line - 1]))) for name, body, line in found]


def structure(tree: Tree, clean: bytes, original: str, outer: list[dict[str, str]] | None = None) -> Facts:
    """The part of the facts that comes from the query.

    ``outer``: for each function of the text the type expressions of the names that it sees from outside (a macro's
    expansion sees the locals of the function that it stands in).
    """
    from tree_sitter import QueryCursor

    captures = QueryCursor(_query()).captures(tree.root_node)
    return _Reader(clean.decode("latin-1"), original, captures, tree.root_node.has_error, outer or []).read()


def bodies(texts: list[str], outer: list[dict[str, str]]) -> list[list[Call]]:
    """The calls of each of ``texts``, statements as they would stand in a function that sees the names of ``outer``."""
    source = "\n".join(f"void expansion_{n}() {{ {t.replace(chr(10), ' ')} ; }}" for n, t in enumerate(texts)).encode("latin-1", "replace")
    clean = normalise(source)
    facts = structure(parser().parse(clean), clean, source.decode("latin-1"), outer)
    found: list[list[Call]] = [[] for _ in texts]
    numbers = [int(f[0].rpartition("_")[2]) if f[0].startswith("expansion_") else -1 for f in facts.get("functions", ())]
    for row in facts.get("calls", ()):
        if numbers[row[0]] >= 0:
            found[numbers[row[0]]].append(Call(*row))
    return found


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
_INVOCATION = re.compile(r"^[ \t]*(?:(?:static|inline)[ \t]+)?([A-Z_][A-Z0-9_]+)[ \t]*\(", re.M)
_HEAD_MACRO = re.compile(r"TORCH_(IMPL|META|PRECOMPUTE_META)_FUNC(2?)\s*\(\s*([\w]+)\s*(?:,\s*([\w]+)\s*)?\)$")
_MACRO_NAME = re.compile(r"[A-Z][A-Z0-9_]+$")
_IDENT = re.compile(r"[A-Za-z_]\w*")
_QUALIFIED_END = re.compile(r"((?:[\w~]+(?:<[^()]*>)?::)*(?:operator\s*(?:\(\s*\)|[^\s(]+|\s[\w:<>&* ]+)|~?\w+))\s*$")
_POINTERS = re.compile(r"(?:[&*\s]|const\b|__restrict__|__restrict\b|RESTRICT\b)*")
_REFERENCE = re.compile(r"&?\s*((?:::)?[A-Za-z_]\w*(?:<[^;{}()]*>)?(?:::[A-Za-z_]\w*(?:<[^;{}()]*>)?)*)$")
_CONSTANT_NAME = re.compile(r"(?:k[A-Z]\w*|[A-Z][A-Z0-9_]*)$")
_TEMPLATE_NAME = re.compile(r"&?\s*((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)")
#: comments and strings; only the comments are blanked
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)
_LAUNCH_CALL = re.compile(r"(?:cuda|hip)(?:LaunchKernel\w*|LaunchCooperativeKernel\w*)$")
_MAKE = re.compile(r"(?:std::make_unique|std::make_shared|c10::make_intrusive|make_intrusive|std::make_optional|c10::guts::make_unique)$")

#: Type names that are never a class of the tree: constructing them reaches nothing.
_PLAIN_TYPES = frozenset(
    "auto void bool char short int long float double unsigned signed size_t ptrdiff_t int8_t int16_t int32_t int64_t "
    "uint8_t uint16_t uint32_t uint64_t scalar_t opmath_t acc_t accscalar_t index_t Tensor TensorBase TensorList Scalar "
    "IntArrayRef SymIntArrayRef SymInt string dim3 Half BFloat16 half bfloat16 T".split()
)
#: Functions of the language, of std and of c10's checks: calling them reaches no function of interest.
_QUIET_CALLS = frozenset(
    "static_cast reinterpret_cast const_cast dynamic_cast sizeof alignof decltype defined __attribute__ alignas "
    "noexcept static_assert assert printf fprintf malloc free memcpy memset __syncthreads syncthreads threadIdx".split()
)
_QUIET_PREFIXES = ("std::", "::std::", "TORCH_CHECK", "TORCH_INTERNAL", "TORCH_WARN", "_mm", "__", "C10_CUDA_KERNEL", "VLOG", "LOG")
#: Methods of containers, smart pointers and of TensorBase that no operator, function or kernel stands behind
#: (aten/src/ATen/templates/TensorBody.h and aten/src/ATen/core/TensorBase.h answer them without dispatching).
_QUIET_METHODS = frozenset(
    "data_ptr const_data_ptr mutable_data_ptr size sizes dim strides stride numel defined scalar_type dtype device options "
    "begin end push_back emplace_back get value has_value c_str str reserve find count empty front back first second "
    "is_cuda is_cpu is_sparse layout nbytes itemsize element_size key_set unsafeGetTensorImpl use_count get_device "
    "suggest_memory_format sym_size sym_sizes sym_strides sym_numel sym_stride is_quantized is_mkldnn data "
    "ndim dtype_or_default insert at clear erase pop_back swap append toTensor load store c10 type is_complex "
    "is_floating_point guard_int ndimension storage_offset requires_grad has_names value_or rbegin rend "
    "maybe_get_scalar_type is_contiguous push pop top emplace reset release".split()
)
_TENSORISH = re.compile(r"[TCMGIALF].*?(?:Tensor|\|)|C(?:at::|self|.*)|V")
_BINARY_MARKS = frozenset("+ - * / % == != < > <= >= & | ^ << >>".split())
_ASSIGN_MARKS = frozenset("+= -= *= /= &= |= ^= <<= >>= %=".split())


class _Reader:
    """One pass over the captures of one file."""

    def __init__(self, text: str, original: str, captures: dict[str, list[Node]], has_error: bool, outer: list[dict[str, str]]) -> None:
        self.text = text
        self.outer = outer
        self.original = original
        self.captures = captures
        self.has_error = has_error
        # lines are those of the original: normalisation may move a newline by a few columns
        self.newlines = [m.start() for m in re.finditer("\n", original)]
        self.preprocessor = PreprocessorGuards(original)
        self.strings: dict[str, str] = {}

    def line(self, offset: int) -> int:
        """Line (from 1) of an offset."""
        return bisect_right(self.newlines, offset - 1) + 1

    def shared(self, text: str) -> str:
        """One object per distinct string: smaller when marshalled, quicker to compare."""
        return self.strings.setdefault(text, text)

    def read(self) -> Facts:
        self._scopes()
        self._functions()
        facts: Facts = {
            "functions": [tuple(f) for f in self.functions],
            "classes": [tuple(c) for c in self.classes],
            "calls": [tuple(c) for c in self._calls()],
            "usings": self._usings(),
            "includes": _INCLUDE.findall(self.original),
            "prototypes": self.prototypes,
            "globals": self.globals,
            "dtypes": self.dtypes,
            "environments": self.environments,
            "invocations": self._invocations(),
            "errors": int(self.has_error),
        }
        return {k: v for k, v in facts.items() if v}

    # -- scopes -----------------------------------------------------------------------------------------------

    def _scopes(self) -> None:
        text = self.text
        spans: list[tuple[int, int, str, bool, Node | None]] = []
        for node in self.captures.get("namespace", ()):
            start, end = node.start_byte, node.end_byte
            head = text[start : text.find("{", start, end)]
            name = "::".join(
                p for p in re.sub(r"\b(inline|namespace)\b|__attribute__\s*\(\(.*?\)\)", " ", head).replace("::", " ").split() if p.isidentifier()
            )
            if name == "CPU_CAPABILITY":
                name = ""
            elif not name:
                name = "\0"
            spans.append((start, end, name, False, None))
        for node in self.captures.get("class", ()):
            start, end = node.start_byte, node.end_byte
            name_node = node.child_by_field_name("name")
            assert name_node is not None
            name = without_templates(squeeze(text[name_node.start_byte : name_node.end_byte]))
            spans.append((start, end, name, True, node))
        spans.sort(key=lambda s: (s[0], -s[1]))
        #: (start, end, qualified name, is_class, anonymous)
        self.scopes: list[tuple[int, int, str, bool, bool]] = []
        self.classes: list[Class] = []
        self.class_spans: list[tuple[int, int, int]] = []
        stack: list[tuple[int, int, str, bool, bool]] = []
        fields = self._fields()
        for start, end, name, is_class, found in spans:
            while stack and stack[-1][1] <= start:
                stack.pop()
            outer = stack[-1] if stack else (0, 0, "", False, False)
            hidden = outer[4] or name == "\0"
            qualified = outer[2] if name in ("", "\0") else f"{outer[2]}::{name}" if outer[2] else name
            entry = (start, end, qualified, is_class, hidden)
            stack.append(entry)
            self.scopes.append(entry)
            if is_class and found is not None:
                self._class(found, qualified, hidden, fields)

    def _fields(self) -> list[tuple[int, str, str]]:
        rows = []
        text = self.text
        for node in self.captures.get("field", ()):
            kind = node.child_by_field_name("type")
            if kind is None:
                continue
            rest = text[kind.end_byte : node.end_byte].rstrip("; \n")
            if "(" in rest and "=" not in rest.split("(")[0] and "{" not in rest.split("(")[0]:
                continue
            type_text = squeeze(text[node.start_byte : kind.end_byte])
            for part in split_top(rest):
                match = _IDENT.search(part)
                if match:
                    rows.append((node.start_byte, type_text, match[0]))
        return rows

    def _class(self, node: Node, qualified: str, hidden: bool, fields: list[tuple[int, str, str]]) -> None:
        text, start, end = self.text, node.start_byte, node.end_byte
        body = node.child_by_field_name("body")
        assert body is not None
        head = text[start : body.start_byte]
        bases: tuple[str, ...] = ()
        if ":" in head.replace("::", ""):
            colon = re.search(r"(?<!:):(?!:)", head)
            if colon:
                bases = tuple(
                    squeeze(re.sub(r"\b(public|private|protected|virtual)\b", "", b)) for b in split_top(head[colon.end() :])
                )
        inner = tuple((self.shared(t), self.shared(n)) for p, t, n in fields if start < p < end)
        self.classes.append(
            Class(self.shared(qualified), bases, self.line(start), self.line(end), inner, self._template_head(start), hidden)
        )

    def _template_head(self, start: int) -> str:
        """The template parameter list that stands just before ``start``, or ""."""
        before = self.text[max(0, start - 600) : start].rstrip()
        if not before.endswith(">"):
            return ""
        depth = 0
        for index in range(len(before) - 1, -1, -1):
            if before[index] == ">":
                depth += 1
            elif before[index] == "<":
                depth -= 1
                if depth == 0:
                    return squeeze(before[index + 1 : -1]) if before[:index].rstrip().endswith("template") else ""
        return ""

    def _scope_at(self, offset: int) -> Iterator[tuple[int, int, str, bool, bool]]:
        index = bisect_right(self._scope_starts, offset)
        while index:
            index -= 1
            scope = self.scopes[index]
            if scope[1] > offset:
                yield scope
                return

    # -- functions --------------------------------------------------------------------------------------------

    def _functions(self) -> None:
        self._scope_starts = [s[0] for s in self.scopes]
        self.functions: list[Function] = []
        self.spans: list[tuple[int, int, int]] = []  # (start, end, body start)
        self.parameters: list[tuple[tuple[str, str, str], ...]] = []
        nodes = sorted(self.captures.get("function", ()), key=_start)
        stack: list[tuple[int, int, str, bool, bool]] = []
        scopes, at = self.scopes, 0
        for node in nodes:
            start, end = node.start_byte, node.end_byte
            while at < len(scopes) and scopes[at][0] <= start:
                while stack and stack[-1][1] <= scopes[at][0]:
                    stack.pop()
                stack.append(scopes[at])
                at += 1
            while stack and stack[-1][1] <= start:
                stack.pop()
            scope = stack[-1] if stack else (0, 0, "", False, False)
            row = self._function(node, start, end, scope)
            if row is None:
                continue
            self.functions.append(row[0])
            self.spans.append((start, end, row[1]))

    def _function(self, node: Node, start: int, end: int, scope: tuple[int, int, str, bool, bool]) -> tuple[Function, int] | None:
        text = self.text
        declarator = node.child_by_field_name("declarator")
        body = node.child_by_field_name("body")
        if declarator is None or body is None:
            return None
        head_start = declarator.start_byte
        while declarator is not None and declarator.type != "function_declarator":
            inner = declarator.child_by_field_name("declarator")
            if inner is None:
                named = [c for c in declarator.named_children if c.type.endswith("declarator")]
                inner = named[0] if named else None
            declarator = inner
        if declarator is None:
            return None
        parameters = declarator.child_by_field_name("parameters")
        named_node = declarator.child_by_field_name("declarator")
        if parameters is None or named_node is None:
            return None
        raw = text[named_node.start_byte : named_node.end_byte]
        before = text[start:head_start]
        original = self.original
        outer, kind = scope[2], "function"
        owner = outer if scope[3] else ""
        if "__global__" in before or "__global__" in original[start : named_node.start_byte]:
            kind = "kernel"
        elif "__device__" in before and "__host__" not in before:
            kind = "device"
        special = _HEAD_MACRO.match(squeeze(raw)) if raw.startswith("TORCH_") else None
        if special:
            name, owner = _structured_name(special, outer)
        elif named_node.type == "function_declarator":
            return None
        else:
            name = without_templates(squeeze(raw)) if "<" in raw or " " in raw or "\n" in raw else raw
            name = name.replace(" ::", "::").replace(":: ", "::").removeprefix("::")
            if name.startswith("operator") or "::operator" in name:
                name = re.sub(r"operator\s+(?=[^\w])|operator\s*(?=\()", "operator", name)
            if not owner and "::" in name:
                owner = f"{outer}::{name.rpartition('::')[0]}" if outer else name.rpartition("::")[0]
            name = f"{outer}::{name}" if outer else name
        named_at = named_node.start_byte
        if kind == "kernel":
            # `__global__ void`, launch bounds, and the name on a later line: a kernel begins with `__global__`
            found = original.rfind("__global__", start, named_at)
            named_at = found if found >= 0 else named_at
        local = scope[4] or (not scope[3] and "static" in before.split())
        rows = tuple(
            (self.shared(t), self.shared(n), self.shared(d)) for t, n, d in parameter_rows(text[parameters.start_byte + 1 : parameters.end_byte - 1])
        )
        function = Function(
            self.shared(name),
            kind,
            self.line(named_at),
            self.line(end),
            rows,
            self.shared(self._returns(before, text[head_start : named_node.start_byte], text[parameters.end_byte : body.start_byte])),
            local,
            self.shared(owner),
            self.shared(self._template_head(start)),
            self.shared(self.preprocessor.at(start)),
        )
        return function, body.start_byte

    @staticmethod
    def _returns(before: str, marks: str, trailing: str) -> str:
        if "->" in trailing:
            return squeeze(trailing.partition("->")[2])
        words = squeeze(before + marks)
        return re.sub(r"\b(static|inline|virtual|constexpr|explicit|friend|extern|__global__|__device__|__host__)\b ?", "", words).strip()

    # -- calls ------------------------------------------------------------------------------------------------

    def _guard_spans(self) -> list[tuple[int, int, str]]:
        """(start, end, text) of every region that runs under a condition, by start."""
        text, spans = self.text, []
        for node in self.captures.get("if", ()):
            condition = node.child_by_field_name("condition")
            then = node.child_by_field_name("consequence")
            if condition is None or then is None:
                continue
            shown = clip(text[condition.start_byte : condition.end_byte].strip()[1:-1])
            spans.append((then.start_byte, then.end_byte, f"if ({shown})"))
            other = node.child_by_field_name("alternative")
            if other is not None:
                spans.append((other.start_byte, other.end_byte, f"else of if ({shown})"))
            else:
                tail = text[max(then.start_byte, then.end_byte - 400) : then.end_byte].rstrip("} \n;")
                last = max(tail.rfind(";"), tail.rfind("{"), tail.rfind("}"))
                if tail[last + 1 :].lstrip().startswith(("return", "throw")):
                    block = node.parent
                    if block is not None and block.type == "compound_statement":
                        spans.append((node.end_byte, block.end_byte, f"unless ({shown})"))
        for node in self.captures.get("case", ()):
            value = node.child_by_field_name("value")
            shown = clip(text[value.start_byte : value.end_byte]) if value is not None else ""
            spans.append((node.start_byte, node.end_byte, f"case {shown}" if shown else "default"))
        for node in self.captures.get("ternary", ()):
            condition = node.child_by_field_name("condition")
            then = node.child_by_field_name("consequence")
            other = node.child_by_field_name("alternative")
            if condition is None or then is None or other is None:
                continue
            shown = clip(text[condition.start_byte : condition.end_byte])
            spans.append((then.start_byte, then.end_byte, f"if ({shown})"))
            spans.append((other.start_byte, other.end_byte, f"else of if ({shown})"))
        spans.sort(key=lambda s: (s[0], -s[1]))
        return spans

    def _calls(self) -> list[Call]:
        # events in order of position; kind of event: the smaller goes first at one position
        captures, events = self.captures, []
        starts = {n.start_byte: n for n in captures.get("arguments", ())}
        launches = {n.start_byte: n for n in captures.get("launch", ())}
        for number, name in enumerate(("declaration", "lambda_head", "range_for", "callee", "constructed", "binary", "assignment", "subscript", "unary")):
            events += [(n.start_byte, number, n) for n in captures.get(name, ())]
        events.sort(key=lambda e: (e[0], e[1]))
        guards, guard_at, guard_stack, guard_text = self._guard_spans(), 0, [], ""
        spans, function_at = self.spans, 0
        stack: list[int] = []
        environments: dict[int, dict[str, str]] = {}
        out: list[Call] = []
        self.globals: list[tuple[str, str]] = []
        self.dtypes: list[tuple[int, str, str, tuple[str, ...], int]] = []
        self.prototypes: list[tuple[str, str, tuple[tuple[str, str, str], ...]]] = []
        for start, what, node in events:
            while function_at < len(spans) and spans[function_at][0] <= start:
                while stack and spans[stack[-1]][1] <= spans[function_at][0]:
                    stack.pop()
                stack.append(function_at)
                function_at += 1
            while stack and spans[stack[-1]][1] <= start:
                stack.pop()
            if not stack:
                if what == 0:
                    self._prototype(node)
                    self._global(node)
                continue
            owner = stack[-1]
            function = self.functions[owner]
            if function.kind != "function" or start < spans[owner][2] and what != 3:
                continue
            env = environments.get(owner)
            if env is None:
                env = environments[owner] = dict(environments.get(stack[-2], {})) if len(stack) > 1 else {}
                if owner < len(self.outer):
                    env.update(self.outer[owner])
                for type_text, name, _ in function.parameters:
                    if name:
                        env[name] = self.shared("T" + type_text)
            if what == 1:
                self._lambda(node, env)
                continue
            if what == 2:
                self._range_for(node, env)
                continue
            changed = False
            while guard_at < len(guards) and guards[guard_at][0] <= start:
                guard_stack.append(guards[guard_at])
                guard_at += 1
                changed = True
            if guard_stack and any(g[1] <= start for g in guard_stack):
                guard_stack = [g for g in guard_stack if g[1] > start]
                changed = True
            if changed:
                guard_text = " && ".join(g[2] for g in guard_stack if g[0] >= spans[owner][0])
            inside = self.preprocessor.at(start)
            if inside and inside != function.guard:
                inside = inside.removeprefix(function.guard).removeprefix(" && ") if function.guard else inside
                guard = f"{inside} && {guard_text}" if guard_text else inside
            else:
                guard = guard_text
            self._emit(what, node, owner, self.shared(guard), env, starts, launches, out)
        # what a macro call in a body may see of the names around it
        self.environments = {c.function: environments[c.function] for c in out if c.raw}
        return out

    def _emit(
        self,
        what: int,
        node: Node,
        owner: int,
        guard: str,
        env: dict[str, str],
        starts: dict[int, Node],
        launches: dict[int, Node],
        out: list[Call],
    ) -> None:
        if what == 3:
            self._call(node, owner, guard, env, starts, launches, out)
        elif what == 0:
            self._declaration(node, owner, guard, env, out)
        elif what == 4:
            name = squeeze(self.text[node.start_byte : node.end_byte])
            plain = without_templates(name)
            if plain and plain.rpartition("::")[2] not in _PLAIN_TYPES and not plain.startswith("std::"):
                self._add(out, owner, "n", plain, node.start_byte, guard, (), "", template_arguments(name))
                self._template_references(name, owner, node.start_byte, guard, env, out)
        else:
            self._operator(what, node, owner, guard, env, out)

    def _add(
        self,
        out: list[Call],
        owner: int,
        kind: str,
        name: str,
        offset: int,
        guard: str,
        arguments: tuple[str, ...],
        receiver: str,
        templates: str = "",
        raw: str = "",
    ) -> None:
        share = self.shared
        out.append(Call(owner, kind, share(name), self.line(offset), guard, arguments, share(receiver), share(templates), raw))

    def _call(
        self,
        node: Node,
        owner: int,
        guard: str,
        env: dict[str, str],
        starts: dict[int, Node],
        launches: dict[int, Node],
        out: list[Call],
    ) -> None:
        text, start, end = self.text, node.start_byte, node.end_byte
        callee = text[start:end]
        after = end
        while text[after : after + 1].isspace():
            after += 1
        launch = launches.get(after)
        if launch is not None:
            after = launch.end_byte
            while text[after : after + 1].isspace():
                after += 1
        arguments_node = starts.get(after)
        if arguments_node is None:
            return
        a_start, a_end = arguments_node.start_byte + 1, arguments_node.end_byte - 1
        if launch is not None:
            self._launch(callee, start, owner, guard, env, out)
            return
        last = callee[-1]
        if last == ")" or last == "}":
            # Foo<T>(…)(x), (*f)(x), Foo{}(x): the inner call is an event of its own; what is called is its operator()
            kind = type_of(callee, env)
            if kind != UNKNOWN and kind != "Tlambda":
                self._add(out, owner, "m", "operator()", start, guard, self._kinds(a_start, a_end, owner, guard, env, out), kind)
            else:
                self._kinds(a_start, a_end, owner, guard, env, out)
            return
        split = _member(callee)
        if split is not None:
            receiver, name = split
            templates = template_arguments(name) if "<" in name else ""
            name = without_templates(name.replace("template ", "")).strip()
            if name in _QUIET_METHODS:
                return
            kinds = self._kinds(a_start, a_end, owner, guard, env, out)
            self._add(out, owner, "m", name, start, guard, kinds, type_of(receiver, env), templates)
            return
        templates = template_arguments(callee) if "<" in callee else ""
        name = squeeze(without_templates(callee)).removeprefix("::") if "<" in callee or " " in callee or "\n" in callee or callee[0] == ":" else callee
        if name in _QUIET_CALLS or name.startswith(_QUIET_PREFIXES):
            if name.startswith("TORCH_") and "Tensor" in text[self.spans[owner][0] : self.spans[owner][2]]:
                self._message(a_start, a_end, owner, start, guard, env, out)
            if _MAKE.match(name) and templates:
                made = without_templates(templates)
                self._add(out, owner, "n", made, start, guard, self._kinds(a_start, a_end, owner, guard, env, out), "", template_arguments(templates))
            elif name.startswith("std::"):
                self._kinds(a_start, a_end, owner, guard, env, out)
            return
        known = env.get(name)
        if known is not None:
            # a local object is called: a lambda (its body is ours already), a functor, a function pointer
            kinds = self._kinds(a_start, a_end, owner, guard, env, out)
            if known != "Tlambda" and not known.startswith("Tauto"):
                self._add(out, owner, "m", "operator()", start, guard, kinds, known)
            return
        if _LAUNCH_CALL.search(name):
            parts = split_top(text[a_start:a_end])
            for part in parts[:2]:
                self._launch(part.removeprefix("(void*)").removeprefix("(const void*)").strip(" &"), start, owner, guard, env, out)
            return
        raw = ""
        if _MACRO_NAME.match(name) and a_end - a_start < 1500 and not name.startswith(("AT_DISPATCH", "AT_PRIVATE")):
            raw = text[a_start:a_end]
        kinds = self._kinds(a_start, a_end, owner, guard, env, out)
        if name.startswith("AT_DISPATCH_"):
            label, types = cpp_dtypes.dispatch(name, split_top(text[a_start:a_end]))
            if label or types:
                self.dtypes.append((owner, name, label, types, self.line(start)))
            return
        if templates:
            self._template_references(callee, owner, start, guard, env, out)
        elif "<" in callee:
            # Class<T>::method(…): a use of the class template
            head = squeeze(callee).rpartition("::")[0]
            given = template_arguments(head)
            if given:
                self._add(out, owner, "c", without_templates(head).removeprefix("::"), start, guard, (), "", given)
                self._template_references(head, owner, start, guard, env, out)
        self._add(out, owner, "f", name, start, guard, kinds, "", templates, raw)

    def _message(self, start: int, end: int, owner: int, offset: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        """Tensors among the parts of a TORCH_CHECK's message: they are printed."""
        text = self.text[start:end]
        for part in split_top(text)[1:]:
            if part and part[0] != '"' and len(part) < 80:
                kind = type_of(part, env)
                if _may_be_tensor(kind):
                    self._add(out, owner, "p", "operator<<", offset, guard, (), kind)

    def _launch(self, callee: str, offset: int, owner: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        name = without_templates(squeeze(callee)).strip("()& ")
        known = env.get(name)
        names = [(name, callee)]
        if known is not None and known.startswith("R"):
            names = [(without_templates(n), n) for n in known[1:].split("\x02")]
        for plain, full in names:
            if not plain:
                continue
            self._add(out, owner, "k", plain.removeprefix("::"), offset, guard, (), "", template_arguments(squeeze(full)))
            self._template_references(full, owner, offset, guard, env, out)

    def _kinds(self, start: int, end: int, owner: int, guard: str, env: dict[str, str], out: list[Call]) -> tuple[str, ...]:
        """Type expressions of the arguments in ``text[start:end]``; names of functions among them become references."""
        text = self.text[start:end]
        if not text or text.isspace():
            return ()
        kinds = []
        if "//" in text or "/*" in text:
            text = _COMMENTS.sub(_blank_comment, text)
        for part in split_top(text):
            kind = self.shared(type_of(part, env)) if len(part) < 400 or part[0] in "[{" else UNKNOWN
            kinds.append(kind)
            if kind == UNKNOWN or kind[0] == "V" or part[0] == "&":
                found = _REFERENCE.match(part)
                if found and found[1] not in env:
                    self._reference(found[1], owner, start, guard, env, out)
        return tuple(kinds)

    def _reference(self, name: str, owner: int, offset: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        plain = without_templates(name)
        bare = plain.rpartition("::")[2]
        if bare in _PLAIN_TYPES or _CONSTANT_NAME.match(bare) or plain.startswith("std::"):
            return
        self._add(out, owner, "r", plain.removeprefix("::"), offset, guard, (), "", template_arguments(name))
        self._template_references(name, owner, offset, guard, env, out)

    def _template_references(self, name: str, owner: int, offset: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        inner = template_arguments(squeeze(name))
        if not inner:
            return
        for part in split_top(inner):
            found = _TEMPLATE_NAME.match(part)
            if not found:
                continue
            plain = found[1]
            bare = plain.rpartition("::")[2]
            if bare in _PLAIN_TYPES or plain in env or plain.startswith("std::") or bare.endswith("_t") or bare in ("true", "false", "typename"):
                continue
            if _CONSTANT_NAME.match(bare) and not _IDENT.match(bare[1:]):
                continue
            self._add(out, owner, "t", plain.removeprefix("::"), offset, guard, (), "", template_arguments(part))
            if "<" in part:
                self._template_references(part, owner, offset, guard, env, out)

    def _declaration(self, node: Node, owner: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        text = self.text
        kind = node.child_by_field_name("type")
        if kind is None:
            return
        type_start, type_end, end = kind.start_byte, kind.end_byte, node.end_byte
        type_text = squeeze(text[type_start:type_end])
        rest = text[type_end:end].rstrip("; \n")
        match = _POINTERS.match(rest)
        at = match.end() if match else 0
        if type_text.startswith(("struct ", "class ", "enum ", "union ")):
            return
        if rest[at : at + 1] == "[":
            close = rest.find("]", at)
            equals = rest.find("=", close)
            value = type_of(rest[equals + 1 :], env) if 0 < equals else UNKNOWN
            for number, name in enumerate(rest[at + 1 : close].split(",")):
                env[name.strip()] = self.shared(f"G{number}|{value}")
            return
        plain = without_templates(type_text)
        bare = plain.rpartition("::")[2]
        is_auto = type_text == "auto" or "auto" in type_text.split()
        constructs = not is_auto and bare not in _PLAIN_TYPES and not plain.startswith("std::") and "*" not in rest[:at] and "&" not in rest[:at]
        pointer = "*" in rest[:at]
        for part in split_top(rest[at:]):
            found = _IDENT.search(part)
            if not found:
                continue
            name, tail = found[0], part[found.end() :].lstrip()
            while tail.startswith("["):
                tail = tail[tail.find("]") + 1 :].lstrip()
            value = tail[1:].strip() if tail.startswith("=") else ""
            if is_auto or tail.startswith("=") and "(*" in rest[:at]:
                env[name] = self._auto(value or tail[1:-1], env)
                if env[name][0] == "R":
                    for reference in env[name][1:].split("\x02"):
                        self._reference(reference, owner, node.start_byte, guard, env, out)
            else:
                env[name] = self.shared("T" + type_text + ("*" if pointer else ""))
            if constructs:
                args: tuple[str, ...] = ()
                if tail.startswith(("(", "{")):
                    a_start = node.start_byte + (end - node.start_byte)
                    del a_start
                    args = tuple(self.shared(type_of(p, env)) for p in split_top(tail[1:-1]))
                self._add(out, owner, "n", plain.removeprefix("::"), node.start_byte, guard, args, "", template_arguments(type_text))
                self._template_references(type_text, owner, node.start_byte, guard, env, out)
                if value.startswith("&") or (value and _REFERENCE.fullmatch(value)):
                    found_reference = _REFERENCE.match(value)
                    if found_reference and found_reference[1] not in env:
                        self._reference(found_reference[1], owner, node.start_byte, guard, env, out)

    def _auto(self, value: str, env: dict[str, str]) -> str:
        """Type expression of an initialiser; ``R`` + names when it names functions or kernels (``auto k = &kernel<T>``)."""
        if not value:
            return UNKNOWN
        if value[0] != "[" and ("&" in value or "<" in value) and "(" not in value:
            names = []
            for piece in re.split(r"\?|(?<!:):(?!:)", value):
                found = _REFERENCE.match(piece.strip())
                if found and found[1] not in env and not found[1].startswith("std::"):
                    names.append(squeeze(found[1]))
            if names:
                return self.shared("R" + "\x02".join(names))
        if value[0] != "[" and len(value) > 600:
            return UNKNOWN
        return self.shared(type_of(value, env))

    def _lambda(self, node: Node, env: dict[str, str]) -> None:
        text = self.text[node.start_byte : node.end_byte]
        if not text.startswith("("):
            return
        end = close_of(text, 0, len(text))
        for type_text, name, _ in parameter_rows(text[1 : end - 1]):
            if name:
                env[name] = self.shared("T" + type_text)

    def _range_for(self, node: Node, env: dict[str, str]) -> None:
        text = self.text
        kind, declarator, right = (node.child_by_field_name(f) for f in ("type", "declarator", "right"))
        if kind is None or declarator is None or right is None:
            return
        head = text[declarator.start_byte : declarator.end_byte].strip("&* \n")
        type_text = squeeze(text[kind.start_byte : kind.end_byte])
        value = self.shared("I" + type_of(text[right.start_byte : right.end_byte], env)) if type_text == "auto" else self.shared("T" + type_text)
        if head.startswith("["):
            for number, name in enumerate(head[1:-1].split(",")):
                env[name.strip()] = self.shared(f"G{number}|{value}")
        else:
            env[head] = value

    def _operator(self, what: int, node: Node, owner: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        if what >= 7:
            self._prefix(what, node, owner, guard, env, out)
            return
        if node.child_count < 3:
            return
        mark_node = node.child(1)
        if mark_node is None:
            return
        text = self.text
        mark = text[mark_node.start_byte : mark_node.end_byte]
        if mark not in (_BINARY_MARKS if what == 5 else _ASSIGN_MARKS):
            return
        left_text = text[node.start_byte : mark_node.start_byte].strip()
        right_text = text[mark_node.end_byte : node.end_byte].strip()
        if len(left_text) > 300 or len(right_text) > 300:
            return
        left, right = type_of(left_text, env), type_of(right_text, env)
        if not (_may_be_tensor(left) or _may_be_tensor(right)):
            return
        self._add(out, owner, "b", mark, node.start_byte, guard, (self.shared(left), self.shared(right)), self.shared(left))

    def _prefix(self, what: int, node: Node, owner: int, guard: str, env: dict[str, str], out: list[Call]) -> None:
        """``x[i]`` and ``-x`` where x may be a Tensor: methods of Tensor (aten/src/ATen/templates/TensorBody.h)."""
        text = self.text[node.start_byte : node.end_byte]
        if len(text) > 300:
            return
        if what == 7:
            bracket = text.rfind("[") if "[" not in text[:-1].rpartition("]")[2] else text.rfind("[")
            kind = type_of(text[:bracket], env)
            name = "operator[]"
            arguments: tuple[str, ...] = (self.shared(type_of(text[bracket + 1 : -1], env)),)
        else:
            kind, name, arguments = type_of(text[1:], env), f"operator{text[0]}", ()
        if _may_be_tensor(kind):
            self._add(out, owner, "m", name, node.start_byte, guard, arguments, kind)

    # -- file level -------------------------------------------------------------------------------------------

    def _prototype(self, node: Node) -> None:
        text = self.text[node.start_byte : node.end_byte]
        paren = text.find("(")
        if paren < 0 or len(text) > 4000 or "=" not in text:
            return
        found = _QUALIFIED_END.search(text[:paren])
        if not found or "=" in text[:paren]:
            return
        end = close_of(text, paren, len(text))
        rows = tuple(parameter_rows(text[paren + 1 : end - 1]))
        scope = next((s[2] for s in self._scope_at(node.start_byte)), "")
        name = without_templates(found[1])
        self.prototypes.append((f"{scope}::{name}" if scope else name, squeeze(text[: found.start()]), rows))

    def _global(self, node: Node) -> None:
        """A variable or constant of a namespace: its type answers for the name wherever it is used."""
        kind = node.child_by_field_name("type")
        if kind is None:
            return
        rest = self.text[kind.end_byte : min(node.end_byte, kind.end_byte + 200)]
        match = _POINTERS.match(rest)
        found = _IDENT.match(rest, match.end() if match else 0)
        if found is None or rest[found.end() :].lstrip()[:1] not in ("=", ";", "{", "["):
            return
        type_text = squeeze(self.text[kind.start_byte : kind.end_byte])
        if type_text in ("auto", "class", "struct") or len(type_text) > 60:
            return
        self.globals.append((self.shared(found[0]), self.shared(type_text)))

    def _usings(self) -> list[tuple[str, str, str, str, int]]:
        rows = []
        for what in ("using", "alias", "typedef", "nsalias"):
            for node in sorted(self.captures.get(what, ()), key=_start):
                start = node.start_byte
                text = squeeze(self.text[start : node.end_byte].rstrip("; \n"))
                scope = next((s[2] for s in self._scope_at(start)), "")
                if what == "using":
                    body = text.removeprefix("using ")
                    if body.startswith("namespace "):
                        rows.append(("namespace", "", body[10:].removeprefix("::"), scope, self.line(start)))
                    else:
                        rows.append(("name", body.rpartition("::")[2], body.removeprefix("::"), scope, self.line(start)))
                elif what == "typedef":
                    body = text.removeprefix("typedef ")
                    target, _, name = body.rpartition(" ")
                    if name.isidentifier():
                        rows.append(("alias", name, target, scope, self.line(start)))
                elif "=" in text:
                    name, _, target = text.partition("=")
                    rows.append(("alias" if what == "alias" else "nsalias", name.split()[-1] if name.split() else "", target.strip(), scope, self.line(start)))
        return [r for r in rows if r[2]]

    def _invocations(self) -> list[tuple[str, str, int, str, str]]:
        """Macro calls that stand at file, namespace or class level."""
        rows, text = [], self.original
        starts = [s[0] for s in self.spans]
        ends: list[int] = []
        furthest = 0
        for span in self.spans:
            furthest = max(furthest, span[1])
            ends.append(furthest)
        defined = [(m.start(), m.end()) for m in re.finditer(r"^[ \t]*#(?:[^\n\\]|\\\n|\\)*", text, re.M)]
        define_starts = [d[0] for d in defined]
        for found in _INVOCATION.finditer(text):
            offset = found.start(1)
            index = bisect_right(starts, offset)
            if index and ends[index - 1] > offset:
                continue
            index = bisect_right(define_starts, offset)
            if index and defined[index - 1][1] > offset:
                continue
            if found[1].startswith(("TORCH_IMPL_FUNC", "TORCH_META_FUNC", "TORCH_PRECOMPUTE", "TORCH_LIBRARY")):
                continue
            close = close_of(text, found.end() - 1, min(len(text), found.end() + 20000))
            scope = next((s[2] for s in self._scope_at(offset)), "")
            rows.append((found[1], text[found.end() : close - 1], self.line(offset), scope, self.preprocessor.at(offset)))
        return rows


def _may_be_tensor(kind: str) -> bool:
    kind = kind.lstrip("BL")
    if kind.startswith("T"):
        return "Tensor" in kind
    if kind.startswith("M"):
        return kind.rpartition("|")[2] not in _QUIET_METHODS
    return kind[:1] in ("C", "G", "I", "F")


def _blank_comment(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else " "


def _start(node: Node) -> int:
    return node.start_byte


def _member(callee: str) -> tuple[str, str] | None:
    if "." not in callee and "->" not in callee:
        return None
    from pytrace.extract.cpp_types import member_split

    return member_split(callee)


def _structured_name(head: re.Match[str], scope: str) -> tuple[str, str]:
    """Qualified name and class behind TORCH_IMPL_FUNC and TORCH_META_FUNC (torch/library.h? no: ATen/TensorMeta.h).

    ``TORCH_IMPL_FUNC(x)`` defines ``structured_x::impl`` in the namespace around it; ``TORCH_META_FUNC(x)`` and
    ``TORCH_META_FUNC2(x, overload)`` define ``structured_x[_overload]::meta``.
    """
    which, _, name, overload = head.groups()
    owner = f"structured_{name}" + (f"_{overload}" if overload else "")
    owner = f"{scope}::{owner}" if scope else owner
    return f"{owner}::{'impl' if which == 'IMPL' else 'meta'}", owner


def parameter_rows(text: str) -> list[tuple[str, str, str]]:
    """(type, name, default) of each parameter in a parameter list's text; names may be missing.

    >>> parameter_rows("const Tensor& self, int64_t dim = -1, IntArrayRef")
    [('const Tensor&', 'self', ''), ('int64_t', 'dim', '-1'), ('IntArrayRef', '', '')]
    """
    rows = []
    if "//" in text or "/*" in text:
        text = _COMMENTS.sub(_blank_comment, text)
    for part in split_top(text):
        if not part or part == "void":
            continue
        default = ""
        if "=" in part:
            cut = part.find("=")
            part, default = part[:cut].rstrip(), squeeze(part[cut + 1 :])
        part = squeeze(part)
        found = re.search(r"(?:^|[\s&*>])([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?$", part)
        name = found[1] if found else ""
        if found and name and found.start(1) > 0:
            type_text = part[: found.start(1)].rstrip()
            if type_text in ("const", "unsigned", "struct", "typename", "volatile") or name in ("int", "long", "char", "const"):
                type_text, name = part, ""
        elif "(*" in part or "(&" in part:
            inner = re.search(r"\([*&]\s*(\w+)", part)
            type_text, name = part, inner[1] if inner else ""
        else:
            type_text, name = part, ""
        rows.append((type_text, name, default))
    return rows
