"""Takes SGLang's own test_deterministic.py, unchanged, out of the package that PyPI has.

    fetch_sglang_script.py WHEELS FOLDER

Of `sglang` the script imports `sglang.profiler` alone; the package's __init__ would bring PyTorch, so only these files
go to FOLDER, where Python takes them as a namespace package. Prints the version."""

import pathlib
import sys
import zipfile

FILES = ["sglang/profiler.py", "sglang/test/test_deterministic.py", "sglang/test/long_prompt.txt"]


def main(wheels, folder):
    (wheel,) = pathlib.Path(wheels).glob("sglang-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            archive.extract(name, folder)
    print(wheel.name.split("-")[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
