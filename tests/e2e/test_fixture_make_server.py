"""Fixtures made from text by the tokenizers of servers."""

import json
import sys
import unittest

from server_case import ServerCase

import mock_tokenizer
from binary_case import REPO
from llamacpp_mock import LlamacppMock
from lmdeploy_mock import LmdeployMock
from ollama_mock import OllamaMock
from sglang_mock import SglangMock
from trtllm_mock import TrtllmMock
from vllm_mock import VllmMock

SCHEMA = REPO / "fixtures" / "schema" / "fixtures-1.schema.json"
TEXT = "Hé, <s> you .\n"


class Make(ServerCase):
    def setUp(self):
        super().setUp()
        self.write("q.txt", TEXT)

    def make(self, url, *options):
        return self.detcheck("fixture", "make", "q.txt", "--endpoint", url, "--output", "set.json", *options)

    def made(self, url, *options, note=""):
        run = self.make(url, *options)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn(note, run.stdout)
        self.assert_valid(SCHEMA, "set.json")
        self.assertEqual(self.detcheck("fixture", "check", "set.json").returncode, 0)
        return json.loads((self.folder / "set.json").read_text(encoding="utf-8"))

    def refuse(self, url, code, pattern, *options):
        run = self.make(url, *options)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertRegex(run.stderr, pattern)
        self.assertNotIn("set.json", self.names())


class Servers(Make):
    def assert_made(self, server, expected, *options, special=False, note=""):
        made = self.made(server.url, *options, note=note)
        self.assertEqual(made["fixtures"][0]["prompt_ids"], mock_tokenizer.encode(TEXT, special))
        self.assertEqual(made["fixtures"][0]["text"], TEXT)
        self.assertEqual(made["tokenizer"], {**expected, "special_tokens": special, "round_trip": not note})
        self.assertNotIn("/generate", server.paths())
        self.assertNotIn("/v1/completions", server.paths())

    def test_vllm(self):
        tokenizer = {"name": "org/tiny-llama", "server": "vllm 0.27.0", "model": "org/tiny-llama"}
        self.assert_made(self.mock(VllmMock), tokenizer)
        self.assert_made(self.mock(VllmMock), tokenizer, "--add-special-tokens", special=True)

    def test_sglang_in_both_spellings(self):
        tokenizer = {"name": "tiny-llama", "server": "sglang 0.5.6", "model": "tiny-llama"}
        self.assert_made(self.mock(SglangMock), tokenizer)
        self.assert_made(self.mock(SglangMock, old_names=True), tokenizer)

    def test_llamacpp(self):
        tokenizer = {"name": "tiny-q4.gguf", "server": "llama.cpp b6000-abc1234", "model": "tiny-q4.gguf"}
        self.assert_made(self.mock(LlamacppMock), tokenizer)
        self.assert_made(self.mock(LlamacppMock), tokenizer, "--add-special-tokens", special=True)

    def test_lmdeploy_does_not_decode(self):
        tokenizer = {"name": "org/tiny", "server": "lmdeploy", "model": "org/tiny"}
        self.assert_made(self.mock(LmdeployMock), tokenizer, note="the server does not decode")

    def test_tensorrt_llm_adds_special_tokens_always(self):
        tokenizer = {"name": "tiny", "server": "tensorrt-llm 1.2.0", "model": "tiny"}
        server = self.mock(TrtllmMock)
        self.refuse(server.url, 3, "special tokens .* cannot be left out; --add-special-tokens takes them")
        self.assert_made(server, tokenizer, "--add-special-tokens", special=True, note="the server does not decode")


class Facts(Make):
    def test_the_vocabulary_is_the_servers_or_holds_all_ids(self):
        self.assertEqual(self.made(self.mock(LlamacppMock).url)["vocab_size"], 32000)
        self.assertEqual(self.made(self.mock(VllmMock).url)["vocab_size"], max(mock_tokenizer.encode(TEXT, False)) + 1)
        declared = self.made(self.mock(VllmMock).url, "--declare", "model.vocab_size=500")
        self.assertEqual(declared["vocab_size"], 500)

    def test_a_set_goes_back_to_the_server_that_made_it(self):
        server = self.mock(VllmMock)
        self.made(server.url)
        run = self.run_mode("single", server, "--fixture", "set.json")
        self.assert_verdict(run, 0)
        self.assertIn(mock_tokenizer.encode(TEXT, False), [body["prompt"] for body in server.bodies])

    def test_the_name_may_be_given(self):
        self.assertEqual(self.made(self.mock(VllmMock).url, "--tokenizer-name", "t")["tokenizer"]["name"], "t")


class Refusals(Make):
    def test_servers_without_a_tokenizer(self):
        self.refuse(self.mock(VllmMock, no_tokenizer=True).url, 3, "the server has no /tokenize, so no tokenizer")
        self.refuse(self.mock(SglangMock, no_tokenizer=True).url, 3, "the server has no /v1/tokenize, so no tokenizer")

    def test_a_server_whose_kind_has_no_tokenizer(self):
        self.refuse(self.mock(OllamaMock).url, 3, "ollama has no end point that tokenizes")

    def test_a_text_that_does_not_come_back(self):
        self.refuse(self.mock(VllmMock, cleans_up=True).url, 2,
                    r"q.txt: q: the tokenizer does not give this text back: it differs at byte 12")

    def test_a_text_that_is_not_utf8(self):
        self.write("q.txt", b"caf\xe9")
        self.refuse(self.mock(VllmMock).url, 2, "q.txt: q: byte 3: not UTF-8")

    def test_nobody_listens(self):
        self.refuse("http://127.0.0.1:9", 4, "127.0.0.1:9")

    def test_one_tokenizer(self):
        self.refuse("http://127.0.0.1:9", 2, "--tokenizer or --endpoint, not both", "--tokenizer", "x")
        run = self.detcheck("fixture", "make", "q.txt", "--output", "set.json", "--api", "vllm")
        self.assert_refused(run, "needs --endpoint URL")


if __name__ == "__main__":
    sys.exit(unittest.main())
