"""Lines, columns, wrapping, colours."""

from __future__ import annotations

import pytest

from pytrace.render.page import Page, wrap


@pytest.mark.parametrize(
    ("text", "room", "pieces"),
    [
        ("", 10, []),
        ("one two three", 20, ["one two three"]),
        ("one two three", 8, ["one two", "three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("a abcdefgh", 4, ["a", "abcd", "efgh"]),
    ],
)
def test_wrap(text: str, room: int, pieces: list[str]) -> None:
    assert wrap(text, room) == pieces


@pytest.mark.parametrize(
    ("width", "guard", "lines"),
    [
        (
            60,
            "if (x)",
            ["├─ mul_kernel_cuda  if (x)  cuda/BinaryMulKernel.cu:40"],
        ),
        (50, "if (condition)", ["├─ mul_kernel_cuda       cuda/BinaryMulKernel.cu:40", "│      if (condition)"]),
        (40, "", ["├─ mul_kernel_cuda", "│            cuda/BinaryMulKernel.cu:40".rjust(40)]),
    ],
)
def test_row_keeps_the_place_at_the_edge(width: int, guard: str, lines: list[str]) -> None:
    page = Page(width)
    page.row([("mul_kernel_cuda", "function")], "cuda/BinaryMulKernel.cu:40", indent="├─ ", rest="│  ", guard=guard)
    got = page.text().splitlines()
    assert [" ".join(line.split()) for line in got] == [" ".join(line.split()) for line in lines]
    assert all(len(line) <= width for line in got)
    assert any(line.endswith("cuda/BinaryMulKernel.cu:40") and len(line) == width for line in got)


@pytest.mark.parametrize("width", [40, 57, 80, 133])
def test_nothing_is_lost_or_too_wide(width: int) -> None:
    page = Page(width)
    name = "at::native::" + "very_long_function_name_" * 8
    page.row([("kernel ", "dim"), (name, "function")], "a/b.cpp:1", indent="│  ├─ ", rest="│  │  ", guard="if (x)")
    lines = page.text().splitlines()
    assert all(len(line) <= width for line in lines)
    flat = "".join(line.replace("│", "").replace("├─", "").strip() for line in lines)
    assert name in flat and "if (x)" in flat and "a/b.cpp:1" in flat


def test_plain_has_no_codes_and_colour_has_links() -> None:
    def page(colour: bool) -> str:
        page = Page(60, colour=colour, root="/tree")
        page.row([("add", "op")], "a/b c.cpp:7")
        return page.text()

    assert "\x1b" not in page(False) and page(False).endswith("a/b c.cpp:7\n")
    coloured = page(True)
    assert "\x1b[1;36madd\x1b[0m" in coloured
    assert "\x1b]8;;file:///tree/a/b%20c.cpp#L7\x1b\\" in coloured


def test_control_characters_of_a_source_never_reach_the_terminal() -> None:
    page = Page(60, colour=True)
    page.row([("evil\x1b]0;title\x07name\nx", "function")], "a.cpp:1", guard="if (\x1b[2J)")
    assert "\x1b]0;" not in page.text() and "\x07" not in page.text() and "\x1b[2J" not in page.text()
    assert page.text().count("\n") <= 2
