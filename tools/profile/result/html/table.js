/* SPDX-License-Identifier: MIT */
/*
 * A table that can be sorted and filtered, and whose lines unfold if `detail` is given. A column is {title, hint,
 * value, text, numeric, secondary, share, note, remark, mood}. `value` of a row is the sort key, and `text`, by default
 * the value, is printed. On a small screen, `secondary` columns are hidden, and `note` is printed below the text;
 * `remark` is printed on any screen. `share` of a row, 0 … 1, is also drawn as a bar. `mood` of a row is a class of its
 * cell. Rows without a value come last in either direction.
 */

class Table {
  constructor({ id, label, columns, entries, limit = 20, filter = true, detail, sort = -1 }) {
    Object.assign(this, { id, columns, entries, limit, detail, words: "" });
    this.shown = limit;
    this.order = { column: sort, descending: sort >= 0 && Boolean(columns[sort].numeric) };
    this.unfolded = new Set();
    this.lines = new Map();
    this.status = element("p", { class: "status", role: "status" });
    this.more = element("button", { type: "button", class: "more", onclick: () => this.showAll() });
    this.body = element("tbody");
    this.heads = columns.map((column, at) => this.makeHead(column, at));
    const table =
      element("table", { id, "aria-label": label }, element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    this.element = element("div", { class: "table" });
    if (filter && entries.length > 8)
      this.element.append(this.makeFilter(label));
    this.element.append(
      element("div", { class: "scroll" }, table), element("div", { class: "table-end" }, this.status, this.more));
    this.update();
  }

  makeHead(column, at) {
    const classes = `${column.numeric ? "numeric" : ""} ${column.secondary ? "secondary" : ""}`;
    return element(
      "th", { scope: "col", class: classes.trim() },
      element("button", { type: "button", title: column.hint, onclick: () => this.sortBy(at) }, column.title));
  }

  makeFilter(label) {
    this.input = element("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": `Filter: ${label}`,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.filterBy(this.input.value),
    });
    return element("div", { class: "filter" }, this.input);
  }

  sortBy(at) {
    const again = this.order.column === at;
    this.order = { column: at, descending: again ? !this.order.descending : Boolean(this.columns[at].numeric) };
    this.update();
  }

  filterBy(words) {
    this.words = words.toLowerCase();
    this.update();
  }

  showAll() {
    this.shown = Infinity;
    this.update();
  }

  textOf(column, entry) {
    return String(column.text ? column.text(entry) : column.value(entry) ?? "");
  }

  matches(entry) {
    const all = this.columns.map((column) => this.textOf(column, entry)).join("\n").toLowerCase();
    return this.words.split(/\s+/).every((word) => all.includes(word));
  }

  compare(a, b) {
    const { value } = this.columns[this.order.column];
    const mine = value(a) ?? undefined;
    const its = value(b) ?? undefined;
    if (mine === undefined || its === undefined)
      return (mine === undefined) - (its === undefined);
    const result = typeof mine === "string" ? mine.localeCompare(its, "en", { numeric: true }) : mine - its;
    return this.order.descending ? -result : result;
  }

  update() {
    let found = this.words ? this.entries.filter((entry) => this.matches(entry)) : [...this.entries];
    if (this.order.column >= 0)
      found.sort((a, b) => this.compare(a, b));
    this.heads.forEach((head, at) => {
      const direction = this.order.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", this.order.column === at ? direction : "none");
    });
    const some = found.slice(0, this.shown);
    this.body.replaceChildren();
    for (const entry of some)
      this.body.append(...this.linesOf(entry));
    const few = some.length < found.length;
    this.more.hidden = !few;
    this.more.textContent = `Show all ${formatCount(found.length)}`;
    const of = this.words ? `${formatCount(found.length)} of ${formatCount(this.entries.length)} match` : "";
    this.status.textContent =
      [few ? `The first ${some.length} of ${formatCount(found.length)}.` : "", of].join(" ").trim();
    this.status.parentElement.hidden = !few && !of;
  }

  /* Returns the line of an entry and the line to which it unfolds. They are made only once. */
  linesOf(entry) {
    if (!this.lines.has(entry))
      this.lines.set(entry, this.makeLine(entry));
    const line = this.lines.get(entry);
    if (!this.unfolded.has(entry))
      return [line];
    line.detail ??=
      element("tr", { class: "detail" }, element("td", { colspan: String(this.columns.length) }, this.detail(entry)));
    return [line, line.detail];
  }

  makeLine(entry) {
    const line = element("tr", { id: entry.index === undefined ? undefined : `${this.id}-${entry.index}` });
    this.columns.forEach((column, at) => line.append(this.makeCell(column, entry, at === 0)));
    if (this.detail) {
      line.classList.add("unfolds");
      line.addEventListener("click", (event) => {
        if (!event.target.closest("button") && !getSelection().toString())
          this.toggle(entry);
      });
    }
    return line;
  }

  makeCell(column, entry, first) {
    const text = this.textOf(column, entry);
    const classes = `${column.numeric ? "numeric" : ""} ${column.secondary ? "secondary" : ""}`.trim();
    const cell = element(first ? "th" : "td", { class: classes || undefined, scope: first ? "row" : undefined });
    if (first && this.detail)
      cell.append(element(
        "button", {
          type: "button",
          class: "unfold",
          "aria-expanded": "false",
          onclick: () => this.toggle(entry),
        },
        text));
    else
      cell.append(text);
    if (column.mood?.(entry))
      cell.classList.add(column.mood(entry));
    if (column.note)
      cell.append(element("small", { class: "narrow-only" }, column.note(entry)));
    if (column.remark?.(entry))
      cell.append(element("small", { class: "remark" }, column.remark(entry)));
    if (column.share?.(entry) !== undefined) {
      const bar = element("span", { class: "bar" });
      bar.style.width = `${(100 * Math.min(column.share(entry) || 0, 1)).toFixed(1)}%`;
      cell.classList.add("with-bar");
      cell.append(element("span", { class: "track", "aria-hidden": "true" }, bar));
    }
    return cell;
  }

  toggle(entry, unfold = !this.unfolded.has(entry)) {
    if (unfold)
      this.unfolded.add(entry);
    else
      this.unfolded.delete(entry);
    this.lines.get(entry)?.querySelector(".unfold").setAttribute("aria-expanded", String(unfold));
    this.update();
  }

  /* Shows and unfolds an entry, even if the table is filtered or shows only its first lines. */
  reveal(entry) {
    if (this.words && !this.matches(entry)) {
      this.input.value = "";
      this.words = "";
    }
    this.update();
    if (!this.lines.get(entry)?.isConnected)
      this.showAll();
    if (this.detail)
      this.toggle(entry, true);
    bringIntoView(this.lines.get(entry));
  }
}

/* ---- Columns ------------------------------------------------------------------------------------------- */

function makeColumn(title, value, format, more) {
  return { title, numeric: true, value, text: (entry) => format(value(entry)), ...more };
}

function timeColumn(title, value, more) {
  return makeColumn(title, value, formatTime, more);
}

function countColumn(title, value, more) {
  return makeColumn(title, value, formatCount, more);
}

function bytesColumn(title, value, more) {
  return makeColumn(title, value, formatBytes, more);
}

/* Makes a column of ranks, such as "rank 3". */
function rankColumn(title, value, more) {
  return { title, value, text: (entry) => `rank ${value(entry)}`, ...more };
}

/* Makes a table that is part of an entry: it has no filter, and few entries at first. */
function smallTable(options) {
  return new Table({ filter: false, limit: 8, ...options }).element;
}
