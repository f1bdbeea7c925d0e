"""Small trees for tests of the link stage: a few lines of C++ and YAML, linked as a whole tree is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from pytrace.extract import EXTRACTORS
from pytrace.files import kind_of
from pytrace.graph import Graph
from pytrace.link import link

YAML = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"

#: Operators that the tests use; each with kernels of the same name unless it says otherwise.
OPERATORS = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch:
    CPU: add_cpu
    CUDA: add_cuda
- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch:
    CompositeExplicitAutograd: add
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  variants: method
  dispatch:
    CPU: add_
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
- func: sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
- func: sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  variants: method
- func: fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
  variants: function, method
- func: neg(Tensor self) -> Tensor
  variants: function, method
- func: eq.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
- func: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
  variants: function, method
- func: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  variants: function, method
- func: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
  variants: function, method
- func: view(Tensor(a) self, SymInt[] size) -> Tensor(a)
  variants: method
- func: max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)
  variants: function, method
- func: cat(Tensor[] tensors, int dim=0) -> Tensor
- func: unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
  variants: function, method
- func: empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
- func: empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
- func: mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: mm_out_cpu
    CUDA: mm_out_cuda
- func: mm(Tensor self, Tensor mat2) -> Tensor
  structured_delegate: mm.out
  variants: function, method
"""


def linked(files: Mapping[str, str], operators: str = OPERATORS) -> Graph:
    """The graph of some files; a path without a folder stands in ``aten/src/ATen/native/``."""
    tree = {YAML: operators}
    tree |= {path if "/" in path else f"aten/src/ATen/native/{path}": text for path, text in files.items()}
    facts = {}
    for path, text in tree.items():
        kind = kind_of(path)
        assert kind is not None, path
        facts[path] = kind, import_module(EXTRACTORS[kind]).extract(text.encode())
    return link(facts)


def edges(graph: Graph, *kinds: str, source: str = "") -> list[str]:
    """The edges of these kinds (all when none is named), from nodes of the bare name ``source`` if one is given.

    Each as ``[source ]kind[=key] destination[ xCANDIDATES]``, in the order of the graph; names are bare
    for functions, full for operators and library calls.
    """
    names = {row[0]: (row[2] if row[1] in ("op", "library") else row[3]) for row in graph.nodes}
    found = []
    for src, dst, kind, key, _rule, _file, _line, _guard, candidates, *_ in graph.edges:
        if (kinds and kind not in kinds) or (source and names[src] != source):
            continue
        start = "" if source else f"{names[src]} "
        many = f" x{candidates}" if candidates > 1 else ""
        found.append(f"{start}{kind}{f'={key}' if key else ''} {names[dst]}{many}")
    return found


def calls(body: str, before: str = "", parameters: str = "const Tensor& x, int64_t n", **more: str) -> list[str]:
    """What a function ``f`` of ``at::native`` with this body reaches, each as ``kind destination``, sorted.

    ``before`` stands before it in the same namespace; ``more`` are further files, ``A_h`` for ``A.h``.
    """
    files = {name.replace("_", "."): text for name, text in more.items()}
    files["F.cpp"] = f"namespace at::native {{\n{before}\nvoid f({parameters}) {{\n{body}\n}}\n}}\n"
    found = edges(linked(files), source="f")
    return sorted(set(found))
