"""Same-length rewrite of C++ source, so that a grammar without a preprocessor reads its structure.

``normalise(source)`` returns as many bytes and as many newlines; every identifier that is kept stands at its old
offset, on its old row (one exception, below). **Slice names and arguments from the source**, at the offsets of the
tree; the normalised bytes are for the parser only.

What comes out

* Attribute-like macros are spaces (``macro_table``, ``normalise_words``).
* ``NAME(…)`` that stands alone as a statement, without ``;``, gets one (``,`` in a list): in the blank or comment that
  follows, else in place of its newline, which then moves back into the last blank between its arguments (so the
  argument behind that blank is one row late; the macro itself and all that follows are not). Where there is no room
  (``NAME(x)`` with no blank in it, nothing but newlines behind it) the tree has a MISSING ``;`` and is right otherwise.
* An argument of such a macro that is a type (``int``, ``const A&``, ``void(*)(B)``) or an operator becomes a made-up
  identifier of the same length, so that the invocation is a ``call_expression``.
* ``TORCH_IMPL_FUNC(x)(…) {…}`` needs no rewrite: it is a ``function_definition`` whose ``function_declarator`` has a
  ``function_declarator`` as declarator (``TORCH_IMPL_FUNC``, ``parameter_list`` with the name as ``type_identifier``).
  ``TORCH_LIBRARY(x, m) {…}`` and ``DEFINE_FLASH_FORWARD_KERNEL(name, …) {…}`` likewise are a ``function_definition``
  with one ``function_declarator``: its declarator is the macro, its parameters are the arguments.
* ``CUDA_KERNEL_LOOP(i, n) {…}`` is a ``while`` statement, ``CATCH_ALL_ERRORS(…)`` a ``catch`` clause.
* Preprocessor conditionals stay where the grammar can place them: ``normalise_conditionals``.
* Objective-C++ and Metal become C++ of the same structure: ``normalise_objc``.
* What the grammar lacks (``= {}`` defaults, ``decltype(x){0}``, …): ``normalise_gaps``.

Two tiers, because most files need only the first: ``normalise`` does both, ``parse`` does the second only when the
first tree has an ERROR node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytrace.extract import normalise_gaps, normalise_objc, normalise_words
from pytrace.extract.normalise_conditionals import rewrite as rewrite_conditionals
from pytrace.extract.normalise_statements import rewrite as rewrite_statements

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree


def normalise(source: bytes) -> bytes:
    """Rewrite ``source`` (any bytes): same length, same number of newlines; raises nothing."""
    return repair(normalise_common(source))


def parse(source: bytes, parser: Parser) -> tuple[Tree, bytes]:
    """The tree of ``source`` and the normalised bytes it was made from; quicker than ``normalise`` and a parse."""
    clean = normalise_common(source)
    tree = parser.parse(clean)
    if tree.root_node.has_error and has_error_node(tree.root_node):
        repaired = repair(clean)
        if repaired is not clean:
            return parser.parse(repaired), repaired
    return tree, clean


def has_error_node(root: Node) -> bool:
    """Whether there is an ERROR node; MISSING ones (mostly the ``;`` of a macro) leave the structure right."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.is_error:
            return True
        todo += [child for child in node.children if child.has_error]
    return False


def normalise_common(source: bytes) -> bytes:
    """The first tier: what many files need."""
    out = normalise_words.rewrite(source)
    if b"#" in source:
        rewrite_conditionals(out)
    out = bytearray(normalise_gaps.rewrite(normalise_objc.rewrite(bytes(out))))
    rewrite_statements(out)
    return bytes(out)


def repair(clean: bytes) -> bytes:
    """The second tier, on what the first made: what few files need. ``clean`` itself when nothing is to be done."""
    return normalise_gaps.repair(normalise_objc.repair(normalise_words.repair(clean)))
