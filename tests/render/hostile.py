"""Names that other people's files could hold, and that no format may run, break on, or pass through."""

from __future__ import annotations

from pytrace.render.drawing import Drawing, Sketch
from pytrace.report.rows import Stamp

#: Markup, quotes, fences, formulas of spreadsheets, escape codes, line ends, another direction of writing, no UTF-8.
NAMES = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror=alert(1)>',
    "</script></style><b>",
    "a|b`c``d*e_f[g](h)",
    "@everyone #1 ~x~ $y$",
    "=HYPERLINK(1)",
    "line\nbreak\r\x1b[31mred\x00",
    "\u202eevil\u2066",
    "]]> --> */ %% end",
    "lone \udcff surrogate",
    "&amp; &#60;",
)
STAMP = Stamp("9.9", "v9.9", "c0ffee" * 6, "no", "https://example.org/x", "0.0")


def drawing() -> Drawing:
    """A picture all of whose texts are hostile."""
    sketch = Sketch(NAMES[0], STAMP)
    band = sketch.band(NAMES[1])
    last = None
    for number, name in enumerate(NAMES):
        kinds = ("python", "binding", "op", "function", "stub", "cuda_kernel", "library", "formula")
        box = sketch.box(band, kinds[number % 8], name, f"dir/{name}.cpp", number + 1, note=name)
        box.more.append(name)
        if last is not None:
            sketch.arrow(last, box, name, name, name, 1 + number % 2)
        last = box
    sketch.drawing.notes += NAMES
    return sketch.drawing
