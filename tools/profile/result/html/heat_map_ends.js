/* SPDX-License-Identifier: MIT */
/* Rows of a heat map that end, and few rows: bars with gaps. */

const FEW_ROWS = 16;
const ROW_HEIGHT = 34;

/* Hatches what lies behind the end of each row; cells are drawn over it. */
function drawEnds(map, context, area) {
  const { top, bottom, left, right } = map.view;
  const height = area.height / (bottom - top);
  const width = area.width / (right - left);
  const tile = element("canvas", { width: "6", height: "6" });
  const lines = tile.getContext("2d");
  lines.fillStyle = colour("ended");
  lines.fillRect(0, 0, 6, 6);
  lines.strokeStyle = colour("ended-line");
  for (const at of [-6, 0, 6]) {
    lines.moveTo(at - 1, 7);
    lines.lineTo(at + 7, -1);
  }
  lines.stroke();
  context.fillStyle = context.createPattern(tile, "repeat");
  for (let row = Math.floor(top); row < bottom; row++) {
    const start = Math.max(map.data.ended(row), left);
    if (start < right)
      context.fillRect(
        area.x + (start - left) * width, area.y + (row - top) * height, (right - start) * width, height);
  }
}

/* Few rows are bars with gaps. */
function drawGaps(map, context, area) {
  const rows = map.view.bottom - map.view.top;
  context.fillStyle = colour("surface");
  for (let row = 1; row < rows; row++)
    context.fillRect(area.x - 1, area.y + row * area.height / rows - 2, area.width + 2, 4);
}
