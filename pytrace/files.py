"""The files of a checkout that bear on the graph, by kind. No file is opened here."""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from pytrace.checkout import MARK

#: The folders that bear on the graph; everything else of a checkout (docs, tests, CI, third-party) is not read.
TOPS = ("aten", "c10", "torch", "torchgen", "tools", "caffe2", "functorch")

#: Files with a kind of their own, by path.
KIND_OF_PATH = {
    MARK: "native_functions",
    "aten/src/ATen/native/tags.yaml": "tags",
    "tools/autograd/derivatives.yaml": "derivatives",
    "tools/autograd/deprecated.yaml": "deprecated",
}

#: C, C++, CUDA, HIP, Objective-C++ and Metal sources and headers.
CPP_SUFFIXES = frozenset(
    (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hip", ".inl", ".m", ".mm", ".metal")
)

#: Sources with ``${placeholders}`` that PyTorch's generators fill in (torchgen/gen.py, tools/autograd/gen_*.py).
TEMPLATE_FOLDERS = ("aten/src/ATen/templates/", "tools/autograd/templates/")

#: Test programs and benchmarks in C++: no operator is reached through them, and nothing that they define or register
#: is part of the library (their folders have CMake targets of their own).
TEST_CODE = re.compile(r"/(?:tests?|bench|benchmarks?)/|_test\.\w+$")

#: Where Python that matters lives: the package, the generators, functorch.
PYTHON_FOLDERS = ("torch/", "torchgen/", "tools/autograd/", "functorch/")

#: Folder names never entered: other people's code, build trees, byte code.
SKIPPED_NAMES = frozenset(("third_party", "build", "__pycache__", "node_modules"))

#: Folders that a build fills inside the source tree (setup.py copies the installed headers to torch/include and
#: writes the generators' output beside the sources): copies and generated code, in no commit. An index must not
#: depend on whether the tree was built.
SKIPPED_FOLDERS = frozenset(
    ("torch/include", "torch/share", "torch/bin", "torch/csrc/autograd/generated", "torch/csrc/lazy/generated")
)


class File(NamedTuple):
    """One file to index: path from the root (with ``/``), kind, and what ``stat`` said when it was listed.

    ``changed_ns`` is the ctime: unlike the mtime, nothing can set it back, and replacing a file by another of the
    same size and mtime (every file of an unpacked release has the same mtime) changes it.
    """

    path: str
    kind: str
    size: int
    changed_ns: int


class Listing(NamedTuple):
    """What ``list_files`` found.

    ``directories`` holds every folder that was read with its mtime (0 for one of ``TOPS`` that does not exist), so
    that a later look at these mtimes tells whether a file has come or gone. ``diagnostics`` are
    (path, line, kind, message).
    """

    files: list[File]
    directories: list[tuple[str, int]]
    diagnostics: list[tuple[str, int, str, str]]


#: Python of which only the outline is read: it defines names and registers things, but no call of a user passes
#: through it on the way to an operator. Compilers and exporters, which rewrite programs; tools; texts of documentation.
OUTLINE_FOLDERS = (
    *(f"torch/{name}/" for name in ("_inductor", "_dynamo", "onnx", "fx", "_export", "export")),  # rewrite programs
    *(f"torch/{name}/" for name in ("testing", "package", "profiler", "_logging")),  # test, ship and watch them
    *(f"torch/distributed/{name}/" for name in ("elastic", "launcher")),  # start processes
    *(f"torch/utils/{name}/" for name in ("benchmark", "hipify", "tensorboard", "bottleneck", "_sympy")),  # tools
    "torch/_torch_docs.py",
    "torch/_tensor_docs.py",
    "torch/_storage_docs.py",
    "torchgen/",  # the generators themselves
    "tools/",
)


def kind_of(path: str) -> str | None:
    """The kind of the file at ``path`` (from the root, with ``/``), or None when it does not bear on the graph."""
    special = KIND_OF_PATH.get(path)
    if special:
        return special
    suffix = os.path.splitext(path)[1]
    if suffix == ".py":
        if not path.startswith(PYTHON_FOLDERS):
            return None
        return "python_outline" if path.startswith(OUTLINE_FOLDERS) else "python"
    if suffix in CPP_SUFFIXES:
        if TEST_CODE.search(path):
            return None
        return "template" if path.startswith(TEMPLATE_FOLDERS) else "cpp"
    return None


def is_read(path: str) -> bool:
    """Whether the folder of the file at ``path`` is one that is read (``TOPS``, and nothing that is skipped below)."""
    top, *folders = path.split("/")[:-1] or [""]
    below = [f"{top}/{'/'.join(folders[: n + 1])}" for n in range(len(folders))]
    skipped = any(name in SKIPPED_NAMES or name[:1] == "." for name in folders)
    return top in TOPS and not skipped and SKIPPED_FOLDERS.isdisjoint(below)


def list_files(root: str) -> Listing:
    """All files of ``root`` that have a kind, sorted by path.

    Symbolic links are not followed: what they point to is either read under its own name, or outside of the
    tree. (So a loop of links cannot be entered either.) A folder that cannot be read, a source file that is a
    link, a name that is no UTF-8 become diagnostics.
    """
    listing = Listing([], [], [])
    for top in TOPS:
        path = os.path.join(root, top)
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            listing.directories.append((top, 0))
            continue
        if stat.S_ISDIR(mode):
            _walk(root, top, listing)
        else:
            what = "a symbolic link" if stat.S_ISLNK(mode) else "not a folder"
            listing.diagnostics.append((top, 0, "skipped", f"{what}; not entered"))
    listing.files.sort()
    listing.directories.sort()
    return listing


def _walk(root: str, top: str, listing: Listing) -> None:
    """Add the folder ``top`` (from the root) and all below it to the listing."""
    todo = [top]
    while todo:
        folder = todo.pop()
        full = os.path.join(root, folder)
        try:
            # The mtime is taken before the folder is read: a file that comes in between is found next time.
            listing.directories.append((folder, os.stat(full).st_mtime_ns))
            with os.scandir(full) as entries:
                for entry in entries:
                    _visit(entry, f"{folder}/{entry.name}", todo, listing)
        except OSError as error:
            listing.diagnostics.append((folder, 0, "unreadable", f"folder not read: {error.strerror}"))


def _visit(entry: os.DirEntry[str], path: str, todo: list[str], listing: Listing) -> None:
    """Take one entry of a folder: a folder goes to ``todo``, a file with a kind to the listing."""
    if entry.is_dir(follow_symlinks=False):
        if entry.name not in SKIPPED_NAMES and entry.name[0] != "." and path not in SKIPPED_FOLDERS:
            todo.append(path)
        return
    kind = kind_of(path)
    if kind is None:
        return
    if not path.isprintable() or not _is_utf8(path):
        listing.diagnostics.append((ascii(path), 0, "skipped", "the name is not printable UTF-8; not read"))
    elif entry.is_symlink():
        listing.diagnostics.append((path, 0, "skipped", "a symbolic link; not read under this name"))
    elif entry.is_file(follow_symlinks=False):
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # gone between the two calls: as if it had never been there
            return
        listing.files.append(File(path, kind, status.st_size, status.st_ctime_ns))


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
