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

_IS_OBJC = re.compile(
    rb"@(?:autoreleasepool|interface|implementation|protocol|class|import|available|\"|\[|\()|\n#import|\(\^\s*\w*\)"
)
_IS_METAL = re.compile(rb"metal_stdlib|\[\[(?:buffer|thread_position_in_grid|texture)\b")

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
_FOR_IN = re.compile(rb"(\bfor \([^();]*? )in ")
_BLOCK_TYPE = re.compile(rb"\(\^(?=\s*\w*\s*\))")
_BLOCK = re.compile(rb"(.)\^([\w:<>*& \t]*)(\((?:[^()]|\([^()]*\))*\))?(\s*)(?=\{)", re.DOTALL)
_LITERAL = re.compile(rb"@(?=[\"(\d-]|true\b|false\b|YES\b|NO\b|(?:try|catch|throw)\b)")
_AT_OPEN = re.compile(rb"@\{")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_SELECTOR = re.compile(rb"([A-Za-z_]\w*)\s*(?::(?!:)|\])")
_NEXT_PART = re.compile(rb"\s([A-Za-z_]\w*)?:(?!:)")
_KEYWORDS = frozenset((b"new", b"class", b"default", b"delete", b"private", b"public", b"operator", b"register"))
_OPEN, _CLOSE = b"([{", b")]}"
_BLANKS = b" \t\r\n"

_ATTRIBUTE = re.compile(rb"\[\[[^\[\]\n]*\]\]")
_ADDRESS_SPACE = re.compile(rb"(?<![\w.>])(?:kernel|device|constant|threadgroup|thread)(?=\s+[A-Za-z_])")


def rewrite(source: bytes) -> bytes:
    """``source`` with its Objective-C and Metal turned into C++; other source comes back as it is."""
    if (b"@" in source or b"#import" in source or b"(^" in source) and _IS_OBJC.search(source):
        source = _objective_c(source)
    if (b"[[" in source or b"metal_stdlib" in source) and _IS_METAL.search(source):
        source = _spaced(_ADDRESS_SPACE, _spaced(_ATTRIBUTE, source))
    return source


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
    source = _LITERAL.sub(b" ", source)
    out = bytearray(source)
    at = len(out)
    while True:  # from the last to the first: what stands inside is rewritten before what stands around it
        at = out.rfind(b"[", 0, at)
        if at < 0:
            break
        if at and out[at - 1] == 0x40:
            _array(out, at)
        else:
            _message(out, at)
    for match in reversed(list(_AT_OPEN.finditer(bytes(out)))):
        _dictionary(out, match.start())
    return _TRAILING_COMMA.sub(b" ", bytes(out))


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
    close = _closing(head, match.start(1) - match.start())
    end = len(head.rstrip())
    if b":" not in head[close:] or close < 0 or end == len(head):
        return _space(match[0])
    head[0] = head[head.index(b"(")] = head[close] = 0x20
    at, first = close, True
    for part in re.finditer(rb"([A-Za-z_]\w*)?\s*:\s*(\()", bytes(head)):
        if part.start() < at:
            continue
        close = _closing(head, part.start(2))
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
    if before not in b"(,:={":
        return match[0]
    if result:
        return before + b"[]" + _space(result[1:]) + tail
    if tail:
        return before + b"[]" + _space(tail[1:]) if tail[:1] != b"\n" else match[0]
    return match[0]


def _closing(text: bytes | bytearray, at: int) -> int:
    """Offset of the bracket that closes the one at ``at``; -1 when there is none."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth == 0:
                return at
        elif char == 0x22:
            at = _string_end(text, at)
        at += 1
    return -1


def _string_end(text: bytes | bytearray, at: int) -> int:
    """Offset of the quote that closes the one at ``at``, or the end of the line."""
    at += 1
    while at < len(text) and text[at] not in b'"\n':
        at += 2 if text[at] == 0x5C else 1
    return min(at, len(text) - 1)


def _array(out: bytearray, at: int) -> None:
    """``@[a, b]`` → `` (a, b)``, ``@[]`` → `` 0 ``."""
    close = _closing(out, at)
    if close < 0:
        return
    out[at - 1] = 0x20
    if out[at + 1 : close].strip():
        out[at], out[close] = 0x28, 0x29
    else:
        out[at], out[close] = 0x30, 0x20


def _dictionary(out: bytearray, at: int) -> None:
    """``@{k : v}`` → `` (k , v)``, ``@{}`` → `` 0 ``."""
    close = _closing(out, at + 1)
    if close < 0:
        return
    out[at] = 0x20
    if not out[at + 2 : close].strip():
        out[at + 1], out[close] = 0x30, 0x20
        return
    out[at + 1], out[close] = 0x28, 0x29
    depth = 0
    for index in range(at + 2, close):
        char = out[index]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == 0x3A and depth == 0 and out[index - 1] != 0x3A and out[index + 1] != 0x3A:
            out[index] = 0x2C


def _receiver_end(out: bytearray, at: int) -> int:
    """Offset behind the receiver expression that starts at ``at``, or -1 when none does."""
    start = at
    while at < len(out):
        char = out[at]
        if char in b"([" or (char == 0x7B and at > start):
            at = _closing(out, at) + 1
            if at == 0:
                return -1
        elif char == 0x22:
            at = _string_end(out, at) + 1
        elif char in b".:>-<*&@" or chr(char).isalnum() or char == 0x5F:
            if char == 0x3A and out[at + 1 : at + 2] != b":" and out[at - 1 : at] != b":":
                return -1
            at += 1
        elif char in _BLANKS and at > start:
            rest = at
            while rest < len(out) and out[rest] in _BLANKS:
                rest += 1
            if out[rest : rest + 1] != b"." and out[rest : rest + 2] != b"->":
                return at
            at = rest
        else:
            return -1
    return -1


def _message(out: bytearray, at: int) -> None:
    """Rewrite the ``[`` at ``at`` if it opens a message."""
    start = at + 1
    while start < len(out) and out[start] in _BLANKS:
        start += 1
    end = _receiver_end(out, start)
    if end < 0:
        return
    selector = end
    while selector < len(out) and out[selector] in _BLANKS:
        selector += 1
    match = _SELECTOR.match(out, selector)
    close = _closing(out, at) if match and out[selector - 1] in b" \t" else -1
    if match is None or close < 0:
        return
    name_end = match.end(1)
    last = match.end() - 1
    if match[1] in _KEYWORDS:
        out[name_end - 1] ^= 0x20
    out[at] = 0x20
    out[selector - 1] = 0x2E
    if last == close:
        out[close] = 0x20
        return
    out[last] = 0x28
    out[close] = 0x29
    depth = questions = 0
    index = last + 1
    while index < close:
        char = out[index]
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == 0x22:
            index = _string_end(out, index)
        elif depth == 0:
            if char == 0x3F:
                questions += 1
            elif char in b" \t":
                part = _NEXT_PART.match(out, index, close)
                if part and questions:
                    questions -= 1
                elif part:
                    out[index] = 0x2C
                    blank(out, index + 1, part.end())
                    index = part.end() - 1
        index += 1
