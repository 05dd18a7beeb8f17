"""Makes the kit of mini-swe-agent: the program, the packages that it imports,
and this machine's Python with every library that it needs, its loader and its
C library included. Nothing of a box's image is used, so the kit runs in an
image without Python, with an older C library, or with another one.

    python3 kit.py FOLDER PACKAGE...
"""

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig

# Parts of the standard library and of packages that no trial uses.
LEFT_OUT = {
    "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "dist-packages",
    "__pycache__", "_experimental", "pip", "setuptools",
}


def main(folder, packages):
    if sys.version_info < (3, 10):
        sys.exit("mini-swe-agent needs Python 3.10 or later, and python3 is " + sys.version.split()[0])
    if not sys.platform.startswith("linux"):
        sys.exit("the kit of mini-swe-agent is made of this machine's Python, which must be one for Linux")
    install(os.path.join(folder, "packages"), packages)
    copy(os.path.join(folder, "packages"), os.path.join(folder, "site"))
    shutil.rmtree(os.path.join(folder, "packages"))
    python(folder)
    libraries(folder)
    # What was compiled is taken without a look at times, which a copy changes.
    compileall.compile_dir(folder, quiet=2, workers=0, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def install(to, packages):
    """The program without what it declares, of which most is for benchmarks."""
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
    for args in (["--no-deps", packages[0]], packages[1:]):
        subprocess.run(pip + ["--target", to] + args, check=True)


def copy(source, to):
    shutil.copytree(source, to, symlinks=True, ignore=left_out)


def left_out(_, names):
    return [n for n in names if n in LEFT_OUT or n.startswith(("config-", "_tkinter."))]


def python(folder):
    """The interpreter, and its library where it looks for that."""
    version = "python%d.%d" % sys.version_info[:2]
    os.makedirs(os.path.join(folder, "bin"))
    shutil.copy(os.path.realpath(sys._base_executable), os.path.join(folder, "bin", "python3"))
    lib = os.path.join(folder, "lib", version)
    copy(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}), lib)
    native = sysconfig.get_config_var("DESTSHARED")
    if native and os.path.isdir(native) and not os.path.isdir(os.path.join(lib, "lib-dynload")):
        copy(native, os.path.join(lib, "lib-dynload"))


def libraries(folder):
    """Every library that a file of the kit is linked with, and the loader."""
    to = os.path.join(folder, "libs")
    os.makedirs(to)
    files = [os.path.join(folder, "bin", "python3")]
    for where, _, names in os.walk(folder):
        files += [os.path.join(where, n) for n in names if n.endswith(".so") or ".so." in n]
    loader = None
    for i in range(0, len(files), 100):
        said = subprocess.run(["ldd", *files[i : i + 100]], capture_output=True, text=True).stdout
        for name, path in re.findall(r"^\s+(\S+)(?: => (/\S+))? \(0x", said, re.M):
            if name.startswith("/"):
                loader = name
            elif path and not path.startswith(os.path.realpath(folder)):
                keep(path, os.path.join(to, os.path.basename(name)))
    if not loader:
        sys.exit("this machine's Python isn't linked with the GNU C library; one that is makes the kit")
    keep(loader, os.path.join(to, "loader"))
    # Looked up by name at run time on older C libraries.
    for name in ("libnss_files.so.2", "libnss_dns.so.2"):
        at = os.path.join(os.path.dirname(os.path.realpath(loader)), name)
        if os.path.exists(at):
            keep(at, os.path.join(to, name))


def keep(source, to):
    if not os.path.exists(to):
        shutil.copy(os.path.realpath(source), to)
        os.chmod(to, 0o755)


main(sys.argv[1], sys.argv[2:])
