import copy
import random
import unittest

from layers import ConfigError, expand, load, merge


def containers(value):
    """The identities of all dicts and lists of a value."""
    found = set()
    if isinstance(value, (dict, list)):
        found.add(id(value))
        for inner in value.values() if isinstance(value, dict) else value:
            found |= containers(inner)
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def merges(self, layers, want):
        self.assertEqual(merge(layers), want)

    def expands(self, text, want, **env):
        self.assertEqual(expand(text, env), want)

    def fails(self, text, name, **env):
        with self.assertRaises(ConfigError, msg=text) as caught:
            expand(text, env)
        self.assertEqual((caught.exception.name, caught.exception.path), (name, ""), text)


class Merging(Case):
    def test_deep(self):
        """R1: dicts are merged at any depth"""
        self.merges(
            [{"a": {"b": {"c": {"x": 1, "y": 1}}}}, {"a": {"b": {"c": {"y": 2}}}}],
            {"a": {"b": {"c": {"x": 1, "y": 2}}}},
        )

    def test_dict_over_scalar(self):
        """R1: a dict replaces a value that is no dict"""
        for value in (1, "text", [1], True, ""):
            self.merges([{"a": value}, {"a": {"b": 1}}], {"a": {"b": 1}})

    def test_scalar_over_dict(self):
        """R1: a value that is no dict replaces a dict whole"""
        self.merges([{"a": {"b": 1}}, {"a": 0}], {"a": 0})
        self.merges([{"a": {"b": 1}}, {"a": []}, {"a": {"c": 1}}], {"a": {"c": 1}})

    def test_lists_are_replaced(self):
        """R1: lists are replaced and never joined"""
        self.merges([{"a": [1, 2, {"b": 1}]}, {"a": [{"c": 2}]}], {"a": [{"c": 2}]})

    def test_falsy_values_replace(self):
        """R1: 0, False, "" and empty containers are values like others"""
        self.merges(
            [{"a": 1, "b": 1, "c": 1, "d": [1]}, {"a": 0, "b": False, "c": "", "d": []}],
            {"a": 0, "b": False, "c": "", "d": []},
        )
        self.merges([{"a": {"b": 1}}, {"a": {}}], {"a": {"b": 1}})

    def test_any_iterable(self):
        """R1: layers may come from an iterator, also none at all"""
        self.merges(iter([{"a": 1}, {"a": 2}]), {"a": 2})
        self.merges([], {})


class Deleting(Case):
    def test_top(self):
        """R2: None deletes the key"""
        self.merges([{"a": 1, "b": 2}, {"a": None}], {"b": 2})

    def test_absent(self):
        """R2: deleting an absent key is no fault and leaves nothing"""
        self.merges([{"a": 1}, {"b": None}], {"a": 1})
        self.merges([{"a": {"x": 1}}, {"a": {"y": None}}], {"a": {"x": 1}})

    def test_set_again(self):
        """R2: a later layer may set the key again"""
        self.merges([{"a": 1}, {"a": None}, {"a": 2}], {"a": 2})

    def test_nothing_comes_back(self):
        """R2: after a deletion nothing of the old value comes back"""
        self.merges([{"a": {"x": 1, "y": 1}}, {"a": None}, {"a": {"y": 2}}], {"a": {"y": 2}})

    def test_nothing_comes_back_at_depth(self):
        """R2: nor does it at depth"""
        self.merges(
            [{"s": {"a": {"x": 1}}}, {"s": {"a": None}}, {"s": {"a": {"z": 3}}}],
            {"s": {"a": {"z": 3}}},
        )

    def test_deleted_last(self):
        """R2: the last layer's deletion counts"""
        self.merges([{"a": None}, {"a": {"x": 1}}, {"a": None}], {})


class DeletingAtDepth(Case):
    def test_nested(self):
        """R3: None deletes at any depth"""
        self.merges([{"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": None}}}], {"a": {"b": {"d": 2}}})

    def test_new_dict(self):
        """R3: None within a dict that is new under its key"""
        self.merges([{}, {"a": {"b": None, "c": {"d": None, "e": 1}}}], {"a": {"c": {"e": 1}}})

    def test_replacing_dict(self):
        """R3: None within a dict that replaces another value"""
        self.merges([{"a": 1}, {"a": {"b": None, "c": 2}}], {"a": {"c": 2}})
        self.merges([{"a": [1]}, {"a": {"b": {"c": None}}}], {"a": {"b": {}}})

    def test_first_layer(self):
        """R3: None in the first layer"""
        self.merges([{"a": None, "b": {"c": None, "d": 1}}], {"b": {"d": 1}})

    def test_emptied_dict_stays(self):
        """R3: a dict that lost all of its keys stays, empty"""
        self.merges([{"a": {"b": 1}}, {"a": {"b": None}}], {"a": {}})

    def test_lists(self):
        """R3: None within lists is data"""
        self.merges([{"a": [None, 1, {"b": None}, [None]]}], {"a": [None, 1, {"b": None}, [None]]})

    def test_set_again_in_new_dict(self):
        """R3: a key that a new dict deletes can be set by a later layer"""
        self.merges([{"a": {"b": None}}, {"a": {"b": {"c": 1}}}], {"a": {"b": {"c": 1}}})


class Sharing(Case):
    LAYERS = [
        {"a": {"b": {"c": 1}, "l": [1, {"x": [2]}]}, "z": 1},
        {"a": {"b": {"d": 2}}, "z": None, "n": {"m": {"k": None, "q": 1}}},
        {"a": {"b": {"c": None}}, "n": {"m": {"q": 2}}, "l": [[1], {"y": {}}]},
    ]

    def test_layers_unchanged(self):
        """R4: no layer is changed at any depth"""
        layers = copy.deepcopy(self.LAYERS)
        merge(layers)
        self.assertEqual(layers, self.LAYERS)

    def test_result_shares_nothing(self):
        """R4: the result shares no dict or list with a layer"""
        layers = copy.deepcopy(self.LAYERS)
        self.assertEqual(containers(merge(layers)) & containers(layers), set())

    def test_single_layer(self):
        """R4: also the result of a single layer"""
        layers = copy.deepcopy(self.LAYERS[:1])
        got = merge(layers)
        self.assertEqual(got, layers[0])
        self.assertEqual(containers(got) & containers(layers), set())

    def test_results_share_nothing(self):
        """R4: two results share nothing with each other"""
        layers = copy.deepcopy(self.LAYERS)
        one, two = merge(layers), merge(layers)
        self.assertEqual(one, two)
        self.assertEqual(containers(one) & containers(two), set())

    def test_load_changes_nothing(self):
        """R4: load changes no layer, also where it expands"""
        layers = [{"a": {"b": "${X}", "l": ["${X}", ["$$"]]}}, {"a": {"c": "${X}"}}]
        before = copy.deepcopy(layers)
        first = load(layers, {"X": "1"})
        self.assertEqual(layers, before)
        self.assertEqual(first, {"a": {"b": "1", "l": ["1", ["$"]], "c": "1"}})
        self.assertEqual(load(layers, {"X": "2"})["a"]["b"], "2")
        self.assertEqual(containers(first) & containers(layers), set())

    def test_defaults_used_twice(self):
        """R4: defaults can be used for many configurations"""
        defaults = {"db": {"host": "a", "opts": {"ssl": True}}}
        merge([defaults, {"db": {"host": "b", "opts": {"ssl": None, "t": 1}}}])
        self.merges([defaults], {"db": {"host": "a", "opts": {"ssl": True}}})


class Variables(Case):
    def test_value(self):
        """R5: a variable is replaced by its value"""
        self.expands("${A}-${B_2}${_c}", "1-23", A="1", B_2="2", _c="3")

    def test_value_before_default(self):
        """R5: a value goes before a default"""
        self.expands("${A:x}", "1", A="1")

    def test_default(self):
        """R5: the default of an unset variable"""
        self.expands("<${A:some text}>", "<some text>")

    def test_default_with_colons(self):
        """R5: a default may hold colons"""
        self.expands("${URL:http://localhost:8080/x}", "http://localhost:8080/x")
        self.expands("${A::}", ":")
        self.expands("${A:a:b:c}/${B:::}", "a:b:c/::")

    def test_empty_default(self):
        """R5: a default may be empty"""
        self.expands("<${A:}>", "<>")

    def test_set_to_empty(self):
        """R5: a variable that is set to "" is set"""
        self.expands("<${A:x}${A}>", "<>", A="")

    def test_default_ends_at_first_brace(self):
        """R5: a default ends at the first closing brace"""
        self.expands("${A:x}}", "x}")
        self.expands("${A:${B}}", "${B}", B="1")

    def test_text_without_variables(self):
        """R5: other text stays, braces and colons included"""
        self.expands("{A}: a:b }{ \n", "{A}: a:b }{ \n", A="1")
        self.expands("", "")


class Escapes(Case):
    def test_dollar(self):
        """R6: $$ stands for one $"""
        self.expands("5$$ and $$", "5$ and $")
        self.expands("$$$$", "$$")

    def test_escaped_variable(self):
        """R6: $${A} is the text ${A}"""
        self.expands("$${A} ${A}", "${A} 1", A="1")
        self.expands("$${A:x}", "${A:x}")

    def test_left_to_right(self):
        """R6: $$${A} is a $ and the value"""
        self.expands("$$${A}", "$1", A="1")
        self.expands("$$$${A}", "$${A}", A="1")

    def test_escape_before_brace(self):
        """R6: $${ alone is text"""
        self.expands("$${", "${")
        self.expands("a$${}b", "a${}b")


class Once(Case):
    def test_value(self):
        """R7: a value is not expanded again"""
        self.expands("${A}", "${B}", A="${B}", B="1")
        self.expands("${A}${B}", "$${A}", A="$", B="${A}")

    def test_dollars_in_value(self):
        """R7: dollars in a value stay as they are"""
        self.expands("${A}", "pa$$w$rd$", A="pa$$w$rd$")

    def test_dollars_in_default(self):
        """R7: dollars in a default stay as they are"""
        self.expands("${A:$$}", "$$")
        self.expands("${A:$x}", "$x")

    def test_pieces_dont_join(self):
        """R7: pieces that were filled in don't become a variable together"""
        self.expands("${D}{A}", "${A}", D="$", A="1")
        self.expands("$$${A}", "${B}", A="{B}", B="1")

    def test_load(self):
        """R7: load expands what was filled in no second time either"""
        self.assertEqual(
            load([{"a": "${A}", "b": "$${A}", "c": {"d": ["$$$$"]}}, {"x": 1}], {"A": "$$${Z}"}),
            {"a": "$$${Z}", "b": "${A}", "c": {"d": ["$$"]}, "x": 1},
        )


class Faults(Case):
    def test_unset(self):
        """R8: a variable that is neither set nor has a default"""
        self.fails("a ${NOPE} b", "NOPE")
        self.fails("${A}${B}", "B", A="1")

    def test_lone_dollar(self):
        """R8: a $ that begins nothing"""
        for text in ("$", "a$", "$A", "5$ x", "$ {A}", "$$$", "$}"):
            self.fails(text, None, A="1")

    def test_malformed(self):
        """R8: a ${ that isn't well-formed"""
        for text in ("${", "${A", "${}", "${:x}", "${1A}", "${A-B}", "${ A}", "${A }", "${Ä}", "${A.B:x}"):
            self.fails(text, None, A="1")

    def test_trailing_newline_in_name(self):
        """R8: a line break is no part of a name"""
        self.fails("${A\n}", None, A="1")

    def test_error_type(self):
        """R8: the error isn't a KeyError in disguise"""
        with self.assertRaises(ConfigError) as caught:
            expand("${A}", {})
        self.assertIn("A", str(caught.exception))


class Loading(Case):
    def test_replaced_value(self):
        """R9: a value that a later layer replaces needs no variables"""
        self.assertEqual(load([{"a": "${NOPE}"}, {"a": "x"}], {}), {"a": "x"})
        self.assertEqual(load([{"a": {"b": "$"}}, {"a": ["y"]}], {}), {"a": ["y"]})

    def test_deleted_value(self):
        """R9: a value that a later layer deletes needs no variables"""
        self.assertEqual(load([{"a": {"b": "${NOPE}", "c": 1}}, {"a": {"b": None}}], {}), {"a": {"c": 1}})

    def test_lists(self):
        """R9: strings in lists are expanded at any depth"""
        self.assertEqual(
            load([{"a": ["${X}", ["${X}", {"b": "${X}"}], 1, None]}], {"X": "v"}),
            {"a": ["v", ["v", {"b": "v"}], 1, None]},
        )

    def test_keys(self):
        """R9: keys are left as they are"""
        self.assertEqual(load([{"${X}": "${X}", "$": 1}], {"X": "v"}), {"${X}": "v", "$": 1})

    def test_other_values(self):
        """R9: values that are no strings are left as they are"""
        got = load([{"i": 1, "f": 1.5, "t": True, "z": 0, "d": {}, "l": []}], {})
        self.assertEqual(got, {"i": 1, "f": 1.5, "t": True, "z": 0, "d": {}, "l": []})
        self.assertIs(got["t"], True)

    def test_strings_stay_strings(self):
        """R9: what is filled in stays a string"""
        self.assertEqual(load([{"port": "${P}"}], {"P": "80"}), {"port": "80"})

    def test_exactly_once(self):
        """R9: every string is expanded exactly once, however many layers there are"""
        for more in range(4):
            layers = [{"a": {"b": "$$$$"}, "c": "$$$$"}] + [{"a": {f"x{n}": n}} for n in range(more)]
            got = load(layers, {})
            self.assertEqual((got["a"]["b"], got["c"]), ("$$", "$$"))

    def test_deletion_and_defaults(self):
        """R9: deletion, escape and default with colons together"""
        layers = [
            {"db": {"url": "${URL:pg://h:5432/d}", "password": "${PW}", "old": {"x": "${NOPE}"}}},
            {"db": {"password": "$$${PW}", "old": None}},
            {"db": {"old": {"y": "$${Y}", "z": None}}},
        ]
        self.assertEqual(
            load(layers, {"PW": "p$w"}),
            {"db": {"url": "pg://h:5432/d", "password": "$p$w", "old": {"y": "${Y}"}}},
        )


class Paths(Case):
    def path(self, layers, env=None):
        with self.assertRaises(ConfigError) as caught:
            load(layers, env or {})
        return caught.exception.path, caught.exception.name

    def test_keys(self):
        """R10: the path of keys from the top"""
        self.assertEqual(self.path([{"a": "${N}"}]), ("a", "N"))
        self.assertEqual(self.path([{"a": {"b": {"c": "${N}"}}}]), ("a.b.c", "N"))

    def test_lists(self):
        """R10: positions in lists from 0"""
        self.assertEqual(self.path([{"servers": [{"url": "x"}, {"url": "${N}"}]}]), ("servers.1.url", "N"))
        self.assertEqual(self.path([{"a": [["", "$"]]}]), ("a.0.1", None))

    def test_message(self):
        """R10: an error from expand has the path \"\""""
        self.fails("${N}", "N")


class Random(Case):
    def test_merge(self):
        """R1, R2, R3: random layers against a plain model"""
        rng = random.Random(99)

        def value(depth):
            if depth and rng.random() < 0.6:
                return {k: value(depth - 1) for k in rng.sample("abc", rng.randrange(0, 4))}
            return rng.choice([None, 1, "s", [None, 2], [], False])

        def flat(layer, at=()):
            """Assignments in order: a path and a leaf, or a path that is a dict."""
            for key, inner in layer.items():
                if isinstance(inner, dict):
                    yield at + (key,), dict
                    yield from flat(inner, at + (key,))
                else:
                    yield at + (key,), inner

        def model(layers):
            result = {}
            for layer in layers:
                for path, leaf in flat(layer):
                    target = result
                    for key in path[:-1]:
                        target = target[key]
                    if leaf is dict:
                        if not isinstance(target.get(path[-1]), dict):
                            target[path[-1]] = {}
                    elif leaf is None:
                        target.pop(path[-1], None)
                    else:
                        target[path[-1]] = leaf
            return result

        for _ in range(400):
            layers = [{k: value(3) for k in rng.sample("abc", 3)} for _ in range(rng.randrange(0, 5))]
            self.merges(layers, model(layers))
