/* SPDX-License-Identifier: MIT */
/* Handles pointer, wheel and keys of a heat map. */

class HeatMapInput {
  constructor(map) {
    this.map = map;
    const { canvas } = map;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
    canvas.addEventListener("pointerleave", () => map.sayCursor());
    canvas.addEventListener("dblclick", () => map.show(0, map.data.rows, 0, map.data.columns));
    canvas.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.type(event));
    for (const name of ["focus", "blur"])
      canvas.addEventListener(name, () => {
        map.sayCursor();
        map.draw();
      });
  }

  /* Returns the place of an event in pixels of the canvas, and within the cells, from 0 to 1. */
  placeOf(event) {
    const bounds = this.map.canvas.getBoundingClientRect();
    const { box } = this.map;
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    const limit = (value) => Math.min(Math.max(value, 0), 0.999999);
    return { x, y, across: limit((x - box.x) / box.width), down: limit((y - box.y) / box.height) };
  }

  cellAt(place) {
    const { view } = this.map;
    return {
      row: Math.floor(view.top + place.down * (view.bottom - view.top)),
      column: Math.floor(view.left + place.across * (view.right - view.left)),
    };
  }

  press(event) {
    if (event.button !== 0 || event.pointerType === "touch")
      return;
    this.start = this.placeOf(event);
    this.isMoving = event.shiftKey;
    this.first = {...this.map.view };
    this.map.canvas.setPointerCapture(event.pointerId);
  }

  point(event) {
    const { map } = this;
    const place = this.placeOf(event);
    const cell = this.cellAt(place);
    map.say(cell.row, cell.column);
    if (!this.start)
      return;
    if (this.isMoving) {
      const { first } = this;
      const rows = (this.start.down - place.down) * (first.bottom - first.top);
      const columns = (this.start.across - place.across) * (first.right - first.left);
      map.show(first.top + rows, first.bottom + rows, first.left + columns, first.right + columns);
    } else {
      map.dragged = {
        x: Math.min(this.start.x, place.x),
        y: Math.min(this.start.y, place.y),
        width: Math.abs(this.start.x - place.x),
        height: Math.abs(this.start.y - place.y),
      };
      map.draw();
    }
  }

  release(event) {
    const { map, start, isMoving } = this;
    const place = this.placeOf(event);
    const box = map.dragged;
    this.cancel();
    const one = start ? this.cellAt(start) : this.cellAt(place);
    const other = this.cellAt(place);
    if (start && !isMoving && box && box.width > 5 && box.height > 5)
      map.show(
        Math.min(one.row, other.row), Math.max(one.row, other.row) + 1, Math.min(one.column, other.column),
        Math.max(one.column, other.column) + 1);
    else if (!isMoving)
      map.moveCursor(other.row, other.column);
  }

  cancel() {
    this.start = undefined;
    this.isMoving = false;
    this.map.dragged = undefined;
    this.map.draw();
  }

  /* Zooms by the wheel if the map was clicked before or Ctrl is held. Otherwise, the page scrolls. */
  turn(event) {
    if (document.activeElement !== this.map.canvas && !event.ctrlKey)
      return;
    event.preventDefault();
    const place = this.placeOf(event);
    this.map.zoom(event.deltaY > 0 ? 1.5 : 1 / 1.5, { x: place.across, y: place.down });
  }

  type(event) {
    const { map } = this;
    const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const others = {
      "+": () => map.zoom(0.5),
      "=": () => map.zoom(0.5),
      "-": () => map.zoom(2),
      0: () => map.show(0, map.data.rows, 0, map.data.columns),
      Home: () => map.moveCursor(map.cursor.row, 0),
      End: () => map.moveCursor(map.cursor.row, map.data.columns - 1),
      PageUp: () => map.moveCursor(map.cursor.row - (map.view.bottom - map.view.top), map.cursor.column),
      PageDown: () => map.moveCursor(map.cursor.row + (map.view.bottom - map.view.top), map.cursor.column),
    };
    if (event.ctrlKey || event.metaKey || event.altKey)
      return;
    const arrow = arrows[event.key];
    if (arrow && event.shiftKey)
      map.move(
        Math.ceil(arrow[0] * (map.view.bottom - map.view.top) / 4),
        Math.ceil(arrow[1] * (map.view.right - map.view.left) / 4));
    else if (arrow)
      map.moveCursor(map.cursor.row + arrow[0], map.cursor.column + arrow[1]);
    else if (others[event.key])
      others[event.key]();
    else
      return;
    event.preventDefault();
  }
}
