"""What the Python extractor knows about Python and about PyTorch's conventions: tables, a reason per row."""

from __future__ import annotations

import builtins
import re

#: Operator tokens -> (method, reflected method), from the Python data model.
BINARY = {
    "+": ("__add__", "__radd__"),
    "-": ("__sub__", "__rsub__"),
    "*": ("__mul__", "__rmul__"),
    "/": ("__truediv__", "__rtruediv__"),
    "//": ("__floordiv__", "__rfloordiv__"),
    "%": ("__mod__", "__rmod__"),
    "**": ("__pow__", "__rpow__"),
    "@": ("__matmul__", "__rmatmul__"),
    "&": ("__and__", "__rand__"),
    "|": ("__or__", "__ror__"),
    "^": ("__xor__", "__rxor__"),
    "<<": ("__lshift__", "__rlshift__"),
    ">>": ("__rshift__", "__rrshift__"),
}
AUGMENTED = {
    "+=": "__iadd__",
    "-=": "__isub__",
    "*=": "__imul__",
    "/=": "__itruediv__",
    "//=": "__ifloordiv__",
    "%=": "__imod__",
    "**=": "__ipow__",
    "@=": "__imatmul__",
    "&=": "__iand__",
    "|=": "__ior__",
    "^=": "__ixor__",
    "<<=": "__ilshift__",
    ">>=": "__irshift__",
}
COMPARISON = {
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
    "<>": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
}
UNARY = {"-": "__neg__", "~": "__invert__", "+": "__pos__"}

#: Builtins that call a method of their first argument.
BUILTIN_METHODS = {
    "abs": "__abs__",
    "bool": "__bool__",
    "complex": "__complex__",
    "float": "__float__",
    "int": "__int__",
    "iter": "__iter__",
    "len": "__len__",
    "reversed": "__reversed__",
    "round": "__round__",
}

#: Methods that an operator, a statement or a builtin calls without naming them.
IMPLICIT = frozenset(
    (
        *(name for names in (*BINARY.values(), *COMPARISON.values()) for name in names),
        *AUGMENTED.values(),
        *UNARY.values(),
        *BUILTIN_METHODS.values(),
        *("__getitem__", "__setitem__", "__contains__"),
    )
)

BUILTINS = frozenset(dir(builtins))

#: Attributes and methods of a Tensor that read a field and call no operator
#: (torch/csrc/autograd/python_variable.cpp, tools/autograd/templates/python_variable_methods.cpp); their results are
#: numbers, sizes and flags.
NOT_TENSORS = frozenset(
    (
        *("shape", "dtype", "device", "layout", "ndim", "names", "is_cuda", "requires_grad", "grad_fn"),
        *("dim", "size", "numel", "stride", "ndimension", "nelement", "storage_offset", "element_size", "data_ptr"),
        *("get_device", "is_contiguous"),
    )
)

#: torch/overrides.py: hands a call over to a subclass's __torch_function__; no path of the function that asks.
OVERRIDE = re.compile(r"\b(?:has|handle)_torch_function\w*$")

#: Properties of TensorBase whose setter does work (torch/csrc/autograd/python_variable.cpp: THPVariable_properties);
#: assignments to other attributes are kept only where the file defines a setter of that name.
TENSOR_SETTERS = frozenset({"data", "grad", "real", "imag"})

#: A function whose name begins so answers yes or no: its result, used as a condition, is no Tensor.
PREDICATE = re.compile(r"(?:^|\.)_?(?:is|has|can|should|supports|use|all|any|isinstance)_\w*\(\)$")

#: Functions that enter what they are given into a table: an operator among their arguments is not called by them.
REGISTERING = re.compile(r"(?:^|[._])register_\w+$")

#: Functions that give back one of their arguments (its index), so that the value keeps its type.
IDENTITY = {
    "cast": 1,  # typing.cast(type, value)
    "copy.copy": 0,
    "copy.deepcopy": 0,
    "functools.partial": 0,  # calling the result calls the argument
    "partial": 0,
    "torch.jit.annotate": 1,  # torch/jit/__init__.py: returns the_value
    "torch.jit._unwrap_optional": 0,  # torch/jit/__init__.py: asserts and returns x
}

#: Containers of torch/nn/modules/container.py: an element is (an element of) the first argument.
CONTAINERS = frozenset({"ModuleList", "Sequential", "ParameterList"})

#: nn.Module methods that make an attribute hold a Tensor (torch/nn/modules/module.py).
TENSOR_REGISTRATIONS = frozenset({"register_buffer", "register_parameter"})

#: What stands under a key of an optimizer's parameter group (``self.param_groups[0]["params"]``):
#: torch/optim/optimizer.py, add_param_group(), makes a list of it and refuses what is no Tensor.
PARAMETER_GROUP = {"params": "T{}"}

#: Decorators whose function is a declaration for the type checker, not code that runs.
DECLARATIONS = frozenset(
    {"overload", "typing.overload", "_overload", "torch.jit._overload", "torch.jit._overload_method"}
)
