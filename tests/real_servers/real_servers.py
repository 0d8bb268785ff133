"""detcheck against real servers on the CPU: vLLM and llama.cpp's llama-server. scripts/test-real-servers sets up what this
needs and says it by environment variables.

    real_servers.py CACHE [WORD ...]

Runs the settings whose names have all the words (default: all), prints a table of what was found, and ends with 1 where a
mode did not end as the settings below expect. Reports and logs stay in CACHE/runs."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from server_process import ServerProcess

DETCHECK = os.environ["DETCHECK"]
MODEL = os.environ["DETCHECK_MODEL"]
RUN = ["--profile", "quick", "--fixture", "q13", "--batch-sizes", "1,2,4,8", "--n-trials", "4", "--max-new-tokens", "16",
       "--long-tokens", "300", "--timeout", "300", "--no-progress"]
CONTEXT = 1024  # Keeps the prompts of prefix and radix_cache short enough for a CPU.


@dataclasses.dataclass
class Setting:
    """One way to start a server, and the verdict with which each mode is expected to end."""

    name: str
    api: str
    options: list
    expected: dict

    def command(self, folder):
        if self.api == "vllm":
            # The command `vllm` of this package looks for the metadata of another one; the module does not.
            return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL, "--host", "127.0.0.1",
                    "--served-model-name", "smollm2-135m", "--max-model-len", str(CONTEXT), "--enforce-eager",
                    "--enable-prompt-tokens-details", *self.options]
        slots = folder / "slots"
        slots.mkdir(exist_ok=True)
        # Without --cache-ram 0 what was erased comes back.
        # One thread: those of ggml wait for each other by spinning, which takes minutes where others use the cores, too.
        return [os.environ["LLAMA_SERVER"], "--model", os.environ["LLAMA_MODEL"], "--host", "127.0.0.1", "--threads", "1",
                "--metrics", "--slot-save-path", str(slots), "--cache-ram", "0", *self.options]

    def environment(self, cache):
        if self.api != "vllm":
            return {}
        return {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1",
                "VLLM_CACHE_ROOT": str(cache / "vllm"), "HF_HUB_OFFLINE": "1"}


PASS, UNSUPPORTED = "pass", "unsupported"
EITHER = "pass or fail"  # Runs differ.
# Neither server promises what is tested here: each `fail` is a finding (README), and a `pass` in its place would be news.
# So it is on processors with bfloat16 instructions; on others the servers have other kernels.
FAIL = "fail" if "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text() else EITHER

VLLM = {"single": FAIL, "batch": FAIL, "mixed": FAIL, "prefix": FAIL, "radix_cache": FAIL, "p_vs_d": FAIL, "seeds": FAIL,
        "history": PASS}
LLAMA = {"single": FAIL, "batch": FAIL, "mixed": EITHER, "prefix": FAIL, "radix_cache": FAIL, "p_vs_d": UNSUPPORTED,
         "seeds": FAIL, "history": PASS}
ONE_SLOT = {**{mode: UNSUPPORTED for mode in LLAMA}, "single": PASS, "radix_cache": FAIL, "history": PASS}

SETTINGS = [
    Setting("vllm prefix-cache-on", "vllm", ["--enable-prefix-caching"], VLLM),
    Setting("vllm prefix-cache-off", "vllm", ["--no-enable-prefix-caching"], {**VLLM, "radix_cache": UNSUPPORTED}),
    # Not more modes: seeds and history would end the server (README).
    Setting("vllm chunks-of-256", "vllm", ["--max-num-batched-tokens", "256"],
            {"mixed": FAIL, "radix_cache": FAIL, "p_vs_d": FAIL}),
    Setting("llama.cpp 8-slots", "llamacpp", ["-np", "8", "--no-kv-unified", "--ctx-size", str(8 * CONTEXT)], LLAMA),
    # As it is where -np is not given.
    Setting("llama.cpp 8-slots-unified", "llamacpp", ["-np", "8", "--kv-unified", "--ctx-size", str(2 * CONTEXT)],
            {"mixed": FAIL}),
    Setting("llama.cpp 1-slot", "llamacpp", ["-np", "1", "--ctx-size", str(CONTEXT)], ONE_SLOT),
]


def place_of(request):
    """Output position at which a token, or else only a logprob, first differs."""
    first = request.get("earliest")
    if first is None:  # p_vs_d
        return f"logprob {request['prefill']['index']}"
    return f"token {first['index']}" if "index" in first else f"logprob {first['first_logprob_index']}"


def found(mode):
    """Formed sizes and the earliest divergence of a mode, in a few words; else why it has no verdict."""
    if mode["verdict"] not in ("pass", "fail"):
        return mode["reasons"][0] if mode["reasons"] else ""
    words = ["formed " + ",".join(map(str, mode["formed_sizes"]))]
    diverged = [request for request in mode["requests"] if request["verdict"] == "fail"]
    for request in diverged[:1]:
        count = f"{len(diverged)} of {len(mode['requests'])} requests"
        words.append(f"{count}; {request['id']}: {place_of(request)}, {request['cause']}")
    return "; ".join(words)


def version_of(report):
    fields = {field["name"]: field.get("value", "") for field in report["subject"]}
    return fields.get("engine.version", "")


def run_mode(mode, url, folder):
    """Verdict, what was found, and the server's version."""
    report_path = folder / f"{mode}.json"
    for left in folder.glob(f"{mode}.json*"):  # Of a run that was interrupted, too.
        left.unlink()
    command = [DETCHECK, mode, *RUN, "--endpoint", url, "--report", str(report_path)]
    run = subprocess.run(command, capture_output=True, text=True)
    (folder / f"{mode}.log").write_text(run.stderr + run.stdout)
    if not report_path.exists():
        return f"exit code {run.returncode}", " ".join(run.stderr.strip().splitlines()[-1:]), ""
    report = json.loads(report_path.read_text())
    judged = report["judgement"]["modes"][0]
    return judged["verdict"], found(judged), version_of(report)


def run_setting(setting, cache):
    """Whether every mode ended as expected. Prints a line of the table for each."""
    folder = cache / "runs" / setting.name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    with ServerProcess(setting.command(folder), folder / "server.log", setting.environment(cache)) as server:
        for mode, expected in setting.expected.items():
            begin = time.monotonic()
            verdict, what, version = run_mode(mode, server.url, folder)
            as_expected = verdict in expected.split(" or ")
            good = good and as_expected
            mark = "" if as_expected else f"NOT AS EXPECTED ({expected}); "
            print(f"{setting.name:25} {version:12} {mode:12} {verdict:12} {time.monotonic() - begin:6.0f} s  {mark}{what}",
                  flush=True)
    return good


def main(cache, *words):
    chosen = [setting for setting in SETTINGS if all(word in setting.name for word in words)]
    if not chosen:
        print(f"error: no setting has {' '.join(words)} in its name: there are "
              f"{', '.join(setting.name for setting in SETTINGS)}", file=sys.stderr)
        return 2
    good = True
    for setting in chosen:
        try:
            good = run_setting(setting, pathlib.Path(cache)) and good
        except RuntimeError as error:
            print(f"{setting.name:25} {error}", flush=True)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that the server is stopped, too.
    sys.exit(main(*sys.argv[1:]))
