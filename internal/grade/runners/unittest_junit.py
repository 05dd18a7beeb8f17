"""Runs hidden unittest tests against a workspace and writes JUnit XML.

    python3 -I unittest_junit.py --tests DIR --source DIR --report FILE
                                 [--pattern 'test_*.py'] [--must-fail ID]...
                                 [--allow EVENT]... [FILE]...

Two processes: the child imports and runs the code under test, the parent has
never seen that code and writes the report. What the child says counts only
with a token that the parent made up; a child that ends without saying "end"
has failed. The workspace comes after the standard library on sys.path.

The child is the code under test as well, so it is watched, and what it does to
the tests is told to the parent at once: replacing what verdicts rest on,
results that say they equal anything, reading the source of the hidden tests,
tracing them, searching memory for them, and signals to the parent (--allow
lifts one of the last by the name of its audit event). What walks up the stack
of its own calls is not kept out: no check within one process could do that.

Exit status: 0 every test passed, or exactly those of --must-fail failed;
1 anything else; 2 wrong usage; 3 the code under test tampered with this
runner or with the report.

Python 3.9 or newer, standard library only.
"""

import argparse
import builtins
import dis
import fnmatch
import importlib.util
import json
import json.encoder
import linecache
import os
import re
import secrets
import select
import sys
import time
import traceback
import types
import unittest
import unittest.async_case
import unittest.case
import unittest.loader
import unittest.mock
import unittest.result
import unittest.suite

MAX_TEXT = 20000
FAILING = ("failed", "error", "xpass")
RANK = {"passed": 0, "xfail": 1, "xpass": 2, "skipped": 3, "failed": 4, "error": 5}
PLAIN_BUILTINS = ("isinstance", "issubclass", "getattr", "setattr", "hasattr", "type", "len", "repr",
                  "callable", "AssertionError", "Exception", "BaseException")


# ---- the child ----------------------------------------------------------


class Watch:
    """Remembers what the verdicts rest on, and puts it back when changed."""

    def __init__(self):
        self._kept = []
        self.changed = []
        self._same, self._vars, self._setattr, self._delattr = lambda a, b: a is b, vars, setattr, delattr

    def add(self, owner, names=None, strict=False):
        members = dict(self._vars(owner))
        kept = {n: v for n, v in members.items()
                if (names is None or n in names) and (callable(v) or isinstance(v, (classmethod, staticmethod, property)))}
        self._kept.append((owner, kept, frozenset(members), strict))

    def add_constants(self, owner, names):
        """Names, whatever they hold, that nothing but their definition sets."""
        kept = {n: v for n, v in self._vars(owner).items() if n in names}
        self._kept.append((owner, kept, frozenset(), False))

    def add_module(self, module):
        self.add(module)
        for value in list(self._vars(module).values()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                self.add(value, strict=True)

    def look(self):
        for owner, kept, names, strict in self._kept:
            now = self._vars(owner)
            label = getattr(owner, "__qualname__", None) or getattr(owner, "__name__", "?")
            for name, value in kept.items():
                if now.get(name) is not value:
                    self.changed.append("%s.%s" % (label, name))
                    self._setattr(owner, name, value)
            if strict:
                for name in [n for n in now if n not in names and n.startswith("__") and n.endswith("__")]:
                    if callable(now[name]):
                        self.changed.append("%s.%s" % (label, name))
                        self._delattr(owner, name)


# Audit events that no code under test has an honest reason to bring about.
SEARCHES = {
    "gc.get_objects": "the memory of the tests was searched", "gc.get_referrers": "the memory of the tests was searched",
    "sys.settrace": "the tests were traced", "sys.setprofile": "the tests were traced",
    "sys.monitoring.register_callback": "the tests were traced",
}


class Guard:
    """Tells on code under test that looks at the tests in place of solving.

    It is an audit hook, which can't be taken out again. Code counts as under
    test unless its file is a hidden test, this one, or Python's own.
    """

    def __init__(self, tests, files, tell, allow):
        real = os.path.realpath
        self._files = frozenset(real(f) for f in files)
        self._names = frozenset(os.path.basename(f) for f in files)
        own = {os.path.dirname(os.__file__), sys.prefix + os.sep + "lib", sys.base_prefix + os.sep + "lib"}
        self._own = tuple(sorted({real(d) + os.sep for d in own} | {d + os.sep for d in own})) + ("<frozen ",)
        self._tests = (real(tests) + os.sep, tests + os.sep, os.path.abspath(__file__), __file__)
        self._tell, self._allow, self._parent = tell, frozenset(allow), os.getppid()
        self._proc = "/proc/%d/" % self._parent
        self._real, self._decode, self._frame, self._busy = real, os.fsdecode, sys._getframe, False

    def stranger(self):
        """The file of the code that brought about an event, None when it is none of the code under test."""
        frame = self._frame(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self._tests):
                return None
            if not name.startswith(self._own):
                return name
            frame = frame.f_back
        return None

    def __call__(self, event, args):
        if event not in SEARCHES and event not in ("open", "os.kill", "subprocess.Popen") or self._busy:
            return
        self._busy = True
        try:
            what = self._breach(event, args)
            if what and event not in self._allow and self.stranger():
                self._tell(what)
                if event == "os.kill":
                    raise PermissionError("this process may not be sent a signal")
        finally:
            self._busy = False

    def _breach(self, event, args):
        if event == "open":
            return self._opens(args[0])
        if event == "os.kill":
            return "a signal was sent to the runner" if args[0] in (self._parent, -self._parent, 0, -1) else ""
        if event == "subprocess.Popen":
            words = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
            read = any(n in str(w) for w in words for n in self._names)
            return "a program was started on the hidden tests" if read else ""
        return SEARCHES[event]

    def _opens(self, path):
        try:
            path = self._real(self._decode(path))
        except (TypeError, ValueError, OSError):
            return ""
        if path in self._files:
            return "the hidden test %s was read" % os.path.basename(path)
        return "the process of the runner was read (%s)" % path if path.startswith(self._proc) else ""


class Equality:
    """Finds results that equal whatever they are held against.

    Where an assertion compares an object whose class brings its own notion of
    equality, the object is held against another value too, in random order.
    """

    BINARY = ("assertEqual", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual",
              "assertSequenceEqual", "assertCountEqual", "assertAlmostEqual", "assertIn", "assertMultiLineEqual")

    def __init__(self, tests, tell):
        self._tests, self._tell = (os.path.realpath(tests) + os.sep, tests + os.sep), tell
        self.any = False  # a hidden test uses mock.ANY itself
        self._choice, self._flip = secrets.choice, secrets.randbelow

    def install(self, case):
        for name in self.BINARY:
            setattr(case, name, self._wrapped(getattr(case, name), name == "assertIn"))

    def _wrapped(self, assertion, within):
        probe = self._probe

        def checked(self, *args, **kwargs):
            if len(args) >= 2:
                probe(args[0], args[1], within)
            return assertion(self, *args, **kwargs)

        checked.__name__ = checked.__qualname__ = assertion.__name__
        return checked

    def _probe(self, first, second, within):
        notions = self._notions(first, second)
        if within:
            notions.add(self._strange(second, "__contains__"))
        notions.discard(None)
        if not notions or "" in notions:  # a matcher of the test's own is to match
            return
        liar = sorted(notions)[0]
        pairs = [(first, second), (self._other(first), second)] if within else [
            (first, second), (first, self._other(second)), (self._other(first), second)]
        if self._flip(2):
            pairs.reverse()
        said = {}
        for i, (a, b) in enumerate(pairs):
            try:
                said[i] = bool(a in b) if within else bool(a == b)
            except BaseException:
                said[i] = False
        true = 0 if pairs[0][0] is first and pairs[0][1] is second else len(pairs) - 1
        if said[true] and sum(said.values()) > 1:
            self._tell("an object that equals anything was returned (%s)" % liar)

    def _strange(self, value, method):
        """The name of a value's class if that brings a method of its own, "" if a test's does, None otherwise."""
        kind = type(value)
        how = getattr(kind, method, None)
        if kind is type(unittest.mock.ANY):
            return "" if self.any else "mock.ANY"
        if how is None or isinstance(how, types.WrapperDescriptorType):
            return None
        code = getattr(how, "__code__", None)
        if code is not None and code.co_filename.startswith(self._tests):
            return ""
        return "%s.%s" % (kind.__module__, kind.__qualname__)

    def _notions(self, *values):
        """The notions of equality within values, up to some thousand parts."""
        found, todo, looked = set(), list(values), 0
        while todo and looked < 5000:
            value, looked = todo.pop(), looked + 1
            found.add(self._strange(value, "__eq__"))
            if isinstance(value, dict):
                todo += list(value.values())[:1000]
            elif isinstance(value, (list, tuple, set, frozenset)):
                todo += list(value)[:1000]
        return found

    def _other(self, value):
        """A value of the same kind that nothing honest takes for the first."""
        kind = type(value)
        if kind is bool:
            return not value
        if kind is int:
            return -value - 7919
        if kind is float:
            return -1.5 - value if value < 1e9 else 0.0
        if kind is str:
            return value + "\0other"
        if kind is bytes:
            return value + b"\0other"
        if kind in (list, tuple) and value:
            at = self._choice(range(len(value)))
            return kind(self._other(v) if i == at else v for i, v in enumerate(value))
        if kind is dict and value:
            at = self._choice(list(value))
            return {k: self._other(v) if k is at else v for k, v in value.items()}
        return object()


def settled(code):
    """Names that a module's functions set: attributes and globals."""
    names = {i.argval for i in dis.get_instructions(code)
             if i.opname in ("STORE_ATTR", "DELETE_ATTR", "DELETE_GLOBAL") or i.opname == "STORE_GLOBAL"}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            names |= settled(part)
    return names


def mentioned(code):
    """Names that a module's code uses."""
    names = set(code.co_names)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            names |= mentioned(part)
    return names


def watch_tests(watch, module, code, name):
    """Has a test module's tests and constants watched."""
    set_later = settled(code)

    def constants(owner):
        return frozenset(n for n in vars(owner) if not n.startswith("__") and n not in set_later)

    watch.add_constants(module, constants(module))
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == name and issubclass(value, unittest.TestCase):
            watch.add(value, frozenset(n for n in vars(value) if n.startswith("test")))
            watch.add_constants(value, constants(value))


def make_emitter(fd, token):
    """A function that sends one message to the parent."""
    encode, write, count = json.JSONEncoder(ensure_ascii=True).encode, os.write, [0]

    def emit(kind, **fields):
        count[0] += 1
        fields.update(kind=kind, token=token, count=count[0])
        data = (encode(fields) + "\n").encode("ascii")
        while data:
            data = data[write(fd, data):]

    return emit


def split_id(test_id):
    """("module.Class", "test_x") of a test's id."""
    m = re.match(r"^(\w+) \((.+)\)$", test_id)
    if m:  # setUpClass (module.Class)
        return m.group(2), m.group(1)
    base = test_id.split(" ", 1)[0]
    where, _, name = base.rpartition(".")
    return where, name


class Result(unittest.TestResult):
    """Collects one verdict per test and sends it when the test ends."""

    def __init__(self, emit, watch):
        super().__init__()
        self._emit, self._watch = emit, watch
        self._now, self._format = time.monotonic, traceback.format_exception
        self._case, self._begun = None, 0.0

    def startTest(self, test):
        self._watch.look()
        self._case = self._new(test)
        self._begun = self._now()
        self._emit("start", **self._case)
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self._watch.look()
        case, self._case = self._case, None
        if case is None:
            return
        if case["status"] is None:
            case.update(status="error", message="the test ended without a verdict")
        case["seconds"] = self._now() - self._begun
        self._emit("result", **case)

    def _new(self, test):
        where, name = split_id(test.id())
        doc = getattr(test, "_testMethodDoc", None)
        clause = doc.strip().split("\n", 1)[0].strip() if isinstance(doc, str) and doc.strip() else ""
        return {"where": where, "name": name, "clause": clause, "status": None, "message": "", "text": "", "seconds": 0.0}

    def _say(self, test, status, message="", text=""):
        case = self._case
        if case is None:  # a fixture of a class or module
            case = self._new(test)
            case.update(status=status, message=message[:2000], text=text[:MAX_TEXT])
            self._emit("result", **case)
            return
        if case["status"] is None or RANK[status] > RANK[case["status"]]:
            case.update(status=status, message=message[:2000], text=text[:MAX_TEXT])

    def _fault(self, test, status, err, prefix=""):
        try:
            lines = self._format(*err)
            last = self._format(err[0], err[1], None)
            message = prefix + "".join(last).strip().split("\n", 1)[0]
            text = "".join(lines)
        except BaseException:
            message, text = prefix + "an exception that can't be shown", ""
        self._say(test, status, message, text)

    def addSuccess(self, test):
        self._say(test, "passed")

    def addFailure(self, test, err):
        self._fault(test, "failed", err)

    def addError(self, test, err):
        self._fault(test, "error", err)

    def addSkip(self, test, reason):
        self._say(test, "skipped", str(reason))

    def addExpectedFailure(self, test, err):
        self._fault(test, "xfail", err)

    def addUnexpectedSuccess(self, test):
        self._say(test, "xpass", "unexpected success")

    def addSubTest(self, test, subtest, err):
        if err is None:
            return
        try:
            prefix = subtest._subDescription() + ": "
        except BaseException:
            prefix = "subtest: "
        failed = issubclass(err[0], test.failureException)
        self._fault(test, "failed" if failed else "error", err, prefix)

    def addDuration(self, test, elapsed):
        pass


def discover(root, pattern):
    """(dotted name, file, folders of packages around it) of every test file."""
    out = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "__pycache__")
        below = os.path.relpath(folder, root)
        parts = [] if below == "." else below.split(os.sep)
        for name in sorted(files):
            if fnmatch.fnmatch(name, pattern) and name.endswith(".py"):
                out.append((".".join(parts + [name[:-3]]), os.path.join(folder, name), parts))
    return out


def load(name, path, is_package=False, _spec=importlib.util.spec_from_file_location,
         _module=importlib.util.module_from_spec):
    """Loads a file as module name, whatever sys.modules says of that name."""
    where = [os.path.dirname(path)] if is_package else None
    spec = _spec(name, path, submodule_search_locations=where)
    module = _module(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def code_of(path):
    with open(path, "rb") as f:
        return compile(f.read(), path, "exec", dont_inherit=True)


def hide(files):
    """Takes the source of the hidden tests from where tracebacks look for it."""
    for path in files:
        linecache.cache[path] = (0, None, [], path)


def compiles(path):
    try:
        code_of(path)
    except (SyntaxError, ValueError, OSError):
        return False
    return True


def inside(path, folder):
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([path, folder]) == folder


def load_packages(root, parts, done):
    for i in range(1, len(parts) + 1):
        name, path = ".".join(parts[:i]), os.path.join(root, *parts[:i], "__init__.py")
        if name not in done and os.path.exists(path):
            done.add(name)
            load(name, path, is_package=True)


def child(args, emit, quit_):
    files = discover(args.tests, args.pattern)
    if args.only:
        only = {os.path.realpath(f) for f in args.only}
        files = [f for f in files if os.path.realpath(f[1]) in only]
    told = set()

    def tell(what):
        if what not in told and len(told) < 20:
            told.add(what)
            emit("tampered", what=what)

    equality = Equality(args.tests, tell)
    equality.install(unittest.TestCase)
    watch = Watch()
    for module in (unittest.case, unittest.suite, unittest.loader, unittest.result, unittest.async_case, json.encoder):
        watch.add_module(module)
    watch.add(Guard)
    watch.add(Equality)
    watch.add(Result)
    watch.add(builtins, PLAIN_BUILTINS)
    result, loader, done = Result(emit, watch), unittest.TestLoader(), set()
    codes = {path: code_of(path) for _, path, _ in files if compiles(path)}
    equality.any = any("ANY" in mentioned(c) for c in codes.values())
    if not any(inside(args.tests, s) for s in args.source):  # tests in the workspace are no secret
        hide([path for _, path, _ in files])
        sys.addaudithook(Guard(args.tests, [path for _, path, _ in files], tell, args.allow))
    suites = []
    for name, path, parts in files:
        try:
            load_packages(args.tests, parts, done)
            module = load(name, path)
            watch.look()
            watch_tests(watch, module, codes[path], name)
            suites.append((name, loader.loadTestsFromModule(module)))
        except BaseException:
            watch.look()
            text = traceback.format_exc()
            emit("result", where="", name=name, clause="", status="error", seconds=0.0, text=text[-MAX_TEXT:],
                 message="the module can't be imported: " + text.strip().rsplit("\n", 1)[-1][:500])
    for name, suite in suites:
        try:
            suite.run(result)
        except BaseException as e:
            emit("result", where="", name=name, clause="", status="error", seconds=0.0, text="",
                 message="the run was broken off by %s" % type(e).__name__)
    watch.look()
    emit("end", changed=watch.changed[:20])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    quit_(0)


def run_child(args, fd, token):
    emit, quit_ = make_emitter(fd, token), os._exit
    sys.argv[1:] = []
    sys.dont_write_bytecode = True
    # Before what is installed, after the standard library.
    at = next((i for i, p in enumerate(sys.path) if "site-packages" in p or "dist-packages" in p), len(sys.path))
    sys.path[at:at] = [args.tests] + args.source
    try:
        child(args, emit, quit_)
    except BaseException:
        traceback.print_exc()
    quit_(70)


# ---- the parent ---------------------------------------------------------


class Account:
    """What the child said, held to the token."""

    def __init__(self, token):
        self.token, self.count = token, 0
        self.cases, self.order = {}, []
        self.open, self.ended, self.tampering = None, False, []

    def line(self, line):
        try:
            m = json.loads(line)
            genuine = secrets.compare_digest(str(m["token"]), self.token) and m["count"] == self.count + 1
        except (ValueError, KeyError, TypeError):
            genuine = False
        if not genuine or self.ended:
            self.tampering.append("messages to the runner were forged")
            return
        self.count += 1
        if m["kind"] == "start":
            self.open = m
        elif m["kind"] == "result":
            self.open = None
            self.enter(m)
        elif m["kind"] == "tampered":
            self.tampering.append(m["what"])
        elif m["kind"] == "end":
            self.ended = True
            self.tampering += ["%s was replaced" % c for c in m["changed"]]

    def enter(self, case):
        key = (case["where"], case["name"])
        if key not in self.cases:
            self.order.append(key)
        elif RANK[case["status"]] <= RANK[self.cases[key]["status"]]:
            return
        self.cases[key] = case

    def close(self, how):
        """Enters what the child's end leaves open."""
        if self.ended:
            return
        case = self.open or {"where": "assay", "name": "end", "clause": "", "seconds": 0.0}
        case.update(status="error", text="", message="the test process ended (%s) before its tests did" % how)
        self.enter(case)


def listen(fd, pid, account):
    """Reads until the child says that it is done or is gone; how it ended."""
    buffered, gone = b"", None
    while not account.ended:
        ready, _, _ = select.select([fd], [], [], 0.1)
        if ready:
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                break
            *lines, buffered = (buffered + chunk).split(b"\n")
            for line in lines:
                account.line(line)
        elif gone is not None:
            break
        else:
            done, status = os.waitpid(pid, os.WNOHANG)
            gone = status if done else None
    if gone is None:
        _, gone = os.waitpid(pid, 0)
    if os.WIFSIGNALED(gone):
        return "signal %d" % os.WTERMSIG(gone)
    return "exit status %d" % os.WEXITSTATUS(gone)


def escape(text):
    text = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    for plain, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"),
                          ("\n", "&#10;"), ("\r", "&#13;"), ("\t", "&#9;")):
        text = text.replace(plain, entity)
    return text


def case_xml(case):
    where = ' classname="%s"' % escape(case["where"]) if case["where"] else ""
    out = ['  <testcase%s name="%s" time="%.3f">' % (where, escape(case["name"]), case["seconds"])]
    if case["clause"]:
        out.append('<properties><property name="clause" value="%s"/></properties>' % escape(case["clause"]))
    element = {"failed": "failure", "xpass": "failure", "error": "error", "skipped": "skipped", "xfail": "skipped"}
    if case["status"] in element:
        out.append('<%s type="%s" message="%s">%s</%s>' % (
            element[case["status"]], case["status"], escape(case["message"]), escape(case["text"]), element[case["status"]]))
    out.append("</testcase>")
    return "".join(out)


def report_xml(cases):
    n = {s: sum(1 for c in cases if c["status"] == s) for s in RANK}
    head = 'tests="%d" failures="%d" errors="%d" skipped="%d"' % (
        len(cases), n["failed"] + n["xpass"], n["error"], n["skipped"] + n["xfail"])
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<testsuites %s>' % head, ' <testsuite name="unittest" %s>' % head]
    lines += [case_xml(c) for c in cases]
    lines += [" </testsuite>", "</testsuites>", ""]
    return "\n".join(lines).encode("utf-8")


def write_report(fd, path, account):
    """Writes through the descriptor that was opened before any test ran."""
    mine, there = os.fstat(fd), None
    try:
        there = os.lstat(path)
    except OSError:
        pass
    if there is None or (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino) or mine.st_size:
        account.tampering.append("the report was replaced")
        try:
            os.unlink(path)
        except OSError:
            pass
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    if account.tampering:
        account.enter({"where": "assay", "name": "integrity", "clause": "", "seconds": 0.0, "status": "error",
                       "text": "", "message": "; ".join(sorted(set(account.tampering)))})
    data = report_xml([account.cases[k] for k in account.order])
    while data:
        data = data[os.write(fd, data):]
    os.fsync(fd)


def verdict(account, must_fail):
    failing = {".".join(k) if k[0] else k[1] for k, c in account.cases.items() if c["status"] in FAILING}
    wanted = {m.replace("::", ".") for m in must_fail}
    if account.tampering:
        return 3
    return 0 if account.cases and failing == wanted else 1


def private(on):
    """Keeps processes of the same user, the code under test first of all, from
    this one's memory, in which the verdicts are; where the system can't, all
    stays as it is."""
    try:
        import ctypes
        ctypes.CDLL(None).prctl(4, 0 if on else 1, 0, 0, 0)  # PR_SET_DUMPABLE
    except (ImportError, OSError, AttributeError):
        pass


def main():
    p = argparse.ArgumentParser(description="Run hidden unittest tests, write JUnit XML.")
    p.add_argument("--tests", required=True, help="folder of the hidden tests")
    p.add_argument("--source", required=True, action="append", help="folder of the code under test; may be repeated")
    p.add_argument("--report", required=True, help="file to write")
    p.add_argument("--pattern", default="test_*.py")
    p.add_argument("only", nargs="*", metavar="FILE", help="only these files of the hidden tests; default: all")
    p.add_argument("--must-fail", action="append", default=[], metavar="ID", help="a test that is known to fail")
    p.add_argument("--allow", action="append", default=[], metavar="EVENT",
                   help="an audit event that the code under test brings about honestly")
    args = p.parse_args()
    args.tests, args.report = os.path.abspath(args.tests), os.path.abspath(args.report)
    args.source = [os.path.abspath(s) for s in args.source]
    if not os.path.isdir(args.tests):
        p.error("%s is no folder" % args.tests)
    os.makedirs(os.path.dirname(args.report), exist_ok=True)
    report = os.open(args.report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o644)
    token = secrets.token_hex(16)
    account = Account(token)
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    private(True)
    pid = os.fork()
    if pid == 0:
        private(False)  # tests may look at themselves
        os.close(read)
        os.close(report)
        run_child(args, write, token)
    os.close(write)
    account.close(listen(read, pid, account))
    write_report(report, args.report, account)
    status = verdict(account, args.must_fail)
    print("%d tests, %d failed; exit status %d" % (
        len(account.cases), sum(1 for c in account.cases.values() if c["status"] in FAILING), status), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
