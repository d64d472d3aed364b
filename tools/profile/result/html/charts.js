/* SPDX-License-Identifier: MIT */
/* Histograms, and charts of the time of each rank. */

/* Makes bars with names and numbers. A bar is {name, value, text}. */
function barChart(label, bars) {
  const most = largest(bars.map((bar) => bar.value), 1e-300);
  const lines = bars.map((bar) => {
    const mark = element("span", { class: "bar", "aria-hidden": "true" });
    mark.style.width = `${(100 * bar.value / most).toFixed(1)}%`;
    return element(
      "tr", {}, element("th", { scope: "row" }, bar.name), element("td", { class: "bar-room" }, mark),
      element("td", { class: "numeric" }, bar.text));
  });
  return element("table", { class: "bars" }, element("caption", {}, label), element("tbody", {}, ...lines));
}

/* Makes a histogram. `bins` are pairs [b, calls]. A bin that is missing between the first and the last bin is
 * empty. `zero` is the number of calls without data. */
function histogram(label, bins, format, zero) {
  if (!bins.length && !zero)
    return null;
  const calls = new Map(bins);
  const bars = zero ? [{ name: "no data", value: zero, text: formatCount(zero) }] : [];
  const first = Math.min(...calls.keys());
  for (let bin = first; bins.length && bin <= Math.max(...calls.keys()); bin++) {
    const count = calls.get(bin) ?? 0;
    bars.push({ name: `from ${format(bin)}`, value: count, text: formatCount(count) });
  }
  return barChart(label, bars);
}

/* ---- Time by rank ------------------------------------------------------------------------------------ */

const CHART = {
  width: 1000,
  height: 180
};

function patchKey(name, text) {
  return element("span", {}, element("span", { class: `patch ${name}`, "aria-hidden": "true" }), text);
}

/* From this part of the run on, a bar looks complete. */
const MOST_OF_RUN = 0.995;

/* Explains the colours of a chart of ranks. */
function rankLegend(processes, most) {
  const hasEnded = smallest(processes.map((it) => it.application)) < MOST_OF_RUN * most;
  return element(
    "p", { class: "legend" }, patchKey("useful", "outside MPI"), patchKey("mpi", "in MPI (striped)"),
    hasEnded ? patchKey("ended", "the rank had ended, or was not profiled") : null);
}

/* Makes a bar for each of a few processes, with the share in MPI beside it. */
function rankBars(processes) {
  const most = largest(processes.map((it) => it.application), 1e-300);
  const part = (name, time) => {
    const made = element("span", { class: `patch ${name}` });
    made.style.width = `${(100 * Math.max(time, 0) / most).toFixed(2)}%`;
    return made;
  };
  const lines = processes.map(
    (it) => element(
      "tr", {}, element("th", { scope: "row" }, `rank ${it.rank}`),
      element(
        "td", { class: "bar-room" },
        element(
          "span", { class: "rank-bar", "aria-hidden": "true" }, part("useful", usefulOf(it)),
          part("mpi", it.application - usefulOf(it)), it.application < MOST_OF_RUN * most ? part("ended", most - it.application) : "")),
      element("td", { class: "numeric" }, `${formatPercent(it.mpi, it.application)} in MPI`)));
  return element(
    "figure", { class: "rank-chart" }, rankLegend(processes, most),
    element(
      "table", { class: "bars rank-bars", "aria-label": "Share of time in MPI by rank" },
      element("tbody", {}, ...lines),
      element(
        "tfoot", {},
        element(
          "tr", {}, element("td"),
          element("td", { class: "axis" }, element("span", {}, "0"), element("span", {}, formatTime(most))),
          element("td")))));
}

/* Returns the outline of the area between two heights, which has a step for each process. */
function stepPath(lower, upper, most) {
  const step = CHART.width / upper.length;
  const y = (value) => (CHART.height * (1 - value / most)).toFixed(1);
  const there = upper.map((value, at) => `L${(at * step).toFixed(2)} ${y(value)}H${((at + 1) * step).toFixed(2)}`);
  const back = lower.map((value, at) => `V${y(value)}H${(at * step).toFixed(2)}`).reverse();
  return `M0 ${y(lower[0])}${there.join("")}${back.join("")}Z`;
}

/* Makes a chart that shows the text from `describe` for the process under the pointer. */
function rankChart(processes, describe) {
  const useful = processes.map(usefulOf);
  const whole = processes.map((it) => it.application);
  const most = largest(whole, 1e-300);
  const part = (name, path) => element("path", { svg: true, class: name, d: path });
  const stripes = element(
    "pattern", {
      svg: true,
      id: "stripes",
      width: "6",
      height: "6",
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)"
    },
    element("rect", { svg: true, width: "6", height: "6", class: "stripe-ground" }),
    element("rect", { svg: true, width: "2.5", height: "6", class: "stripe" }));
  const chart = element(
    "svg", {
      viewBox: `0 0 ${CHART.width} ${CHART.height}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "Time of each rank outside MPI, and above it in MPI. The table of processes has the figures."
    },
    element("defs", { svg: true }, stripes), part("useful", stepPath(useful.map(() => 0), useful, most)),
    part("mpi", stepPath(useful, whole, most)),
    part("ended", stepPath(whole, whole.map(() => most), most)));
  const readout =
    element("output", { class: "readout" }, `${isTouched() ? "Tap" : "Point at"} a rank to see its times.`);
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const at = Math.floor((event.clientX - box.left) / box.width * processes.length);
    readout.textContent = describe(processes[Math.min(Math.max(at, 0), processes.length - 1)]);
  });
  const last = processes.length - 1;
  return element(
    "figure", { class: "rank-chart" },
    rankLegend(processes, most),
    element("div", { class: "chart" }, element("span", { class: "most" }, formatTime(most)), chart),
    element(
      "div", { class: "axis" }, element("span", {}, `rank ${processes[0].rank}`),
      last > 0 ? element("span", {}, `rank ${processes[last].rank}`) : null),
    readout);
}

/* Makes lines over time, from 0 to 1. A line is {title, style, values}, and has a gap where a value is missing. */
function lineChart(label, lines, first, last) {
  const { width, height } = CHART;
  const points = (values) => {
    let pen = "M";
    return values
      .map((value, at) => {
        if (value === null || value === undefined) {
          pen = "M";
          return "";
        }
        const place = `${((at + 0.5) * width / values.length).toFixed(1)} ${(height * (1 - value)).toFixed(1)}`;
        const part = pen === "M" ? `M${place}h.1` : `L${place}`; // a single value becomes a dot
        pen = "L";
        return part;
      })
      .join("");
  };
  const grid =
    [0.25, 0.5, 0.75].map((part) => element("path", { svg: true, class: "grid", d: `M0 ${height * part}H${width}` }));
  const chart = element(
    "svg", { viewBox: `0 -4 ${width} ${height + 8}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    ...grid,
    ...lines.map((line) => element("path", { svg: true, class: `line ${line.style}`, d: points(line.values) })));
  const key = (line) => element(
    "span", {},
    element(
      "svg", { class: "key", viewBox: "0 0 30 8", "aria-hidden": "true" },
      element("path", { svg: true, class: `line ${line.style}`, d: "M0 4H30" })),
    line.title);
  return element(
    "figure", { class: "line-chart" }, element("p", { class: "legend" }, ...lines.map(key)),
    element("div", { class: "chart" }, ...["100 %", "50 %", "0 %"].map((text) => element("span", { class: "tick" }, text)), chart),
    element("div", { class: "axis" }, element("span", {}, first), element("span", {}, last)));
}
