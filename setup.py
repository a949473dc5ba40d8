"""Builds gradwire's extension by the project's CMake, for the torch that is installed.

What it takes beside torch are Debian packages: tools/bootstrap installs them.
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


def torch_prefix() -> str:
    """Where CMake finds the installed torch."""
    try:
        import torch.utils
    except ImportError as error:
        raise SystemExit(
            "gradwire is built for the torch that is installed, and there is none for "
            f"{sys.executable} ({error}). If there is one, pip hides it: call it as "
            "'pip install --no-build-isolation .'"
        )
    if not torch.compiled_with_cxx11_abi():
        raise SystemExit(
            f"torch {torch.__version__} was compiled with the old ABI of C++ strings, which Debian's "
            "libraries do not have: take a torch of the new one (from 2.6 on, or Debian's)"
        )
    return torch.utils.cmake_prefix_path


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
            f"-DCMAKE_PREFIX_PATH={torch_prefix()}",
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
