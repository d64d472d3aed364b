/* SPDX-License-Identifier: MIT */
/* Functions for elements, units, numbers, colours and links, which all other scripts use. */

/* Makes an element. Strings among the children become text, never markup. */
function element(tag, attributes, ...children) {
  const made = tag === "svg" || attributes?.svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) :
                                                  document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on"))
      made.addEventListener(name.slice(2), value);
    else if (name !== "svg" && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/* ---- Figures with three digits and a unit, as in the tables of text ------------------------------- */

function threeDigits(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function formatTime(seconds) {
  const size = Math.abs(seconds);
  if (!size)
    return "0";
  if (size >= 0.9995)
    return `${threeDigits(seconds)} s`;
  if (size >= 0.9995e-3)
    return `${threeDigits(seconds * 1e3)} ms`;
  return size >= 0.9995e-6 ? `${threeDigits(seconds * 1e6)} us` : `${Math.round(seconds * 1e9)} ns`;
}

function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1023.5 && unit + 1 < units.length) {
    bytes /= 1024;
    unit++;
  }
  return bytes ? `${unit ? threeDigits(bytes) : Math.round(bytes)} ${units[unit]}` : "0";
}

function formatCount(count) {
  return Math.round(count).toLocaleString("en-US").replaceAll(",", "\u202f");
}

function formatPercent(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

/* Formats the beginning of a bin, which is a power of two of bytes. */
function formatBinBytes(bin) {
  return formatBytes(2 ** bin).replace(/\.0+ /, " ");
}

function formatBinTime(bin) {
  return bin ? formatTime(2 ** bin * 1e-9) : "0";
}

function plural(count, word) {
  return `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;
}

function baseName(path) {
  return path ? path.slice(path.lastIndexOf("/") + 1) : "";
}

/* Returns the largest value. Math.max has a limited number of arguments. */
function largest(values, least = -Infinity) {
  return values.reduce((most, value) => Math.max(most, value), least);
}

function smallest(values) {
  return -largest(values.map((value) => -value));
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/* ---- Colours ---------------------------------------------------------------------------------------- */

/* Returns a colour of the style sheet, for the colour scheme that is in use. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function parseColour(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/* Returns a function from 0 … 1 to [red, green, blue], between the steps --heat-0 … --heat-4. */
function heatScale() {
  const steps = [0, 1, 2, 3, 4].map((step) => parseColour(colour(`heat-${step}`)));
  return (value) => {
    const place = Math.min(Math.max(value, 0), 1) * (steps.length - 1);
    const lower = Math.min(Math.floor(place), steps.length - 2);
    return steps[lower].map((start, part) => start + (steps[lower + 1][part] - start) * (place - lower));
  };
}

/* Returns whether the style sheet uses its layout for small screens. */
function isNarrow() {
  return matchMedia("(max-width: 720px)").matches;
}

/* Returns whether the screen is small, or there is no pointer that can rest on an element. */
function isTouched() {
  return isNarrow() || matchMedia("(pointer: coarse)").matches;
}

/* Calls a function when the colours have changed. */
function onColourChange(redraw) {
  for (const query of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(query).addEventListener("change", redraw);
}

/* ---- Links to the evidence -------------------------------------------------------------------------- */

/* Maps the name of a kind of target to a function that shows the target with an index. */
const reveals = new Map();

/* Makes a link to a target. `before` is called first. */
function revealLink(text, kind, index, before = () => {}) {
  return element(
    "a", {
      class: "link",
      href: `#${kind}`,
      "data-target": kind,
      onclick: (event) => {
        event.preventDefault();
        before();
        reveals.get(kind)?.(index);
      },
    },
    text);
}

/* Scrolls to an element, and marks it until another one is marked. */
function bringIntoView(target) {
  unfoldAround(target);
  target.scrollIntoView({ block: "start" });
  if (!target.hasAttribute("tabindex"))
    target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
  for (const other of document.querySelectorAll(".target"))
    other.classList.remove("target");
  target.classList.add("target");
}

/* Opens all folded parts that contain an element. */
function unfoldAround(target) {
  for (let place = target.closest("details"); place; place = place.parentElement.closest("details"))
    place.open = true;
}

/* Adds a section with a title, and returns the element to which its content is appended. On a small screen, a section
 * that `folds` shows only its title at first. */
function addSection(parent, id, title, hint, folds = false) {
  const isFolded = folds && isNarrow();
  const head = element("h2", {}, title);
  const place = isFolded ? element("details", {}, element("summary", {}, head)) : element("section", { id }, head);
  const section = isFolded ? element("section", { id }, place) : place;
  section.className = "panel";
  if (hint)
    place.append(element("p", { class: "hint" }, hint));
  parent.append(section);
  reveals.set(id, () => {
    unfoldAround(place);
    bringIntoView(section);
  });
  return place;
}
