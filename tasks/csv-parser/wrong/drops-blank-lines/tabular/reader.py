"""A parser of CSV as RFC 4180 describes it."""

from typing import List


class CSVError(ValueError):
    """The text is no CSV. `line` is the number of the faulty line, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


def parse(text: str, delimiter: str = ",") -> List[List[str]]:
    r"""The records of a CSV text, each a list of its fields.

    R1  Fields are separated by `delimiter`, a single character other than a
        double quote, CR and LF; any other delimiter raises ValueError. An
        empty field is "", also at the end of a record: `a,,` has three
        fields. Records may differ in their number of fields.
    R2  Records end with LF or CRLF, and both may occur in one text. Nothing
        else ends a record: a CR that no LF follows is data, and so are all
        other characters, such as form feed or U+2028.
    R3  A field whose first character is a double quote is quoted. It ends at
        its closing quote and may hold delimiters and line breaks. Line breaks
        in it are kept as they are: LF stays LF, CRLF stays CRLF.
    R4  Within a quoted field two double quotes stand for one.
    R5  A line break at the end of the text ends the last record and begins no
        further one: `a\n` has one record. The empty text has no record.
    R6  A blank line, also a first or last one, is a record with one empty
        field: `a\n\nb` has the records [a], [""], [b], and `a\n\n` has [a],
        [""].
    R7  Spaces and tabs are data and never stripped. A field that begins with
        a space is not quoted.
    R8  CSVError is raised for a double quote within a field that isn't quoted,
        for a closing quote that neither a delimiter nor a line break nor the
        end of the text follows, and for a quoted field that doesn't end.
    R9  CSVError.line is the number of the line of the text that holds the
        fault, counted from 1 by line breaks (LF or CRLF), including those
        within quoted fields. For a quoted field that doesn't end it is the
        line of the opening quote.
    R10 A byte order mark U+FEFF as the first character of the text is left
        out; anywhere else it is data.
    """
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"not a delimiter: {delimiter!r}")
    return _Reader(text, delimiter).records()


class _Reader:
    """One pass over a text; `at` is the position, `line` its line number."""

    def __init__(self, text: str, delimiter: str) -> None:
        self.text = text
        self.delimiter = delimiter
        self.at = 1 if text.startswith("\ufeff") else 0
        self.line = 1

    def records(self) -> List[List[str]]:
        records = []
        while self.at < len(self.text):
            records.append(self.record())
        return [record for record in records if record != [""]]

    def record(self) -> List[str]:
        fields = [self.field()]
        while self.text.startswith(self.delimiter, self.at):
            self.at += 1
            fields.append(self.field())
        length = self.line_break()
        if length:
            self.at += length
            self.line += 1
        return fields

    def line_break(self) -> int:
        """The length of the line break at the position, 0 if there is none."""
        if self.text.startswith("\n", self.at):
            return 1
        return 2 if self.text.startswith("\r\n", self.at) else 0

    def at_end(self) -> bool:
        """Whether a field may end at the position."""
        return (
            self.at >= len(self.text)
            or self.text.startswith(self.delimiter, self.at)
            or self.line_break() > 0
        )

    def field(self) -> str:
        if self.text.startswith('"', self.at):
            return self.quoted()
        start = self.at
        while not self.at_end():
            if self.text[self.at] == '"':
                raise CSVError("a quote within a field that isn't quoted", self.line)
            self.at += 1
        return self.text[start:self.at]

    def quoted(self) -> str:
        opened, start, parts = self.line, self.at + 1, []
        while True:
            close = self.text.find('"', start)
            if close < 0:
                raise CSVError("a quoted field doesn't end", opened)
            parts.append(self.text[start:close])
            self.line += self.text.count("\n", start, close)
            self.at = start = close + 1
            if not self.text.startswith('"', start):
                break
            parts.append('"')
            start += 1
        if not self.at_end():
            raise CSVError("text after a closing quote", self.line)
        return "".join(parts)
