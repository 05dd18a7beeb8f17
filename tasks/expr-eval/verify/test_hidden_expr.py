import ast
import pathlib
import random
import unittest

import sums
from sums import evaluate
from sums.sheet import fill

PACKAGE = pathlib.Path(sums.__file__).resolve().parent


class Case(unittest.TestCase):
    def gives(self, text, want):
        """The value and its type."""
        got = evaluate(text)
        self.assertIs(type(got), type(want), f"{text!r} gave {got!r}")
        self.assertEqual(got, want, repr(text))

    def fails(self, *texts):
        for text in texts:
            try:
                got = evaluate(text)
            except ZeroDivisionError:
                raise
            except ValueError:
                continue
            self.fail(f"{text!r} gave {got!r}")


class Numbers(Case):
    def test_ints(self):
        """R1: ints of ASCII digits, also with leading zeros"""
        self.gives("0", 0)
        self.gives("42", 42)
        self.gives("007", 7)

    def test_fractions(self):
        """R1: a fraction makes a float"""
        self.gives("1.5", 1.5)
        self.gives("1.0", 1.0)
        self.gives("00.25", 0.25)

    def test_exponents(self):
        """R1: an exponent makes a float, also a negative one"""
        self.gives("2e3", 2000.0)
        self.gives("2E-3", 0.002)
        self.gives("2e+3", 2000.0)
        self.gives("1.5e2", 150.0)

    def test_exponent_is_part_of_the_number(self):
        """R1: the sign of an exponent is no operator"""
        self.gives("1e-2-1", 0.01 - 1)
        self.gives("2^2e0", 4.0)


class Precedence(Case):
    def test_product_before_sum(self):
        """R2: * and / bind tighter than + and -"""
        self.gives("2+3*4", 14)
        self.gives("2*3-4", 2)
        self.gives("1-6/3", -1.0)

    def test_left_minus(self):
        """R2: - is left-associative"""
        self.gives("10-3-2", 5)
        self.gives("10-3+2", 9)

    def test_left_division(self):
        """R2: / is left-associative"""
        self.gives("8/4/2", 1.0)
        self.gives("8/4*2", 4.0)

    def test_parentheses(self):
        """R2: parentheses come first"""
        self.gives("(2+3)*4", 20)
        self.gives("10-(3-2)", 9)
        self.gives("((7))", 7)

    def test_all_operators(self):
        """R2: all operators together"""
        self.gives("1+2*3^2-(4-5)*6", 25)


class Power(Case):
    def test_simple(self):
        """R3: ^ is power"""
        self.gives("2^10", 1024)

    def test_right_associative(self):
        """R3: ^ is right-associative"""
        self.gives("2^3^2", 512)
        self.gives("2^2^2^2", 65536)

    def test_parentheses(self):
        """R3: parentheses override the order"""
        self.gives("(2^3)^2", 64)

    def test_binds_tighter(self):
        """R3: ^ binds tighter than the other operators"""
        self.gives("2*3^2", 18)
        self.gives("2^3*2", 16)
        self.gives("18/3^2", 2.0)
        self.gives("1+2^2", 5)


class Signs(Case):
    def test_single(self):
        """R4: a sign may stand before an operand"""
        self.gives("-3", -3)
        self.gives("+3", 3)
        self.gives("-(2+3)", -5)

    def test_several(self):
        """R4: several signs may stand before an operand"""
        self.gives("--2", 2)
        self.gives("---2", -2)
        self.gives("-+-2", 2)
        self.gives("- -2", 2)

    def test_after_operators(self):
        """R4: a sign may stand after any operator"""
        self.gives("2*-3", -6)
        self.gives("2--3", 5)
        self.gives("2+-3", -1)
        self.gives("6/-3", -2.0)
        self.gives("2-+-3", 5)

    def test_weaker_than_power(self):
        """R4: a sign binds weaker than a ^ on its right"""
        self.gives("-2^2", -4)
        self.gives("--2^2", 4)
        self.gives("3-2^2", -1)
        self.gives("2*-2^2", -8)

    def test_parenthesised_base(self):
        """R4: a sign within parentheses belongs to the base"""
        self.gives("(-2)^2", 4)
        self.gives("(-2)^3", -8)

    def test_in_exponent(self):
        """R4: a sign may stand in an exponent"""
        self.gives("2^-1", 0.5)
        self.gives("2^+2", 4)
        self.gives("2^--2", 4)
        self.gives("-2^-2", -0.25)

    def test_power_in_signed_exponent(self):
        """R4: a sign in an exponent covers the power on its right"""
        self.gives("2^-2^2", 0.0625)


class Types(Case):
    def test_ints_stay_ints(self):
        """R5: + - * ^ of ints give ints"""
        self.gives("2+3", 5)
        self.gives("2-3", -1)
        self.gives("2*3", 6)
        self.gives("2^3", 8)
        self.gives("5^0", 1)

    def test_any_size(self):
        """R5: ints are exact, of any size"""
        self.gives("2^100+1", 2**100 + 1)
        self.gives("12345678901234567890*98765432109876543210", 12345678901234567890 * 98765432109876543210)
        self.gives("9007199254740993", 9007199254740993)

    def test_float_on_either_side(self):
        """R5: a float on either side gives a float"""
        self.gives("1+1.0", 2.0)
        self.gives("1.0-1", 0.0)
        self.gives("2*1.5", 3.0)
        self.gives("2.0^2", 4.0)
        self.gives("2^2.0", 4.0)
        self.gives("1e1", 10.0)


class Division(Case):
    def test_float(self):
        """R6: / gives a float, also where it comes out even"""
        self.gives("4/2", 2.0)
        self.gives("7/2", 3.5)
        self.gives("0/5", 0.0)
        self.gives("4/2*3", 6.0)

    def test_not_rounded_down(self):
        """R6: division is never rounded down"""
        self.gives("-7/2", -3.5)
        self.gives("1/3", 1 / 3)

    def test_negative_exponents(self):
        """R6: ^ with a negative exponent gives a float"""
        self.gives("1^-1", 1.0)
        self.gives("2^-2", 0.25)
        self.gives("(-2)^-1", -0.5)
        self.gives("2^(1-3)", 0.25)


class Zero(Case):
    def test_division(self):
        """R7: division by zero raises ZeroDivisionError"""
        for text in ("1/0", "1/0.0", "1/(2-2)", "0/0"):
            with self.assertRaises(ZeroDivisionError, msg=text):
                evaluate(text)

    def test_power(self):
        """R7: zero to a negative power raises ZeroDivisionError"""
        for text in ("0^-1", "0.0^-2", "(1-1)^-0.5"):
            with self.assertRaises(ZeroDivisionError, msg=text):
                evaluate(text)

    def test_zero_to_zero(self):
        """R5: zero to the power of zero is the int 1"""
        self.gives("0^0", 1)

    def test_sheet(self):
        """R7: a cell tells division by zero from a malformed formula"""
        self.assertEqual(fill({"a": "1/0", "b": "1/", "c": "2^3"}), {"a": "#DIV/0", "b": "#ERR", "c": "8"})


class Blanks(Case):
    def test_between_tokens(self):
        """R8: blanks may stand between any two tokens, first and last"""
        self.gives("  1 + 2\t*\n( 3 ^ 2 ) \r\n", 19)
        self.gives("2 ^ - 1", 0.5)

    def test_within_numbers(self):
        """R8: blanks may not stand within a number"""
        self.fails("1 2", "1 .5", "1. 5", "1e 5", "1 e5", "1e- 5")

    def test_other_blanks(self):
        """R9: other blank characters are malformed"""
        self.fails("1\u00a0+2", "1\u2003+2", "1\x0c+2", "1\x0b")


class Malformed(Case):
    def test_empty(self):
        """R9: an empty or blank text"""
        self.fails("", " ", "\n\t")

    def test_missing_right_operand(self):
        """R9: an operator without its right operand"""
        self.fails("1+", "1-", "2*", "2/", "2^", "-", "+-", "(1+)")

    def test_missing_left_operand(self):
        """R9: an operator without its left operand"""
        self.fails("*2", "/2", "^2", "(*2)", "1+*2", "2^*3")

    def test_open_parenthesis(self):
        """R9: a parenthesis that isn't closed"""
        self.fails("(", "(1", "((1)", "2*(3+4")

    def test_closing_parenthesis(self):
        """R9: a parenthesis that wasn't opened"""
        self.fails(")", "1)", "(1))", "1+2)", ")1(")

    def test_empty_parentheses(self):
        """R9: empty parentheses"""
        self.fails("()", "2*()", "2()", "(())")

    def test_two_operands(self):
        """R9: two operands in a row"""
        self.fails("2(3)", "(2)(3)", "(2)3", "2 3", "1.5 2")

    def test_fraction_form(self):
        """R9: a fraction without digits on both sides of its point"""
        self.fails("1.", ".5", ".", "1.+2", "-.5", "1.e3")

    def test_two_points(self):
        """R9: a number with two points"""
        self.fails("1.2.3", "1..2")

    def test_exponent_form(self):
        """R9: an exponent without digits"""
        self.fails("1e", "1e+", "1e-", "e5", "1e2.5", "1e2e3", "1ee2")

    def test_python_numbers(self):
        """R9: numbers that only Python knows"""
        self.fails("1_000", "0x10", "0b1", "1j", "inf", "nan", "1e1_0")

    def test_other_operators(self):
        """R9: any other operator"""
        self.fails("7//2", "2**3", "7%2", "1<2", "1==1", "~1", "1&1", "2 * * 3", "4 / / 2")

    def test_names(self):
        """R9: names and calls"""
        self.fails("x", "2x", "pi", "abs(1)", "__import__('os')", "True", "1 if 1 else 2")

    def test_other_characters(self):
        """R9: any other character"""
        self.fails("1,2", "1;2", "'1'", "1=1", "[1]", "$1", "1\x00", "#1", "2×3")

    def test_unicode_digits(self):
        """R9: digits outside ASCII"""
        self.fails("\u0663", "2\u00b2", "\uff11+1", "1.\u0665", "1e\u0662", "\u00bd")

    def test_comments(self):
        """R9: no comment, no continuation"""
        self.fails("1 # one", "1 \\\n+2")


class Bounds(Case):
    def test_no_complex(self):
        """R10: a negative number to a power that isn't whole raises ValueError"""
        self.fails("(-8)^0.5", "(-8)^(1/3)", "(-2)^-0.5", "(0-4.0)^1.5")

    def test_whole_floats(self):
        """R10: a negative number to a whole power is fine, also as a float"""
        self.gives("(-2)^2.0", 4.0)
        self.gives("(-2.0)^3", -8.0)

    def test_sign_is_outside(self):
        """R4: a sign before a root is not part of its base"""
        self.gives("-4^0.5", -2.0)

    def test_depth(self):
        """R10: parentheses and signs nest 50 deep"""
        self.gives("(" * 50 + "1" + ")" * 50, 1)
        self.gives("-" * 50 + "1", 1)
        self.gives("(1+" * 50 + "1" + ")" * 50, 51)

    def test_long(self):
        """R10: chains of thousands of operands work"""
        self.gives("1" + "+1" * 3000, 3001)
        self.gives("1" + "*1" * 3000, 1)


class Whole(Case):
    def test_random(self):
        """R2, R3, R4, R5: random expressions against a tree"""
        rng = random.Random(12)

        def node(depth):
            """Text of an operand, fully parenthesised where needed, and its value."""
            if depth == 0 or rng.random() < 0.2:
                value = rng.randrange(0, 10)
                return str(value), value
            kind = rng.choice("+-*^s")
            left, a = node(depth - 1)
            if kind == "s":
                return f"(-{left})", -a
            right, b = node(depth - 1)
            if kind == "^":
                b = rng.randrange(0, 3)
                return f"({left} ^{b})", a**b
            value = {"+": a + b, "-": a - b, "*": a * b}[kind]
            return f"({left}{kind} {right})", value

        for _ in range(300):
            text, value = node(4)
            self.gives(text, value)


class Banned(unittest.TestCase):
    def test_no_evaluation(self):
        """banned: eval, exec, compile and the module ast are not used"""
        for path in PACKAGE.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Name):
                    self.assertNotIn(node.id, ("eval", "exec", "compile", "__import__"), path.name)
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        self.assertNotIn(alias.name.split(".")[0], ("ast", "_ast", "builtins", "importlib"))
                if isinstance(node, ast.ImportFrom) and not node.level:
                    self.assertNotIn(node.module.split(".")[0], ("ast", "_ast", "builtins", "importlib"))
