"""Builds gradwire's extension with the project's CMake. It does not need torch.

CMake and Ninja come from PyPI where the machine has none. The compiler and the libraries do not:
CMakeLists.txt finds them, and names those that are missing.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent.resolve()
# Everything that building leaves. It is as deep as build/, so that ccache, which compares relative
# paths, has the library already where build/ has it.
BUILD = HERE / "build-pip"
CMAKE_MIN = (3, 25)


class CMakeBuild(build_ext):
    """Hands the extension to CMake, and takes it from there."""

    def build_extension(self, extension: Extension) -> None:
        check_tools()
        run("cmake", "--preset", "release", "-S", HERE, "-B", BUILD, *settings())
        run("cmake", "--build", BUILD, "--target", "python_native", "--parallel", processors())
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(BUILD / "python" / "gradwire" / target.name, target)


def settings() -> List[str]:
    """Those of the environment's CMAKE_ARGS come last. What CMake remembers of another Python is
    dropped."""
    given = ["-U_Python*", "-UPython*", "-UPYTHON*", "-Upybind11_DIR"]
    given += [
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DGRADWIRE_CLI=OFF",
        "-DGRADWIRE_TESTS=OFF",
        "-DGRADWIRE_WERROR=OFF",
    ]
    if not shutil.which("ninja"):
        given += ["-G", "Unix Makefiles"]
    try:
        import pybind11

        given.append(f"-Dpybind11_DIR={pybind11.get_cmake_dir()}")
    except ImportError:  # a build without isolation: CMake finds that of the system
        pass
    return given + shlex.split(os.environ.get("CMAKE_ARGS", ""))


def processors() -> str:
    return str(len(os.sched_getaffinity(0)))


def run(*call: object) -> None:
    if subprocess.run([str(part) for part in call]).returncode != 0:
        raise SystemExit("gradwire: CMake could not build the extension; its message is above")


def check_tools() -> None:
    """Those that PyPI does not have, or that a build without isolation lacks."""
    missing = []
    compilers = [os.environ["CXX"].split()[0]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    if not any(map(shutil.which, compilers)):
        missing.append(f"a C++20 compiler: there is no {' and no '.join(compilers)} (Debian: g++)")
    if not has_cmake():
        missing.append(f"CMake {'.'.join(map(str, CMAKE_MIN))} or later (Debian: cmake)")
    if not any(map(shutil.which, ("ninja", "make"))):
        missing.append("ninja or make (Debian: ninja-build)")
    if missing:
        raise SystemExit("gradwire: the extension cannot be built without\n  " + "\n  ".join(missing))


def has_cmake() -> bool:
    if shutil.which("cmake") is None:
        return False
    said = subprocess.run(["cmake", "--version"], stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", said)
    return found is not None and tuple(map(int, found.groups())) >= CMAKE_MIN


def tools_of_pypi() -> List[str]:
    """For pip, which installs them beside those of pyproject.toml, for this build alone."""
    tools = [] if has_cmake() else [f"cmake>={'.'.join(map(str, CMAKE_MIN))}"]
    return tools + ([] if any(map(shutil.which, ("ninja", "make"))) else ["ninja"])


def version() -> str:
    """The project's own."""
    found = re.search(r"project\(gradwire VERSION ([\d.]+)", (HERE / "CMakeLists.txt").read_text())
    assert found, "CMakeLists.txt has no version"
    return found.group(1)


BUILD.mkdir(parents=True, exist_ok=True)
for packed in BUILD.glob("lib.*"):  # a file that the package has no longer must not be packed again
    shutil.rmtree(packed)
setup(
    version=version(),
    setup_requires=tools_of_pypi(),
    ext_modules=[Extension("gradwire._native", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}},
)
