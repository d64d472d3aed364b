/* SPDX-License-Identifier: MIT */
/*
 * A map of values on a canvas, with any number of rows and columns. A part of them is visible. A pixel that stands
 * for several cells has the colour of the largest value, or of the mean (`isMean`). The value of a cell is also shown
 * as text, for the pointer and for a cursor that keys move.
 *
 * The data is {rows, columns, row[], column[], value[]}, sorted by row, then column, and
 *   intensity(value)    0 … 1, how strong its colour is
 *   legend              [[intensity, text], …]
 *   marks               [[class, text], …]: further lines of the legend
 *   ended(row)          the column from which on the row has ended; optional. If it is given, a few rows are drawn as bars
 *   describe(row, column, value)    the text of the cell; value undefined: the cell is empty
 *   rowName, columnName, rowTitle, columnTitle    the labels of the axes
 */

class HeatMap {
  constructor(label, data) {
    this.data = data;
    this.view = { top: 0, bottom: data.rows, left: 0, right: data.columns };
    this.cursor = { row: 0, column: 0 };
    this.canvas = element("canvas", {
      tabindex: "0",
      role: "application",
      "aria-label": `${label}. Arrow keys move the cursor, plus and minus zoom, ` +
        "Shift with arrow keys moves the view, 0 shows everything.",
    });
    if (data.rows <= FEW_ROWS && data.ended)
      this.canvas.style.height = `${ROW_HEIGHT * data.rows + 44}px`;
    this.readout = element("output", { class: "readout", "aria-live": "polite" });
    this.element =
      element("div", { class: "heat-map" }, this.makeButtons(), this.canvas, this.readout, this.makeLegend());
    new HeatMapInput(this);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onColourChange(() => this.draw());
    this.askForCell();
  }

  makeButtons() {
    const button = (text, label, act) =>
      element("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    return element(
      "div", { class: "buttons", role: "toolbar", "aria-label": "Zoom" }, button("+", "Zoom in", () => this.zoom(0.5)),
      button("−", "Zoom out", () => this.zoom(2)),
      button("All", "Show everything", () => this.show(0, this.data.rows, 0, this.data.columns)),
      element(
        "span", { class: "hint" },
        isTouched() ? "Zoom around the chosen cell." : "Drag a box to zoom; click, then use the wheel or keys."));
  }

  makeLegend() {
    const entries = this.data.legend.map(([intensity, text]) => {
      const patch = element("span", { class: "patch", "aria-hidden": "true" });
      patch.dataset.intensity = intensity;
      return element("span", {}, patch, text);
    });
    for (const [name, text] of this.data.marks ?? [])
      entries.push(element("span", {}, element("span", { class: `patch ${name}`, "aria-hidden": "true" }), text));
    this.legend = element("p", { class: "legend" }, ...entries);
    return this.legend;
  }

  /* ---- The view -------------------------------------------------------------------------------------- */

  /* Shows these rows and columns, limited to those that exist. */
  show(top, bottom, left, right) {
    const fit = (start, end, most) => {
      const size = Math.min(Math.max(Math.round(end - start), Math.min(4, most)), most);
      const first = Math.min(Math.max(Math.round(start), 0), most - size);
      return [first, first + size];
    };
    [this.view.top, this.view.bottom] = fit(top, bottom, this.data.rows);
    [this.view.left, this.view.right] = fit(left, right, this.data.columns);
    this.draw();
  }

  /* Multiplies the size of the visible part. The place `at` (0 … 1), by default the cursor, stays fixed. */
  zoom(factor, at = this.cursorPlace()) {
    const { top, bottom, left, right } = this.view;
    const height = (bottom - top) * factor;
    const width = (right - left) * factor;
    const first = top + (bottom - top) * at.y - height * at.y;
    const start = left + (right - left) * at.x - width * at.x;
    this.show(first, first + height, start, start + width);
  }

  /* Returns the place of the cursor in the view, or the middle if it is not visible. */
  cursorPlace() {
    const y = (this.cursor.row + 0.5 - this.view.top) / (this.view.bottom - this.view.top);
    const x = (this.cursor.column + 0.5 - this.view.left) / (this.view.right - this.view.left);
    return x > 0 && x < 1 && y > 0 && y < 1 ? { x, y } : { x: 0.5, y: 0.5 };
  }

  move(rows, columns) {
    const { top, bottom, left, right } = this.view;
    this.show(top + rows, bottom + rows, left + columns, right + columns);
  }

  /* Moves the cursor to a cell, and makes the cell visible. */
  moveCursor(row, column) {
    this.marked = true;
    this.cursor.row = Math.min(Math.max(row, 0), this.data.rows - 1);
    this.cursor.column = Math.min(Math.max(column, 0), this.data.columns - 1);
    const beyond = (place, start, end) => Math.min(place - start, 0) + Math.max(place + 1 - end, 0);
    this.move(
      beyond(this.cursor.row, this.view.top, this.view.bottom),
      beyond(this.cursor.column, this.view.left, this.view.right));
    this.say();
  }

  askForCell() {
    this.readout.textContent = isTouched() ? "Tap a cell to read its value." : "Point at a cell to read its value.";
  }

  /* Shows the text of the cell at the cursor, if a cell was chosen. */
  sayCursor() {
    if (this.marked || document.activeElement === this.canvas)
      this.say();
    else
      this.askForCell();
  }

  say(row = this.cursor.row, column = this.cursor.column) {
    this.readout.textContent = this.data.describe(row, column, this.valueAt(row, column));
  }

  valueAt(row, column) {
    const { data } = this;
    let low = 0;
    let high = data.row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (data.row[middle] < row || (data.row[middle] === row && data.column[middle] < column))
        low = middle + 1;
      else
        high = middle;
    }
    return data.row[low] === row && data.column[low] === column ? data.value[low] : undefined;
  }

  /* ---- Drawing --------------------------------------------------------------------------------------- */

  /* Returns the area of the cells and its margins, in pixels of the layout; `draw` sets its width and
   * height. */
  area() {
    const widest = this.data.rowName(this.data.rows - 1).length;
    return { x: 26 + 7 * Math.max(widest, 2), y: 6, width: 0, height: 0, right: 10, under: 38 };
  }

  draw() {
    const box = this.canvas.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    const area = this.area();
    area.width = Math.floor(box.width - area.x - area.right);
    area.height = Math.floor(box.height - area.y - area.under);
    if (area.width < 8 || area.height < 8)
      return;
    this.box = area;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = colour("map-empty");
    context.fillRect(area.x, area.y, area.width, area.height);
    if (this.data.ended)
      drawEnds(this, context, area);
    this.drawCells(context, area, ratio);
    if (this.data.ended && this.view.bottom - this.view.top <= FEW_ROWS)
      drawGaps(this, context, area);
    this.drawAxes(context, area);
    this.drawMarks(context, area);
    this.canvas.dataset.view = Object.values(this.view).join(" ");
    const scale = heatScale();
    for (const patch of this.legend.querySelectorAll(".patch[data-intensity]"))
      patch.style.background = `rgb(${scale(Number(patch.dataset.intensity)).join(" ")})`;
  }

  /* Returns the intensity of each bin, which is a cell or the cells of a pixel; -1: it is empty. */
  fillBins(height, width) {
    const { data, view } = this;
    const bins = new Float32Array(height * width).fill(-1);
    const counts = new Uint32Array(bins.length);
    const down = height / (view.bottom - view.top);
    const across = width / (view.right - view.left);
    for (let at = 0; at < data.row.length; at++) {
      const row = data.row[at];
      const column = data.column[at];
      if (row < view.top || row >= view.bottom || column < view.left || column >= view.right)
        continue;
      const bin = Math.floor((row - view.top) * down) * width + Math.floor((column - view.left) * across);
      const intensity = data.intensity(data.value[at]);
      const previous = bins[bin];
      counts[bin]++;
      bins[bin] = data.isMean ? previous + (intensity - previous) / counts[bin] : Math.max(previous, intensity);
    }
    return bins;
  }

  drawCells(context, area, ratio) {
    const height = Math.min(this.view.bottom - this.view.top, Math.floor(area.height * ratio));
    const width = Math.min(this.view.right - this.view.left, Math.floor(area.width * ratio));
    const bins = this.fillBins(height, width);
    const image = new ImageData(width, height);
    const scale = heatScale();
    for (let bin = 0; bin < bins.length; bin++) {
      if (bins[bin] < 0)
        continue;
      const [red, green, blue] = scale(bins[bin]);
      image.data.set([red, green, blue, 255], 4 * bin);
    }
    const buffer = element("canvas", { width: String(width), height: String(height) });
    buffer.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(buffer, area.x, area.y, area.width, area.height);
    context.strokeStyle = colour("map-line");
    context.lineWidth = 1;
    context.strokeRect(area.x - 0.5, area.y - 0.5, area.width + 1, area.height + 1);
  }

  drawAxes(context, area) {
    const { data, view } = this;
    context.fillStyle = colour("text-soft");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const row of this.ticks(view.top, view.bottom, area.height / 28))
      context.fillText(
        data.rowName(row), area.x - 6, area.y + (row + 0.5 - view.top) * area.height / (view.bottom - view.top));
    context.textAlign = "center";
    for (const column of this.ticks(view.left, view.right, area.width / 56)) {
      const place = area.x + (column + 0.5 - view.left) * area.width / (view.right - view.left);
      const half = context.measureText(data.columnName(column)).width / 2;
      context.fillText(
        data.columnName(column), Math.min(place, area.x + area.width + area.right - half), area.y + area.height + 12);
    }
    context.fillText(data.columnTitle, area.x + area.width / 2, area.y + area.height + 29);
    context.save();
    context.translate(8, area.y + area.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(data.rowTitle, 0, 0);
    context.restore();
  }

  /* Returns round numbers between `start` and `end`, at most `most` of them. */
  ticks(start, end, most) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
    const step = steps.find((size) => (end - start) / size <= Math.max(most, 2)) ?? end - start;
    const found = [];
    for (let at = Math.ceil(start / step) * step; at < end; at += step)
      found.push(at);
    return found;
  }

  /* Draws the cursor, and the box that is being dragged. */
  drawMarks(context, area) {
    const { view, cursor } = this;
    const height = area.height / (view.bottom - view.top);
    const width = area.width / (view.right - view.left);
    const mark = (x, y, wide, high) => {
      context.strokeStyle = colour("surface");
      context.lineWidth = 4;
      context.strokeRect(x, y, wide, high);
      context.strokeStyle = colour("accent");
      context.lineWidth = 2;
      context.strokeRect(x, y, wide, high);
    };
    if (document.activeElement === this.canvas || this.marked)
      mark(
        area.x + (cursor.column - view.left) * width, area.y + (cursor.row - view.top) * height, Math.max(width, 3),
        Math.max(height, 3));
    if (this.dragged)
      mark(this.dragged.x, this.dragged.y, this.dragged.width, this.dragged.height);
  }
}
