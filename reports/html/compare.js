// One sample beside the reference, around one position. Everything is put in as text.

/** Positions before and after the cursor's. */
const MARGIN = 6;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** The fewest digits that tell the number from its neighbours of the same width. */
function digits(number, isFloat32) {
  let text = String(number);
  for (let precision = 1; isFloat32 && precision <= 9; ++precision) {
    text = number.toPrecision(precision);
    if (Math.fround(Number(text)) === number) break;
  }
  return text.replace("-", "−");
}

function nats(number) {
  return Number(number.toPrecision(4)).toString();
}

function signed(number) {
  return (number < 0 ? "−" : "+") + nats(Math.abs(number));
}

/** For what may be wider than the screen. */
function scrolling(table, name) {
  const attributes = { class: "scrolls", tabindex: 0, role: "group", "aria-label": name };
  return element("div", attributes, table);
}

class Compare {
  constructor(host, cell) {
    this.cell = cell;
    this.host = element("div", { class: "compare" });
    host.append(this.host);
  }

  /** Shows it, and returns it in one sentence. */
  show(row, position) {
    const { cell } = this;
    this.row = row;
    this.position = position;
    this.variant = cell.variantOf(row);
    this.base = cell.variants[0];
    this.expected = traceOf(this.base);
    this.actual = traceOf(this.variant);
    const strip = this.strip();
    const parts = [this.heading(), strip, this.texts(), this.candidates(), this.composition()];
    this.host.replaceChildren(...parts.filter((part) => part !== null));
    const here = strip.querySelector(".here");
    strip.scrollLeft = here.offsetLeft - (strip.clientWidth - here.offsetWidth) / 2;
    return this.sentence();
  }

  tokenOf(ids, position) {
    return ids[position] === undefined ? "end" : String(ids[position]);
  }

  /** Tokens of the sample itself, which may have been cut short. */
  ownIds() {
    return this.variant.ids.slice(0, this.cell.lengthOf(this.row));
  }

  sentence() {
    const { row, position, variant, base } = this;
    const expected = this.tokenOf(base.ids, position);
    const actual = this.tokenOf(this.ownIds(), position);
    const where = this.cell.samples.where[row];
    const tokens = expected === actual
      ? `token ${actual}, as expected`
      : `expected token ${expected}, actual ${actual}`;
    return `Answer ${variant.name}, ${where}; position ${position}: ${tokens}${this.inLogprobs()}`;
  }

  inLogprobs() {
    const a = this.expected?.[this.position];
    const b = this.actual?.[this.position];
    if (a === undefined || b === undefined) return "";
    if (this.base.ids[this.position] !== this.variant.ids[this.position]) return "";
    if (Object.is(a, b)) return ", same logprob bits";
    return `, logprob differs by ${nats(Math.abs(b - a))}`;
  }

  heading() {
    const { samples, reference } = this.cell;
    const title = this.row === reference
      ? "This is the reference"
      : `Answer ${this.variant.name} against the reference, at output position ${this.position}`;
    const facts = element("dl", { class: "facts" });
    const fact = (name, value) =>
      facts.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    fact("Expected", samples.where[reference]);
    if (this.row !== reference) fact("Actual", samples.where[this.row]);
    if (this.variant.cause !== undefined) fact("Cause", this.variant.cause);
    return element("div", {}, element("h4", {}, title), facts);
  }

  strip() {
    const begin = Math.max(0, this.position - MARGIN);
    const end = Math.min(this.cell.numPositions, this.position + MARGIN + 1);
    const ids = this.ownIds();
    const head = element("tr", {}, element("th", { scope: "col" }, "Position"));
    const rows = ["Expected", "Actual", "Logprob"].map((name) =>
      element("tr", {}, element("th", { scope: "row" }, name)));
    for (let i = begin; i < end; ++i) {
      const differs = this.base.ids[i] !== ids[i];
      const marks = (differs ? "differs" : "") + (i === this.position ? " here" : "");
      head.append(element("th", { scope: "col", class: i === this.position ? "here" : "" }, i));
      rows[0].append(element("td", { class: marks }, this.tokenOf(this.base.ids, i)));
      rows[1].append(element("td", { class: marks }, this.tokenOf(ids, i)));
      rows[2].append(this.logprobMark(i, differs, marks));
    }
    const table = element("table", { class: "strip" },
      element("caption", {}, "Token IDs around the position"),
      element("thead", {}, head), element("tbody", {}, ...rows));
    return scrolling(table, "Tokens");
  }

  logprobMark(i, differs, marks) {
    const a = this.expected?.[i];
    const b = this.actual?.[i];
    if (a === undefined || b === undefined) return element("td", { class: marks }, "–");
    if (differs) return element("td", { class: marks }, "≠ token");
    if (Object.is(a, b)) return element("td", { class: marks }, "=");
    return element("td", { class: `${marks} drifts` }, signed(Number((b - a).toPrecision(2))));
  }

  texts() {
    const { text } = this.variant;
    if (text === undefined) return null;
    const [common, expected, actual] = text;
    const line = (name, own) => element("div", {}, element("dt", {}, name),
      element("dd", { class: "text" }, common, element("mark", {}, own)));
    return element("dl", { class: "facts texts" }, line("Expected text", expected),
      line("Actual text", actual));
  }

  candidates() {
    const expected = candidatesAt(this.variant.ref_tops, this.position);
    const actual = candidatesAt(this.variant.tops, this.position);
    if (expected === null || actual === null) return this.chosenOnly();
    const isFloat32 = this.expected instanceof Float32Array && this.actual instanceof Float32Array;
    const columns = ["Candidate", "Expected", "Actual", "Difference"].map((name) =>
      element("th", { scope: "col" }, name));
    const table = element("table", { class: "candidates" },
      element("caption", {}, this.gaps(expected, actual)),
      element("thead", {}, element("tr", {}, ...columns)));
    const body = element("tbody", {});
    const known = new Map();
    for (const { id, logprob } of expected) known.set(id, [logprob, undefined]);
    for (const { id, logprob } of actual) known.set(id, [known.get(id)?.[0], logprob]);
    for (const [id, [a, b]] of known) body.append(this.candidateRow(id, a, b, isFloat32));
    table.append(body);
    return scrolling(table, "Candidates");
  }

  candidateRow(id, a, b, isFloat32) {
    const chosen = (ids) => (ids[this.position] === id ? " ● chosen" : "");
    const number = (value) => (value === undefined ? "not told" : digits(value, isFloat32));
    const difference = a === undefined || b === undefined ? "–"
      : Object.is(a, b) ? "same bits" : signed(b - a);
    const isChosen = chosen(this.base.ids) || chosen(this.ownIds());
    return element("tr", { class: isChosen ? "chosen" : "" },
      element("th", { scope: "row" }, `token ${id}`),
      element("td", {}, number(a) + chosen(this.base.ids)),
      element("td", {}, number(b) + chosen(this.ownIds())),
      element("td", {}, difference));
  }

  gaps(expected, actual) {
    const gap = (list) => (list.length < 2 ? "not told" : nats(list[0].logprob - list[1].logprob));
    return "Logprobs of the candidates, in nats. Gap between the two best: " +
      `${gap(expected)} expected, ${gap(actual)} actual.`;
  }

  chosenOnly() {
    const a = this.expected?.[this.position];
    const b = this.actual?.[this.position];
    if (a === undefined || b === undefined) return null;
    const number = (value, trace) => digits(value, trace instanceof Float32Array);
    return element("p", {}, `Logprob of the chosen token: ${number(a, this.expected)} expected, ` +
      `${number(b, this.actual)} actual. The candidates of this position are in the report.`);
  }

  composition() {
    const { samples, reference } = this.cell;
    const rows = [["Expected", reference], ["Actual", this.row]];
    const known = rows.map(([name, row]) => this.engineStep(name, row, samples));
    if (known.every((part) => part === null)) return null;
    const parts = this.row === reference ? known.slice(0, 1) : known;
    return element("div", {},
      element("h4", {}, `The engine step that computed position ${this.position}`),
      element("div", { class: "columns" }, ...parts.filter((part) => part !== null)));
  }

  engineStep(name, row, samples) {
    const record = report().records[samples.record[row]];
    const found = engineStepOf(record.spans, samples.item[row], this.position);
    if (found === null) return null;
    const { items } = report().steps[record.step];
    const list = element("ul", { class: "rows" });
    let tokens = 0;
    for (const run of this.runsOf(found.rows, items, samples.item[row])) {
      tokens += run.count * Math.abs(run.tokens);
      const what = run.tokens < 0 ? "decodes" : `prefills ${run.tokens}`;
      const who = report().requests[items[run.item]] ?? "?";
      const text = run.own ? `▸ item ${run.item}: ${who} ${what}`
        : `${run.count > 1 ? `${run.count} × ` : ""}${who} ${what}`;
      const kind = run.own ? "own" : run.tokens < 0 ? "" : "prefill";
      list.append(element("li", { class: kind }, text));
    }
    const num = found.rows.length / 2;
    const several = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
    const title = `${name}: step ${found.step} of its batch, ` +
      `${several(num, "row")}, ${several(tokens, "token")}`;
    return element("div", {}, element("p", {}, title), list);
  }

  /** Rows in batch order, equal neighbours taken together. */
  runsOf(rows, items, own) {
    const runs = [];
    for (let i = 0; i < rows.length; i += 2) {
      const run = { item: rows[i], tokens: rows[i + 1], own: rows[i] === own, count: 1 };
      const last = runs.at(-1);
      if (last && !last.own && !run.own && last.tokens === run.tokens &&
          items[last.item] === items[run.item]) {
        ++last.count;
      } else {
        runs.push(run);
      }
    }
    return runs;
  }
}
