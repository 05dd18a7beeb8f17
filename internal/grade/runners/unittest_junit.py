"""Runs hidden unittest tests against a workspace and writes JUnit XML.

    python3 -I unittest_junit.py --tests DIR --source DIR --report FILE
                                 [--pattern 'test_*.py'] [--must-fail ID]...

Two processes: the child imports and runs the code under test, the parent has
never seen that code and writes the report. What the child says counts only
with a token that the parent made up; a child that ends without saying "end"
has failed. The workspace comes after the standard library on sys.path.

Exit status: 0 every test passed, or exactly those of --must-fail failed;
1 anything else; 2 wrong usage; 3 the code under test tampered with this
runner or with the report.

Python 3.9 or newer, standard library only.
"""

import argparse
import builtins
import fnmatch
import importlib.util
import json
import os
import re
import secrets
import select
import sys
import time
import traceback
import unittest
import unittest.async_case
import unittest.case
import unittest.loader
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


def load_packages(root, parts, done):
    for i in range(1, len(parts) + 1):
        name, path = ".".join(parts[:i]), os.path.join(root, *parts[:i], "__init__.py")
        if name not in done and os.path.exists(path):
            done.add(name)
            load(name, path, is_package=True)


def child(args, emit, quit_):
    watch = Watch()
    for module in (unittest.case, unittest.suite, unittest.loader, unittest.result, unittest.async_case):
        watch.add_module(module)
    watch.add(Result)
    watch.add(builtins, PLAIN_BUILTINS)
    result, loader, done = Result(emit, watch), unittest.TestLoader(), set()
    files = discover(args.tests, args.pattern)
    suites = []
    for name, path, parts in files:
        try:
            load_packages(args.tests, parts, done)
            module = load(name, path)
            watch.look()
            for value in list(vars(module).values()):
                if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == name:
                    watch.add(value, frozenset(n for n in vars(value) if n.startswith("test")))
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


def main():
    p = argparse.ArgumentParser(description="Run hidden unittest tests, write JUnit XML.")
    p.add_argument("--tests", required=True, help="folder of the hidden tests")
    p.add_argument("--source", required=True, action="append", help="folder of the code under test; may be repeated")
    p.add_argument("--report", required=True, help="file to write")
    p.add_argument("--pattern", default="test_*.py")
    p.add_argument("--must-fail", action="append", default=[], metavar="ID", help="a test that is known to fail")
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
    pid = os.fork()
    if pid == 0:
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
