// What the page holds (reports/html_data.h), decoded when it is first needed.

/** How a position of an answer compares with the reference's. */
const Code = {
  SAME: 0,
  SAME_TOKEN: 1, // One of the two has no logprobs.
  SMALL: 2, // Logprobs differ, by so much.
  MEDIUM: 3,
  LARGE: 4,
  TOKEN: 5,
  AFTER: 6, // The same token, after tokens have differed.
};
const SMALL_NATS = 1e-4;
const MEDIUM_NATS = 1e-2;

let parsed = null;

function report() {
  parsed ??= JSON.parse(document.getElementById("data").textContent);
  return parsed;
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function logprobsOf(base64, type) {
  const buffer = bytesOf(base64).buffer;
  return type === "f32" ? new Float32Array(buffer) : new Float64Array(buffer);
}

const decodedTraces = new Map();

/** Logprobs of the chosen tokens; null where there are none. */
function traceOf(variant) {
  if (variant.trace === undefined) return null;
  if (!decodedTraces.has(variant.trace)) {
    const block = report().traces[variant.trace];
    decodedTraces.set(variant.trace, logprobsOf(block.chosen, block.type));
  }
  return decodedTraces.get(variant.trace);
}

/** Candidates of every position of a packed block: [[{id, logprob}, …], …]. */
function candidatesOf(block) {
  const num = logprobsOf(block.chosen, block.type).length;
  if (block.top === undefined) return Array.from({ length: num }, () => []);
  const logprobs = logprobsOf(block.top, block.type);
  const ids = new Int32Array(bytesOf(block.top_ids).buffer);
  const counts = Array.isArray(block.top_n) ? block.top_n : Array(num).fill(block.top_n);
  let at = 0;
  return counts.map((count) => {
    const begin = at;
    at += count;
    return Array.from({ length: count }, (_, i) => ({
      id: ids[begin + i],
      logprob: logprobs[begin + i],
    }));
  });
}

/** Of the blocks around places of interest, the candidates at `position`; null: not kept. */
function candidatesAt(blocks, position) {
  for (const { at, logprobs } of blocks ?? []) {
    const candidates = candidatesOf(logprobs)[position - at];
    if (candidates !== undefined && candidates.length > 0) return candidates;
  }
  return null;
}

function codeOfLogprobs(expected, actual) {
  if (Object.is(expected, actual)) return Code.SAME;
  const difference = Math.abs(expected - actual);
  if (difference <= SMALL_NATS) return Code.SMALL;
  return difference <= MEDIUM_NATS ? Code.MEDIUM : Code.LARGE;
}

/** One request in one mode: its samples as rows, grouped by what they answered. */
class Cell {
  constructor(number) {
    const { reference, samples, variants } = report().cells[number];
    this.samples = samples;
    this.reference = reference;
    this.numRows = samples.item.length;
    let start = 0;
    this.variants = variants.map((variant) => {
      const whole = { ...variant, start, ids: report().outputs[variant.output] };
      start += variant.count;
      return whole;
    });
    this.numPositions = Math.max(1, ...this.variants.map((variant) => variant.ids.length));
    for (const variant of this.variants) variant.codes = this.codesOf(variant);
  }

  codesOf(variant) {
    const base = this.variants[0];
    const expected = traceOf(base);
    const actual = traceOf(variant);
    const index = variant.index ?? Infinity;
    return Uint8Array.from(variant.ids, (id, i) => {
      if (id !== base.ids[i]) return Code.TOKEN;
      if (i >= index) return Code.AFTER;
      if (expected === null || actual === null) return Code.SAME_TOKEN;
      return codeOfLogprobs(expected[i], actual[i]);
    });
  }

  variantOf(row) {
    let low = 0;
    let high = this.variants.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.variants[middle].start <= row) low = middle;
      else high = middle - 1;
    }
    return this.variants[low];
  }

  /** Tokens that the sample has; fewer than its variant's where it was cut short. */
  lengthOf(row) {
    return this.samples.len?.[row] ?? this.variantOf(row).ids.length;
  }

  stepOf(row) {
    return report().steps[report().records[this.samples.record[row]].step];
  }

  /** Where the variant leaves the reference: by token, else by logprob; undefined: nowhere. */
  static placeOf(variant) {
    return variant.index ?? variant.lp_index;
  }
}

/**
 * The engine step that computed output position `position` of item `item`, and its rows; null
 * where the target does not tell. The last chunk of a prefill gives a token, and so does each
 * decode step.
 */
function engineStepOf(spans, item, position) {
  const own = [];
  for (const [first, num, rows] of spans ?? []) {
    for (let i = 0; i < rows.length; i += 2) {
      if (rows[i] === item) own.push({ first, num, rows, decode: rows[i + 1] < 0 });
    }
  }
  let produced = 0;
  for (let k = 0; k < own.length; ++k) {
    const { first, num, rows, decode } = own[k];
    if (decode) {
      if (position < produced + num) return { step: first + position - produced, rows };
      produced += num;
    } else if (k + 1 === own.length || own[k + 1].decode) {
      if (position === produced) return { step: first + num - 1, rows };
      produced += 1;
    }
  }
  return null;
}
