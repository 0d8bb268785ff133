"""Fixtures made from text by the tokenizer of detcheck serve."""

import sys
import unittest

import model_folder
import test_fixture_make_server
from serve_case import IDS, ServeCase


class MadeByServe(test_fixture_make_server.Make, ServeCase):
    """detcheck serve, whose synthetic model has a text for each token."""

    def test_as_sglang_and_as_vllm(self):
        server = self.serve()
        self.addCleanup(server.stop)
        self.write("q.txt", server.post("/detokenize", tokens=IDS)["prompt"])
        for api in ("sglang", "vllm"):
            made = self.made(server.url, "--api", api)
            self.assertEqual(made["fixtures"][0]["prompt_ids"], IDS)
            self.assertRegex(made["tokenizer"]["server"], f"^{api} 0")
            self.assertIs(made["tokenizer"]["round_trip"], True)

    def test_a_text_that_has_no_ids(self):
        server = self.serve()
        self.addCleanup(server.stop)
        self.refuse(server.url, 2, "q.txt: q: the server: .*synthetic")

    def test_a_model_without_a_tokenizer(self):
        model_folder.write_model(self.folder / "model")
        server = self.serve("--model", str(self.folder / "model"))
        self.addCleanup(server.stop)
        self.refuse(server.url, 3, "so no tokenizer")


if __name__ == "__main__":
    sys.exit(unittest.main())
