#!/usr/bin/env python3
"""Takes the answers to lone requests out of a detcheck report, for compare_reference.py.

Writes {"prompts": [{"id": ..., "token_ids": [...], "logprobs": [...]}, ...]} to standard output: the
first answer with logprobs to each request that was alone in a batch.
"""

import argparse
import base64
import json
import pathlib
import struct


def chosen_logprobs(block):
    code, size = ("f", 4) if block["type"] == "f32" else ("d", 8)
    data = base64.b64decode(block["chosen"])
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def lone_answers(report):
    requests = report["plan"]["requests"]
    answers = {}
    for record in report["transcript"]["records"]:
        items = report["plan"]["steps"][record["step"]].get("items", [])
        if len(items) != 1 or "logprobs" not in record["items"][0]:
            continue
        name = requests[items[0].get("request", 0)]["id"]
        sample = record["items"][0]
        answers.setdefault(name, {
            "id": name,
            "token_ids": report["outputs"][sample["output"]]["ids"],
            "logprobs": chosen_logprobs(report["logprobs"][sample["logprobs"]]),
        })
    return list(answers.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=pathlib.Path)
    report = json.loads(parser.parse_args().report.read_text(encoding="utf-8"))
    print(json.dumps({"prompts": lone_answers(report)}))


if __name__ == "__main__":
    main()
