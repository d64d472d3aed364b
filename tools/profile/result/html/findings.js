/* SPDX-License-Identifier: MIT */
/* The page contains the findings as text. This script adds links to the sections that show the evidence. */

/* Maps the kind of a finding to the sections that show the evidence. "function" stands for the entry of the function
 * that the finding names. */
const EVIDENCE = {
  "late-sender": ["waits"],
  "late-receiver": ["waits"],
  bottleneck: ["waits", "ranks"],
  "slow-requests": ["waits"],
  imbalance: ["ranks"],
  barrier: ["ranks"],
  "small-messages": ["function", "matrix"],
  "small-collectives": ["function"],
  "slow-collectives": ["function"],
  "serial-sends": ["matrix", "ranks"],
  "small-file-accesses": ["function", "files"],
  "serial-io": ["files"],
  polling: ["function"],
  deadlock: ["flights"],
  "in-flight": ["flights"],
  "one-sided-wait": ["function", "ranks"],
  "time-in-mpi": ["ranks", "windows"],
  "temporary-objects": ["function"],
  "leaked-objects": ["function"],
  "slow-node": ["nodes", "ranks"],
  "no-processor": ["ranks"],
  "serial-startup": ["ranks", "windows"],
  startup: ["function"],
  shutdown: ["ranks"],
};
const SECTION_TITLES = {
  waits: "waiting by peer",
  ranks: "time by rank",
  windows: "MPI over time",
  matrix: "communication",
  files: "files",
  nodes: "nodes",
  flights: "calls in flight",
  outside: "time outside MPI",
};

/* Returns the links of a finding. Each of them first chooses the run to which it belongs. */
function evidenceOf(run, finding, choose) {
  const link = (text, kind, index) => revealLink(text, kind, index, () => choose(run));
  const links = [];
  const site = run.callsites[finding.callsite];
  if (site)
    links.push(link(`call site ${siteText(site)}`, "callsite", site.index));
  for (const rank of new Set([finding.rank, finding.peer])) {
    if (run.processes.some((process) => process.rank === rank))
      links.push(link(`rank ${rank}`, "rank", rank));
  }
  for (const kind of EVIDENCE[finding.kind] ?? []) {
    if (kind === "function" && run.functions.some((it) => it.name === finding.function))
      links.push(link(`function ${finding.function}`, "function", finding.function));
    else if (SECTION_TITLES[kind] && hasSection(run, kind))
      links.push(link(SECTION_TITLES[kind], kind));
  }
  if (finding.outside)
    links.push(link(SECTION_TITLES.outside, "outside"));
  return links;
}

function hasSection(run, kind) {
  const parts = {
    waits: run.waits,
    ranks: run.processes,
    matrix: run.matrix,
    files: run.files,
    nodes: run.nodes,
    flights: run.in_flight ?? [],
    windows: run.windows?.ranks ?? []
  };
  return parts[kind].length > 0;
}

/* Formats counts in a sentence as in the tables. */
function groupCounts(sentence) {
  return sentence.replace(/\b\d{4,}(?= (?:calls|messages|accesses)\b)/g, (count) => formatCount(Number(count)));
}

function linkFindings(article, run, choose) {
  article.querySelectorAll(".finding").forEach((item, at) => {
    const meaning = item.querySelector(".meaning");
    meaning.textContent = groupCounts(meaning.textContent);
    const links = run.findings[at] ? evidenceOf(run, run.findings[at], choose) : [];
    if (links.length)
      item.append(
        element("p", { class: "evidence" }, "See: ", ...links.flatMap((one, place) => (place ? [", ", one] : [one]))));
  });
}
