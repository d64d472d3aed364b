/* SPDX-License-Identifier: MIT */
/* Reads the results, and fills the page. */

const SECTIONS = [
  addFlights, addCallsites, addFunctions, addWaits, addOutside, addRanks, addWindows, addMatrix, addNodes, addRegions, addFiles,
  addCommunicators
];

function fillContents() {
  const contents = document.getElementById("contents");
  const targets = [...document.querySelectorAll("main section[id]")];
  contents.replaceChildren(element(
    "ul", {},
    ...targets.map(
      (section) => {
        const unfold = () => section.querySelector("details > summary > h2")?.closest("details").setAttribute("open", "");
        return element(
          "li", {},
          element("a", { href: `#${section.id}`, onclick: unfold }, section.querySelector("h2").textContent));
      })));
  contents.hidden = false;
}

/* Makes the sections of one run. If there are several runs, a list chooses one. */
function makeDetails(details, runs) {
  const place = element("div", { class: "panels" });
  const choice = element(
    "select", { "aria-label": "Run in detail", onchange: () => choose(runs[Number(choice.value)]) },
    ...runs.map((run) => element("option", { value: String(run.number) }, `${run.letter}: ${run.name}`)));
  let shown;
  const choose = (run) => {
    if (shown === run)
      return;
    shown = run;
    choice.value = String(run.number);
    place.replaceChildren();
    for (const add of SECTIONS)
      add(place, run);
    fillContents();
  };
  if (runs.length > 1)
    details.append(element("div", { class: "panel choice" }, element("h2", {}, "One run in detail"), choice));
  details.append(place);
  choose(runs[0]);
  return choose;
}

async function fillPage() {
  const scripts = [...document.querySelectorAll("script[data-name]")];
  const results = await Promise.all(scripts.map(readResult));
  const runs = results.map((result, at) => prepareRun(scripts[at].dataset.name, result, at));
  const compared = document.querySelector("script[data-comparison]");
  const comparison = compared && await readResult(compared);
  const details = document.getElementById("details");
  document.querySelectorAll("main .findings, main .efficiency").forEach((section, at) => {
    if (runs.length === 1)
      section.id = at ? "efficiency" : "findings";
  });
  if (comparison) {
    addTotals(runs, comparison);
    addChanges(details, runs, comparison);
  }
  const choose = makeDetails(details, runs);
  document.querySelectorAll("article.run")
    .forEach((article) => linkFindings(article, runs[article.dataset.run], choose));
  document.documentElement.dataset.ready = Math.round(performance.now());
}

fillPage().catch((error) => {
  const problem = document.getElementById("problem");
  problem.textContent = `The tables and maps of this page cannot be shown: ${error.message}`;
  if (typeof DecompressionStream === "undefined")
    problem.textContent = "This browser is too old for the tables and maps of this page: it has no DecompressionStream. "
      + "The findings and the efficiency are complete.";
  problem.hidden = false;
});
