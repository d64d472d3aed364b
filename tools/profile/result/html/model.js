/* SPDX-License-Identifier: MIT */
/* Reads the results, and computes the data that several sections need. */

async function readResult(script) {
  const bytes = Uint8Array.from(atob(script.textContent.trim().replaceAll("\n", "")), (byte) => byte.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/* Converts the columns of by_rank and waits to objects. */
function toObjects(columns) {
  const names = Object.keys(columns ?? {});
  return names.length ?
    columns[names[0]].map((_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]]))) :
    [];
}

function frameText(frame) {
  let place = `0x${frame.offset.toString(16)}`;
  if (frame.file)
    place = baseName(frame.file) + (frame.line ? `:${frame.line}` : "")
      + (frame.isInProgram ? ` in ${baseName(frame.module)}` : "");
  else if (frame.module)
    place = `${baseName(frame.module)}+${place}`;
  return frame.function ? `${shortName(frame.function)} (${place})` : place;
}

/* Shortens a long name as names.c does in text: leaves out the arguments of templates, and then its end. */
function shortName(name) {
  const most = 80, isOperator = (end) => /(^|\W)operator *$/.test(name.slice(Math.max(0, end - 40), end));
  if (name.length <= most)
    return name;
  const symbols = /^[-<>=]*/, parts = [];
  let depth = 0, begin = 0;
  for (let at = 0; at < name.length; at++) {
    const isArrow = name.startsWith("->", at);
    if ((isArrow || name[at] === "<" || name[at] === ">") && isOperator(at)) {
      at += symbols.exec(name.slice(at))[0].length - 1;
    } else if (isArrow) {
      at++;
    } else if (name[at] === "<" && depth++ === 0) {
      parts.push(name.slice(begin, at));
      begin = at;
    } else if (name[at] === ">" && --depth === 0) {
      parts.push(at + 1 - begin > 5 ? "<...>" : name.slice(begin, at + 1));
      begin = at + 1;
    }
  }
  const short = parts.join("") + name.slice(begin);
  return short.length <= most ? short : `${short.slice(0, most - 3)}...`;
}

/* Returns "ocean.c:83", or the library and the offset. The name of a function is included only if the line is
 * unknown. */
function placeText(site) {
  const frame = site.frames[0];
  if (!frame)
    return "unknown";
  return frame.file ? frameText({...frame, function: undefined }) : frameText(frame);
}

function siteText(site) {
  return `${site.name} at ${placeText(site)}`;
}

/* Adds to a run the names that it and its call sites have in all tables. */
function prepareRun(name, result, number) {
  const run = { name, number, letter: String.fromCharCode(65 + number % 26), ...result };
  run.total = result.application.sum;
  run.elapsed = result.efficiency?.elapsed ?? result.application.max;
  run.findings ??= [];
  const programs = new Set([run.program, ...run.processes.map((process) => process.program ?? run.program)]);
  for (const frame of [...run.callsites, ...run.in_flight ?? []].flatMap((it) => it.frames))
    frame.isInProgram = programs.size > 1 && programs.has(frame.module);
  run.callsites.forEach((site, index) => {
    site.index = index;
    site.place = placeText(site);
    site.volume = site.bytes.sent + site.bytes.received;
  });
  run.functions.forEach((it, index) => {
    it.index = index;
    it.volume = it.bytes.sent + it.bytes.received;
  });
  run.waits = run.callsites.flatMap((site) => toObjects(site.waits).map((wait) => ({...wait, site })));
  run.waits.sort((a, b) => b.time - a.time);
  run.outside = (run.outside ?? []).map((it) => {
    const [from, to] = [it.from, it.to].map((number) => run.callsites[number]);
    return {...it, fromText: from ? siteText(from) : "the start", toText: to ? siteText(to) : "the end" };
  });
  run.nodes = nodesOf(run);
  return run;
}

function nodesOf(run) {
  const nodes = new Map();
  for (const process of run.processes) {
    const host = process.host || "unknown";
    if (!nodes.has(host))
      nodes.set(host, { host, processes: [] });
    nodes.get(host).processes.push(process);
  }
  return [...nodes.values()].map((node) => {
    const count = node.processes.length;
    return {
      ...node,
      count,
      application: sum(node.processes.map((it) => it.application)) / count,
      mpi: sum(node.processes.map((it) => it.mpi)) / count,
      useful: sum(node.processes.map((it) => it.useful ?? it.application - it.mpi)) / count,
      memory: largest(node.processes.map((it) => it.memory)),
    };
  });
}

/* Returns ascending ranks as text such as "0–3, 8". */
function rankList(ranks) {
  const parts = [];
  for (let at = 0; at < ranks.length;) {
    let end = at;
    while (end + 1 < ranks.length && ranks[end + 1] === ranks[end] + 1)
      end++;
    parts.push(end > at ? `${ranks[at]}–${ranks[end]}` : `${ranks[at]}`);
    at = end + 1;
  }
  return parts.length > 8 ? `${parts.slice(0, 8).join(", ")} …` : parts.join(", ");
}
