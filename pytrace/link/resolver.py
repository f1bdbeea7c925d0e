"""What a C++ function reaches: functions, operators, stubs, CUDA kernels, library calls.

One file at a time, with the tables of the whole tree at hand (``Resolver``). Each edge says which rule made it:

call               a definition that C++'s lookup finds for the name
operator-call      ``at::foo(…)``, ``at::_ops::foo::call``, ``tensor.foo(…)`` on a Tensor
tensor-operator    ``a + b`` on Tensors (aten/src/ATen/TensorOperators.h, templates/TensorBody.h)
virtual-call       a method that the class only declares, or whose default body only raises: the definitions in the
                   classes derived from it
operator-lookup    ``Dispatcher::singleton().findSchemaOrThrow("ns::name", "overload")``
template-argument  a call through a template parameter: see link/templates.py
direct-dispatch    ``at::cpu::foo(…)``: the kernel of one dispatch key, without the dispatcher
stub-call          a DispatchStub is called or handed on
launch             ``kernel<<<…>>>`` or cudaLaunchKernel*
message            a Tensor is printed in the message of a TORCH_CHECK
reference          a function, kernel or functor is named as a value and handed on
construct          an object is made: its constructor, and its ``operator()``
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytrace.extract.cpp_callee import LOOKUPS
from pytrace.extract.cpp_text import template_arguments, without_templates
from pytrace.link.binding_lambdas import DEFINES, Lambdas
from pytrace.link.choice import choose, elements
from pytrace.link.context import Context
from pytrace.link.cpp_scope import Types
from pytrace.link.cpp_types import TENSOR_METHODS, kind_of, pointed
from pytrace.link.functions import HEADERS, FunctionTable, Symbol
from pytrace.link.functors import Functors, Use
from pytrace.link.functors import add as add_functors
from pytrace.link.given import Given
from pytrace.link.instantiations import Instantiations
from pytrace.link.jiterator import Jiterator
from pytrace.link.libraries import RUNS, entry_point, vendor_of
from pytrace.link.operator_calls import DIRECT, OPERATOR_NAMESPACES, OperatorCalls, looked_up
from pytrace.link.overloads import KNOWN
from pytrace.link.resolved import CallRow, Packed, Resolved, Row
from pytrace.link.templates import Deferred, Site, Templates, constants, parameter_names
from pytrace.link.vendor_headers import is_outside
from pytrace.model import EdgeKind, Facts, NodeKind

#: Namespaces below which there is nothing to find: SIMD values (aten/src/ATen/cpu/vec) compute in registers.
LEAVES = ("at::vec",)
#: Enumerators of vendors are spelt like functions (miopenLSTM); a function handed on makes or ends something.
_MAKES = re.compile(r"[Cc]reate|[Dd]estroy")
#: A call through a base class with more derived classes than this tells nothing.
_MOST_OVERRIDERS = 16


class Resolver:
    """Resolves the calls of one file after another."""

    def __init__(self, ctx: Context) -> None:
        self.functions: FunctionTable = ctx.functions
        self.operators = ctx.operators
        self.stubs = ctx.stubs
        self.macros = ctx.macros
        self.types = Types(ctx.functions, ctx.operators)
        self.op_nodes = {o: n for o in ctx.operators.by_name if (n := ctx.graph.find(NodeKind.OP, o)) is not None}
        self.kernels_of: dict[tuple[str, str], list[int]] = ctx.kernels_of
        self.unambiguous = ctx.operators.by_ops_struct
        self.op_method_names = {
            n for n, ops in ctx.operators.by_cpp_name.items() if any("method" in o.variants for o in ops)
        }
        self.chooser = OperatorCalls(ctx.operators)
        self.templates = Templates()
        self.functors = Functors(ctx.functions, self.types, Jiterator(ctx.files))
        self.instantiations = Instantiations(self.templates)
        self.virtual: list[tuple[str, Row]] = []
        self.given = Given(ctx.functions)
        self.lambdas = Lambdas({})
        self.dispatching: dict[int, set[str]] = {}
        self.types_of_file: set[str] = set()
        self._generics: dict[int, frozenset[str]] = {}

    def note_aliases(self, path: str, rows: Iterable[tuple[str, str, str, str, int]]) -> None:
        """``using Launcher = KernelLauncher<kernel_t>`` in a function: a use of the class template there."""
        spans = [(s.line, s.end, s) for s in self.functions.by_file.get(path, ())]
        for what, _name, target, _scope, line in rows:
            text = target
            if what != "alias" or "<" not in text:
                continue
            around = [s for start, end, s in spans if start <= line <= end]
            if not around:
                continue
            symbol = around[-1]
            for owner in self.functions.class_names(text, symbol.scope, path):
                self.templates.add_class(owner, Site(symbol, template_arguments(text), (), line))

    def resolve(self, path: str, facts: Facts) -> Resolved:
        """Edges of the file, unresolved names, library calls: see ``Resolved``."""
        self.note_aliases(path, facts.get("usings", ()))
        self.lambdas = Lambdas(facts)
        symbols = self.functions.by_file.get(path, [])
        #: the element types of functions with an AT_DISPATCH: what they call in it, they call for each
        self.dispatching = {}
        for row in facts.get("dtypes", ()):
            self.dispatching.setdefault(symbols[row[0]].id, set()).update(row[3])
        # the templates of a source file are used there only
        self.types_of_file = set() if path.endswith(HEADERS) else set().union(*self.dispatching.values())
        return self.resolve_calls(path, symbols, facts.get("calls", ()))

    def resolve_calls(self, path: str, symbols: Sequence[Symbol], calls: Sequence[CallRow]) -> Resolved:
        """Resolve rows of ``extract.cpp.Call`` whose first column counts ``symbols``; see ``resolve``."""
        self.path = path
        #: (function, line, class) of objects that are called where they are made, ``Base<>()(x, f)``: that call's row
        self.invocations = {
            (c[0], c[3], without_templates(c[6][1:])): c for c in calls if c[2] == "operator()" and c[6][:1] == "C"
        }
        self.rows: list[Row] = []
        self.lost: list[tuple[str, str, int, str]] = []
        self.library_calls: list[tuple[int, str, int, str, str]] = []
        handlers = {
            "f": self._call,
            "m": self._method,
            "k": self._launch,
            "n": self._construct,
            "r": self._reference,
            "t": self._reference,
            "b": self._binary,
        }
        for call in calls:
            if call[4] and self.macros.is_dead(call[4]):
                continue
            self.symbol = symbols[call[0]]
            if self.symbol.scope.startswith(LEAVES) or (self.symbol.guard and self.macros.is_dead(self.symbol.guard)):
                continue
            if call[1] == "p":
                self._printed(call)
                continue
            if call[1] == "c":
                for owner in self.functions.class_names(call[2], self.symbol.scope, path):
                    self.templates.add_class(owner, Site(self.symbol, call[7], (), call[3]))
                continue
            if call[2] in DEFINES:
                self.lambdas.around(call[4])
            before = len(self.rows)
            handlers[call[1]](call)
            if len(self.rows) == before:
                continue
            self.lambdas.note(call[3], self.rows[before:])
            if call[4] and self.symbol.templates:
                self.instantiations.note(path, self.symbol, self.rows[before:])
        return self._unique(), self.lost, self.library_calls

    def pack(self, resolved: Resolved) -> Packed:
        """What the last ``resolve`` found, as plain values; what it noted of templates is taken out of here."""
        rows, lost, libraries = resolved
        functors = [tuple(use) for use in self.functors.drain()]
        virtual = [tuple(row) for _, row in self.virtual]
        self.virtual.clear()
        lambdas = [(owner, name, tuple(row)) for owner, name, row in self.lambdas.noted]
        noted = self.templates.drain(), self.instantiations.drain(), lambdas
        return [tuple(row) for row in rows], lost, libraries, functors, virtual, noted

    def unpack(self, ctx: Context, path: str, packed: Packed) -> Resolved:
        """The inverse of ``pack``, in the process that links: functors enter the graph, templates are noted here."""
        rows, lost, libraries, functors, virtual, (templates, conditional, lambdas) = packed
        add_functors(ctx, path, [Use(*row) for row in functors])
        self.virtual += [(path, Row(*row)) for row in virtual]
        if lambdas:
            ctx.lambdas[path] = [(owner, name, Row(*row)) for owner, name, row in lambdas]
        self.templates.absorb(templates, self.functions.by_id)
        if conditional:
            self.instantiations.absorb(path, conditional)
            rows = [row for row in map(Row._make, rows) if not self.instantiations.holds_back(row)]
        return rows, lost, libraries

    def _unique(self) -> list[Row]:
        """One edge per (source, destination, kind, guard): the first place it is read at."""
        seen: dict[tuple[int, int, str, str], Row] = {}
        for row in self.rows:
            key = (row.src, row.dst, row.kind, row.guard)
            known = seen.get(key)
            if known is None or row.candidates < known.candidates:
                seen[key] = row if known is None else row._replace(line=known.line)
        return list(seen.values())

    # -- edges ------------------------------------------------------------------------------------------------

    def _edge(self, dst: int, kind: str, rule: str, call: CallRow, candidates: int = 1, key: str = "") -> None:
        if dst != self.symbol.id or kind != EdgeKind.CALLS:
            self.rows.append(Row(self.symbol.id, dst, kind, key, rule, call[3], call[4], candidates))

    def _to_symbols(self, symbols: Iterable[Symbol], rule: str, call: CallRow) -> None:
        found = list(symbols)
        for symbol in found:
            if symbol.templates:
                self.functors.given(self.symbol, symbol, call, self.path)
                self.templates.add_function(symbol, Site(self.symbol, call[7], call[5], call[3]))
            kernel = symbol.kind == "kernel"
            self._edge(symbol.id, EdgeKind.LAUNCHES if kernel else EdgeKind.CALLS, rule, call, len(found))

    def _to_operators(self, names: Sequence[str], rule: str, call: CallRow) -> None:
        for name in names:
            node = self.op_nodes.get(name)
            if node is not None:
                self._edge(node, EdgeKind.CALLS_OP, rule, call, len(names))

    def _to_library(self, names: Iterable[str], call: CallRow) -> bool:
        """Note the calls of those names that a vendor's library has; whether there was one."""
        known = [(name, vendor) for name in names if (vendor := vendor_of(name))]
        for name, vendor in known:
            self.library_calls.append((self.symbol.id, entry_point(name), call[3], call[4], vendor))
        return bool(known)

    # -- one handler a kind of call -----------------------------------------------------------------------------

    def _call(self, call: CallRow) -> None:
        name = call[2]
        scope, path = self.symbol.scope, self.path
        if name.startswith("::"):
            symbols = self.functions.lookup(name[2:], "", path)
            if symbols:
                self._to_symbols(self._choose(symbols, call), "call", call)
            else:
                self._to_library([name[2:]], call)
            return
        head, _, bare = name.rpartition("::")
        if self.symbol.templates and (head or name) in parameter_names(self.symbol.templates):
            self._defer(head or name, bare if head else "", call)
            return
        if head:
            if bare in ("call", "redispatch") and "_ops::" in head:
                operator = self.unambiguous.get(head.rpartition("::")[2])
                if operator is not None:
                    self._to_operators([operator.name], "operator-call", call)
                return
            key = DIRECT.get(head) or DIRECT.get(f"at::{head}")
            if key and bare in self.operators.by_cpp_name and self._direct(bare, key, call):
                return
        elif bare in self.stubs and not self._own(bare):
            self._stub(bare, call)
            return
        if not head and self.symbol.owner in ("at::Tensor", "at::TensorBase") and self.operators.methods(bare):
            self._tensor_method(bare, call)
            return
        symbols = self.functions.lookup(name, scope, path)
        if symbols:
            owner = self.symbol.owner
            if not head and symbols[0].owner != owner and owner in self.given.givers(owner):
                self._to_library(self.given.to_bases(owner, path, ends=False), call)
            if not head and not owner and self._is_simd(call, symbols):
                return
            public = head in ("at", "torch") or (not head and self._declares_operator(bare, symbols))
            if not (public and self._operator(bare, call)):
                self._to_symbols(self._choose(symbols, call), "call", call)
            return
        if bare in self.stubs:
            self._stub(bare, call)
            return
        if head in OPERATOR_NAMESPACES and self._operator(bare, call, bool(head)):
            return
        owners = self.functions.class_names(name, scope, path)
        if owners:
            self._made(owners, call)
            return
        if not head:
            if self._defer(name, "", call):
                return
            field = self.functions.field(self.symbol.owner, name, path) if self.symbol.owner else ""
            if field:
                self._method((*call[:2], "operator()", *call[3:6], "T" + field, *call[7:]))
                return
            symbols = self._of_arguments(call)
            if symbols:
                self._to_symbols(self._choose(symbols, call), "call", call)
                return
            if self.symbol.owner and (derived := self._overriders(self.symbol.owner, name, call)):
                self._virtual(derived, call, len(derived))  # its own class only declares it
                return
        elif head.isidentifier() and self._defer(head, bare, call):
            return
        unknown = bare not in self.functions.by_bare and not self.functions.names_of(bare, path)
        if not self._to_library([name], call) and head == "at" and unknown:
            self.lost.append(("call", name, call[3], "no operator and no definition of this name"))

    def _is_simd(self, call: CallRow, symbols: Sequence[Symbol]) -> bool:
        """Whether an argument is a SIMD value, which none of ``symbols`` takes: its namespace has the function."""
        classes = self.functions.classes_by_bare
        for number, kind in enumerate(self._kinds(call[5])):
            known = classes.get(kind.rpartition("::")[2], ()) if kind else ()
            if known and all(name.startswith(LEAVES) for name in known):
                return all(kind_of(s.parameters[number][0]) in KNOWN for s in symbols if number < len(s.parameters))
        return False

    def _of_arguments(self, call: CallRow) -> list[Symbol]:
        """What a name without ``::`` means in the namespaces of its arguments' classes (C++: [basic.lookup.argdep])."""
        name, path = call[2], self.path
        if name not in self.functions.by_bare:
            return []
        for kind in self._kinds(call[5]):
            kind = kind.removeprefix("ptr ").rstrip("?")
            if kind in KNOWN or not kind:
                continue
            for owner in self.functions.class_names(kind, self.symbol.scope, path):
                namespace = owner.rpartition("::")[0]
                found = [s for s in self.functions.lookup(f"{namespace}::{name}", "", path) if not s.owner]
                if namespace and found:
                    return found
        return []

    def _own(self, bare: str) -> bool:
        """Whether the file has a function of a stub's name, another thing: ``copy_stub`` of PaddingKernel.cpp."""
        found = self.functions.lookup(bare, self.symbol.scope, self.path)
        return any(s.file == self.path and not s.owner for s in found)

    def _operator(self, bare: str, call: CallRow, qualified: bool = True) -> bool:
        """Resolve ``at::bare(…)``; False when there is no operator with a function of this name.

        Without ``at::`` the name may be anything (``isnan`` of a float): then the arguments must fit.
        """
        kinds = self._kinds(call[5])
        if "redispatch" in call[2]:
            kinds = kinds[1:]  # the key set
        if not qualified and not (kinds and (kinds[0] in KNOWN or kinds[0][:5] == "list " or "Tensor" in kinds)):
            return False
        chosen = self.chooser.overloads(bare, False, kinds, qualified)
        if not chosen and qualified and kinds and "symint" in call[2]:
            # at::symint::foo<T>(x, …) exists for methods as well (torchgen/gen.py: ComputeFunction)
            chosen = self.chooser.overloads(bare, True, kinds[1:])
        if chosen:
            self._to_operators(chosen, "operator-call", call)
        return bool(chosen)

    def _declares_operator(self, bare: str, symbols: Sequence[Symbol]) -> bool:
        """Whether the file sees the operator ``at::bare``, and not the kernels of this name that other files define.

        ATen/ops/NAME.h declares the one, ATen/ops/NAME_native.h the others (torchgen/gen.py: per-operator headers).
        """
        if bare not in self.operators.by_cpp_name or any(s.file == self.path or s.owner for s in symbols):
            return False
        if any(s.file.endswith(HEADERS) for s in symbols):
            return False
        stem = bare.removesuffix("_symint").removesuffix("_outf").removesuffix("_out")
        written = self.functions.includes.written(self.path)
        return f"ATen/ops/{stem}.h" in written and f"ATen/ops/{stem}_native.h" not in written

    def _direct(self, bare: str, key: str, call: CallRow) -> bool:
        done = False
        for name in self.chooser.overloads(bare, False, self._kinds(call[5])):
            for kernel in self.kernels_of.get((name, key), ()):
                self._edge(kernel, EdgeKind.CALLS, "direct-dispatch", call)
                done = True
        return done

    def _stub(self, bare: str, call: CallRow) -> None:
        node = self.stubs.resolve(call[2], self.symbol.scope)
        if node is not None:
            self._edge(node, EdgeKind.USES_STUB, "stub-call", call)

    def _kinds(self, arguments: Sequence[str]) -> tuple[str, ...]:
        kind, scope, path = self.types.kind, self.symbol.scope, self.path
        own = constants(self.symbol.templates) if self.symbol.templates else None
        if own:
            return tuple([(a[0] == "V" and own.get(a[1:])) or kind(a, scope, path) for a in arguments])
        return tuple([kind(a, scope, path) for a in arguments])

    def _choose(self, symbols: Sequence[Symbol], call: CallRow) -> list[Symbol]:
        """The overload that C++ would take; all that fit equally when the kinds do not tell."""
        if len(symbols) == 1 and "Tlambda" not in call[5]:
            return list(symbols)
        kinds, generic = self._kinds(call[5]), self._generic()
        return choose(symbols, kinds, call[7], self.path, self.functions.classes_by_bare, generic)

    def _generic(self) -> frozenset[str]:
        """Kinds that mean another type in each instantiation of the function: see ``choose``."""
        symbol = self.symbol
        found = self._generics.get(symbol.id)
        if found is None:
            lists = [symbol.templates, *(info.templates for info in self.functions.infos(symbol.owner, self.path))]
            names = [name for text in lists if text for name in parameter_names(text)]
            own = self.dispatching.get(symbol.id)
            kinds = elements(own or self.types_of_file) if names or own is not None else ()
            found = self._generics[symbol.id] = frozenset((*names, *kinds))
        return found

    def _method(self, call: CallRow) -> None:
        name = call[2]
        if name in LOOKUPS:
            self._to_operators(looked_up(call[7]), "operator-lookup", call)
            return
        receiver = call[6]
        scope, path = self.symbol.scope, self.path
        kind = self.types.kind(receiver, scope, path)
        if kind.startswith("ptr ") and not (name in ("get", "release") or kind == "ptr "):
            kind = kind[4:]
        if kind == "Tensor" or pointed(kind, name) == "Tensor":
            self._tensor_method(name, call)
            return
        if kind in ("", "{}"):
            if name == "operator()" or (receiver[:1] == "C" and _bare_class(receiver[1:])):
                return
            if name in self.op_method_names and name not in TENSOR_METHODS and not self._is_method(name):
                # the receiver's type is not known, and nothing but Tensor has a method of this name
                chosen = self.chooser.overloads(name, True, self._kinds(call[5]))
                for operator in chosen:
                    node = self.op_nodes.get(operator)
                    if node is not None:
                        self._edge(node, EdgeKind.CALLS_OP, "operator-call", call, max(2, len(chosen)))
            elif name in self.op_method_names:
                self.lost.append(("method", name, call[3], f"type of the receiver unknown: {receiver[:80]}"))
            return
        if kind.isidentifier() and self._defer(kind, "" if name == "operator()" else name, call):
            return
        for owner in self.functions.class_names(kind, scope, path):
            symbols = self.functions.methods(owner, name, path)
            if symbols:
                own = self._choose(symbols, call)
                others = self._overriders(owner, name, call) if any(s.refuses for s in own) else []
                if others:
                    # there to be overridden: the body of a derived class, or else it raises
                    count = len(own) + len(others)
                    for symbol in own:
                        self._edge(symbol.id, EdgeKind.CALLS, "call", call, count)
                    self._virtual(others, call, count)
                else:
                    self._to_symbols(own, "call", call)
                for given in self.given.by_alias(kind, scope, path):
                    self._to_symbols(given, "reference", call)
                return
            symbols = self.functions.overriders(owner, name, path)
            if symbols:
                self._virtual(symbols, call, len(symbols))
                return
            if self.types.behind(owner, path) == "Tensor":
                self._tensor_method(name, call)
                return
        if name in RUNS:
            first, mark, rest = kind.partition("::")
            for spelt in [kind, *(target + mark + rest for _, target in self.functions.names_of(first, path) if mark)]:
                spelt = spelt.replace(" ", "")
                vendor = vendor_of(f"{spelt}::{name}")
                if vendor:
                    self.library_calls.append((self.symbol.id, f"{spelt}::{name}", call[3], call[4], vendor))
                    return

    def _overriders(self, owner: str, name: str, call: CallRow) -> list[Symbol]:
        """Whose method runs instead of one with a body; none where there are so many that they say nothing."""
        count = len(call[5])
        found = [s for s in self.functions.overriders(owner, name, self.path) if s.required <= count <= s.total]
        return found if len(found) <= _MOST_OVERRIDERS else []

    def _virtual(self, symbols: Iterable[Symbol], call: CallRow, candidates: int) -> None:
        for symbol in symbols:
            row = Row(self.symbol.id, symbol.id, EdgeKind.CALLS, "", "virtual-call", call[3], call[4], candidates)
            self.virtual.append((self.path, row))

    def _is_method(self, name: str) -> bool:
        """Whether a class of the tree other than Tensor has a method of this name."""
        return any(
            s.owner not in ("", "at::Tensor", "at::TensorBase") and not is_outside(s.file)
            for s in self.functions.by_bare.get(name, ())
        )

    def _tensor_method(self, name: str, call: CallRow) -> None:
        """``x.name(…)`` on a Tensor: an operator, or a method that TensorBody.h or TensorBase.h write by hand."""
        rows = self.operators.methods(name)
        if not rows or all(r.manual for r in rows):
            for owner in ("at::Tensor", "at::TensorBase"):
                symbols = self.functions.methods(owner, name, self.path)
                if symbols:
                    self._to_symbols(self._choose(symbols, call), "call", call)
                    return
        if rows:
            self._to_operators(self.chooser.overloads(name, True, self._kinds(call[5])), "operator-call", call)

    def _launch(self, call: CallRow) -> None:
        name = call[2]
        if self.symbol.templates and name in parameter_names(self.symbol.templates):
            self._defer(name, "", call)
            return
        symbols = self.functions.lookup(name, self.symbol.scope, self.path)
        kernels = [s for s in symbols if s.kind == "kernel"]
        if kernels:
            self._to_symbols(kernels, "launch", call)
        elif symbols:
            self._to_symbols(symbols, "launch", call)
        else:
            self.lost.append(("launch", name, call[3], "no __global__ function of this name is visible"))

    def _construct(self, call: CallRow) -> None:
        if self._defer(call[2], "", call):
            return
        owners = self.functions.class_names(call[2], self.symbol.scope, self.path)
        if owners:
            self._made(owners, call)
        elif call[7]:
            # ``gemm<double>(ARGUMENTS(double));`` reads like a declaration, and is a call of a function template
            symbols = self.functions.lookup(call[2], self.symbol.scope, self.path)
            if symbols:
                self._to_symbols(self._choose(symbols, call), "call", call)

    def _defer(self, parameter: str, method: str, call: CallRow) -> bool:
        """Note a call through a template parameter; False when ``parameter`` is none."""
        if not self.templates.parameter_of(self.symbol, parameter, self):
            return False
        made = None if method else self.invocations.get((call[0], call[3], parameter))
        kinds = self._kinds((made or call)[5]) if made or method else ()
        self.templates.deferred.append(Deferred(self.symbol, parameter, method, call[3], call[4], kinds))
        return True

    def _made(self, owners: Sequence[str], call: CallRow) -> None:
        for owner in owners:
            if owner.startswith(LEAVES):
                continue
            if call[7]:
                self.templates.add_class(owner, Site(self.symbol, call[7], call[5], call[3]))
            for giver in self.given.givers(owner):
                self._to_library(self.given.to_bases(giver, self.path), call)
            bare = owner.rpartition("::")[2]
            constructors = self.functions.methods(owner, bare, self.path)
            if constructors:
                self._to_symbols(self._choose(constructors, call), "construct", call)
            invoked = self.functions.methods(owner, "operator()", self.path)
            invocation = self.invocations.get((call[0], call[3], call[2]))
            if invoked and invocation:
                invoked = self._choose(invoked, invocation)
            if invoked:
                if any(s.kind == "device" for s in invoked):
                    self.functors.made(self.symbol, owner, call)
                self._to_symbols([s for s in invoked if s.kind != "device"], "construct", call)

    def _reference(self, call: CallRow) -> None:
        name = call[2]
        if self.symbol.templates and name in parameter_names(self.symbol.templates):
            return
        bare = name.rpartition("::")[2]
        if bare in self.stubs and not (bare == name and self._own(bare)):
            self._stub(bare, call)
            return
        if bare == name and self.symbol.owner and self.functions.field(self.symbol.owner, name, self.path):
            return  # a member of the class, whatever functions share its name
        symbols = self.functions.lookup(name, self.symbol.scope, self.path)
        if symbols and not (name.startswith("at::") and all(_is_of_numbers(s) for s in symbols)):
            self._to_symbols(symbols, "reference", call)
            return
        if named := self._named_operators(name):
            # handed on: ``unary_op_impl_(self, at::abs_out)``; which overload, its receiver's use tells
            self._to_operators(named, "reference", call)
            return
        owners = self.functions.class_names(name, self.symbol.scope, self.path)
        if symbols:
            self._to_symbols(symbols, "reference", call)
        elif owners:
            self._made(owners, call)
        elif (
            name.startswith(("cu", "hip", "miopen", "nccl"))
            and name[-1] != "_"
            and "::" not in name
            and _MAKES.search(name)
        ):
            # a vendor function handed on: as an argument, or as a template argument
            self._to_library([name], call)

    def _named_operators(self, name: str) -> list[str]:
        """Operators whose address is taken: ``&at::sin``, ``&at::_ops::round::call``, ``&Tensor::fill_``."""
        head, _, bare = name.rpartition("::")
        if bare == "call" and "_ops::" in head:
            operator = self.unambiguous.get(head.rpartition("::")[2])
            return [operator.name] if operator is not None else []
        if head in ("at", "torch"):
            return list(dict.fromkeys(o.name for o, _, _ in self.operators.functions(bare)))
        if head.removeprefix("at::") in ("Tensor", "TensorBase"):
            return list(dict.fromkeys(o.name for o, _, _ in self.operators.methods(bare)))
        return []

    def _printed(self, call: CallRow) -> None:
        """A Tensor in the message of ``TORCH_CHECK``: printed with ``operator<<`` (aten/src/ATen/core/Formatting.h)."""
        kind = self.types.kind(call[6], self.symbol.scope, self.path)
        if kind in ("Tensor", "TensorList"):
            symbols = [
                s
                for s in self.functions.by_name.get("at::operator<<", ())
                if any("Tensor" in p[0] for p in s.parameters)
            ]
            self._to_symbols(symbols, "message", call)

    def _binary(self, call: CallRow) -> None:
        left, right = self._kinds(call[5])
        for names in self.chooser.binary(call[2], left, right):
            self._to_operators(names, "tensor-operator", call)


def _is_of_numbers(symbol: Symbol) -> bool:
    """Whether a function of ``at`` is a template on numbers beside an operator (aten/src/ATen/NumericUtils.h)."""
    return bool(symbol.templates or symbol.special) and not any("Tensor" in row[0] for row in symbol.parameters)


def _bare_class(callee: str) -> bool:
    """Whether what is called is spelt like a class, so that an object of it is made: ``DimMask()``."""
    return without_templates(callee).rpartition("::")[2][:1].isupper()
