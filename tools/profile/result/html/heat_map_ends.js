/* SPDX-License-Identifier: MIT */
/* Draws the ends of rows in a heat map, and the gaps between the bars of a few rows. */

const FEW_ROWS = 16;
const ROW_HEIGHT = 34;

/* Hatches the area after the end of each row. Cells are drawn over it. */
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

/* Draws gaps between rows if there are few of them. */
function drawGaps(map, context, area) {
  const rows = map.view.bottom - map.view.top;
  context.fillStyle = colour("surface");
  for (let row = 1; row < rows; row++)
    context.fillRect(area.x - 1, area.y + row * area.height / rows - 2, area.width + 2, 4);
}
