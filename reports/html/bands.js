// How high the rows of the picture are: those of one answer alike, a band.

const ROW_PX = 16;
/** Height of all bands together where all rows are to be seen at once. */
const ROOM_PX = 420;
/** Least height of a band there: a rare answer must not vanish beside frequent ones. */
const MIN_BAND_PX = 13;

class Bands {
  constructor({ numRows, variants }, fit) {
    const least = Math.min(MIN_BAND_PX, ROOM_PX / variants.length);
    const spare = ROOM_PX - least * variants.length;
    this.height = 0;
    this.bands = variants.map(({ start, count }) => {
      const share = least + (spare * count) / numRows;
      const height = fit ? Math.min(share, count * ROW_PX) : count * ROW_PX;
      const band = { start, top: this.height, row: height / count };
      this.height += height;
      return band;
    });
  }

  /** The last band whose `key`, "start" or "top", is at most `value`; else the first band. */
  last(key, value) {
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
    const band = this.last("top", height);
    return band.start + Math.floor((height - band.top) / band.row);
  }

  /** Of the row, or of the end where `row` is the number of rows. */
  topOf(row) {
    const band = this.last("start", row);
    return band.top + (row - band.start) * band.row;
  }

  rowHeightOf(row) {
    return this.last("start", row).row;
  }
}
