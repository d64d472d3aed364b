/* SPDX-License-Identifier: MIT */
/* Sections by what calls refer to: communicators, files, regions, calls in flight. */

const timeColumn = { title: "time", numeric: true, hint: "of all ranks", value: (it) => it.time.sum, text: (it) => formatTime(it.time.sum) };
const callsColumn = { title: "calls", numeric: true, value: (it) => it.calls, text: (it) => formatCount(it.calls) };

function bytesColumn(title, value, secondary) {
  return { title, numeric: true, secondary, value, text: (it) => formatBytes(value(it)) };
}

function addTable(parent, id, title, entries, columns, hint) {
  if (entries.length)
    addSection(parent, id, title, hint).append(new Table({ id: `${id}-table`, label: title, entries, columns }).element);
}

function addFlights(parent, run) {
  addTable(parent, "flights", "Calls in flight", run.in_flight ?? [], [
    { title: "function", value: (it) => it.name },
    { title: "rank", numeric: true, value: (it) => it.rank },
    { title: "for", numeric: true, value: (it) => it.time, text: (it) => formatTime(it.time) + (it.waiting ? ", waiting" : "") },
    { title: "from", value: (it) => it.frames.map(frameText).join(" < ") },
    { title: "since", secondary: true, value: (it) => it.since },
  ], "They had not returned when the profile was saved.");
}

function addCommunicators(parent, run) {
  addTable(parent, "communicators", "Communicators", run.communicators, [
    { title: "name", value: (it) => it.name || "(no name)" },
    { title: "size", numeric: true, value: (it) => it.size },
    { title: "number", numeric: true, secondary: true, value: (it) => it.instances },
    timeColumn, callsColumn, bytesColumn("sent", (it) => it.bytes.sent, true), bytesColumn("received", (it) => it.bytes.received, true)]);
}

function addFiles(parent, run) {
  addTable(parent, "files", "Files", run.files, [
    { title: "name", value: (it) => it.name },
    timeColumn, callsColumn, bytesColumn("read", (it) => it.read), bytesColumn("written", (it) => it.written),
    { title: "opens", numeric: true, secondary: true, value: (it) => it.opens }], "MPI-IO.");
}

function addRegions(parent, run) {
  const share = (name, title) => ({
    title, numeric: true, value: (it) => it.efficiency?.[name], share: (it) => it.efficiency?.[name],
    text: (it) => (it.efficiency ? formatPercent(it.efficiency[name], 1) : "–"),
  });
  addTable(parent, "regions", "Regions", run.regions, [
    { title: "region", value: (it) => it.name }, timeColumn,
    { title: "in MPI", numeric: true, value: (it) => it.mpi.sum, text: (it) => formatTime(it.mpi.sum) },
    share("parallel", "parallel efficiency"), { ...share("load_balance", "load balance"), secondary: true }, { ...share("communication", "communication"), secondary: true },
    ...(run.regions.some((it) => it.path) ? [{ ...share("serialisation", "serialisation"), secondary: true }, { ...share("transfer", "transfer"), secondary: true }] : []),
    { title: "entries", numeric: true, secondary: true, value: (it) => it.entries, text: (it) => formatCount(it.entries) }],
  "As the program marked them.");
}
