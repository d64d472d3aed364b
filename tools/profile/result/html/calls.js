/* SPDX-License-Identifier: MIT */
/* Sections by call: functions with their histograms, call sites, waiting. */

function timeOnRank(time, rank) {
  return `${formatTime(time)}${rank === undefined || !time ? "" : ` on ${rank}`}`;
}

/* Returns whether the time of a function is part of the application time. MPI_Init runs before that begins. */
function isCounted(it) {
  return !it.name.startsWith("MPI_Init");
}

function remarkOf(it) {
  return isCounted(it) ? undefined : "before the elapsed time";
}

/* Explains the percentages in the sections of functions and call sites. */
function shareHint(run) {
  return ` %: share of the time of all ranks from MPI_Init to MPI_Finalize, ${formatTime(run.total)} in all.`;
}

/* Returns the columns that functions and call sites have in common. Tables are sorted by the percentage; rows
 * without a percentage come last. */
function callColumns(run) {
  const most = largest(run.functions.filter(isCounted).map((it) => it.time.sum), 1e-300);
  return [
    timeColumn(
      "time", (it) => it.time.sum,
      { hint: "of all ranks", share: (it) => (isCounted(it) ? it.time.sum / most : undefined) }),
    {
      title: "%",
      numeric: true,
      hint: "of the time of all ranks from MPI_Init to MPI_Finalize",
      value: (it) => (isCounted(it) ? it.time.sum : undefined),
      text: (it) => (isCounted(it) ? formatPercent(it.time.sum, run.total) : "–")
    },
    countColumn("calls", (it) => it.calls, { note: (it) => `× ${formatTime(it.time.sum / it.calls)}` }),
    timeColumn("per call", (it) => it.time.sum / it.calls, { secondary: true }),
    ...FIGURES.map(figureColumn),
    {
      title: "most on one rank",
      hint: "time of the rank that spends most in it",
      numeric: true,
      secondary: true,
      value: (it) => it.time.max,
      text: (it) => timeOnRank(it.time.max, it.time.max_rank)
    },
    bytesColumn("bytes", (it) => it.volume, { secondary: true, hint: "sent and received" }),
  ];
}

/* Returns the column of a figure in tools/profile/result/figures.h. JSON omits figures that are 0. */
function figureColumn({ name, unit, title }) {
  return (unit === "TIME" ? timeColumn : countColumn)(title, (it) => it[name] ?? 0, { secondary: true });
}

/* Makes a table with the columns of by_rank. */
function byRankTable(label, ranks) {
  const has = (name) => ranks.some((rank) => rank[name]);
  return smallTable({
    label,
    entries: ranks,
    sort: 1,
    columns: [
      rankColumn("rank", (it) => it.rank),
      timeColumn(
        "time", (it) => it.time, { share: (it) => it.time / largest(ranks.map((rank) => rank.time), 1e-300) }),
      ...(has("wait") ? [timeColumn("waiting", (it) => it.wait)] : []), countColumn("calls", (it) => it.calls),
      ...(has("sent") ? [bytesColumn("sent", (it) => it.sent)] : []),
      ...(has("received") ? [bytesColumn("received", (it) => it.received)] : [])
    ],
  });
}

function spreadText(it, ranks) {
  const on = (rank) => (rank === undefined ? "" : ` (rank ${rank})`);
  const { min, mean, max } = it.time;
  return `Of a rank: least ${formatTime(min)}${on(it.time.min_rank)}, mean ${formatTime(mean)}, `
    + `most ${formatTime(max)}${on(it.time.max_rank)}. A call: ${formatTime(it.shortest)} to ${formatTime(it.longest)}. `
    + `Called by ${plural(it.ranks || ranks, "rank")}.`;
}

function titled(title, ...content) {
  return element("div", { class: "part" }, element("h3", {}, title), ...content);
}

/* ---- Functions --------------------------------------------------------------------------------------- */

function functionDetail(run, it) {
  const parts = element("div", { class: "columns" });
  const sizes = histogram(
    "Calls by bytes, sent and received", it.sizes, formatBinBytes, it.no_bytes && it.sizes.length ? it.no_bytes : 0);
  const times = histogram("Calls by duration", it.times, formatBinTime, 0);
  const ranks = toObjects(it.by_rank);
  parts.append(...[sizes, times].filter(Boolean));
  if (ranks.length)
    parts.append(titled("Ranks that differ from the mean", byRankTable(`Ranks in ${it.name}`, ranks)));
  const sites = run.callsites.filter((site) => site.name === it.name);
  if (sites.length)
    parts.append(titled(
      "Call sites",
      element(
        "ul", { class: "plain" },
        ...sites.slice(0, 8).map(
          (site) =>
            element("li", {}, revealLink(site.place, "callsite", site.index), ` ${formatTime(site.time.sum)}`)))));
  return element("div", {}, element("p", {}, spreadText(it, run.ranks)), parts);
}

function addFunctions(parent, run) {
  if (!run.functions.length)
    return;
  const section =
    addSection(
      parent, "functions", "Functions",
      `Expand a function to see its histograms, ranks and call sites.${shareHint(run)}`, true);
  const table = new Table({
    id: "function",
    label: "Functions",
    entries: run.functions,
    detail: (it) => functionDetail(run, it),
    sort: 2,
    columns: [
      { title: "function", value: (it) => it.name, remark: remarkOf }, ...callColumns(run),
      { title: "group", secondary: true, value: (it) => it.group }
    ],
  });
  section.append(table.element);
  if (run.unfinished_receives)
    section.append(element(
      "p", { class: "hint" }, `The completion of ${plural(run.unfinished_receives, "nonblocking or persistent receive")} `
        + "was not seen: their data is not counted."));
  reveals.set("function", (name) => table.reveal(run.functions.find((it) => it.name === name)));
}

/* ---- Call sites -------------------------------------------------------------------------------------- */

function frameElement(frame) {
  return element(
    "li", frame.function ? { title: frame.function } : {}, frameText(frame), frame.inlined ? element("small", {}, " inlined") : null,
    frame.file || frame.module ? element("small", { class: "path" }, ` ${frame.file || frame.module}`) : null);
}

function siteDetail(run, site) {
  const parts = element(
    "div", { class: "columns" },
    titled("Called from", element("ol", { class: "frames" }, ...site.frames.map(frameElement))));
  const ranks = toObjects(site.by_rank);
  const waits = run.waits.filter((wait) => wait.site === site);
  if (ranks.length)
    parts.append(titled("Ranks that differ from the mean", byRankTable(`Ranks at ${siteText(site)}`, ranks)));
  if (waits.length)
    parts.append(titled("Waits for", smallTable({
                          label: `Waits at ${siteText(site)}`,
                          entries: waits,
                          columns: waitColumns().filter((column) => !column.isPlace)
                        })));
  const more = site.messages ?
    ` ${plural(site.messages, "message")} of ${formatBytes(site.volume / site.messages)} on average.` :
    "";
  return element("div", {}, element("p", {}, spreadText(site, run.ranks) + more), parts);
}

function addCallsites(parent, run) {
  if (!run.callsites.length)
    return;
  const isExtension = (site) => /\.cpython-[^/]*$|\.abi3\.so$/.test(site.frames[0]?.module ?? "");
  const noLines = run.callsites.some(isExtension) ?
    " Lines of Python are found in CPython 3.11 to 3.15, but not in free-threaded builds, nor with python=no." :
    " Compile with -g to see source lines.";
  const hint = run.callsites.some((site) => site.frames[0]?.file) ? "" : noLines;
  const section =
    addSection(parent, "callsites", "Call sites", `Expand a call site to see its callers, ranks and waits.${shareHint(run)}${hint}`);
  const table = new Table({
    id: "callsite",
    label: "Call sites",
    entries: run.callsites,
    detail: (it) => siteDetail(run, it),
    sort: 3,
    columns: [
      { title: "place", value: (it) => it.place, note: (it) => it.name, remark: remarkOf },
      { title: "function", secondary: true, value: (it) => it.name }, ...callColumns(run),
      { title: "ranks", numeric: true, secondary: true, value: (it) => it.ranks }
    ],
  });
  section.append(table.element);
  reveals.set("callsite", (index) => table.reveal(run.callsites[index]));
}

/* ---- Outside MPI ------------------------------------------------------------------------------------- */

function addOutside(parent, run) {
  if (!run.outside.length)
    return;
  const section = addSection(
    parent, "outside", "Outside MPI", "Time from the end of one call to the start of the next one of the same thread.");
  section.append(new Table({
                   id: "outside",
                   label: "Time outside MPI",
                   entries: run.outside,
                   sort: 2,
                   limit: 12,
                   columns: [
                     { title: "after", value: (it) => it.fromText, note: (it) => `before ${it.toText}` },
                     { title: "before", secondary: true, value: (it) => it.toText },
                     timeColumn("time", (it) => it.time.sum, { share: (it) => it.time.sum / run.total }),
                     timeColumn("mean rank", (it) => it.time.mean, { secondary: true }), {
                       title: "most on one rank",
                       numeric: true,
                       value: (it) => it.time.max,
                       text: (it) => timeOnRank(it.time.max, it.time.max_rank)
                     },
                     {
                       title: "least on one rank",
                       numeric: true,
                       secondary: true,
                       value: (it) => it.time.min,
                       text: (it) => timeOnRank(it.time.min, it.time.min_rank)
                     }
                   ],
                 }).element);
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

function waitColumns(most) {
  return [
    rankColumn("rank", (it) => it.rank, { note: (it) => siteText(it.site) }),
    { title: "waits for", value: (it) => it.peer, text: (it) => (it.peer < 0 ? "?" : `rank ${it.peer}`) },
    timeColumn("time", (it) => it.time, { share: most && ((it) => it.time / most) }),
    countColumn("calls", (it) => it.calls),
    { title: "in", isPlace: true, secondary: true, value: (it) => siteText(it.site) }
  ];
}

function addWaits(parent, run) {
  const before = run.functions.filter((it) => it.wait?.sum);
  if (!run.waits.length && !before.length)
    return;
  const section = addSection(
    parent, "waits", "Waiting", "Time in point-to-point calls beyond what is expected for the size of their data. If a call completes several "
      + "requests, its time is divided equally among their peers.");
  if (run.waits.length)
    section.append(new Table({
                     id: "wait",
                     label: "Waits by peer",
                     entries: run.waits,
                     columns: waitColumns(run.waits[0].time),
                     sort: 2,
                     limit: 12,
                   }).element);
  if (before.length)
    section.append(titled(
      "Before collectives",
      new Table({
        label: "Waiting before collectives",
        entries: before,
        filter: false,
        sort: 1,
        columns: [
          { title: "function", value: (it) => it.name }, timeColumn("waiting", (it) => it.wait.sum),
          timeColumn("mean rank", (it) => it.wait.mean, { secondary: true }), {
            title: "most on one rank",
            numeric: true,
            value: (it) => it.wait.max,
            text: (it) => timeOnRank(it.wait.max, it.wait.max_rank)
          },
          {
            title: "least on one rank",
            numeric: true,
            secondary: true,
            value: (it) => it.wait.min,
            text: (it) => timeOnRank(it.wait.min, it.wait.min_rank)
          }
        ],
      }).element));
}
