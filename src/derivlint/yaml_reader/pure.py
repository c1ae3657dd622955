"""ruamel.yaml's scanner and parser in Python, adapted to libyaml: YAML 1.1, and libyaml's treatment of tabs."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.docinfo import DocInfo
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import ScalarEvent
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner, ScannerError
from ruamel.yaml.tokens import ValueToken

from derivlint.yaml_reader.decode import BREAKS

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_HALF_ESCAPE = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")
_BLANKS = " \t"
_ENDS = "\0" + BREAKS
_ANCHOR_CHARACTERS = frozenset("-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ANCHOR_ENDS = frozenset(_ENDS + _BLANKS + "?:,]}%@`")


class PureParser(Reader, Scanner, Parser):
    """A parser of a text; reader, scanner and parser are one object, as ruamel.yaml expects."""

    comment_handling = None
    processing_version = (1, 1)

    # In YAML 1.1, NEL, LS and PS are line ends.
    forward = Reader.forward_1_1

    def __init__(self, text: str) -> None:
        self.doc_infos = [DocInfo()]
        Reader.__init__(self, text, loader=self)
        Scanner.__init__(self, loader=self)
        self._resolver = self
        Parser.__init__(self, loader=self)

    def get_event(self) -> Any:
        """Return the next event.

        Raises:
            YAMLError: the text is not YAML; other errors of the scanner are converted to it.
        """
        try:
            event = Parser.get_event(self)
        except YAMLError:
            raise
        except Exception as error:
            # ``"\U00110000"`` is beyond Unicode; the scanner has passed the ``\U``.
            if isinstance(error, (ValueError, OverflowError)) and self.buffer.endswith("\\U", 0, self.pointer):
                raise self._bad_escape(self.index - 2) from error
            raise ScannerError(None, None, f"unexpected {type(error).__name__}", self.get_mark()) from error
        # ``"\ud800"`` is a lone surrogate, which libyaml rejects.
        if isinstance(event, ScalarEvent) and event.style == '"' and _HALF_CHARACTER.search(event.value):
            escape = _HALF_ESCAPE.search(self.buffer, event.start_mark.index)
            raise self._bad_escape(escape.start() if escape is not None else event.start_mark.index)
        return event

    def _bad_escape(self, index: int) -> ScannerError:
        mark = self.get_mark()
        mark.index = index
        return ScannerError("while scanning a quoted scalar", mark, "found invalid Unicode character escape code", mark)

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line ends; a tab is a blank only where no key can begin."""
        if self.index == 0 and self.peek() == "\ufeff":
            self.forward()
        while True:
            while self.peek() == " " or (self.peek() == "\t" and (self.flow_level or not self.allow_simple_key)):
                self.forward()
            if self.peek() == "#":
                while self.peek() not in _ENDS:
                    self.forward()
            if not self.scan_line_break():
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_anchor(self, TokenClass: Any) -> Any:  # noqa: N803
        """Scan the name of an anchor or alias: letters and digits as in YAML 1.1, so not ``&a.b``."""
        start = self.get_mark()
        kind = "alias" if self.peek() == "*" else "anchor"
        self.forward()
        length = 0
        while self.peek(length) in _ANCHOR_CHARACTERS:
            length += 1
        if not length or self.peek(length) not in _ANCHOR_ENDS:
            self.forward(length)
            problem = "did not find expected alphabetic or numeric character"
            raise ScannerError(f"while scanning an {kind}", start, problem, self.get_mark())
        name = self.prefix(length)
        self.forward(length)
        return TokenClass(name, start, self.get_mark())

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str] | None:
        """Scan the blanks and folded line ends inside a plain scalar; None before a document marker."""
        length = 0
        while self.peek(length) in _BLANKS:
            length += 1
        blanks = self.prefix(length)
        self.forward(length)
        if self.peek() not in BREAKS:
            return [blanks] if blanks else []
        self.allow_simple_key = True
        breaks = []
        while self.peek() in BREAKS:
            breaks.append(self.scan_line_break())
            if self.prefix(3) in ("---", "...") and self.peek(3) in _ENDS + _BLANKS:
                return None
            while self.peek() in _BLANKS:
                if self.peek() == "\t" and self.column < indent:
                    problem = "found a tab character that violates indentation"
                    raise ScannerError("while scanning a plain scalar", start_mark, problem, self.get_mark())
                self.forward()
        if breaks[0] != "\n":
            return breaks
        return breaks[1:] or [" "]

    def parse_block_mapping_value(self) -> Any:
        """Parse a value; an absent one is directly after its colon."""
        token = self.peek_token()
        event = Parser.parse_block_mapping_value(self)
        if (
            isinstance(token, ValueToken)
            and isinstance(event, ScalarEvent)
            and event.anchor is None
            and event.start_mark.index == event.end_mark.index
        ):
            event.start_mark = event.end_mark = token.end_mark
        return event
