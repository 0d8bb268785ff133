"""The traps of the servers' interfaces and the tests of their handling (traps.json): every test is there, and there are enough.

    check_traps.py TEST_PROGRAM...      programs of GoogleTest, whose tests the list may name
"""

import ast
import json
import pathlib
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
TRAPS = pathlib.Path(__file__).with_name("traps.json")
SERVERS = {"sglang", "vllm", "llamacpp", "tgi", "trtllm", "lmdeploy", "ollama", "openai", "any"}
FEWEST = 40


def gtest_names(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    names, suite = set(), ""
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            names.add(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return names


def python_names(path):
    """CLASS.METHOD of the tests in a file."""
    return {f"{outer.name}.{inner.name}"
            for outer in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(outer, ast.ClassDef)
            for inner in outer.body if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_")}


def faults(traps, gtests):
    for number, trap in enumerate(traps):
        place = f"traps.json[{number}]"
        if set(trap) != {"server", "trap", "test"} or not all(isinstance(value, str) and value for value in trap.values()):
            yield f"{place}: needs server, trap and test, and nothing else"
            continue
        if trap["server"] not in SERVERS:
            yield f"{place}: {trap['server']} is no server that there is an adapter for"
        path, _, name = trap["test"].rpartition(" ")
        there = gtests
        if path:
            file = REPO / path
            there = python_names(file) if file.is_file() else set()
        if name not in there:
            yield f"{place}: there is no test {trap['test']}"
    told = [(trap.get("server"), trap.get("trap")) for trap in traps]
    for pair in sorted({pair for pair in told if told.count(pair) > 1}):
        yield f"twice: {pair}"
    if len(traps) < FEWEST:
        yield f"{len(traps)} traps, {FEWEST} at least"


def main(programs):
    gtests = set().union(*(gtest_names(program) for program in programs))
    traps = json.loads(TRAPS.read_text(encoding="utf-8"))
    found = list(faults(traps, gtests))
    for fault in found:
        print(fault)
    print(f"{len(traps)} traps, {len({trap['test'] for trap in traps})} tests")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
