"""What a C++ file registers: kernels into the dispatcher, functions into dispatch stubs.

Called once for every C++ file, and again at the link stage on the expansion of a macro call; it returns {} at
once when the bytes hold none of the words that matter. In every row of its facts the first column is the line.
"""

from __future__ import annotations

from tree_sitter import Tree

from pytrace.extract.registration_library import extract_libraries
from pytrace.extract.registration_stubs import extract_stubs
from pytrace.model import Facts


def extract(tree: Tree, source: bytes) -> Facts:
    """The registrations of one file; {} for a file that registers nothing.

    ``tree`` is the tree-sitter-cuda tree of ``source`` (or of a same-length rewrite of it). The facts are described
    at ``registration_stubs.extract_stubs`` and ``registration_library.extract_libraries``.
    """
    return {**extract_stubs(tree, source), **extract_libraries(tree, source)}
