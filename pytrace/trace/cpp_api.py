"""Names of the C++ frontend (``torch::nn::Linear``, ``torch::nn::functional::linear``), for ``pytrace api``."""

from __future__ import annotations

from pytrace.model import Node, NodeKind
from pytrace.store import Store
from pytrace.trace import spelling

#: What a walk down from a name of the frontend goes through.
THROUGH = frozenset((NodeKind.CPP_CLASS, NodeKind.FUNCTION))
#: Where the frontend stands; a bare name means what is there before anything else.
_FOLDER = "torch/csrc/api/"
#: Short names that C++ code gives to the frontend's namespaces, by custom (``namespace F = torch::nn::functional;``).
_ALIASES = {
    "F": "torch::nn::functional",
    "nn": "torch::nn",
    "optim": "torch::optim",
    "functional": "torch::nn::functional",
}


def is_cpp(text: str) -> bool:
    """Whether the text can only be a C++ name."""
    return "::" in text


def nodes(store: Store, text: str) -> list[Node]:
    """The class, or all overloads of the function, that ``text`` names; [] when the frontend has none of this name."""
    name = spelling.cpp_name(text).removeprefix("::")
    head, mark, rest = name.partition("::")
    if mark and head in _ALIASES:
        name = f"{_ALIASES[head]}::{rest}"
    last = name.rpartition("::")[2]
    found = [n for n in store.bare(last, *THROUGH) if n.name == name or n.name.endswith(f"::{name}")]
    found = [n for n in found if n.file.startswith(_FOLDER)]
    exact = [n for n in found if n.name == name]
    found = exact or found
    return [n for n in found if n.kind == NodeKind.CPP_CLASS] or found


def operator_name(text: str) -> str:
    """``at::add`` for ``torch::add``: ``using namespace at;`` in torch/csrc/api/include/torch/types.h."""
    name = spelling.cpp_name(text)
    return f"at::{name.removeprefix('torch::')}" if name.startswith("torch::") and name.count("::") == 1 else name
