/* SPDX-License-Identifier: MIT */
/* Sections by rank: time, time over the run, communication, nodes. */

function usefulOf(process) {
  return process.useful ?? Math.max(process.application - process.mpi, 0);
}

function describeProcess(process) {
  const share = formatPercent(process.mpi, process.application);
  return `Rank ${process.rank} on ${process.host || "unknown"}: ${formatTime(usefulOf(process))} outside MPI, `
    + `${formatTime(process.mpi)} in MPI (${share} of ${formatTime(process.application)})`;
}

/* Makes tables of the functions and of the waits of a rank, as far as the result lists them. */
function rankDetail(run, process) {
  const found = run.functions.flatMap(
    (it) => toObjects(it.by_rank)
              .filter((rank) => rank.rank === process.rank)
              .map((rank) => ({...rank, name: it.name, mean: it.time.mean })));
  const waits = run.waits.filter((wait) => wait.rank === process.rank);
  const parts = element("div", { class: "columns" });
  if (found.length)
    parts.append(smallTable({
      label: `Functions of rank ${process.rank} that differ from the mean`,
      entries: found,
      sort: 1,
      columns: [
        { title: "function", value: (it) => it.name }, timeColumn("time", (it) => it.time),
        timeColumn("mean rank", (it) => it.mean), countColumn("calls", (it) => it.calls)
      ],
    }));
  if (waits.length)
    parts.append(smallTable({
      label: `Waits of rank ${process.rank}`,
      entries: waits,
      columns: waitColumns().slice(1).map((column) => ({...column, secondary: false }))
    }));
  if (!parts.children.length)
    parts.append(element("p", {}, "Its time in each function is near the mean of all ranks."));
  return parts;
}

function addRanks(parent, run) {
  if (!run.processes.length)
    return;
  const section = addSection(parent, "ranks", "Time by rank", "%: time in MPI, of the time of the rank.");
  const isFew = run.processes.length <= FEW_ROWS;
  section.append(isFew ? rankBars(run.processes) : rankChart(run.processes, describeProcess));
  const longest = largest(run.processes.map((it) => it.application));
  const table = new Table({
    id: "rank",
    label: "Processes",
    entries: run.processes.map((it) => ({...it, index: it.rank })),
    limit: 8,
    detail: (it) => rankDetail(run, it),
    columns: [
      rankColumn("rank", (it) => it.rank),
      timeColumn("outside MPI", usefulOf, { share: (it) => usefulOf(it) / longest }),
      timeColumn("in MPI", (it) => it.mpi, { share: (it) => it.mpi / longest }), {
        title: "%",
        hint: "time in MPI, of the application time of the rank",
        numeric: true,
        value: (it) => it.mpi / it.application,
        text: (it) => formatPercent(it.mpi, it.application)
      },
      { title: "host", value: (it) => it.host, secondary: true },
      bytesColumn("peak memory", (it) => it.memory, { secondary: true })
    ],
  });
  section.append(table.element);
  reveals.set("rank", (rank) => table.reveal(table.entries.find((it) => it.rank === rank)));
}

/* ---- Over time --------------------------------------------------------------------------------------- */

function addWindows(parent, run) {
  const { windows } = run;
  const ranks = windows?.ranks ?? [];
  if (!ranks.length || !windows.count)
    return;
  const section = addSection(
    parent, "windows", "MPI over time",
    `The share of time that each rank spends in MPI. Each column stands for ${formatTime(windows.width)} of the run.`);
  const data = { rows: ranks.length, columns: windows.count, row: [], column: [], value: [] };
  ranks.forEach((rank, row) => rank.mpi.forEach((percent, column) => {
    if (ranks[row].profiled?.[column] === 0)
      return;
    data.row.push(row);
    data.column.push(column);
    data.value.push(percent);
  }));
  const ended = (row) => ranks[row].mpi.length;
  const missing = (row, column) => (column < ended(row) ? "not profiled" : "the rank had ended");
  const map = new HeatMap("Share of time in MPI by rank and time", {
    ...data,
    isMean: true,
    intensity: (percent) => percent / 100,
    legend: [0, 25, 50, 75, 100].map((part) => [part / 100, `${part} %`]),
    rowTitle: "rank",
    columnTitle: "time since MPI_Init",
    rowName: (row) => String(ranks[row].rank),
    columnName: (column) => formatTime(column * windows.width),
    describe: (row, column, percent) => `Rank ${ranks[row].rank}, ${formatTime(column * windows.width)} to ` +
      `${formatTime((column + 1) * windows.width)}: ${percent === undefined ? missing(row, column) : `${percent} % in MPI`}`,
    ended,
    marks: [
      ...(ranks.some((_, row) => ended(row) < windows.count) ? [["ended", run.termination ? "ended" : "ended: the rank called MPI_Finalize"]] : []),
      ...(ranks.some((rank) => rank.profiled?.includes(0)) ? [["none", "not profiled"]] : [])
    ],
  });
  map.element.classList.add(ranks.length > 64 ? "tall" : "flat");
  section.append(map.element);
  addEfficiencyOverTime(section, windows);
}

/* Returns whether ranks do so little work that its balance has no meaning. */
function isIdle(windows, at) {
  return windows.parallel_efficiency?.[at] < 0.01;
}

function drawnFigure(windows, name) {
  return windows[name].map((value, at) => (name === "load_balance" && isIdle(windows, at) ? null : value));
}

/* Adds the efficiency over time as a table and as lines, which also differ in their dashes. */
function addEfficiencyOverTime(section, windows) {
  const figures = [
    ["parallel_efficiency", "parallel efficiency", "line-0"], ["load_balance", "load balance", "line-1"],
    ["communication_efficiency", "communication", "line-2"]
  ].filter(([name]) => windows[name]?.length);
  if (!figures.length)
    return;
  const text = (value) => formatPercent(value ?? 0, value === undefined || value === null ? 0 : 1);
  const entries = Array.from({ length: windows.count }, (_, at) => ({ at }));
  section.append(titled(
    "Efficiency over the run",
    windows.load_balance?.some((value, at) => value !== null && isIdle(windows, at)) ?
      element("p", { class: "hint" }, "Load balance has a gap while less than 1 % of the time is outside MPI.") :
      null,
    lineChart(
      "Efficiency over the run. The table has the figures.",
      figures.map(([name, title, style]) => ({ title, style, values: drawnFigure(windows, name) })), "0 s",
      formatTime(windows.count * windows.width)),
    element(
      "details", {}, element("summary", {}, "As a table"),
      new Table({
        label: "Efficiency over the run",
        entries,
        limit: 20,
        filter: false,
        columns: [
          { title: "from", value: (it) => it.at, text: (it) => formatTime(it.at * windows.width) },
          ...figures.map(
            ([name, title]) =>
              ({ title, numeric: true, value: (it) => windows[name][it.at], text: (it) => text(windows[name][it.at]) }))
        ],
      }).element)));
}

/* ---- Communication ----------------------------------------------------------------------------------- */

function addMatrix(parent, run) {
  const entries = run.matrix;
  if (!entries.length)
    return;
  const section = addSection(
    parent, "matrix", "Communication",
    "From rank to rank: point-to-point messages and one-sided accesses, by bytes. Collectives are not included.");
  const ranks = largest(entries.map((it) => Math.max(it.from, it.to) + 1), run.ranks);
  const sorted = [...entries].sort((a, b) => a.from - b.from || a.to - b.to);
  const bytes = sorted.map((it) => it.bytes);
  const most = Math.log2(largest(bytes, 1));
  const least = Math.min(Math.log2(Math.max(smallest(bytes), 1)), most - 1);
  const intensity = (value) => (Math.log2(Math.max(value, 1)) - least) / (most - least);
  const steps = most - least > 1.5 ? [0, 0.25, 0.5, 0.75, 1] : [1];
  const map = new HeatMap("Bytes from rank to rank", {
    rows: ranks,
    columns: ranks,
    row: sorted.map((it) => it.from),
    column: sorted.map((it) => it.to),
    value: bytes,
    intensity,
    legend: steps.map((step) => [step, formatBytes(2 ** (least + step * (most - least)))]),
    rowTitle: "from rank",
    columnTitle: "to rank",
    rowName: String,
    columnName: String,
    marks: [["none", "nothing"]],
    describe: (from, to, value) =>
      `From rank ${from} to rank ${to}: ${value === undefined ? "nothing" : formatBytes(value)}`,
  });
  map.element.classList.add("square");
  map.element.style.maxWidth = `${Math.max(60 * ranks + 60, 240)}px`;
  const table = new Table({
    id: "pair",
    label: "Pairs of ranks",
    entries: entries.map((it, index) => ({...it, index })),
    sort: 2,
    limit: 12,
    columns: [
      rankColumn("from", (it) => it.from), rankColumn("to", (it) => it.to),
      bytesColumn("bytes", (it) => it.bytes, { share: (it) => it.bytes / 2 ** most }),
      countColumn(
        "messages", (it) => it.messages, { note: (it) => `× ${formatBytes(it.bytes / it.messages)}` }),
      bytesColumn("mean size", (it) => it.bytes / it.messages, { secondary: true })
    ],
  });
  section.append(element("div", { class: "columns" }, map.element, table.element));
}

/* ---- Nodes ------------------------------------------------------------------------------------------- */

function addNodes(parent, run) {
  if (!run.nodes.length)
    return;
  const section = addSection(parent, "nodes", "Nodes", "Means over the ranks of a node.", true);
  const longest = largest(run.nodes.map((it) => it.application));
  section.append(
    new Table({
      id: "node",
      label: "Nodes",
      entries: run.nodes,
      columns: [
        { title: "host", value: (it) => it.host }, countColumn("ranks", (it) => it.count),
        timeColumn("outside MPI", (it) => it.useful, { share: (it) => it.useful / longest }),
        timeColumn("in MPI", (it) => it.mpi, { share: (it) => it.mpi / longest }),
        bytesColumn("peak memory", (it) => it.memory, { secondary: true }), {
          title: "numbers of its ranks",
          secondary: true,
          value: (it) => rankList(it.processes.map((process) => process.rank).sort((a, b) => a - b))
        }
      ],
    }).element);
}
