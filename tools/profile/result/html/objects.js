/* SPDX-License-Identifier: MIT */
/* Sections about communicators, files, regions and calls in flight. */

const allTimeColumn = timeColumn("time", (it) => it.time.sum, { hint: "of all ranks" });
const callsColumn = countColumn("calls", (it) => it.calls);

function addTable(parent, id, title, entries, columns, hint, folds = false) {
  if (entries.length)
    addSection(parent, id, title, hint, folds)
      .append(new Table({ id: `${id}-table`, label: title, entries, columns }).element);
}

/* Returns what a call waits for, such as "from rank 1 (tag 7)". */
function awaitText(call) {
  const awaits = call.awaits ?? [];
  if (!awaits.length)
    return call.communicator ? `on ${call.communicator}` : "";
  return awaits.map((it) => {
    const rank = it.any ? "any rank" : it.peer === undefined ? "an unknown rank" : `rank ${it.peer}`;
    return `${it.sending ? "to" : "from"} ${rank}${it.tag === undefined ? "" : ` (tag ${it.tag})`}`;
  }).join(", ");
}

function addFlights(parent, run) {
  addTable(
    parent, "flights", "Calls in flight", run.in_flight ?? [],
    [
      { title: "function", value: (it) => it.name },
      { title: "rank", numeric: true, value: (it) => it.rank },
      {
        title: "for",
        numeric: true,
        value: (it) => it.time,
        text: (it) => formatTime(it.time) + (it.waiting ? ", waiting" : "")
      },
      { title: "waits for", value: awaitText },
      { title: "called from", value: (it) => it.frames.map(frameText).join(" < ") },
      { title: "since", secondary: true, value: (it) => it.since },
    ],
    "Calls that had not returned when the profile was saved.");
}

function addCommunicators(parent, run) {
  addTable(parent, "communicators", "Communicators", run.communicators, [
    { title: "name", value: (it) => it.name || "(no name)" }, countColumn("ranks", (it) => it.size),
    countColumn(
      "how many", (it) => it.instances, { secondary: true, hint: "communicators with this name and these ranks" }),
    allTimeColumn, callsColumn,
    bytesColumn("sent", (it) => it.bytes.sent, { secondary: true }),
    bytesColumn("received", (it) => it.bytes.received, { secondary: true })
  ], undefined, true);
}

function addFiles(parent, run) {
  addTable(
    parent, "files", "Files", run.files,
    [
      { title: "name", value: (it) => it.name }, allTimeColumn, callsColumn, bytesColumn("read", (it) => it.read),
      bytesColumn("written", (it) => it.written),
      countColumn("opens", (it) => it.opens, { secondary: true })
    ],
    "MPI-IO.");
}

function addRegions(parent, run) {
  const share = (name, title, secondary = true) => ({
    title,
    numeric: true,
    secondary,
    value: (it) => it.efficiency?.[name],
    share: (it) => it.efficiency?.[name],
    text: (it) => formatPercent(it.efficiency?.[name] ?? 0, it.efficiency?.[name] === undefined ? 0 : 1),
  });
  const hasPath = run.regions.some((it) => it.path); // known only for a trace, with --path
  addTable(
    parent, "regions", "Regions", run.regions,
    [
      { title: "region", value: (it) => it.name }, allTimeColumn, timeColumn("in MPI", (it) => it.mpi.sum),
      share("parallel", "parallel efficiency", false), share("load_balance", "load balance"),
      share("communication", "communication"),
      ...(hasPath ? [share("serialisation", "serialisation"), share("transfer", "transfer")] : []),
      countColumn("entries", (it) => it.entries, { secondary: true })
    ],
    "Regions that the program marked with MPI_Pcontrol.");
}
