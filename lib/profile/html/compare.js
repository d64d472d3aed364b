/* SPDX-License-Identifier: MIT */
/* Several runs side by side. The first one is the base: differences and ratios are relative to it. */

/* name → a value for each run; `list` of a run gives pairs [name, value]. */
function alignRuns(runs, list) {
  const found = new Map();
  runs.forEach((run, at) => {
    for (const [name, value] of list(run)) {
      if (!found.has(name))
        found.set(name, { name, values: runs.map(() => undefined) });
      const { values } = found.get(name);
      values[at] = (values[at] ?? 0) + value;
    }
  });
  return [...found.values()];
}

function changeText(base, value, format) {
  if (base === undefined || value === undefined)
    return base === value ? "–" : base === undefined ? "new" : "gone";
  const change = value - base;
  return `${change > 0 ? "+" : change < 0 ? "−" : ""}${format(Math.abs(change))}`;
}

function ratioText(base, value) {
  if (!base || value === undefined)
    return "–";
  const percent = 100 * (value / base - 1);
  return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent).toFixed(Math.abs(percent) < 99.95 ? 1 : 0)} %`;
}

/* A table with a column for each run, and two for the change of each against the base. */
function compareTable(runs, id, label, title, entries, format, secondary) {
  const columns = [{ title, value: (it) => it.name }];
  runs.forEach((run, at) => columns.push({
    title: run.letter, hint: run.name, numeric: true, value: (it) => it.values[at],
    text: (it) => (it.values[at] === undefined ? "–" : format(it.values[at])),
  }));
  runs.slice(1).forEach((run, at) => {
    columns.push({
      title: `${run.letter} − A`, numeric: true, value: (it) => Math.abs((it.values[at + 1] ?? 0) - (it.values[0] ?? 0)),
      text: (it) => changeText(it.values[0], it.values[at + 1], format),
    }, {
      title: `change of ${run.letter}`, numeric: true, secondary, value: (it) => (it.values[at + 1] ?? 0) / (it.values[0] ?? 0),
      text: (it) => ratioText(it.values[0], it.values[at + 1]),
    });
  });
  return new Table({ id, label, entries, columns, sort: runs.length + 1, limit: 10 }).element;
}

/* Figures of a run as a whole, in rows. */
function totals(runs) {
  const time = (title, value) => ({ title, values: runs.map(value), format: formatTime });
  const percent = (title, name) => ({ title, values: runs.map((run) => run.efficiency?.[name]), format: (it) => `${(100 * it).toFixed(1)} %` });
  return [
    time("elapsed time", (run) => run.elapsed), time("application time, all ranks", (run) => run.total),
    time("time in MPI, all ranks", (run) => run.time.sum),
    percent("parallel efficiency", "parallel"), percent("load balance", "load_balance"), percent("communication efficiency", "communication"),
    percent("serialisation efficiency", "serialisation"), percent("transfer efficiency", "transfer"),
  ].filter((line) => line.values.some((value) => value !== undefined));
}

function totalsTable(runs) {
  const entries = totals(runs);
  const columns = [{ title: "", value: (it) => it.title }];
  runs.forEach((run, at) => columns.push({
    title: run.letter, hint: run.name, numeric: true, value: (it) => it.values[at],
    text: (it) => (it.values[at] === undefined ? "–" : it.format(it.values[at])),
  }));
  runs.slice(1).forEach((run, at) => columns.push({
    title: `change of ${run.letter}`, numeric: true, value: (it) => it.values[at + 1] / it.values[0],
    text: (it) => ratioText(it.values[0], it.values[at + 1]),
  }));
  return new Table({ id: "totals", label: "Runs", entries, columns, filter: false }).element;
}

const COMPARISONS = [
  ["functions", "Functions", "function", (run) => run.functions.map((it) => [it.name, it])],
  ["callsites", "Call sites", "call site", (run) => run.callsites.map((it) => [siteText(it), it])],
];
const QUANTITIES = [
  ["time", (it) => it.time.sum, formatTime], ["calls", (it) => it.calls, formatCount], ["bytes", (it) => it.volume, formatBytes],
];

/* One of the tables, by a quantity that a list chooses. */
function chosenComparison(runs, [id, label, title, list]) {
  const place = element("div");
  const choose = (at) => {
    const [, value, format] = QUANTITIES[at];
    const entries = alignRuns(runs, (run) => list(run).map(([name, it]) => [name, value(it)]));
    place.replaceChildren(compareTable(runs, `compare-${id}`, `${label}, compared`, title, entries, format, true));
  };
  const choice = element("select", { "aria-label": `${label} by`, onchange: (event) => choose(Number(event.target.value)) },
    ...QUANTITIES.map(([name], at) => element("option", { value: String(at) }, `by ${name}`)));
  choose(0);
  return titled(label, choice, place);
}

function addComparison(parent, runs) {
  const section = addSection(parent, "comparison", "Comparison",
    runs.map((run) => `${run.letter}: ${run.name}`).join(", "));
  section.append(totalsTable(runs), ...COMPARISONS.map((one) => chosenComparison(runs, one)));
  const ranks = alignRuns(runs, (run) => run.processes.map((it) => [`rank ${it.rank}`, it.mpi]));
  if (ranks.length)
    section.append(titled("Time in MPI by rank", compareTable(runs, "compare-ranks", "Ranks, compared", "rank", ranks, formatTime, true)));
  const waits = alignRuns(runs, (run) => run.waits.map((it) => [`rank ${it.rank} for ${it.peer < 0 ? "?" : it.peer}, ${siteText(it.site)}`, it.time]));
  if (waits.length)
    section.append(titled("Waiting by peer", compareTable(runs, "compare-waits", "Waits, compared", "who waits for whom", waits, formatTime, true)));
}
