"""Objective-C++ and Metal, rewritten (same length) into C++ of the same structure.

PyTorch's MPS and Metal code is C++ around Objective-C expressions. What matters to the graph is the C++ (functions,
calls, blocks, which are lambdas); messages become method calls, so that library calls can be read as well:

* ``[graph addWithTensor:a name:nil]`` → `` graph.addWithTensor(a,     nil)``; ``[x count]`` → `` x.count ``.
* ``^(T* x) {…}`` → ``[](T* x) {…}`` (the ``[`` takes the blank before ``^``; without one the parameters go).
* ``@autoreleasepool {`` → ``{``; ``@"s"``, ``@1``, ``@(x)`` lose the ``@``; ``@[a, b]`` → `` (a, b)``.
* ``@interface … @end`` and ``@protocol … @end`` are blanked. In ``@implementation`` a method with arguments becomes a
  function of the same name; of one without only the body is left.
* Metal: ``[[buffer(0)]]`` and the address spaces (``kernel``, ``device``, ``constant``, ``threadgroup``) are blanked.
"""

from __future__ import annotations

import re

from pytrace.extract.normalise_conditionals import blank

_OBJC_WORD = re.compile(rb"@(?:autoreleasepool|interface|implementation|protocol|class|import|available|\"|\[|\()")
_MESSAGE = re.compile(rb"\[[A-Za-z_]\w* [a-z]\w*(?:\]|:[^:])")
_DECLARATIONS = re.compile(rb"(?<=\n)@(?:interface|protocol)\b[^;{}\n]*\n.*?\n@end\b", re.DOTALL)
_IMPLEMENTATION = re.compile(rb"(?<=\n)@implementation\b[^\n{]*(\{[^}]*\})?(.*?)\n(@end)\b", re.DOTALL)
_DIRECTIVE = re.compile(
    rb"@(?:synthesize|dynamic|property|class|import|protocol|compatibility_alias)\b[^;\n]*;"
    rb"|@(?:autoreleasepool|finally)\b"
)
_ENUM = re.compile(rb"(typedef )?NS_(?:ENUM|OPTIONS)\([ \w]+, *(\w+)\)")
_COMPILE_TIME = re.compile(rb"@(selector|encode)\(([^()]*)\)")
_TRAILING_COMMA = re.compile(rb",(?=\s*\))")
_METHOD = re.compile(rb"(?<=\n)[-+]\s*(\()[^;{}]*?(?=[{;])")
_QUALIFIER = re.compile(
    rb"\b(?:__block|__weak|__strong|__autoreleasing|__unsafe_unretained|__bridge|_?_?[nN]onnull|_?_?[nN]ullable)\b"
)
_AVAILABILITY = re.compile(rb"\bAPI_AVAILABLE\((?:[^()]|\([^()]*\))*\)")
_AVAILABLE = re.compile(rb"@available\(([^()]*)\)")
_FOR_IN = re.compile(rb"(for \([^();]*? )in ")
_BLOCK_TYPE = re.compile(rb"\(\^(?=\s*\w*\s*\))")
_BLOCK = re.compile(rb"([ \t(,:={])\^([\w:<>*& \t]*)(\((?:[^()]|\([^()]*\))*\))?(\s*)(?=\{)", re.DOTALL)
_LITERAL = re.compile(rb"@(?=[\"(\d-]|true\b|false\b|YES\b|NO\b|(?:try|catch|throw)\b)")
_BRACKET = re.compile(rb"[()\[\]{}]|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'|//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPACE = re.compile(rb"\s+")
_RECEIVER = re.compile(rb"(?:[\w.<>*&@-]|::|\"(?:[^\"\\\n]|\\.)*\")+")
_SELECTOR = re.compile(rb"\s*[ \t]([A-Za-z_]\w*)\s*(?::(?!:)|\])")
_ARGUMENT = re.compile(rb"[(\[{?]|\"(?:[^\"\\\n]|\\.)*\"|[ \t](?:[A-Za-z_]\w*)?:(?!:)")
_COLON = re.compile(rb"[(\[{]|\"(?:[^\"\\\n]|\\.)*\"|::|:")
_KEYWORDS = frozenset((b"new", b"class", b"default", b"delete", b"private", b"public", b"operator", b"register"))
_OPEN, _CLOSE = (b"(", b"[", b"{"), (b")", b"]", b"}")

_ATTRIBUTE = re.compile(rb"\[\[[^\[\]\n]*\]\]")
_ADDRESS_SPACE = re.compile(rb"(?<![\w.>])(?:kernel|device|constant|threadgroup|thread)(?=\s+[A-Za-z_])")


def rewrite(source: bytes) -> bytes:
    """``source`` with its Objective-C and Metal turned into C++, where a glance can tell that it has some."""
    if b"@" in source and _OBJC_WORD.search(source):
        source = _objective_c(source)
    if b"[[buffer(" in source:
        source = _metal(source)
    return source


def repair(source: bytes) -> bytes:
    """The same, after a closer look; for source that ``rewrite`` has seen. ``source`` itself when there is nothing."""
    changed = source
    if b"#import" in source or b"(^" in source or b"__bridge" in source or _MESSAGE.search(source):
        changed = _objective_c(source)
    if b"metal_stdlib" in source:
        changed = _metal(changed)
    return source if changed == source else changed


def _metal(source: bytes) -> bytes:
    return _spaced(_ADDRESS_SPACE, _spaced(_ATTRIBUTE, source))


def _objective_c(source: bytes) -> bytes:
    source = _spaced(_DECLARATIONS, source)
    if b"@implementation" in source:
        source = _IMPLEMENTATION.sub(_implementation, source)
    for pattern in (_DIRECTIVE, _QUALIFIER, _AVAILABILITY):
        source = _spaced(pattern, source)
    source = _ENUM.sub(_enum, source)
    source = _COMPILE_TIME.sub(lambda m: b" " + m[1] + b"(" + _space(m[2]) + b")", source)
    source = _AVAILABLE.sub(lambda m: b" available(" + _space(m[1]) + b")", source)
    source = _FOR_IN.sub(lambda m: m[1] + b":  ", source)
    source = _BLOCK_TYPE.sub(b"(*", source)
    if b"^" in source:
        source = _BLOCK.sub(_block, source)
    source = _LITERAL.sub(b" ", source).replace(b"?:", b"||")
    out = bytearray(source)
    pairs = _pairs(source)
    for at in sorted(pairs, reverse=True):  # what stands inside is rewritten before what stands around it
        if source[at] == 0x5B:
            if at and source[at - 1] == 0x40:
                _array(out, at, pairs[at])
            else:
                _message(out, at, pairs)
    for at in sorted(pairs, reverse=True):
        if source[at] == 0x7B and at and source[at - 1] == 0x40:
            _dictionary(out, at, pairs)
    return _TRAILING_COMMA.sub(b" ", bytes(out))


def _pairs(source: bytes) -> dict[int, int]:
    """Offset of every opening bracket → offset of its closing one; literals and comments hold none."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for match in _BRACKET.finditer(source):
        token = match[0]
        if token in _OPEN:
            stack.append(match.start())
        elif token in _CLOSE and stack:
            pairs[stack.pop()] = match.start()
    return pairs


def _space(text: bytes) -> bytes:
    """As many blanks, newlines kept."""
    return re.sub(rb"[^\n]", b" ", text)


def _spaced(pattern: re.Pattern[bytes], source: bytes) -> bytes:
    """``source`` with every match blanked."""
    return pattern.sub(lambda m: _space(m[0]), source)


def _implementation(match: re.Match[bytes]) -> bytes:
    """``@implementation X {ivars} methods @end`` → its methods."""
    text = match[0]
    body_at = match.start(2) - match.start()
    return _space(text[:body_at]) + _METHOD.sub(_method, match[2]) + b"\n" + _space(match[3])


def _method(match: re.Match[bytes]) -> bytes:
    """``- (T)name:(A)x more:(B)y `` → ``   T name( A x,      B y)``; blanks when there are no arguments."""
    head = bytearray(_spaced(_AVAILABILITY, match[0]))
    pairs = _pairs(bytes(head))
    close = pairs.get(match.start(1) - match.start(), -1)
    end = len(head.rstrip())
    if close < 0 or b":" not in head[close:] or end == len(head):
        return _space(match[0])
    head[0] = head[head.index(b"(")] = head[close] = 0x20
    at, first = close, True
    for part in re.finditer(rb"([A-Za-z_]\w*)?\s*:\s*(\()", bytes(head)):
        if part.start() < at:
            continue
        close = pairs.get(part.start(2), -1)
        if close < 0:
            return _space(match[0])
        colon = part.end() - 1 - part[0][::-1].index(b":")
        if first:
            head[colon] = 0x28
        else:
            blank(head, part.start(), part.end())
            head[part.start() - 1] = 0x2C
        head[part.start(2)] = head[close] = 0x20
        at, first = close, False
    if head.count(b"\n") != match[0].count(b"\n"):
        return _space(match[0])
    head[end] = 0x29
    return bytes(head) if bytes(head).count(b"\n") == match[0].count(b"\n") else _space(match[0])


def _enum(match: re.Match[bytes]) -> bytes:
    """``typedef NS_ENUM(T, X)`` → ``enum X`` at the place of the ``X``."""
    head = b"enum".rjust(len(match[1] or b"") + 4)
    return head + b" " * (match.start(2) - match.start() - len(head)) + match[2] + b" "


def _block(match: re.Match[bytes]) -> bytes:
    """``^R(A a) {`` → ``[] (A a) {`` in as many bytes."""
    before, result, params, gap = match[1], match[2], match[3] or b"", match[4]
    tail = params + gap
    if before in b" \t":
        if params and result.strip():
            return before + b"[" + b"]" + _space(result[1:]) + tail
        return b"[]" + _space(result) + tail
    if result:
        return before + b"[]" + _space(result[1:]) + tail
    if tail:
        return before + b"[]" + _space(tail[1:]) if tail[:1] != b"\n" else match[0]
    return match[0]


def _array(out: bytearray, at: int, close: int) -> None:
    """``@[a, b]`` → `` (a, b)``, ``@[]`` → `` 0 ``."""
    out[at - 1] = 0x20
    if out[at + 1 : close].strip():
        out[at], out[close] = 0x28, 0x29
    else:
        out[at], out[close] = 0x30, 0x20


def _dictionary(out: bytearray, at: int, pairs: dict[int, int]) -> None:
    """``@{k : v}`` → `` (k , v)``, ``@{}`` → `` 0 ``."""
    close = pairs[at]
    out[at - 1] = 0x20
    if not out[at + 1 : close].strip():
        out[at], out[close] = 0x30, 0x20
        return
    out[at], out[close] = 0x28, 0x29
    position = at + 1
    while (match := _COLON.search(out, position, close)) is not None:
        position = match.end()
        if match[0] == b":":
            out[match.start()] = 0x2C
        elif match.start() in pairs:
            position = pairs[match.start()] + 1


def _receiver_end(out: bytearray, at: int, pairs: dict[int, int]) -> int:
    """Offset behind the receiver expression that starts at ``at``, or -1 when none does."""
    start = at
    while True:
        match = _RECEIVER.match(out, at)
        if match:
            at = match.end()
        if at in pairs and (out[at] != 0x7B or at > start):
            at = pairs[at] + 1
            continue
        blanks = _SPACE.match(out, at)
        if at == start or blanks is None:
            return -1
        following = blanks.end()
        if out[following : following + 1] == b"." or out[following : following + 2] == b"->":
            at = following
            continue
        return at


def _message(out: bytearray, at: int, pairs: dict[int, int]) -> None:
    """Rewrite the ``[`` at ``at`` if it opens a message."""
    blanks = _SPACE.match(out, at + 1)
    end = _receiver_end(out, blanks.end() if blanks else at + 1, pairs)
    if end < 0:
        return
    match = _SELECTOR.match(out, end)
    if match is None:
        return
    close = pairs[at]
    selector, last = match.start(1), match.end() - 1
    if match[1] in _KEYWORDS:
        out[match.end(1) - 1] ^= 0x20
    out[at] = 0x20
    out[selector - 1] = 0x2E
    if last == close:
        out[close] = 0x20
        return
    out[last] = 0x28
    out[close] = 0x29
    pairs[last] = close
    questions = 0
    position = last + 1
    while (part := _ARGUMENT.search(out, position, close)) is not None:
        position = part.end()
        if part[0] == b"?":
            questions += 1
        elif part.start() in pairs:
            position = pairs[part.start()] + 1
        elif part[0][-1] == 0x3A:
            if questions:
                questions -= 1
            else:
                out[part.start()] = 0x2C
                blank(out, part.start() + 1, part.end())
