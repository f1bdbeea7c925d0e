"""Patches: which lines of which files, in every spelling that git and diff have."""

from __future__ import annotations

import pytest

from pytrace.errors import BadQuestion
from pytrace.report.patches import FileChange, decoded, parse, ranges

MODIFIED = """\
diff --git a/x/A.cpp b/x/A.cpp
index 1..2 100644
--- a/x/A.cpp
+++ b/x/A.cpp
@@ -10,2 +10,3 @@ void f() {
-old one
-old two
+new one
+new two
+new three
@@ -20 +21,0 @@
-gone
@@ -30,0 +31,2 @@
+put
+in
"""


def lines(change: FileChange) -> tuple[list[int], list[int]]:
    return [line.number for line in change.removed], [line.number for line in change.added]


def test_lines_and_gaps() -> None:
    (change,) = parse(MODIFIED)
    assert (change.path, change.status) == ("x/A.cpp", "modified")
    assert lines(change) == ([10, 11, 20], [10, 11, 12, 31, 32])
    assert change.gaps == [(21, 22)]  # between these lines of the new file something was taken away
    assert change.old_gaps == [(30, 31)]


_NAMES = "--- a/{0}\n+++ b/{0}\n"
_HEADS = [
    ("diff --git a/a.h b/a.h\nnew file mode 100644\n--- /dev/null\n+++ b/a.h\n", "a.h", "added"),
    ("diff --git a/a.h b/a.h\ndeleted file mode 100644\n--- a/a.h\n+++ /dev/null\n", "a.h", "deleted"),
    ("diff --git a/a.h b/b.h\nrename from a.h\nrename to b.h\n--- a/a.h\n+++ b/b.h\n", "b.h", "renamed"),
    ("--- a.h\t2020-01-01\n+++ a.h\t2020-01-02\n", "a.h", "modified"),
    ('diff --git "a/\\303\\251.h" "b/\\303\\251.h"\n--- "a/\\303\\251.h"\n+++ "b/\\303\\251.h"\n', "é.h", "modified"),
    ("diff --git a/a b.h b/a b.h\n" + _NAMES.format("a b.h"), "a b.h", "modified"),
    ("Subject: [PATCH] x\n\n---\n a.h | 2 +-\n\ndiff --git a/a.h b/a.h\n" + _NAMES.format("a.h"), "a.h", "modified"),
]


@pytest.mark.parametrize(("head", "path", "status"), _HEADS)
def test_heads(head: str, path: str, status: str) -> None:
    (change,) = parse(head + "@@ -1 +1 @@\n-a\n+b\n")
    assert (change.path, change.status) == (path, status)
    assert lines(change) == ([1], [1])


def test_context_lines_are_not_changes() -> None:
    (change,) = parse("--- a/f\n+++ b/f\n@@ -5,4 +5,4 @@\n same\n-was\n+is\n same\n \n")
    assert lines(change) == ([6], [6])
    assert [line.number for line in change.context] == [5, 7, 8]


def test_a_removed_line_that_looks_like_a_head() -> None:
    (change,) = parse("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n--- sql comment\n-x\n+y\n")
    assert [line.text for line in change.removed] == ["-- sql comment", "x"]


@pytest.mark.parametrize(
    "text", ["", "no patch at all\n", "@@ -1 +1 @@\n-a\n", "--- \n+++ \n", "diff --git\n@@ -1,9 +1,9 @@"]
)
def test_what_is_no_patch(text: str) -> None:
    assert parse(text) == []


def test_several_files_and_a_binary() -> None:
    text = (
        MODIFIED
        + "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n"
        + MODIFIED.replace("A.cpp", "B.cpp")
    )
    assert [(c.path, c.binary) for c in parse(text)] == [("x/A.cpp", False), ("p.png", True), ("x/B.cpp", False)]


@pytest.mark.parametrize("path", ["/etc/passwd.cpp", "../secret.cpp", "a/../../secret.cpp"])
def test_paths_that_leave_the_tree_are_no_files_of_it(path: str) -> None:
    assert parse(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n") == []


def test_ranges() -> None:
    assert ranges([3, 1, 2, 9, 2]) == [(1, 3), (9, 9)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MODIFIED[: MODIFIED.index("+new three")], r"a hunk of x/A\.cpp \(@@ -10,2 \+10,3 @@\) is not whole"),
        (MODIFIED.replace("+new three", "wrapped"), r"is not whole"),
        ("diff --cc x/A.cpp\nindex 1,2..3\n--- a/x/A.cpp\n+++ b/x/A.cpp\n@@@ -1,1 -1,1 +1,2 @@@\n", "of a merge"),
    ],
)
def test_patches_whose_lines_cannot_be_told(text: str, said: str) -> None:
    """A patch that is half there must not be taken for one that changes nothing."""
    with pytest.raises(BadQuestion, match=said):
        parse(text)


@pytest.mark.parametrize(
    "data",
    [
        MODIFIED.encode(),
        MODIFIED.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + MODIFIED.encode(),
        b"\xff\xfe" + MODIFIED.encode("utf-16-le"),  # PowerShell's `git diff > change.patch`
    ],
)
def test_how_a_patch_is_written(data: bytes) -> None:
    (change,) = parse(decoded(data))
    assert (change.path, lines(change)) == ("x/A.cpp", ([10, 11, 20], [10, 11, 12, 31, 32]))
