"""What ``ufunc_inner_loop`` makes: kernels that exist in generated code only.

The rules are ``torchgen/dest/ufunc.py``, ``torchgen/api/ufunc.py`` and ``UfuncInnerLoop`` in ``torchgen/model.py``;
the loops themselves are templates written by hand in ``aten/src/ATen/native/ufunc/NAME.h``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pytrace.schema.function import Schema

#: Names of sets of dtypes (``DTYPE_CLASSES`` in torchgen/model.py).
_INTEGRAL = ("Byte", "Char", "Int", "Long", "Short")
_FLOATING = ("Float", "Double")
_COMPLEX = ("ComplexFloat", "ComplexDouble")
DTYPE_CLASSES = {
    "Integral": _INTEGRAL,
    "Floating": _FLOATING,
    "Complex": _COMPLEX,
    "All": (*_INTEGRAL, *_FLOATING),
    "AllAndComplex": (*_INTEGRAL, *_FLOATING, *_COMPLEX),
    "FloatingAndComplex": (*_FLOATING, *_COMPLEX),
}

GENERATOR = "torchgen/dest/ufunc.py"
#: Template that holds the implementation of the structured kernel, by dispatch key.
TEMPLATES = {"CPU": "aten/src/ATen/templates/UfuncCPU.cpp", "CUDA": "aten/src/ATen/templates/UfuncCUDA.cu"}
#: Template of the CPU loop, which is compiled once per CPU capability.
CPU_LOOP_TEMPLATE = "aten/src/ATen/templates/UfuncCPUKernel.cpp"

_FUNCTORS = ("CUDAFunctorOnSelf", "CUDAFunctorOnOther", "CUDAFunctor")


class UfuncLoop(NamedTuple):
    """One line of ``ufunc_inner_loop``: ``Generic: add (AllAndComplex, Half)``."""

    key: str
    name: str
    dtypes: tuple[str, ...]


class UfuncKernel(NamedTuple):
    """A generated kernel of a ufunc operator and what its body reaches."""

    key: str  #: CPU or CUDA
    impl: str  #: the kernel that the dispatch table names, ``ufunc_add_CPU``
    stub: str  #: the dispatch stub that is generated with it, ``add_stub``
    function: str  #: what the stub's slot of this device holds, ``at::native::add_kernel``
    launchers: tuple[str, ...]  #: the generic launchers that the function calls
    functors: tuple[str, ...]  #: generated functors given to them (CUDA)
    loops: tuple[str, ...]  #: the handwritten templates that do the work, ``at::native::ufunc::add``
    template: str  #: the template that the function is generated into


def parse_loop(key: str, text: str) -> UfuncLoop:
    """``add (AllAndComplex, Half)`` -> name and dtypes. ``ValueError`` when it has another form."""
    name, space, dtypes = text.partition(" ")
    if not space or not dtypes.startswith("(") or not dtypes.endswith(")"):
        raise ValueError(f"not a ufunc loop: {text!r}")
    found: dict[str, None] = {}
    for word in dtypes[1:-1].split(","):
        found.update(dict.fromkeys(DTYPE_CLASSES.get(word.strip(), (word.strip(),))))
    return UfuncLoop(key, name, tuple(found))


def kernels(schema: Schema, loops: Mapping[str, str]) -> list[UfuncKernel]:
    """The generated kernels of an out= schema with these ``ufunc_inner_loop`` lines (``StubSignature``)."""
    parsed = [parse_loop(key, text) for key, text in loops.items()]
    base = str(schema.name.name)
    stub, function = f"{base}_stub", f"at::native::{base}_kernel"
    generic = tuple(dict.fromkeys(f"at::native::ufunc::{p.name}" for p in parsed if p.key in ("Generic", "ScalarOnly")))
    written = {p.key: p.name for p in parsed}
    # Two tensors: the scalar one goes into the functor's constructor (eligible_for_binary_scalar_specialization).
    binary = sum(a.type.is_tensor_like for a in schema.non_out) == 2
    name = next((p.name for p in parsed if p.key in ("Generic", "ScalarOnly")), base)
    functors = tuple(written.get(f, f"{f}_{name}") for f in (_FUNCTORS if binary else _FUNCTORS[-1:]))
    cpu = generic + tuple(f"at::native::ufunc::{p.name}" for p in parsed if p.key in ("CPUScalar", "CPUVector"))
    vector = any(key in written for key in ("Generic", "CPUVector"))
    launchers: tuple[str, ...] = ("at::native::cpu_kernel_vec",) if vector else ()
    if any(key in written for key in ("ScalarOnly", "CPUScalar")):
        launchers += ("at::native::cpu_kernel",)
    return [
        UfuncKernel(
            "CPU", f"ufunc_{base}_CPU", stub, function, launchers, (), tuple(dict.fromkeys(cpu)), CPU_LOOP_TEMPLATE
        ),
        UfuncKernel(
            "CUDA",
            f"ufunc_{base}_CUDA",
            stub,
            function,
            ("at::native::gpu_kernel",),
            functors,
            generic,
            TEMPLATES["CUDA"],
        ),
    ]
