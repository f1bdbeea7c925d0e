"""Operators as ``native_functions.yaml`` means them: one ``Operator`` per overload, written or generated.

This is ``parse_native_yaml`` of ``torchgen/gen.py`` with ``NativeFunction.from_yaml`` (``torchgen/model.py``) and
``add_generated_native_functions`` (``torchgen/native_function_generation.py``). Where torchgen asserts, the odd entry
becomes a diagnostic and what can be kept is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pytrace.schema import (
    FUNCTIONAL,
    INPLACE,
    MUTABLE,
    OUT,
    Schema,
    functional_variant,
    generated_kernel_name,
    out_variant,
    parse_schema,
    split_namespace,
)
from pytrace.schema import keys as dispatch_keys

KERNEL_NAMESPACE = "at::native"

#: Names that ``is_view_op`` of torchgen leaves out although they are tagged ``inplace_view``:
#: Note [resize_ in Functionalization] in torchgen/model.py.
_NO_INPLACE_VIEW = frozenset(("resize_", "resize_as_"))
#: ``set_`` is an in-place view that gets its variants generated all the same (``add_generated_native_functions``).
_GENERATED_THOUGH_VIEW = "set_"
#: Tags that a generated variant takes over from its source (``generate_function``).
_INHERITED_TAGS = frozenset(("nondeterministic_seeded", "view_copy", "pt2_compliant_tag"))

#: An operator with only these is decomposed before backends see it.
_IMPLICIT = {dispatch_keys.CIA, dispatch_keys.CIA_NESTED}

FUNCTION, METHOD = "function", "method"


class Generated(NamedTuple):
    """Who writes a kernel that no file of the tree holds."""

    what: str  #: in words: ``out= from functional``
    generator: str  #: path of the generator in the tree
    template: str  #: path of the template it fills in


class KernelRef(NamedTuple):
    """The kernel function that a dispatch key of an operator names."""

    name: str
    namespace: str = KERNEL_NAMESPACE
    structured: bool = False  #: then it is ``structured_NAME::impl``, from ``TORCH_IMPL_FUNC(NAME)``
    line: int = 0  #: where the key stands in the YAML; the operator's line for a default
    generated: Generated | None = None

    @property
    def symint(self) -> bool:
        """Whether the function takes ``SymInt`` (torchgen: ``BackendMetadata.supports_symint``)."""
        return "_symint" in self.name

    @property
    def qualified(self) -> str:
        """The full name of the C++ function."""
        return (
            f"{self.namespace}::structured_{self.name}::impl" if self.structured else f"{self.namespace}::{self.name}"
        )


@dataclass(frozen=True)
class Group:
    """The variants of one operator, by full name; "" where there is none (``NativeFunctionsGroup``)."""

    functional: str
    out: str
    inplace: str = ""
    mutable: str = ""


@dataclass(frozen=True)
class ViewGroup:
    """A view with its copying and in-place variants, by full name (``NativeFunctionsViewGroup``)."""

    view: str
    copy: str = ""
    inplace: str = ""


@dataclass(eq=False)
class Operator:
    """One overload. Made once, never changed after ``build``."""

    name: str  #: ``aten::add_.Tensor``
    namespace: str
    base: str  #: ``add_``: what stands before the overload
    overload: str
    text: str  #: the schema with namespace
    schema: Schema | None  #: None when the schema is unknown or not understood
    file: str = ""
    line: int = 0
    variants: frozenset[str] = frozenset((FUNCTION,))
    tags: frozenset[str] = frozenset()
    dispatch: dict[str, KernelRef] = field(default_factory=dict)  #: by key, composite default included
    #: what a delegating operator gets from the structured kernels of its out= operator
    inherited: dict[str, KernelRef] = field(default_factory=dict)
    #: keys that torchgen registers wrappers for, without a kernel of that name in the tree (Meta of structured …)
    generated_keys: dict[str, Generated] = field(default_factory=dict)
    python_module: str = ""
    category_override: str = ""
    structured: bool = False
    structured_delegate: str = ""  #: full name of the out= operator
    structured_inherits: str = ""
    precomputed: tuple[str, ...] = ()
    autogen: tuple[str, ...] = ()  #: as written, without namespace
    ufunc: dict[str, str] = field(default_factory=dict)  #: ``Generic`` -> ``add (AllAndComplex, BFloat16)``
    device_check: str = "ExactSame"
    device_guard: bool = True
    manual_cpp_binding: bool = False
    manual_kernel_registration: bool = False
    cpp_no_default_args: frozenset[str] = frozenset()
    const_ref_mutable: bool = False  #: ``use_const_ref_for_mutable_tensors``
    is_abstract: bool = True  #: whether backends implement it; false for what is only an implicit composite
    lines: dict[str, int] = field(default_factory=dict)  #: of the YAML keys that edges cite
    generated_from: str = ""  #: full name of the operator whose ``autogen`` made this one
    generated_calls: str = ""  #: full name of the operator that its generated kernel calls
    group: Group | None = None
    view_group: ViewGroup | None = None

    @property
    def kind(self) -> str:
        """``functional``, ``inplace``, ``out``, ``mutable`` or ``scratch``; "" when the schema is unknown."""
        return self.schema.kind if self.schema else ""

    @property
    def is_generated(self) -> bool:
        """Whether torchgen made it up."""
        return bool(self.generated_from)

    @property
    def root(self) -> str:
        """The base name without what marks its variant: ``add`` for ``add_`` and ``__iadd__``."""
        return self.schema.name.name.base if self.schema else self.base

    @cached_property
    def is_view(self) -> bool:
        """torchgen: ``NativeFunction.is_view_op``."""
        if self.schema is None:
            return False
        return (
            any(r.annotation and not r.annotation.is_write for r in self.schema.returns)
            or ("inplace_view" in self.tags and self.local_name not in _NO_INPLACE_VIEW)
            or any(a.annotation and "*" in a.annotation.after for a in self.schema.arguments)
        )

    @property
    def local_name(self) -> str:
        """``add_.Tensor``: the name without namespace."""
        return f"{self.base}.{self.overload}" if self.overload else self.base

    @property
    def part_of_structured_group(self) -> bool:
        """Whether its kernels are structured, its own or those it delegates to."""
        return self.structured or bool(self.structured_delegate)

    @property
    def has_composite(self) -> bool:
        """Whether one kernel serves all backends (torchgen: ``has_composite_kernel``)."""
        d = self.dispatch
        return dispatch_keys.CIA in d or dispatch_keys.CEA in d or dispatch_keys.CEA_NON_FUNCTIONAL in d


#: (path, line, kind, message)
Diagnostics = list[tuple[str, int, str, str]]
EntryRow = tuple[int, str, Mapping[str, Any]]


class Builder:
    """Turns the rows of ``native_functions.yaml`` into operators."""

    def __init__(self, file: str, valid_tags: Iterable[str]) -> None:
        self.file = file
        self.valid_tags = frozenset(valid_tags)
        self.diagnostics: Diagnostics = []

    def say(self, line: int, message: str) -> None:
        """Keep what is odd about the operator model."""
        self.diagnostics.append((self.file, line, "operator", message))

    def build(self, entries: Sequence[EntryRow]) -> list[Operator]:
        """All operators: the written ones in order, then the generated ones."""
        operators: dict[str, Operator] = {}
        for line, func, fields in entries:
            op = self.operator(line, func, fields)
            if op is None:
                continue
            if (other := operators.get(op.name)) is not None:
                self.say(line, f"{op.name} is defined a second time; the first stands at line {other.line}")
                continue
            operators[op.name] = op
        groups = self._pre_groups(operators.values())
        for variants in groups:
            for op in self._generated(variants):
                if op.name in operators:
                    self.say(op.line, f"the generated operator {op.name} exists already")
                else:
                    operators[op.name] = variants[op.kind] = op
        self._delegates(operators)
        for variants in groups:
            self._group(variants)
        _view_groups(operators.values())
        for op in operators.values():
            _generated_keys(op, operators)
        return list(operators.values())

    def operator(self, line: int, func: str, fields: Mapping[str, Any]) -> Operator | None:
        """One entry as written, with its own dispatch table; None when it has no usable schema."""
        namespace, local = split_namespace(func.partition("(")[0].strip())
        text = f"{namespace}::{local}{func[func.find('(') :]}" if "(" in func else func
        try:
            schema = parse_schema(text[len(namespace) + 2 :])
        except ValueError as error:
            self.say(line, str(error))
            return None
        op = Operator(
            name=f"{namespace}::{local}",
            namespace=namespace,
            base=local.partition(".")[0],
            overload=schema.name.overload,
            text=text,
            schema=schema,
            file=self.file,
            line=line,
            variants=self._variants(line, fields.get("variants", FUNCTION)),
            tags=self._tags(line, namespace, fields.get("tags", ())),
            python_module=fields.get("python_module", ""),
            category_override=fields.get("category_override", ""),
            structured=fields.get("structured", False),
            structured_inherits=fields.get("structured_inherits", ""),
            precomputed=tuple(fields.get("precomputed", ())),
            autogen=tuple(n.strip() for n in fields.get("autogen", "").split(",") if n.strip()),
            device_check=fields.get("device_check", "ExactSame"),
            device_guard=fields.get("device_guard", True),
            manual_cpp_binding=fields.get("manual_cpp_binding", False),
            manual_kernel_registration=fields.get("manual_kernel_registration", False),
            cpp_no_default_args=frozenset(fields.get("cpp_no_default_args", ())),
            const_ref_mutable=fields.get("use_const_ref_for_mutable_tensors", False),
            lines=fields.get("lines", {}),
        )
        if delegate := fields.get("structured_delegate"):
            op.structured_delegate = f"{namespace}::{delegate}"
        self._dispatch(op, schema, fields)
        op.is_abstract = bool(delegate) or not op.dispatch or not op.dispatch.keys() <= _IMPLICIT
        return op

    def _variants(self, line: int, text: str) -> frozenset[str]:
        variants = frozenset(v.strip() for v in text.split(","))
        if odd := variants - {FUNCTION, METHOD}:
            self.say(line, f"unknown variants: {', '.join(sorted(odd))}")
        return variants

    def _tags(self, line: int, namespace: str, written: str | Sequence[str]) -> frozenset[str]:
        tags = {written} if isinstance(written, str) else set(written)
        if self.valid_tags and (odd := tags - self.valid_tags):
            self.say(line, f"tags that tags.yaml does not define: {', '.join(sorted(odd))}")
        if namespace == "aten" and "pt2_compliant_tag" in self.valid_tags:
            # "All aten ops generated by torchgen receive the pt2_compliant tag" (NativeFunction.from_yaml).
            tags.add("pt2_compliant_tag")
        return frozenset(tags)

    def _dispatch(self, op: Operator, schema: Schema, fields: Mapping[str, Any]) -> None:
        written = fields.get("dispatch")
        for keys, kernel, line in written or ():
            namespace, name = split_namespace(kernel, default="at")
            for key in dispatch_keys.parse_keys(keys):
                if key not in dispatch_keys.ALL:
                    self.say(line, f"unknown dispatch key {key!r} of {op.name}")
                if key in op.dispatch:
                    self.say(line, f"{op.name} names {key} twice")
                    continue
                structured = op.structured and key in dispatch_keys.STRUCTURED
                op.dispatch[key] = KernelRef(name, f"{namespace}::native", structured, line)
        if written is None and not op.structured and not op.structured_delegate:
            op.dispatch[dispatch_keys.CIA] = KernelRef(schema.cpp_name, line=op.line)
        loops = fields.get("ufunc_inner_loop", ())
        op.ufunc = {"Generic": loops} if isinstance(loops, str) else {key: value for key, value, _ in loops}
        if op.ufunc:
            for key in dispatch_keys.UFUNC:
                op.dispatch[key] = KernelRef(
                    f"ufunc_{schema.name.name}_{key}", structured=True, line=op.line, generated=_UFUNC[key]
                )

    def _pre_groups(self, operators: Iterable[Operator]) -> list[dict[str, Operator]]:
        """Variants of the same operator by kind (``pre_group_native_functions``)."""
        groups: dict[tuple[object, ...], dict[str, Operator]] = {}
        for op in operators:
            if op.schema is None:
                continue
            variants = groups.setdefault((op.namespace, op.schema.group_key()), {})
            if op.kind in variants:
                self.say(op.line, f"{op.name} and {variants[op.kind].name} are the same {op.kind} variant")
            else:
                variants[op.kind] = op
        return list(groups.values())

    def _generated(self, variants: Mapping[str, Operator]) -> Iterator[Operator]:
        """The variants that torchgen adds to a group (``add_generated_native_functions``)."""
        members = variants.values()
        if all(op.manual_cpp_binding for op in members):
            return
        if any(op.is_view and op.base != _GENERATED_THOUGH_VIEW for op in members):
            return
        if all(dispatch_keys.CIA in op.dispatch for op in members) and not any("core" in op.tags for op in members):
            return
        if OUT in variants and len(variants) == 1:
            # Out= operators that no functional one is grouped with; torchgen knows two of them by name and refuses
            # any other: OUT_OPS_THAT_DONT_GET_GROUPED_PROPERLY. Either way nothing is generated.
            return
        source = next((variants[kind] for kind in (MUTABLE, INPLACE, OUT, FUNCTIONAL) if kind in variants), None)
        if source is None or source.schema is None:
            return
        valid = source.kind == INPLACE or any(r.type.is_tensor_like for r in source.schema.returns)
        wants_out = any("out" in name for name in source.autogen)
        makes_out = OUT not in variants and valid and wants_out
        try:
            if makes_out:
                yield _variant(source, out_variant(source.schema))
            if FUNCTIONAL not in variants and (OUT in variants or makes_out):
                yield _variant(source, functional_variant(source.schema))
        except ValueError as error:
            self.say(source.line, str(error))

    def _delegates(self, operators: Mapping[str, Operator]) -> None:
        for op in operators.values():
            if not op.structured_delegate:
                continue
            target = operators.get(op.structured_delegate)
            if target is None:
                self.say(op.line, f"{op.name} delegates to {op.structured_delegate}, which does not exist")
            elif not target.structured:
                self.say(op.line, f"{op.name} delegates to {target.name}, which is not structured")
            else:
                op.inherited = {k: ref for k, ref in target.dispatch.items() if ref.structured and k not in op.dispatch}

    def _group(self, variants: Mapping[str, Operator]) -> None:
        """Set ``group`` of variants that have at least a functional and an out= one (``NativeFunctionsGroup``)."""
        if FUNCTIONAL not in variants or OUT not in variants:
            return
        names = {kind: op.name for kind, op in variants.items()}
        group = Group(names[FUNCTIONAL], names[OUT], names.get(INPLACE, ""), names.get(MUTABLE, ""))
        promised, made = set(), set()
        for op in variants.values():
            op.group = group
            promised |= {f"{op.namespace}::{n}" for n in op.autogen}
            if op.is_generated:
                made.add(op.name)
                # gen_composite_out_kernel calls the functional one, gen_composite_functional_kernel the written one.
                op.generated_calls = group.functional if op.kind == OUT else group.inplace or group.mutable
        for name in sorted(promised ^ made):
            line = min([op.lines["autogen"] for op in variants.values() if "autogen" in op.lines] or [op.line])
            self.say(line, f"{name}: the autogen line and what the rules generate differ")


_VIEW_COPY_TEMPLATE = "aten/src/ATen/templates/CompositeViewCopyKernels.cpp"
_REGISTER_TEMPLATE = "aten/src/ATen/templates/RegisterDispatchKey.cpp"
_UFUNC = {
    "CPU": Generated("ufunc loop", "torchgen/dest/ufunc.py", "aten/src/ATen/templates/UfuncCPU.cpp"),
    "CUDA": Generated("ufunc loop", "torchgen/dest/ufunc.py", "aten/src/ATen/templates/UfuncCUDA.cu"),
}
_VARIANT_BODY = {
    OUT: Generated("out= from functional", "torchgen/native_function_generation.py", _VIEW_COPY_TEMPLATE),
    FUNCTIONAL: Generated(
        "functional from in-place or mutable", "torchgen/native_function_generation.py", _VIEW_COPY_TEMPLATE
    ),
}
_VIEW_COPY = Generated("copy of a view", "torchgen/gen_functionalization_type.py", _VIEW_COPY_TEMPLATE)
_STRUCTURED_WRAPPER = Generated("structured wrapper", "torchgen/dest/register_dispatch_key.py", _REGISTER_TEMPLATE)
_BACKEND_SELECT = Generated("backend select", "torchgen/gen.py", "aten/src/ATen/templates/RegisterBackendSelect.cpp")
_INPLACE_META = Generated("in-place Meta kernel", "torchgen/dest/register_dispatch_key.py", _REGISTER_TEMPLATE)


def _variant(source: Operator, schema: Schema) -> Operator:
    """A generated operator: one explicit composite kernel and few properties of its source (``generate_function``)."""
    assert source.schema is not None
    local = str(schema.name)
    kernel = KernelRef(
        generated_kernel_name(schema, source.schema), line=source.line, generated=_VARIANT_BODY[schema.kind]
    )
    return Operator(
        name=f"{source.namespace}::{local}",
        namespace=source.namespace,
        base=str(schema.name.name),
        overload=schema.name.overload,
        text=f"{source.namespace}::{schema}",
        schema=schema,
        file=source.file,
        line=source.line,
        tags=frozenset(("generated",)) | (source.tags & _INHERITED_TAGS),
        dispatch={dispatch_keys.CEA: kernel},
        device_check="NoCheck",
        device_guard=False,
        const_ref_mutable=source.const_ref_mutable,
        is_abstract=source.is_abstract,
        lines={"autogen": source.lines["autogen"]} if "autogen" in source.lines else {},
        generated_from=source.name,
    )


def _view_groups(operators: Iterable[Operator]) -> None:
    """Set ``view_group`` of views and of their copies (``get_grouped_by_view_native_functions`` in torchgen/gen.py).

    A copy whose name is the view's and ``_copy`` has a generated kernel (``GenCompositeViewCopyKernel``).
    """
    all_ops = [(op, op.schema, op.is_view) for op in operators if op.schema]
    roots = {schema.name.name.base for _, schema, is_view in all_ops if is_view}
    groups: dict[tuple[object, ...], dict[str, Operator]] = {}
    for op, schema, is_view in all_ops:
        root = _without_copy(schema.name.name.base)
        if root in roots:
            role = op.kind if not is_view else "view_inplace" if schema.name.name.inplace else "view"
            groups.setdefault((op.namespace, schema.group_key(root)), {}).setdefault(role, op)
    for members in groups.values():
        view, copy, inplace = members.get("view"), members.get(FUNCTIONAL), members.get("view_inplace")
        if view is None:
            continue
        group = ViewGroup(view.name, copy.name if copy else "", inplace.name if inplace else "")
        for op in filter(None, (view, copy, inplace)):
            op.view_group = group
        key = dispatch_keys.CEA_NON_FUNCTIONAL
        if copy and copy.root == f"{view.base}_copy" and key in copy.dispatch:
            copy.dispatch[key] = copy.dispatch[key]._replace(generated=_VIEW_COPY)
            copy.generated_calls = view.name


def _without_copy(base: str) -> str:
    """``view_copy`` -> ``view``, ``slice_scatter`` -> ``slice_inverse`` (``signature(strip_view_copy_name=True)``)."""
    if base.endswith("_copy"):
        return base.replace("_copy", "")
    return base.replace("scatter", "inverse") if base.endswith("_scatter") else base


def _generated_keys(op: Operator, operators: Mapping[str, Operator]) -> None:
    """Note the keys for which torchgen registers a wrapper of its own making (torchgen/dest/register_dispatch_key.py).

    Structured operators get Meta, and their functional and in-place variants CompositeExplicitAutogradNonFunctional
    (``gen_structured``, ``gen_one``); other in-place operators that return self and are no composite get a Meta kernel
    that only checks (``gen_unstructured``: ``inplace_meta``).
    """
    factory = op.schema is not None and op.schema.options_index >= 0
    if factory and not op.base.endswith("_like") and not op.base.startswith("new_"):
        # needs_backend_select in torchgen/gen.py: no tensor says the key, the TensorOptions do.
        op.generated_keys["BackendSelect"] = _BACKEND_SELECT
    out = operators.get(op.group.out) if op.group else None
    if out is not None and out.structured:
        op.generated_keys["Meta"] = _STRUCTURED_WRAPPER
        if op.kind != OUT:
            op.generated_keys[dispatch_keys.CEA_NON_FUNCTIONAL] = _STRUCTURED_WRAPPER
    elif (
        op.kind == INPLACE
        and op.schema is not None
        and len(op.schema.returns) == 1
        and "Meta" not in op.dispatch
        and not op.has_composite
        and not op.manual_kernel_registration
    ):
        op.generated_keys["Meta"] = _INPLACE_META
