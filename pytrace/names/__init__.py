"""Names of kernels as profilers, debuggers and linkers print them, in one form.

``read`` understands what demanglers make of a symbol (Kineto and ``c++filt``, nsys, ncu, nvprof, gcc, clang), the
symbol itself (Itanium C++ ABI), names cut short, and what nvcc writes for lambdas and anonymous namespaces. Pure
text: nothing here asks an index; ``pytrace.trace.profiled`` does.
"""

from __future__ import annotations

from pytrace.names.demangled import parse_demangled
from pytrace.names.mangled import parse_mangled
from pytrace.names.parts import KernelName, Part, Path, unit_of
from pytrace.names.vendors import Vendor, vendor_of

__all__ = ["KernelName", "Part", "Path", "Vendor", "read", "unit_of", "vendor_of"]


def read(text: str) -> KernelName:
    """Take a kernel's name apart; never fails: what is no name at all comes back without parts.

    >>> read("void at::native::reduce_kernel<512, 1, at::native::MeanOps<float> >(int)").name
    'at::native::reduce_kernel'
    >>> read("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_").arguments[1].name
    'at::native::FillFunctor'
    """
    text = text.strip().strip("`'\"").strip()
    plain = text.removeprefix("_") if text.startswith("__Z") else text  # a Mach-O symbol has one more underscore
    if plain.startswith("_Z"):
        return parse_mangled(plain)
    return parse_demangled(text)
