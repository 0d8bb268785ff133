"""Puts the parts of a scripts/gpu-test run into one JSON document: DIR REVISION, to standard output."""

import datetime
import json
import pathlib
import re
import subprocess
import sys

SCHEDULES = re.compile(
    r"(?P<model>synthetic:\S+): (?P<schedules>\d+) schedules, (?P<positions>\d+) positions compared "
    r"\((?P<recomputed>\d+) of them computed again\), (?P<reference>\d+) reference positions, "
    r"(?P<answers>\d+) answers compared: (?P<differ>\d+) differ\s+(?P<tokens>\d+) tokens of requests")
COMMAND = re.compile(r"^== (?P<command>.*)\n(?:(?!^== ).*\n)*?== exit code (?P<code>\d+), wanted (?P<wanted>\d+)",
                     re.MULTILINE)


def gpu():
    fields = ["name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.memory", "power.limit"]
    line = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader"],
                          capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return dict(zip(fields, (value.strip() for value in line.split(","))))


def cuda():
    text = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release \S+ (V\S+)", text).group(1)


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def main():
    out, revision = pathlib.Path(sys.argv[1]), sys.argv[2]
    result = {"gpu": gpu(), "cuda": cuda(), "revision": revision,
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "parts": {}}
    for path in sorted(out.glob("*.rc")):
        code, seconds = path.read_text().split()
        result["parts"][path.stem] = {"exit_code": int(code), "seconds": int(seconds)}
    result["passed"] = bool(result["parts"]) and all(part["exit_code"] == 0 for part in result["parts"].values())
    for name in ("modes", "control", "sanitizers"):
        runs = [{"command": re.sub(r"\S*/", "", m["command"]), "exit_code": int(m["code"]), "wanted": int(m["wanted"])}
                for m in COMMAND.finditer(read(out / f"{name}.log"))]
        if runs:
            result[name] = runs
    schedules = [{key: value if key == "model" else int(value) for key, value in m.groupdict().items()}
                 for m in SCHEDULES.finditer(read(out / "schedules.log"))]
    if schedules:
        result["schedules"] = schedules
    if result["parts"].get("cost", {}).get("exit_code") == 0:  # Else it may be cut off.
        result["cost"] = json.loads(read(out / "engine_cost.json"))
    json.dump(result, sys.stdout, indent=2)
    print()


main()
