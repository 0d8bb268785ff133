// The picture: a row for each sample, a column for each output position. Only what is in view is
// drawn, and rows of one answer are drawn as one band, so that the number of samples costs nothing.

const ROW_PX = 16;
const AXIS_PX = 20;
const ROOM_PX = 420;
const MIN_COLUMN_PX = 3;
const MAX_COLUMN_PX = 14;
/** Least height of an answer where all are shown at once: a rare one must not vanish. */
const MIN_BAND_PX = 13;
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
    this.goTo(this.nextPlace(-1) ?? { row: this.row, position: 0 });
    new ResizeObserver(() => this.layOut()).observe(this.frame);
    this.layOut();
    this.scrollToCursor();
  }

  build(host) {
    this.swatches = LEGEND.map(([name]) => element("i", { class: `swatch ${name}` }));
    const legend = element("ul", { class: "legend", "aria-label": "Legend" });
    LEGEND.forEach(([, words], i) => legend.append(element("li", {}, this.swatches[i], words)));
    for (const [name, sign, words] of MARKS) {
      legend.append(element("li", {}, element("b", { class: name, "aria-hidden": true }, sign), words));
    }
    this.density = element("button", { type: "button" });
    this.density.addEventListener("click", () => {
      this.fit = !this.fit;
      this.layOut();
      this.scrollToCursor();
    });
    const next = element("button", { type: "button" }, "Next divergence (d)");
    next.addEventListener("click", () => this.jump());
    next.disabled = this.nextPlace(-1) === null;
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
    const tools = element("div", { class: "tools" }, this.density, next,
      element("span", { class: "hint" }, "Click, or use the arrow keys, Page Up and Down, Home, End"));
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
    const height = Math.ceil(this.layOutBands()) + AXIS_PX;
    this.sizer.style.width = `${Math.floor(this.gutter + numPositions * this.column + 4)}px`;
    this.sizer.style.height = `${height}px`;
    const isWide = this.gutter + numPositions * this.column > width;
    this.frame.style.height = `${Math.min(height, ROOM_PX + AXIS_PX) + (isWide ? 20 : 6)}px`;
    this.density.textContent = this.fit ? "Show rows to read" : "Show all rows at once";
    this.density.disabled = numRows * ROW_PX <= ROOM_PX;
    this.draw();
  }

  /** Gives every answer its top and the height of its rows; returns the height of them all. */
  layOutBands() {
    const { numRows, variants } = this.cell;
    const least = Math.min(MIN_BAND_PX, ROOM_PX / variants.length);
    const spare = ROOM_PX - least * variants.length;
    let top = 0;
    this.bands = variants.map(({ start, count }) => {
      const share = least + (spare * count) / numRows;
      const height = this.fit ? Math.min(share, count * ROW_PX) : count * ROW_PX;
      const band = { start, top, row: height / count };
      top += height;
      return band;
    });
    return top;
  }

  /** The band that holds the row, or with "top" the height, `value`. */
  bandAt(key, value) {
    let low = 0;
    let high = this.bands.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.bands[middle][key] <= value) low = middle;
      else high = middle - 1;
    }
    return this.bands[low];
  }

  rowAt(height) {
    const band = this.bandAt("top", height);
    return band.start + Math.floor((height - band.top) / band.row);
  }

  topOf(row) {
    const band = this.bandAt("start", row);
    return band.top + (row - band.start) * band.row;
  }

  rowHeightOf(row) {
    return this.bandAt("start", row).row;
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
    const first = this.rowAt(this.top);
    const end = Math.min(this.cell.numRows, this.rowAt(this.top + height - AXIS_PX) + 1);
    this.drawBands(first, end);
    this.drawGutter(first, end);
    this.drawAxis(width);
    this.drawCursor();
  }

  x(position) {
    return this.gutter + position * this.column - this.left;
  }

  y(row) {
    const { count, start } = this.cell.variants.at(-1);
    const height = row < start + count ? this.topOf(row) : this.topOf(row - 1) + this.rowHeightOf(row - 1);
    return AXIS_PX + height - this.top;
  }

  drawBands(first, end) {
    let drawnTo = 0;
    for (const variant of this.cell.variants) {
      const begin = Math.max(first, variant.start);
      const stop = Math.min(end, variant.start + variant.count);
      // Thousands of answers in hundreds of lines of the screen: one for each line.
      if (begin >= stop || this.y(stop) < drawnTo + 0.5) continue;
      this.drawBand(variant, begin, stop);
      drawnTo = this.y(stop);
    }
  }

  /** Rows [begin, stop) of one answer. Runs of equal positions are one rectangle. */
  drawBand(variant, begin, stop) {
    const { context } = this;
    const rowHeight = this.rowHeightOf(begin);
    const gap = rowHeight >= 6 ? 1 : 0;
    const groups = this.cell.samples.len || gap ? this.singleRows(begin, stop) : [[begin, stop]];
    for (const [from, to] of groups) {
      const length = Math.min(this.cell.lengthOf(from), variant.codes.length);
      const top = this.y(from);
      const height = Math.max((to - from) * rowHeight - gap, 0.5);
      for (let i = 0; i < length;) {
        let end = i + 1;
        while (end < length && variant.codes[end] === variant.codes[i]) ++end;
        context.fillStyle = this.colors[variant.codes[i]];
        context.fillRect(this.x(i), top, (end - i) * this.column, height);
        i = end;
      }
    }
    this.drawMarks(variant, this.y(begin), this.y(stop));
    if (variant.start === begin && begin > 0) {
      const output = this.cell.variants[this.cell.variants.indexOf(variant) - 1].output;
      context.fillStyle = this.ink;
      context.globalAlpha = output === variant.output ? 0.35 : 1;
      context.fillRect(0, this.y(begin) - 1, this.x(this.cell.numPositions), 1);
      context.globalAlpha = 1;
    }
  }

  singleRows(begin, stop) {
    return Array.from({ length: stop - begin }, (_, i) => [begin + i, begin + i + 1]);
  }

  drawMarks(variant, top, bottom) {
    const { context } = this;
    const middle = Math.min((top + bottom) / 2, top + ROW_PX / 2);
    context.strokeStyle = this.paper;
    for (const [place, isToken] of [[variant.lp_index, false], [variant.index, true]]) {
      if (place === undefined) continue;
      const x = this.x(place) + (isToken ? 0 : this.column / 2);
      context.fillStyle = this.ink;
      if (isToken) context.fillRect(x - 1, top, 2, bottom - top - 1);
      if (bottom - top < 9) continue;
      context.beginPath();
      if (isToken) {
        context.moveTo(x, middle - 5);
        context.lineTo(x + 5, middle);
        context.lineTo(x, middle + 5);
        context.lineTo(x - 5, middle);
        context.closePath();
        context.lineWidth = 1.5;
        context.fill();
        context.strokeStyle = this.paper;
      } else {
        context.arc(x, middle, 3.5, 0, 2 * Math.PI);
        context.fillStyle = this.paper;
        context.fill();
        context.strokeStyle = this.ink;
        context.lineWidth = 1.5;
      }
      context.stroke();
    }
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
    const range = most === 1 ? "alone" : least === most ? `batch ${most}` : `batch ${least}–${most}`;
    return this.gutter < 100 ? `× ${count}` : `× ${count}  ${range}`;
  }

  drawGutter(first, end) {
    const { context } = this;
    context.fillStyle = this.paper;
    context.fillRect(0, 0, this.gutter - 4, this.canvas.height);
    context.fillStyle = this.ink;
    for (const { name, start, count } of this.cell.variants) {
      const top = Math.max(this.y(start), AXIS_PX);
      const bottom = this.y(start + count);
      if (bottom - top < 10 || start >= end || start + count <= first) continue;
      context.font = "bold 11px system-ui, sans-serif";
      context.fillText(name, 6, Math.min(top + 8, (top + bottom) / 2 + 1));
      context.font = "11px system-ui, sans-serif";
      if (this.rowHeightOf(start) < 10) {
        const words = this.bandLabel(start, count);
        context.fillText(words, 32, Math.min(top + 8, (top + bottom) / 2 + 1), this.gutter - 38);
      }
    }
    for (let row = first; row < end; ++row) {
      const height = this.rowHeightOf(row);
      if (height < 10) {
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
    const x = this.x(this.position);
    if (x < this.gutter - 2) return;
    const width = Math.max(this.column, 3);
    const height = Math.max(this.rowHeightOf(this.row), 3);
    const y = this.y(this.row);
    if (y + height <= AXIS_PX) return;
    context.lineWidth = 4;
    context.strokeStyle = this.paper;
    context.strokeRect(x - 1, y - 1, width + 2, height + 1);
    context.lineWidth = 2;
    context.strokeStyle = this.ink;
    context.strokeRect(x - 1, y - 1, width + 2, height + 1);
    context.fillStyle = this.ink;
    context.fillRect(this.gutter - 4, y, 3, height);
  }

  /** The first place after `row` at which an answer leaves the reference; null: there is none. */
  nextPlace(row) {
    const leaving = this.cell.variants.filter((v) => Cell.placeOf(v) !== undefined);
    const next = leaving.find((variant) => variant.start > row) ?? leaving[0];
    return next === undefined ? null : { row: next.start, position: Cell.placeOf(next) };
  }

  jump() {
    const place = this.nextPlace(this.row);
    if (place !== null) this.goTo(place);
  }

  onKey(event) {
    if (event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.frame.clientHeight / this.rowHeightOf(this.row)) - 2);
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
    const row = this.rowAt(y - AXIS_PX + this.top);
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
    const top = this.topOf(this.row);
    const room = frame.clientHeight - AXIS_PX - this.rowHeightOf(this.row);
    frame.scrollTop = Math.min(Math.max(frame.scrollTop, top - room), top);
    const left = this.position * this.column;
    const wide = frame.clientWidth - this.gutter - this.column;
    frame.scrollLeft = Math.min(Math.max(frame.scrollLeft, left - wide), left);
    this.draw();
  }
}
