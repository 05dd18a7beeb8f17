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
    import csv
    import io

    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"not a delimiter: {delimiter!r}")
    text = text[1:] if text.startswith("\ufeff") else text
    source = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records = []
    try:
        for record in source:
            records.append(record or [""])
    except csv.Error as err:
        raise CSVError(str(err), source.line_num) from err
    return records
