"""Builds gradwire's extension with the project's CMake.

The build needs Debian packages, which tools/bootstrap installs. It does not need torch.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent.resolve()
BUILD = HERE / "build" / "pip"  # everything that building leaves


class CMakeBuild(build_ext):
    """Hands the extension to CMake, and takes it from there."""

    def build_extension(self, extension: Extension) -> None:
        if shutil.which("cmake") is None:
            raise SystemExit("there is no cmake: tools/bootstrap installs what gradwire needs")
        cmake = BUILD / "cmake"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        configure = ["cmake", "-S", HERE, "-B", cmake, *generator]
        configure += [
            "-DCMAKE_BUILD_TYPE=Release",
            f"-DPython_EXECUTABLE={sys.executable}",
            "-DGRADWIRE_PYTHON=ON",
            "-DGRADWIRE_CLI=OFF",
            "-DGRADWIRE_TESTS=OFF",
            "-DGRADWIRE_MPI=OFF",
        ]
        subprocess.run(configure, check=True)
        subprocess.run(
            ["cmake", "--build", cmake, "--target", "python_native", "--parallel"], check=True
        )
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        (built,) = (cmake / "python" / "gradwire").glob("_native*.so")
        shutil.copy2(built, target)


def version() -> str:
    """The project's own."""
    found = re.search(r"project\(gradwire VERSION ([\d.]+)", (HERE / "CMakeLists.txt").read_text())
    assert found, "CMakeLists.txt has no version"
    return found.group(1)


BUILD.mkdir(parents=True, exist_ok=True)
setup(
    version=version(),
    ext_modules=[Extension("gradwire._native", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}},
)
