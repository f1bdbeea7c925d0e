"""Error messages and warnings that name an operator: which one, and for which dispatch key.

The wordings are PyTorch's: aten/src/ATen/core/dispatch/OperatorEntry.cpp ("Could not run"),
aten/src/ATen/mps/MPSFallback.mm ("is not currently implemented for the MPS device"),
torch/csrc/autograd/autograd_not_implemented_fallback.cpp ("derivative for"), and
aten/src/ATen/functorch/BatchedFallback.cpp ("batching rule for").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pytrace.model import EdgeKind, Node
from pytrace.store import Store
from pytrace.trace.devices import is_layer
from pytrace.trace.table import from_python

_NAME = r"['\"\u2018]?(?P<op>\w+::\w+(?:\.\w+)?)"
_WORDINGS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"Could not run {_NAME}.*? (?:from|on) the ['\"\u2018]?(?P<key>\w+)",
        rf"operator {_NAME}['\"\u2019]? is not currently \w+ (?:for|on) the (?P<key>\w+)",
        rf"(?:derivative|batching rule|backward|implementation|kernel)\w* (?:for|of) {_NAME}(?P<key>)",
        rf"{_NAME}(?P<key>)",
    )
)


_ARGUMENTS = re.compile(
    r"(?:^|[\s:])([A-Za-z_][\w.]*)\(\)(?:: argument| received an invalid| missing \d+ required| takes \d+| got )"
)
#: "Function 'PowBackward0' returned nan values" (torch/csrc/autograd/anomaly_mode.cpp), ``grad_fn=<MulBackward0>``
_NODE = re.compile(r"\b[A-Z]\w*Backward\d*\b")


class Message(NamedTuple):
    """The operator of a message, and the dispatch key that it speaks of ("" for none)."""

    op: str
    key: str


def read(text: str) -> Message | None:
    """The operator that a message of several words names; None when it names none.

    >>> read("Could not run 'aten::_spdiags' with arguments from the 'CUDA' backend.")
    Message(op='aten::_spdiags', key='CUDA')
    """
    if not re.search(r"\s", text.strip()):
        return None
    wordings = _WORDINGS[:-1] if "(" in text else _WORDINGS  # a C++ signature is no message
    for wording in wordings:
        match = wording.search(text)
        if match:
            return Message(match["op"], match["key"])
    return None


def python_function(text: str) -> str:
    """The function whose arguments a message of torch/csrc/utils/python_arg_parser.cpp is about; "" for another text.

    >>> python_function("conv2d() received an invalid combination of arguments - got (Tensor)")
    'conv2d'
    """
    found = _ARGUMENTS.search(text)
    return found[1] if found else ""


def autograd_node(text: str) -> str:
    """The autograd node that a message, or what a Tensor prints of itself, names; "" when it names none.

    >>> autograd_node("tensor(2., grad_fn=<AddmmBackward0>)")
    'AddmmBackward0'
    """
    found = _NODE.search(text) if re.search(r"[\s<]", text.strip()) else None
    return found.group() if found else ""


def verdict(store: Store, message: Message, ops: list[Node]) -> str:
    """What the tree has for the key that the message speaks of, in a sentence."""
    told = f"the message is about {message.op}"
    if not message.key:
        return told
    written = [n for n in ops if "generated_from" not in n.attrs] or ops
    edges = [
        *store.edges_from([n.id for n in written], EdgeKind.DISPATCHES),
        *(e for _, e, _ in from_python(store, written)),
    ]
    keys = list(dict.fromkeys(e.key for e in edges))
    backends = [key for key in keys if not is_layer(key)] or keys
    composite = [key for key in keys if key.startswith("Composite")]
    if message.key in keys:
        return f"{told}; in this tree it has a kernel for {message.key}"
    if composite and len(composite) == len(backends):
        return f"{told}; in this tree it is composite, so that what it calls decides for {message.key}"
    return f"{told}; in this tree it has no kernel for {message.key}, only for {', '.join(backends) or 'nothing'}"
