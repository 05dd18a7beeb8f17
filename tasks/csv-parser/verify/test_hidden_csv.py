import ast
import itertools
import pathlib
import random
import subprocess
import sys
import unittest

import tabular
from tabular import CSVError, parse
from tabular.table import rows

PACKAGE = pathlib.Path(tabular.__file__).resolve().parent


class Case(unittest.TestCase):
    maxDiff = None

    def gives(self, text, want, **options):
        self.assertEqual(parse(text, **options), want, repr(text))

    def fails(self, text, line=None, **options):
        with self.assertRaises(CSVError, msg=repr(text)) as caught:
            parse(text, **options)
        if line is not None:
            self.assertEqual(caught.exception.line, line, repr(text))


class Fields(Case):
    def test_separated(self):
        """R1: fields are separated by commas"""
        self.gives("a,b,c", [["a", "b", "c"]])

    def test_empty_fields(self):
        """R1: empty fields are kept, also at the end of a record"""
        self.gives("a,,\n,b\n,", [["a", "", ""], ["", "b"], ["", ""]])

    def test_ragged(self):
        """R1: records may differ in their number of fields"""
        self.gives("a\nb,c\nd,e,f\n", [["a"], ["b", "c"], ["d", "e", "f"]])

    def test_delimiter(self):
        """R1: the delimiter may be any other character"""
        self.gives("a;b,c\n", [["a", "b,c"]], delimiter=";")
        self.gives("a\tb\n\t", [["a", "b"], ["", ""]], delimiter="\t")
        self.gives('a|"b|c"|.', [["a", "b|c", "."]], delimiter="|")
        self.gives("a b", [["a", "b"]], delimiter=" ")

    def test_bad_delimiter(self):
        """R1: a delimiter that is a quote, a line break or no single character raises ValueError"""
        for delimiter in ('"', "\n", "\r", "", ",,", "\r\n"):
            with self.assertRaises(ValueError, msg=repr(delimiter)):
                parse("a", delimiter=delimiter)

    def test_lists_of_str(self):
        """R1: the result is a list of lists of strings"""
        got = parse("1,2\n")
        self.assertIs(type(got), list)
        self.assertEqual([type(r) for r in got], [list])
        self.assertEqual(got, [["1", "2"]])


class LineBreaks(Case):
    def test_crlf(self):
        """R2: CRLF ends a record"""
        self.gives("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]])

    def test_mixed(self):
        """R2: LF and CRLF may occur in one text"""
        self.gives("a\nb\r\nc\n", [["a"], ["b"], ["c"]])

    def test_lone_cr(self):
        """R2: a CR without LF is data"""
        self.gives("a\rb,c\r\nd", [["a\rb", "c"], ["d"]])
        self.gives("a\r", [["a\r"]])
        self.gives("a\r\r\nb", [["a\r"], ["b"]])

    def test_other_separators(self):
        """R2: no other character ends a record"""
        for char in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
            self.gives(f"a{char}b,c\nd", [[f"a{char}b", "c"], ["d"]])

    def test_other_separators_alone(self):
        """R2: a line of such a character alone is a record with that field"""
        self.gives("\x0c\n\u2028\n", [["\x0c"], ["\u2028"]])


class Quoted(Case):
    def test_delimiter(self):
        """R3: a quoted field keeps its delimiters"""
        self.gives('"a,b",c', [["a,b", "c"]])

    def test_newline(self):
        """R3: a quoted field keeps its newlines"""
        self.gives('"a\nb",c\nd', [["a\nb", "c"], ["d"]])

    def test_crlf(self):
        """R3: a quoted field keeps CRLF as CRLF and LF as LF"""
        self.gives('"a\r\nb\nc",d\r\n', [["a\r\nb\nc", "d"]])

    def test_blank_line(self):
        """R3: a blank line within a quoted field is part of it"""
        self.gives('"a\n\nb"\n', [["a\n\nb"]])
        self.gives('"\n"', [["\n"]])

    def test_empty(self):
        """R3: two quotes alone are an empty field"""
        self.gives('""', [[""]])
        self.gives('"",""\n""', [["", ""], [""]])

    def test_last_field(self):
        """R3: a quoted field may end with the record or the text"""
        self.gives('a,"b"\r\nc,"d"', [["a", "b"], ["c", "d"]])

    def test_cr(self):
        """R3: a quoted field keeps a CR, also as its last character"""
        self.gives('"a\rb","c\r"\n', [["a\rb", "c\r"]])


class Doubled(Case):
    def test_one(self):
        """R4: two quotes within a quoted field stand for one"""
        self.gives('"a""b"', [['a"b']])

    def test_at_the_ends(self):
        """R4: doubled quotes may be first and last in a field"""
        self.gives('"""a"""', [['"a"']])
        self.gives('"a""",b', [['a"', "b"]])

    def test_only_quotes(self):
        """R4: a field may consist of doubled quotes"""
        self.gives('""""', [['"']])
        self.gives('"""""",x', [['""', "x"]])

    def test_before_delimiter_and_newline(self):
        """R4: a doubled quote before a delimiter or newline doesn't end the field"""
        self.gives('"a"",b""\nc",d', [['a",b"\nc', "d"]])


class End(Case):
    def test_trailing_newline(self):
        """R5: a final line break begins no record"""
        self.gives("a\n", [["a"]])
        self.gives("a\r\n", [["a"]])
        self.gives('"a"\n', [["a"]])

    def test_no_trailing_newline(self):
        """R5: the last record needs no line break"""
        self.gives("a\nb", [["a"], ["b"]])

    def test_empty_text(self):
        """R5: the empty text has no record"""
        self.gives("", [])

    def test_trailing_delimiter(self):
        """R5: a delimiter at the end of the text begins a last, empty field"""
        self.gives("a\nb,", [["a"], ["b", ""]])


class Blank(Case):
    def test_in_the_middle(self):
        """R6: a blank line in the middle is a record with one empty field"""
        self.gives("a\n\nb\n", [["a"], [""], ["b"]])
        self.gives("a\r\n\r\nb\r\n", [["a"], [""], ["b"]])

    def test_first(self):
        """R6: a first blank line is a record"""
        self.gives("\na\n", [[""], ["a"]])
        self.gives("\n", [[""]])
        self.gives("\r\n", [[""]])

    def test_last(self):
        """R6: a last blank line is a record, unlike a trailing line break"""
        self.gives("a\n\n", [["a"], [""]])
        self.gives("a\n\n\n", [["a"], [""], [""]])

    def test_after_quoted(self):
        """R6: a blank line after a quoted field is a record"""
        self.gives('"a"\n\n"b"', [["a"], [""], ["b"]])


class Spaces(Case):
    def test_kept(self):
        """R7: spaces and tabs are never stripped"""
        self.gives(" a , b\t\n", [[" a ", " b\t"]])
        self.gives('" a "', [[" a "]])

    def test_line_of_spaces(self):
        """R7: a line of spaces is a field of spaces"""
        self.gives("  \na\n \t", [["  "], ["a"], [" \t"]])

    def test_space_before_quote(self):
        """R7: a field that begins with a space is not quoted, so a quote in it is a fault"""
        self.fails('a, "b"')


class Faults(Case):
    def test_quote_in_plain_field(self):
        """R8: a quote within an unquoted field is a fault"""
        for text in ('a"b', 'a"', 'x,a""b', "5'10\""):
            self.fails(text)

    def test_text_after_closing_quote(self):
        """R8: text after a closing quote is a fault"""
        for text in ('"a"b', '"a" ,b', '"a"\rb', '"a""b"c', '""x'):
            self.fails(text)

    def test_not_closed(self):
        """R8: a quoted field that doesn't end is a fault"""
        for text in ('"', '"a', '"a""', 'a,"b\n', '"""'):
            self.fails(text)

    def test_is_a_value_error(self):
        """R8: CSVError is a ValueError"""
        self.assertTrue(issubclass(CSVError, ValueError))
        self.fails('"a', line=1)


class Lines(Case):
    def test_plain(self):
        """R9: the line of the fault, from 1"""
        self.fails('a"b', line=1)
        self.fails('a\r\nb\nc"d\n', line=3)

    def test_after_quoted_newlines(self):
        """R9: line breaks within quoted fields count"""
        self.fails('"a\n\r\nb",c\nd"e', line=4)
        self.fails('"a\nb"c', line=2)

    def test_blank_lines_count(self):
        """R9: blank lines count"""
        self.fails('\n\n"a"b', line=3)

    def test_not_closed(self):
        """R9: for a field that doesn't end, the line of the opening quote"""
        self.fails('a\n"b\nc\nd\n', line=2)
        self.fails('"a\nb","c\n\n', line=2)

    def test_lone_cr(self):
        """R9: a CR without LF is no line break"""
        self.fails('a\rb\n"c\rd"e', line=2)


class Mark(Case):
    def test_left_out(self):
        """R10: a byte order mark at the start is left out"""
        self.gives("\ufeffa,b\n", [["a", "b"]])
        self.gives('\ufeff"a,b"\n', [["a,b"]])

    def test_alone(self):
        """R10: a text of a byte order mark alone has no record"""
        self.gives("\ufeff", [])
        self.gives("\ufeff\n", [[""]])

    def test_elsewhere(self):
        """R10: elsewhere it is data"""
        self.gives("a\n\ufeffb\n\ufeff", [["a"], ["\ufeffb"], ["\ufeff"]])
        self.gives("\ufeff\ufeffa", [["\ufeffa"]])


class Whole(Case):
    def test_round_trip(self):
        """R3, R4: every table comes back from its quoted form"""
        rng = random.Random(4180)
        for _ in range(300):
            table = [
                ["".join(rng.choices('ab ,"\n\r;\u2028', k=rng.randrange(5))) for _ in range(rng.randrange(1, 4))]
                for _ in range(rng.randrange(1, 4))
            ]
            text = ""
            for record in table:
                text += ",".join('"' + field.replace('"', '""') + '"' for field in record)
                text += rng.choice(["\n", "\r\n"])
            self.gives(text, table)

    def test_unquoted_exhaustive(self):
        """R1, R2, R5, R6: all short unquoted texts"""
        for length in range(6):
            for chars in itertools.product("a,\n", repeat=length):
                text = "".join(chars)
                lines = text.split("\n")
                if lines[-1] == "":
                    lines.pop()
                self.gives(text, [line.split(",") for line in lines])

    def test_rows(self):
        """R3: records with names get whole fields"""
        self.assertEqual(
            list(rows('name,note\r\nAda,"x, y\r\nz"\r\n')), [{"name": "Ada", "note": "x, y\r\nz"}]
        )


class Banned(unittest.TestCase):
    def test_no_import(self):
        """banned: the csv module is not imported"""
        for path in PACKAGE.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module]
                for name in names:
                    self.assertNotIn(name.split(".")[0], ("csv", "_csv", "importlib"), path.name)
                if isinstance(node, ast.Name):
                    self.assertNotIn(node.id, ("__import__", "eval", "exec"), path.name)

    def test_not_loaded(self):
        """banned: parsing does not load the csv module"""
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); from tabular import parse; "
            "parse('a,\"b\"\\n'); print(sorted({'csv', '_csv'} & set(sys.modules)))"
        )
        got = subprocess.run(
            [sys.executable, "-I", "-B", "-c", code, str(PACKAGE.parent)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30,
        )
        self.assertEqual(got.stdout.decode().strip(), "[]")
