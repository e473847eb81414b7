"use strict";
// The page can be read without this script. It makes tables sort and filter, shows the rows behind
// figures, and finds places. Whatever a model or a data set said is set as text, never as markup.
(() => {
const {all, make, said, visible, data, plural} = page;

// ---------------------------------------------------------------- tables

const NUMBER = /^([<>])?\s*([+\-\u2212]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w-])/i;
const ABSENT = new Set(["", "n/a", "none", "\u2013", "\u2014"]);
const words = new Intl.Collator("en", {numeric: true});

function valueOf(row, column) {
  // A number stands above what it stands on.
  const text = (row.cells[column]?.firstChild?.textContent ?? "").trim();
  const found = NUMBER.exec(text);
  if (!found) return {text, number: null};
  const number = Number(found[2].replaceAll(",", "").replace("\u2212", "-"));
  const nudge = found[1] === "<" ? -1e-12 : found[1] === ">" ? 1e-12 : 0;
  return {text, number: Number.isFinite(number) ? number + nudge : null};
}

function sorted(rows, column, falling) {
  const known = new Map(rows.map(row => [row, valueOf(row, column)]));
  const absent = row => ABSENT.has(known.get(row).text.toLowerCase());
  const there = rows.filter(row => !absent(row));
  const numbers = there.every(row => known.get(row).number !== null);
  const sign = falling ? -1 : 1;
  there.sort((one, two) => {
    const [a, b] = [known.get(one), known.get(two)];
    return sign * (numbers ? a.number - b.number : words.compare(a.text, b.text));
  });
  return [...there, ...rows.filter(absent)];  // what is absent comes last either way
}

function sortable(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const original = [...body.rows];
  if (original.length < 2) return;
  heads.forEach((head, column) => {
    const button = make("button", {type: "button", title: "sort by this column"});
    button.append(...head.childNodes);
    if (!button.textContent.trim()) button.setAttribute("aria-label", `sort by column ${column + 1}`);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const next = now === null ? "ascending" : now === "ascending" ? "descending" : null;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      body.append(...(next ? sorted(original, column, next === "descending") : original));
    });
  });
}

function filterable(scroll) {
  const rows = [...scroll.querySelector("tbody").rows];
  const input = make("input", {type: "search", autocomplete: "off"});
  const count = make("output", null, plural(rows.length, "row", "rows"));
  input.addEventListener("input", () => {
    const sought = input.value.trim().toLowerCase();
    let left = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(sought);
      left += !row.hidden;
    }
    count.textContent = sought ? `${left} of ${plural(rows.length, "row", "rows")}`
      : plural(rows.length, "row", "rows");
  });
  scroll.before(make("div", {class: "tools"}, make("label", null, "Rows with ", input), count));
}

all(document, "table.sorts").forEach(sortable);
all(document, ".scroll.long").forEach(filterable);

// ---------------------------------------------------------------- rows behind a figure

function csvOf(columns, rows) {
  // A cell that a spreadsheet would take for a formula is quoted; numbers stay numbers.
  const cell = value => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const plain = text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f]|\p{Cs}/gu, "\ufffd");
    const safe = /^(?:[\s\ufffd]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/.test(plain)
      ? "'" + plain : plain;
    return '"' + safe.replaceAll('"', '""') + '"';
  };
  return [columns.map(cell), ...rows.map(row => columns.map(column => cell(row[column])))]
    .map(cells => cells.join(",") + "\n").join("");
}

function download(file, text) {
  const link = make("a", {download: file});
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv;charset=utf-8"}));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

for (const fold of all(document, "details.data")) {
  fold.querySelector(".note")?.remove();
  fold.addEventListener("toggle", () => {
    if (!fold.open || fold.querySelector("table")) return;
    const source = document.getElementById(fold.dataset.rows), rows = data(fold.dataset.rows);
    const columns = [...new Set(rows.flatMap(row => Object.keys(row)))];
    const shown = value => value === null || value === undefined ? "n/a"
      : typeof value === "object" ? JSON.stringify(value) : value;
    const table = make("table", null,
      make("thead", null, make("tr", null,
        ...columns.map(column => make("th", {scope: "col"}, visible(column))))),
      make("tbody", null, ...rows.map(row => make("tr", null,
        ...columns.map(column => said("td", shown(row[column])))))));
    const save = make("button", {type: "button"}, "Save as csv");
    save.addEventListener("click",
      () => download(`${source.dataset.exhibit.replace(/[^\w-]+/g, "_")}.csv`, csvOf(columns, rows)));
    const scroll = make("div",
      {class: "scroll", tabindex: "0", role: "region", "aria-label": "rows of the figure"}, table);
    fold.append(make("div", {class: "tools"}, save), scroll);
    sortable(table);
    if (rows.length >= 25) filterable(scroll);
  });
}

// ---------------------------------------------------------------- wide figures

// They shrink with the window while their words can be read, and scroll from there on.
for (const svg of all(document, ".exhibit svg.wide")) {
  svg.style.minWidth = `${Math.round(0.8 * svg.viewBox.baseVal.width)}px`;
}

// ---------------------------------------------------------------- one model set off in a figure

for (const part of all(document, ".exhibit:has(svg [data-reader])")) {
  const svg = part.querySelector("svg");
  const rows = data(part.querySelector("details.data").dataset.rows);
  const names = [...new Set(rows.map(row => row.shown).filter(one => typeof one === "string"))];
  for (const text of all(svg, "text:not([data-reader])")) {
    const at = names.indexOf(text.textContent);
    if (at >= 0) text.dataset.reader = at;
  }
  const chosen = make("select", null, make("option", {value: ""}, "none"),
    ...names.map((one, at) => make("option", {value: at}, visible(one))));
  chosen.addEventListener("change", () => {
    svg.classList.toggle("lit", chosen.value !== "");
    for (const mark of all(svg, "[data-reader]")) {
      mark.classList.toggle("on", mark.dataset.reader === chosen.value);
    }
  });
  part.querySelector("figcaption")
    .prepend(make("div", {class: "tools"}, make("label", null, "Set off one model", chosen)));
}

// ---------------------------------------------------------------- paragraphs to paste

for (const part of all(document, ".described")) {
  const text = part.querySelector(".paste"), told = make("output", {role: "status"});
  const button = make("button", {type: "button"}, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      told.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(text);
      told.textContent = "selected: copy it with your keyboard";
    }
  });
  part.append(make("div", {class: "tools"}, button, told));
}

// ---------------------------------------------------------------- the matrix

// One stop for the tabulator, arrows from cell to cell: a page of many models stays short to cross.
const cells = all(document, ".matrix a.cell");
const enter = cell => {
  cells.forEach(one => { one.tabIndex = one === cell ? 0 : -1; });
  cell.focus();
};
cells.forEach((cell, at) => {
  cell.tabIndex = at ? -1 : 0;
  cell.setAttribute("aria-expanded", "false");
});
function beside(cell, key) {
  // The nearest that lies in the direction of the arrow, as it stands on the screen.
  const from = cell.getBoundingClientRect(), upright = key === "ArrowUp" || key === "ArrowDown";
  const sign = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
  let best = null, least = Infinity;
  for (const one of cells) {
    const to = one.getBoundingClientRect();
    const [along, across] = upright ? [sign * (to.top - from.top), Math.abs(to.left - from.left)]
      : [sign * (to.left - from.left), Math.abs(to.top - from.top)];
    if (along > 1 && along + 3 * across < least) [best, least] = [one, along + 3 * across];
  }
  return best;
}
document.querySelector(".matrix")?.addEventListener("keydown", event => {
  const cell = event.target.closest("a.cell");
  if (!cell || !event.key.startsWith("Arrow") || event.ctrlKey || event.altKey || event.metaKey) return;
  const next = beside(cell, event.key);
  if (next) enter(next);
  event.preventDefault();
});
let left = null;  // the cell that the part in sight belongs to
function expanded(there) {
  for (const cell of cells) {
    const open = Boolean(there) && cell.hash === `#${there.id}`;
    cell.setAttribute("aria-expanded", String(open));
    if (open) left = cell;
  }
}
document.querySelector(".answers")?.addEventListener("keydown", event => {
  if (event.key !== "Escape" || !left) return;
  location.hash = "#models";
  enter(left);
});
for (const link of all(document, ".found .back")) {
  link.addEventListener("click", () => { if (left) setTimeout(() => enter(left)); });
}

// ---------------------------------------------------------------- search

const places = () => [
  ...all(document, ".exhibit, .fold").map(one => ({to: `#${one.id}`,
    title: one.querySelector("h2, h3").textContent, told: one.querySelector(".finding")?.textContent ?? "",
    text: one.textContent})),
  ...all(document, ".found").map(one => ({to: `#${one.id}`, title: one.querySelector("h3").textContent,
    told: one.querySelector(".lead").textContent, text: one.textContent})),
  ...all(document, ".browser").flatMap(part => data(part.dataset.cards).cards.map(card => ({
    to: `#case-${part.dataset.run}-${encodeURIComponent(card.case)}`, title: card.title, told: "case",
    text: `${card.case} ${card.title} ${Object.values(card.facts).join(" ")}`}))),
];
const MOST = 12;
{
  const field = make("input", {type: "search", placeholder: "Search", "aria-label": "search the page",
    autocomplete: "off"});
  const list = make("ol"), told = make("output", {role: "status", class: "note"});
  let known = null;
  field.addEventListener("input", () => {
    const sought = field.value.trim().toLowerCase();
    known ??= places().map(one => ({...one, title: one.title.trim(), text: one.text.toLowerCase()}));
    const named = one => one.title.toLowerCase().includes(sought);
    const found = sought.length < 2 ? [] : known.filter(one => one.text.includes(sought))
      .sort((one, two) => named(two) - named(one));
    list.replaceChildren(...found.slice(0, MOST).map(one => make("li", null,
      make("a", {href: one.to}, visible(one.title)), make("small", null, visible(one.told.slice(0, 90))))));
    told.textContent = sought.length < 2 ? "" : found.length > MOST ? `${MOST} of ${found.length}`
      : found.length ? "" : "nothing found";
  });
  field.addEventListener("keydown", event => {
    if (event.key === "Enter") list.querySelector("a")?.click();
  });
  document.querySelector(".found-here")?.append(field, told, list);
}

// ---------------------------------------------------------------- places

const up = make("a", {class: "top", href: "#top", hidden: ""}, "\u2191 Top");
document.body.append(up);
addEventListener("scroll", () => { up.hidden = scrollY < innerHeight; }, {passive: true});

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;  // a link that somebody cut short
  }
}
function unfold(there) {
  for (let one = there; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
}
async function arrive() {
  const [id, query] = location.hash.slice(1).split("?", 2).map(part => part ?? "");
  if (!id) return;
  let there = document.getElementById(plain(id));
  if (there) unfold(there);
  for (const place of page.places) {
    const found = await place(plain(id), new URLSearchParams(query));
    if (found) there = found;
  }
  const opened = there?.classList.contains("found") ? there : null;
  expanded(opened);
  if (!there) return;
  unfold(there);
  there.scrollIntoView();
  if (opened || there.classList.contains("case")) there.focus({preventScroll: true});
  else if (there.classList.contains("browser")) {
    there.querySelector(".case")?.focus({preventScroll: true});
  }
}
addEventListener("hashchange", arrive);
document.addEventListener("click", event => {
  // The address may be the one already: what it names has perhaps been folded since.
  const link = event.target.closest?.("a[href^='#']");
  if (link && link.hash === location.hash) arrive();
});
arrive();

// ---------------------------------------------------------------- printing

let unfolded = [];
addEventListener("beforeprint", () => {
  // What may not be concluded, and how it was measured, belong to every print; of the rest what was
  // unfolded, and of what was not the line that says what it found.
  unfolded = all(document, "#limits details:not([open]), #methods details:not([open])");
  unfolded.forEach(one => { one.open = true; });
});
addEventListener("afterprint", () => { unfolded.forEach(one => { one.open = false; }); });
})();
