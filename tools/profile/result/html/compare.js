/* SPDX-License-Identifier: MIT */
/*
 * Shows several runs side by side, as qmpi report --compare --format=json compares them. Each figure has a value for
 * each run, or null if the run does not have the thing. The first run is the base.
 */

const UNITS = {
  calls: formatCount,
  entries: formatCount,
  bytes: formatBytes,
  memory: formatBytes
};

function signOf(change, none = "") {
  if (!change)
    return none;
  return change > 0 ? "+" : "−";
}

function changeText(base, value, format) {
  if (base === null || value === null)
    return base === value ? "–" : base === null ? "new" : "gone";
  const change = value - base;
  return `${signOf(change)}${format(Math.abs(change))}`;
}

function ratioText(base, value) {
  if (!base || value === null)
    return "–";
  const percent = 100 * (value / base - 1);
  const size = Math.abs(percent);
  return `${signOf(percent, "±")}${size.toFixed(size < 99.95 ? 1 : 0)} %`;
}

function pointsText(base, value) {
  if (base === null || value === null)
    return "–";
  const points = 100 * (value - base);
  return `${signOf(points, "±")}${Math.abs(points).toFixed(1)} points`;
}

/* Returns whether a change is better or worse. Less time and a higher efficiency are better; numbers of calls and
 * bytes are neither. Changes of less than 1 % are not marked. */
function moodOf(entry, change) {
  const isTime = (entry.format ?? formatTime) === formatTime;
  const isSmall = Math.abs(change) < .01 * Math.abs(entry.points ? 1 : entry.values[0] ?? 0);
  if (!change || isSmall || (!entry.points && !isTime))
    return undefined;
  return (change > 0) === Boolean(entry.points) ? "better" : "worse";
}

/* Makes a table with a column for each run, and one or two for the change of each later run. An entry has `values`,
 * one for each run, and may have a `format`. With `points`, changes are differences of percentages. */
function compareTable(
  runs, { id, label, title, entries: all, format, note, sorted = true, detailed = true, order = sorted }) {
  const entries = all.filter((it) => it.values.some((value) => value))
                    .map((it) => ({ ...it, format: it.format ?? format }));
  const formatOf = (it) => it.format ?? format;
  const columns = [{ title, value: (it) => it.name, note }];
  runs.forEach((run, at) => columns.push({
    title: run.letter,
    hint: run.name,
    numeric: true,
    value: (it) => it.values[at],
    text: (it) => (it.values[at] === null ? "–" : formatOf(it)(it.values[at])),
  }));
  runs.slice(1).forEach((run, at) => {
    const change = (it) => (it.values[at + 1] ?? 0) - (it.values[0] ?? 0);
    if (detailed)
      columns.push({
        title: `${run.letter} − A`,
        numeric: true,
        value: (it) => Math.abs(change(it)),
        text: (it) => {
          const [before, now] = [it.values[0], it.values[at + 1]];
          return it.remains ? changeText(before ?? 0, now ?? 0, formatOf(it)) : changeText(before, now, formatOf(it));
        },
        mood: (it) => moodOf(it, change(it))
      });
    columns.push({
      title: `change of ${run.letter}`,
      numeric: true,
      secondary: detailed,
      value: (it) => (it.values[at + 1] ?? 0) / (it.values[0] ?? 0),
      text: (it) => (it.points ? pointsText : ratioText)(it.values[0], it.values[at + 1]),
      mood: (it) => moodOf(it, change(it)),
    });
  });
  return new Table({
           id,
           label,
           entries,
           columns,
           filter: detailed,
           sort: order ? runs.length + 1 : -1,
           limit: sorted ? 10 : Infinity
         })
    .element;
}

/* ---- The runs as a whole ------------------------------------------------------------------------------ */

const TOTALS = {
  time: "elapsed time",
  mpi: "in MPI, mean rank",
  useful: "outside MPI, mean rank",
  calls: "calls",
  bytes: "bytes",
  memory: "peak memory"
};

function percentText(part) {
  return `${(100 * part).toFixed(1)} %`;
}

function addTotals(runs, comparison) {
  const place = element("div", { class: "panels" });
  const section =
    addSection(place, "comparison", "Comparison", runs.map((run) => `${run.letter}: ${run.name}`).join(", "));
  const ratios = Object.entries(comparison.efficiency ?? {}).filter(([, values]) => Array.isArray(values));
  const names = {
    parallel: "parallel efficiency",
    load_balance: "load balance",
    communication: "communication efficiency"
  };
  for (const run of comparison.runs.filter((it) => it.summary))
    section.append(element("p", { class: "note" }, `${run.summary}.`));
  section.append(compareTable(runs, {
    id: "totals",
    label: "Runs",
    title: "run",
    sorted: false,
    detailed: false,
    entries: [
      ...Object.entries(TOTALS)
        .filter(([name]) => comparison.totals[name])
        .map(([name, title]) => ({ name: title, values: comparison.totals[name], format: UNITS[name] ?? formatTime })),
      ...ratios.map(
        ([name, values]) =>
          ({ name: names[name] ?? name.replaceAll("_", " "), values, format: percentText, points: true }))
    ],
  }));
  for (const limit of comparison.limits) {
    const exceeded = runs.filter((run, at) => limit.exceeded[at]).map((run) => run.letter);
    const result = exceeded.length ? `Exceeded by ${exceeded.join(", ")}.` : "Not exceeded.";
    section.append(element(
      "p", { class: exceeded.length ? "note problem" : "note" },
      `Limit for ${limit.figure}: at most ${limit.percent} % worse than in A. ${result}`));
  }
  document.querySelector("main .runs").before(place);
}

/* ---- Changes ----------------------------------------------------------------------------------------- */

/* Names the place in each run, because lines move when the source changes. */
function placesText(site) {
  const places = [...new Set(site.frames.filter(Boolean).map((frames) => placeText({ frames })))];
  return `${site.name} at ${places.join(", then ")}`;
}

/* Makes a table of the quantity that is chosen in a list. */
function chosenComparison(runs, { id, label, title, things, name }) {
  const place = element("div");
  const quantities = [["time of a rank", "time"], ["calls", "calls"], ["bytes", "bytes"]];
  const choose = (at) => {
    const figure = quantities[at][1];
    place.replaceChildren(compareTable(runs, {
      id: `compare-${id}`,
      label: `${label}, compared`,
      title,
      format: UNITS[figure] ?? formatTime,
      entries: things.map((it) => ({ name: name(it), values: it[figure] })),
    }));
  };
  const choice = element(
    "select", { "aria-label": `${label} by`, onchange: (event) => choose(Number(event.target.value)) },
    ...quantities.map(([text], at) => element("option", { value: String(at) }, `by ${text}`)));
  choose(0);
  return titled(label, choice, place);
}

/* Makes the table of findings. As in the text, new ones come first, then those that are gone. */
function findingsTable(runs, all) {
  const order = ["new", "gone", "remains"];
  const findings = [...all].sort((one, other) => order.indexOf(one.change) - order.indexOf(other.change));
  const title = (pair) => pair.runs.find(Boolean).summary;
  return compareTable(runs, {
    id: "compare-findings",
    label: "Findings, compared",
    title: "finding",
    format: formatTime,
    order: false,
    entries: findings.map((pair) => ({
                            name: title(pair),
                            values: pair.runs.map((one) => one?.seconds ?? null),
                            remains: pair.change === "remains"
                          })),
  });
}

function addChanges(parent, runs, comparison) {
  const section = addSection(parent, "changes", "Changes", "Largest first. Times are means over the ranks.");
  const { functions, callsites, ranks, waits, findings } = comparison;
  if (findings.length)
    section.append(titled("Findings", findingsTable(runs, findings)));
  section.append(
    chosenComparison(
      runs, { id: "functions", label: "Functions", title: "function", things: functions, name: (it) => it.name }),
    chosenComparison(
      runs, { id: "callsites", label: "Call sites", title: "call site", things: callsites, name: placesText }));
  if (ranks.length)
    section.append(titled("Time in MPI by rank", compareTable(runs, {
                            id: "compare-ranks",
                            label: "Ranks, compared",
                            title: "rank",
                            format: formatTime,
                            entries: ranks.map((it) => ({ name: `rank ${it.rank}`, values: it.mpi })),
                          })));
  if (waits.length)
    section.append(titled(
      "Waiting by peer", compareTable(runs, {
        id: "compare-waits",
        label: "Waits, compared",
        title: "who waits for whom",
        format: formatTime,
        entries:
          waits.map((it) => ({
                      name: `rank ${it.rank} for ${it.peer < 0 ? "?" : it.peer}, ${placesText(callsites[it.callsite])}`,
                      values: it.time
                    })),
      })));
}
