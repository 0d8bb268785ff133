"""A stand-in for an inference engine: batches continuously, caches prefixes by whole pages, and "computes" the next token
as a hash of the tokens so far. It obeys, but for the fault that it is given:

  batch        answers depend on how many requests are in the batch
  cache        answers depend on whether the prompt came out of the cache
  beside       answers depend on whether a neighbour is prefilled in the same step
  noise        answers differ each time
  logprobs     as batch, but the logprobs alone
  seed         seeds are not looked at
"""

import queue
import struct
import threading
import time

MASK = (1 << 64) - 1
NUM_CANDIDATES = 8
GATHER_S = 0.02  # A request that came is kept for so long until the next step, and longer where another one comes.


def mix(value):
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def extend(state, token):
    return mix((state * 0x9E3779B97F4A7C15 + token + 1) & MASK)


def state_of(ids):
    state = 1
    for token in ids:
        state = extend(state, token)
    return state


def candidates(state, vocab):
    """[(token, logprob)], best first: a few tokens of the vocabulary, near enough to be flipped."""
    chosen = []
    for rank in range(NUM_CANDIDATES):
        draw = mix(state + rank)
        token = draw % (vocab - 10) + 10
        while any(token == other for other, _ in chosen):
            token = token % (vocab - 10) + 11
        chosen.append((token, float32(-0.5 - rank - (draw >> 40) / (1 << 25))))
    return chosen


class Sequence:
    """One request inside the engine. Its tokens come out of `events`: (token, candidates), then None."""

    def __init__(self, ids, max_new_tokens, temperature, seed, namespace, read_cache):
        self.ids = list(ids)
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self.seed = seed
        self.namespace = namespace
        self.read_cache = read_cache
        self.cached = 0
        self.outputs = []
        self.state = state_of(ids)
        self.events = queue.Queue()
        self.aborted = False


class MockEngine:
    def __init__(self, fault=None, page_size=16, vocab=32000, cache=True, max_running=64, step_s=0.004, abort_delay_s=0.0):
        self.fault = fault
        self.page_size = page_size
        self.vocab = vocab
        self.cache = cache
        self.max_running = max_running
        self.step_s = step_s
        self.abort_delay_s = abort_delay_s
        self.running = []
        self.waiting = []
        self.pages = set()
        self.foreign = 0  # requests of others that run whenever one of ours does
        self.generated = 0
        self.finished = 0  # tokens of requests that ended
        self.prompt_tokens = 0
        self.cache_queries = 0  # prompt tokens looked up in the cache
        self.cache_hits = 0
        self.num_groups = 0  # of requests that were prefilled together
        self.num_grouped = 0
        self.num_steps = 0
        self.step_tokens = 0
        self.token_steps = 0  # steps that gave a token
        self.calls = 0
        self.gathered = 0  # of the calls
        self.changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def submit(self, ids, max_new_tokens, temperature=0.0, seed=0, namespace="", read_cache=True):
        sequence = Sequence(ids, max_new_tokens, temperature, seed, namespace, read_cache)
        with self.changed:
            self.waiting.append(sequence)
            self.calls += 1
            self.changed.notify()
        return sequence

    def abort(self, sequence):
        """The client has gone: noticed after a while, as servers do."""
        def remove():
            time.sleep(self.abort_delay_s)
            with self.changed:
                sequence.aborted = True
        threading.Thread(target=remove, daemon=True).start()

    def flush(self):
        with self.changed:
            if self.running or self.waiting:
                return False
            self.pages.clear()
            return True

    def load(self):
        with self.changed:
            running = len(self.running)
            return running + (self.foreign if running else 0), len(self.waiting)

    def num_outputs(self):
        """Of each running sequence."""
        with self.changed:
            return [len(sequence.outputs) for sequence in self.running]

    def score(self, ids):
        """[(logprob of ids[i], candidates)] for i from 1 on."""
        state = extend(1, ids[0])
        scores = []
        for token in ids[1:]:
            best = candidates(state, self.vocab)
            logprob = dict(best).get(token, float32(-15.0 - mix(state ^ token) % 1000 / 1000))
            scores.append((logprob, best))
            state = extend(state, token)
        return scores

    def _keys(self, sequence, ids):
        state = 1
        for count, token in enumerate(ids, 1):
            state = extend(state, token)
            if count % self.page_size == 0:
                yield (sequence.namespace, state)

    def _admit(self):
        """Sequences that are prefilled in this step."""
        admitted = []
        while self.waiting and len(self.running) < self.max_running:
            sequence = self.waiting.pop(0)
            if self.cache and sequence.read_cache:
                for key in self._keys(sequence, sequence.ids[:-1]):
                    if key not in self.pages:
                        break
                    sequence.cached += self.page_size
                self.cache_queries += len(sequence.ids)
                self.cache_hits += sequence.cached
            self.prompt_tokens += len(sequence.ids)
            self.running.append(sequence)
            admitted.append(sequence)
        return admitted

    def _next(self, sequence, num_running, prefills_beside):
        state = sequence.state
        if self.fault == "batch" and num_running > 1:
            state = mix(state + num_running)
        if self.fault == "cache" and sequence.cached > 0:
            state = mix(state + 1)
        if self.fault == "beside" and prefills_beside:
            state = mix(state + 2)
        if self.fault == "noise":
            state = mix(state + self.calls)
        best = candidates(state, self.vocab)
        if self.fault == "logprobs" and num_running > 1:
            best = [(token, float32(logprob - 2**-20)) for token, logprob in best]
        rank = 0
        if sequence.temperature > 0:
            seed = 0 if self.fault == "seed" else sequence.seed
            rank = mix((seed << 20) + len(sequence.outputs)) % 4
        return best[rank][0], best[rank][1], best

    def _step(self):
        admitted = self._admit()
        num_running = len(self.running)
        self.num_groups += 1 if admitted else 0
        self.num_grouped += len(admitted)
        self.num_steps += 1
        self.step_tokens += sum(len(s.ids) - s.cached for s in admitted) + num_running - len(admitted)
        before = self.generated
        given = []
        for sequence in list(self.running):
            if sequence.aborted:
                self.running.remove(sequence)
                sequence.events.put(None)
                continue
            beside = any(other is not sequence for other in admitted) and sequence not in admitted
            token, logprob, best = self._next(sequence, num_running, beside)
            sequence.outputs.append(token)
            sequence.state = extend(sequence.state, token)
            self.generated += 1
            ended = len(sequence.outputs) == sequence.max_new_tokens
            if ended:
                self.running.remove(sequence)
                self.finished += len(sequence.outputs)
                if self.cache:
                    self.pages.update(self._keys(sequence, sequence.ids + sequence.outputs[:-1]))
            given.append((sequence, (token, logprob, best), ended))
        # Counted before anybody has the tokens.
        self.token_steps += self.generated > before
        for sequence, output, ended in given:
            sequence.events.put(output)
            if ended:
                sequence.events.put(None)

    def _gather(self):
        """What is sent together comes one by one where the machine is busy; without this a batch would form by luck."""
        while self.gathered != self.calls:
            self.gathered = self.calls
            self.changed.wait_for(lambda: self.gathered != self.calls, GATHER_S)

    def _run(self):
        while True:
            with self.changed:
                while not self.running and not self.waiting:
                    self.changed.wait()
                self._gather()
                self._step()
            time.sleep(self.step_s)


def text_of(ids):
    """Each token as a word of letters."""
    return "".join(chr(97 + token % 26) + chr(97 + token // 26 % 26) + " " for token in ids)
