"""Manifests tell what was tested and with what, and never who did it, where, or with which keys."""

import html
import json
import os
import pathlib
import shutil
import socket
import sys
import unittest

from binary_case import DETERMINISTIC, QUICK, REPO, BinaryCase
from model_folder import write_model

SECRET = "hf_S3cretT0kenS3cretT0ken"
USER = "alice-wonder"
FORBIDDEN = [SECRET, USER, "/home/", "private-folder", "internal.example", str(REPO)]

HOSTILE = {
    "USER": USER,
    "LOGNAME": USER,
    "HOME": f"/home/{USER}",
    "HOSTNAME": "internal.example",
    "HF_TOKEN": SECRET,
    "OPENAI_API_KEY": SECRET,
    "HTTPS_PROXY": f"https://{USER}:{SECRET}@internal.example:3128",
    "OMP_NUM_THREADS": SECRET,
    "OPENBLAS_CORETYPE_HINT": SECRET,
    "NCCL_ALGO": USER,
    "CUDA_VISIBLE_DEVICES": SECRET,
    "MKL_CBWR": f"/home/{USER}/private-folder",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}


def fields(manifest):
    return {field["name"]: field for field in manifest}


TOKENIZER = (pathlib.Path(__file__).resolve().parents[1] / "tokenizer" / "golden" / "tiny.json").read_text(encoding="utf-8")


class Privacy(BinaryCase):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, **HOSTILE}

    def assert_clean(self, name, text):
        forbidden = [*FORBIDDEN, str(self.folder)]
        host = socket.gethostname()
        if len(host) > 7:  # A short one may be part of a word.
            forbidden.append(host)
        for word in forbidden:
            self.assertFalse(word in text or word in html.unescape(text), f"{word} is in {name}")

    def private_model(self):
        folder = self.folder / "private-folder" / USER
        folder.parent.mkdir()
        write_model(folder)
        return str(folder)

    def test_nothing_private_is_written_anywhere(self):
        private = self.folder / "private-folder"
        model = self.private_model()
        fixture = private / "f.json"
        shutil.copy(REPO / "fixtures" / "sets" / "short-questions.any.json", fixture)
        outputs = ["r.json", "r.xml", "r.md", "r.html"]
        run = self.detcheck(
            "single", "--profile", "quick", "--batch-sizes", "1,2", "--n-trials", "2",
            "--model", model, "--fixture", str(fixture), "--fixture", "q13",
            "--max-new-tokens", "4", "--dry-run",
            env=self.environment,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        run = self.detcheck(
            "single", *QUICK, *DETERMINISTIC, "--model", model, "--fixture", str(fixture),
            "--max-new-tokens", "4", "--allow-inconclusive", f"single:{private}/x",
            "--report", str(self.folder / "r.json"), "--junit", "r.xml", "--markdown", "r.md",
            "--html", "r.html",
            env=self.environment,
        )
        self.assertIn(run.returncode, (0, 1, 3), run.stderr)
        self.assert_clean("stdout", run.stdout)
        for name in outputs:
            self.assert_clean(name, (self.folder / name).read_text())
        subject = fields(self.report()["subject"])
        self.assertEqual(subject["model.name"]["value"], "(private)")
        for command in (["show", "r.json"], ["gate", "r.json", "--annotations"],
                        ["diff", "r.json", "r.json"]):
            run = self.detcheck(*command, env=self.environment)
            self.assert_clean(" ".join(command), run.stdout)

    def test_the_transcript_of_an_interrupted_run(self):
        run = self.detcheck(
            "all", *QUICK, *DETERMINISTIC, "--model", self.private_model(), "--max-new-tokens", "8",
            "--budget", "0.2", "--report", "r.json", env=self.environment,
        )
        self.assertNotEqual(run.returncode, 2, run.stderr)
        transcript = self.folder / "r.json.transcript.jsonl"
        self.assertTrue(transcript.exists(), run.stderr)
        self.assert_clean("transcript", transcript.read_text())
        self.assert_clean("report", (self.folder / "r.json").read_text())

    def test_the_manifest_command(self):
        run = self.detcheck("manifest", "--model", self.private_model(), env=self.environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_clean("manifest", run.stdout)
        self.assertNotIn("HF_TOKEN", run.stdout)
        self.assertRegex(run.stdout, r"env.CUBLAS_WORKSPACE_CONFIG +observed +:4096:8")
        self.assertRegex(run.stdout, r"env.OMP_NUM_THREADS +observed +\(set; not a value")


class Subject(BinaryCase):
    def manifest(self, *options):
        run = self.detcheck("manifest", "--json", *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_every_field_has_a_source_and_unknown_ones_are_listed(self):
        manifest = self.manifest(*DETERMINISTIC)
        for part in ("subject", "harness"):
            for field in manifest[part]:
                self.assertEqual(field["source"] == "unknown", field["value"] == "", field)
        subject = fields(manifest["subject"])
        for name in ("engine.commit", "model.tokenizer_sha256", "process.start"):
            self.assertEqual(subject[name]["source"], "unknown")
        self.assertEqual(subject["engine.determinism_claimed"]["source"], "claimed")
        for name in ("engine.cuda_graph", "kernels.bit_classes", "parallelism.tp_size"):
            self.assertEqual(subject[name]["source"], "observed")

    def test_why_auto_took_its_engine(self):
        self.assertIn("detcheck.engine_choice", fields(self.manifest()["harness"]))
        self.assertNotIn("detcheck.engine_choice", fields(self.manifest("--engine", "cpu")["harness"]))

    def test_the_embedded_engine_tells_no_field_that_is_not_documented(self):
        document = (REPO / "reports" / "schema" / "manifest-fields.md").read_text()
        for options in ([], DETERMINISTIC):
            manifest = self.manifest(*options)
            for part in ("subject", "harness"):
                for field in manifest[part]:
                    name = field["name"]
                    variable = name.removeprefix("env.")
                    self.assertTrue(f"`{name}`" in document or f"`{variable}`" in document, name)

    def test_digests_of_a_model_directory(self):
        folder = self.folder / "m"
        write_model(folder)
        (folder / "tokenizer.json").write_text(TOKENIZER)
        subject = fields(self.manifest("--model", str(folder))["subject"])
        for name in ("weights", "config", "tokenizer"):
            self.assertRegex(subject[f"model.{name}_sha256"]["value"], "^[0-9a-f]{64}$")
        self.assertEqual(subject["model.chat_template_sha256"]["source"], "unknown")

    def test_a_changed_tokenizer_is_another_target(self):
        folder = self.folder / "m"
        write_model(folder)
        (folder / "tokenizer.json").write_text(TOKENIZER)
        options = ["all", *QUICK, *DETERMINISTIC, "--model", str(folder), "--max-new-tokens", "8",
                   "--report", "r.json"]
        self.detcheck(*options, "--budget", "0.2")
        (folder / "tokenizer.json").write_text(TOKENIZER + "\n")
        run = self.detcheck(*options, "--resume")
        self.assert_refused(run, "the target is not the one that answered it")


if __name__ == "__main__":
    sys.exit(unittest.main())
