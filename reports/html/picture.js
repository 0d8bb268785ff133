// The picture: a row for each sample, a column for each output position. Only what is in view is
// drawn, and rows of one answer are drawn as one band, so that the number of samples costs nothing.

const AXIS_PX = 20;
const MIN_COLUMN_PX = 1.6;
const MAX_COLUMN_PX = 28;
/** Least height of a row that can have a label. */
const LABEL_PX = 12;
/** Least side of the cursor. */
const CURSOR_PX = 7;
/** Most rows that are shown one by one from the start. */
const MAX_READABLE_ROWS = 26;

const LEGEND = [
  ["same", "same token, same logprob bits"],
  ["same-token", "same token, no logprobs asked for"],
  ["small", "logprob differs by ≤ 0.0001 nats"],
  ["medium", "by ≤ 0.01"],
  ["large", "by more"],
  ["token", "token differs"],
  ["after", "same token after that"],
];
const MARKS = [
  ["mark-token", "◆", "first token that differs"],
  ["mark-logprob", "○", "first logprob that differs, of any candidate"],
];

class Picture {
  /** `onMove(row, position)` is called whenever the cursor moves. */
  constructor(host, cell, onMove) {
    this.cell = cell;
    this.onMove = onMove;
    this.fit = cell.numRows > MAX_READABLE_ROWS;
    this.row = cell.reference;
    this.position = 0;
    this.build(host);
    this.goTo(this.firstPlace() ?? { row: this.row, position: 0 });
    new ResizeObserver(() => this.layOut()).observe(this.frame);
    this.layOut();
    this.scrollToCursor();
  }

  build(host) {
    this.swatches = LEGEND.map(([name]) => element("i", { class: `swatch ${name}` }));
    const legend = element("ul", { class: "legend", "aria-label": "Legend" });
    LEGEND.forEach(([, words], i) => legend.append(element("li", {}, this.swatches[i], words)));
    for (const [name, sign, words] of MARKS) {
      const mark = element("b", { class: name, "aria-hidden": true }, sign);
      legend.append(element("li", {}, mark, words));
    }
    this.density = element("button", { type: "button" });
    this.density.addEventListener("click", () => {
      this.fit = !this.fit;
      this.layOut();
      this.scrollToCursor();
    });
    const next = element("button", { type: "button" }, "Next divergence (d)");
    next.addEventListener("click", () => this.jump());
    next.disabled = this.firstPlace() === null;
    this.canvas = element("canvas", { "aria-hidden": true });
    this.sizer = element("div", { class: "sizer" }, this.canvas);
    const { numRows, numPositions, variants } = this.cell;
    this.frame = element("div", {
      class: "frame",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "picture",
      "aria-label":
        `${numRows} samples by ${numPositions} output positions, ${variants.length} distinct ` +
        "answers. Arrow keys move from cell to cell, d goes to the next divergence.",
    }, this.sizer);
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    const hint = "Click, or use the arrow keys, Page Up and Down, Home, End";
    const tools = element("div", { class: "tools" }, this.density, next,
      element("span", { class: "hint" }, hint));
    host.append(legend, tools, this.frame, this.readout);
    this.frame.addEventListener("scroll", () => this.draw());
    this.frame.addEventListener("keydown", (event) => this.onKey(event));
    this.frame.addEventListener("pointerdown", (event) => this.onPointer(event));
  }

  layOut() {
    const { numRows, numPositions } = this.cell;
    const width = this.frame.clientWidth;
    if (width === 0) return;
    this.gutter = width < 520 ? 74 : 150;
    this.column = (width - this.gutter - 8) / numPositions;
    this.column = Math.min(MAX_COLUMN_PX, Math.max(MIN_COLUMN_PX, this.column));
    this.bands = new Bands(this.cell, this.fit);
    const height = Math.ceil(this.bands.height) + AXIS_PX;
    this.sizer.style.width = `${Math.floor(this.gutter + numPositions * this.column + 4)}px`;
    this.sizer.style.height = `${height}px`;
    const isWide = this.gutter + numPositions * this.column > width;
    this.frame.style.height = `${Math.min(height, ROOM_PX + AXIS_PX) + (isWide ? 20 : 6)}px`;
    this.density.textContent = this.fit ? "Larger rows" : "Fit all rows";
    this.density.disabled = numRows * ROW_PX <= ROOM_PX;
    this.draw();
  }

  readColors() {
    const style = getComputedStyle(this.frame);
    this.ink = style.color;
    this.paper = style.backgroundColor;
    this.colors = this.swatches.map((swatch) => getComputedStyle(swatch).backgroundColor);
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.frame.clientWidth;
    const height = this.frame.clientHeight;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.readColors();
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.context = context;
    this.left = this.frame.scrollLeft;
    this.top = this.frame.scrollTop;
    const first = this.bands.rowAt(this.top);
    const end = Math.min(this.cell.numRows, this.bands.rowAt(this.top + height - AXIS_PX) + 1);
    const views = this.viewsOf(first, end);
    for (const view of views) this.drawBand(view);
    this.drawCursor();
    for (const view of views) this.drawMarks(view);
    this.drawGutter(first, end);
    this.drawAxis(width);
  }

  x(position) {
    return this.gutter + position * this.column - this.left;
  }

  y(row) {
    return AXIS_PX + this.bands.topOf(row) - this.top;
  }

  /** What of each answer lies in rows [first, end): [{variant, begin, stop}, …]. */
  viewsOf(first, end) {
    const views = [];
    let drawnTo = 0;
    for (const variant of this.cell.variants) {
      const begin = Math.max(first, variant.start);
      const stop = Math.min(end, variant.start + variant.count);
      // Thousands of answers in hundreds of lines of the screen: one for each line.
      if (begin >= stop || this.y(stop) < drawnTo + 0.9) continue;
      views.push({ variant, begin, stop });
      drawnTo = this.y(stop);
    }
    return views;
  }

  /** Rows of one answer. Runs of equal positions are one rectangle. */
  drawBand({ variant, begin, stop }) {
    const { context } = this;
    const gap = this.bands.rowHeightOf(begin) >= 6 ? 1 : 0;
    const groups = this.cell.samples.len || gap ? this.singleRows(begin, stop) : [[begin, stop]];
    for (const [from, to] of groups) {
      const length = Math.min(this.cell.lengthOf(from), variant.codes.length);
      const top = Math.round(this.y(from));
      const height = Math.max(Math.round(this.y(to)) - top - gap, 1);
      for (let i = 0; i < length;) {
        let end = i + 1;
        while (end < length && variant.codes[end] === variant.codes[i]) ++end;
        context.fillStyle = this.colors[variant.codes[i]];
        context.fillRect(this.x(i), top, (end - i) * this.column, height);
        i = end;
      }
    }
    if (variant.start === begin && begin > 0 && this.y(stop) - this.y(begin) >= 6) {
      const { output } = this.cell.variantOf(begin - 1);
      context.fillStyle = this.ink;
      context.globalAlpha = output === variant.output ? 0.35 : 1;
      context.fillRect(0, this.y(begin) - 1, this.x(this.cell.numPositions), 1);
      context.globalAlpha = 1;
    }
  }

  singleRows(begin, stop) {
    return Array.from({ length: stop - begin }, (_, i) => [begin + i, begin + i + 1]);
  }

  /** Where an answer leaves the reference: ◆ by token, a line through its rows, ○ by logprob. */
  drawMarks({ variant, begin, stop }) {
    const { context } = this;
    const top = this.y(begin);
    const bottom = this.y(stop);
    const isHigh = bottom - top >= 9;
    const middle = Math.min((top + bottom) / 2, top + ROW_PX / 2);
    context.lineWidth = 1.5;
    if (variant.lp_index !== undefined && isHigh) {
      context.beginPath();
      context.arc(this.x(variant.lp_index) + this.column / 2, middle, 3.5, 0, 2 * Math.PI);
      this.fillAndStroke(this.paper, this.ink);
    }
    if (variant.index === undefined) return;
    const x = this.x(variant.index);
    context.fillStyle = this.ink;
    context.fillRect(x - 1, top, 2, Math.max(bottom - top - 1, 1));
    if (!isHigh) return;
    context.beginPath();
    for (const [dx, dy] of [[0, -5], [5, 0], [0, 5], [-5, 0]]) context.lineTo(x + dx, middle + dy);
    context.closePath();
    this.fillAndStroke(this.ink, this.paper);
  }

  fillAndStroke(fill, stroke) {
    this.context.fillStyle = fill;
    this.context.fill();
    this.context.strokeStyle = stroke;
    this.context.stroke();
  }

  labelOf(row) {
    const size = this.cell.samples.size[row];
    const item = this.cell.samples.item[row];
    const { arm, items } = this.cell.stepOf(row);
    if (this.gutter < 100) return items.length === 1 ? "alone" : `${size} · ${item}`;
    const words = { no_logprobs: "no logprobs, ", control_warm: "warm, ", control_cold: "control, ",
      recheck: "recheck, " }[arm] ?? "";
    return words + (items.length === 1 ? "alone" : `batch ${size} · ${item}`);
  }

  /** How many samples gave the answer, and in what batches: "× 59  batch 2–33". */
  bandLabel(start, count) {
    const sizes = this.cell.samples.size.slice(start, start + count);
    const least = sizes.reduce((a, b) => Math.min(a, b));
    const most = sizes.reduce((a, b) => Math.max(a, b));
    const sizesInWords = least === most ? `batch ${most}` : `batch ${least}–${most}`;
    const range = most === 1 ? "alone" : sizesInWords;
    return this.gutter < 100 ? `× ${count}` : `× ${count}  ${range}`;
  }

  drawGutter(first, end) {
    const { context } = this;
    context.fillStyle = this.paper;
    context.fillRect(0, 0, this.gutter - 4, this.canvas.height);
    context.fillStyle = this.ink;
    const rowHeight = this.bands.rowHeightOf(this.row);
    context.fillRect(0, this.y(this.row), 3, Math.max(rowHeight, 3));
    for (const { name, start, count } of this.cell.variants) {
      const top = Math.max(this.y(start), AXIS_PX);
      const bottom = this.y(start + count);
      if (bottom - top < 10 || start >= end || start + count <= first) continue;
      context.font = "bold 11px system-ui, sans-serif";
      context.fillText(name, 6, Math.min(top + 8, (top + bottom) / 2 + 1));
      context.font = "11px system-ui, sans-serif";
      if (this.bands.rowHeightOf(start) < LABEL_PX) {
        const words = this.bandLabel(start, count);
        context.fillText(words, 32, Math.min(top + 8, (top + bottom) / 2 + 1), this.gutter - 38);
      }
    }
    for (let row = first; row < end; ++row) {
      const height = this.bands.rowHeightOf(row);
      if (height < LABEL_PX) {
        row = this.cell.variantOf(row).start + this.cell.variantOf(row).count - 1;
        continue;
      }
      const mark = row === this.cell.reference ? "★ " : "";
      context.fillText(mark + this.labelOf(row), 32, this.y(row) + height / 2, this.gutter - 38);
    }
  }

  drawAxis(width) {
    const { context } = this;
    context.fillStyle = this.paper;
    context.fillRect(0, 0, width, AXIS_PX);
    context.fillStyle = this.ink;
    context.fillText(this.gutter < 100 ? "position" : "output position", 6, AXIS_PX / 2);
    const every = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((n) => n * this.column >= 34) ?? 512;
    for (let position = 0; position < this.cell.numPositions; position += every) {
      const x = this.x(position);
      if (x < this.gutter - 2) continue;
      context.fillRect(x, AXIS_PX - 4, 1, 3);
      context.fillText(String(position), x + 3, AXIS_PX / 2);
    }
  }

  drawCursor() {
    const { context } = this;
    const rowHeight = this.bands.rowHeightOf(this.row);
    const width = Math.max(this.column, CURSOR_PX);
    const height = Math.max(rowHeight, CURSOR_PX);
    const x = this.x(this.position) + (this.column - width) / 2;
    const y = this.y(this.row) + (rowHeight - height) / 2;
    context.lineWidth = 4;
    context.strokeStyle = this.paper;
    context.strokeRect(x, y, width, height - 1);
    context.lineWidth = 2;
    context.strokeStyle = this.ink;
    context.strokeRect(x, y, width, height - 1);
  }

  leaving() {
    return this.cell.variants.filter((variant) => Cell.placeOf(variant) !== undefined);
  }

  /** The earliest token that differs, else the earliest logprob; null: neither does. */
  firstPlace() {
    const rank = (v) => (v.index === undefined ? this.cell.numPositions : 0) + Cell.placeOf(v);
    const [first] = this.leaving().sort((a, b) => rank(a) - rank(b));
    return first === undefined ? null : { row: first.start, position: Cell.placeOf(first) };
  }

  /** To where the next answer below leaves the reference; from the last one to the first. */
  jump() {
    const leaving = this.leaving();
    const next = leaving.find((variant) => variant.start > this.row) ?? leaving[0];
    if (next !== undefined) this.goTo({ row: next.start, position: Cell.placeOf(next) });
  }

  onKey(event) {
    if (event.altKey || event.metaKey) return;
    const inView = Math.floor(this.frame.clientHeight / this.bands.rowHeightOf(this.row));
    const page = Math.max(1, inView - 2);
    const { numRows, numPositions } = this.cell;
    const far = event.ctrlKey;
    const moves = {
      ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
      PageUp: [-page, 0], PageDown: [page, 0],
      Home: far ? [-numRows, 0] : [0, -numPositions],
      End: far ? [numRows, 0] : [0, numPositions],
    };
    if (event.key === "d" && !far) {
      this.jump();
    } else if (moves[event.key] !== undefined) {
      const [rows, positions] = moves[event.key];
      this.goTo({ row: this.row + rows, position: this.position + positions });
    } else {
      return;
    }
    event.preventDefault();
  }

  onPointer(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    if (x >= this.frame.clientWidth || y >= this.frame.clientHeight || y < AXIS_PX) return;
    const position = Math.floor((x - this.gutter + this.left) / this.column);
    const row = this.bands.rowAt(y - AXIS_PX + this.top);
    this.goTo({ row, position: x < this.gutter ? this.position : position });
  }

  goTo({ row, position }) {
    this.row = Math.min(Math.max(row, 0), this.cell.numRows - 1);
    this.position = Math.min(Math.max(position, 0), this.cell.numPositions - 1);
    const words = this.onMove(this.row, this.position);
    this.readout.textContent = words;
    if (this.bands !== undefined) this.scrollToCursor();
  }

  scrollToCursor() {
    const { frame } = this;
    const top = this.bands.topOf(this.row);
    const room = frame.clientHeight - AXIS_PX - this.bands.rowHeightOf(this.row);
    frame.scrollTop = Math.min(Math.max(frame.scrollTop, top - room), top);
    const left = this.position * this.column;
    const wide = frame.clientWidth - this.gutter - this.column;
    frame.scrollLeft = Math.min(Math.max(frame.scrollLeft, left - wide), left);
    this.draw();
  }
}
