"use strict";
// The page can be read without this script. It makes tables sort and filter, shows the rows behind
// figures, and draws cases. Whatever a model or a data set said is set as text, never as markup.
(() => {
const all = (where, what) => [...where.querySelectorAll(what)];
const SVG = "http://www.w3.org/2000/svg";

// What changes the direction of text, or has no shape, is named. _text.py has the same.
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const visible = text => String(text).replaceAll("\r\n", "\n").replace(HIDDEN,
  letter => `\u27e8U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

function make(tag, given, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) made.setAttribute(name, value);
  for (const part of inside) {
    if (part !== null && part !== undefined) made.append(part);
  }
  return made;
}
const said = (tag, text, given) => make(tag, {dir: "auto", ...given}, visible(text));
const name = text => make("bdi", null, visible(text));
const data = id => JSON.parse(document.getElementById(id).textContent);
const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

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
all(document, "details.long .scroll").forEach(filterable);

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
  svg.style.minWidth = `${Math.round(0.8 * svg.getAttribute("width"))}px`;
}

// ---------------------------------------------------------------- one reader set off in a figure

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
    .prepend(make("div", {class: "tools"}, make("label", null, "Set off one reader", chosen)));
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

// ---------------------------------------------------------------- one case

const more = (n, file) =>
  n ? make("p", {class: "note"}, `\u2026 ${plural(n, "more character", "more characters")}, see ${file}`) : null;

function slide(one, card, pictures) {
  const caption = said("figcaption", one.label + one.boxes.map(box => `; box: ${box[0]}`).join(""));
  const address = typeof one.picture === "number" ? pictures[one.picture] : one.picture;
  if (!address) {
    return make("figure", {class: "slide"},
      make("div", {class: "absent"}, "picture not on this page"), caption);
  }
  const picture = make("img", {alt: visible(`${card.title}: ${one.label}`), loading: "lazy"});
  const frame = make("div", {class: "frame"}, picture);
  const figure = make("figure", {class: "slide"}, frame, caption);
  const sized = (width, height) => {
    if (width > 1.8 * height) figure.classList.add("long");
    picture.width = width;
    picture.height = height;
    if (!one.boxes.length || !width) return;
    const over = document.createElementNS(SVG, "svg");
    over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    over.setAttribute("preserveAspectRatio", "none");
    over.setAttribute("aria-hidden", "true");
    for (const [label, x, y, w, h] of one.boxes) {
      for (const kind of ["under", "over"]) {
        const box = document.createElementNS(SVG, "rect");
        for (const [key, value] of Object.entries({x, y, width: w, height: h, class: kind})) {
          box.setAttribute(key, value);
        }
        const title = document.createElementNS(SVG, "title");
        title.textContent = visible(label);
        box.append(title);
        over.append(box);
      }
    }
    frame.append(over);
  };
  if (one.width) sized(one.width, one.height);
  else picture.addEventListener("load", () => sized(picture.naturalWidth, picture.naturalHeight), {once: true});
  picture.src = address;
  return figure;
}

const SHORT = 300, LONG = 1500;
const folded = (label, size, ...inside) => make("details", null,
  make("summary", null, `${visible(label)}, ${plural(size, "character", "characters")}`), ...inside);

function voice(one) {
  const marks = [];
  if (one.right !== null) {
    marks.push(make("span", {class: `mark ${one.right ? "yes" : "no"}`}, one.right ? "\u2713 right" : "\u2715 wrong"));
  }
  if (one.flipped !== null) {
    marks.push(one.flipped ? make("span", {class: "mark part"}, "\u21c4 flipped")
      : make("span", {class: "plain"}, "not flipped"));
  }
  const lines = one.lines.map(([label, text]) =>
    make("p", {class: "line"}, make("span", null, visible(label) + " "), name(text)));
  const words = one.text ? said("p", one.text, {class: "words", tabindex: "0"}) : null;
  const size = one.text.length + one.more;
  const reply = words && (size <= SHORT ? words : folded("reply", size, words, more(one.more, "answers.parquet")));
  return make("div", {class: "voice"}, make("h5", null, name(one.reader), ...marks), ...lines, reply);
}

function drawn(card, pictures, matches) {
  const facts = Object.entries(card.facts).map(([key, value]) =>
    make("span", {class: "pill"}, visible(key) + ": ", name(value)));
  const texts = card.texts.flatMap(([label, text, left]) => {
    const inside = [said("p", text, {class: "words"}), more(left, "cases.parquet")];
    const size = text.length + left;
    return [said("dt", label), make("dd", null, ...(size > LONG ? [folded("text", size, ...inside)] : inside))];
  });
  const first = card.said.filter(matches), others = card.said.filter(one => !matches(one));
  const rest = others.length ? make("details", null,
    make("summary", null, plural(others.length, "other reader", "other readers")),
    make("div", {class: "said"}, ...others.map(voice))) : null;
  return make("article", {class: "case", tabindex: "-1"},
    make("h4", null, name(card.title),
      card.title.includes(card.case) ? null : make("span", {class: "plain"}, name(card.case))),
    facts.length ? make("p", {class: "facts"}, ...facts) : null,
    card.slides.length ? make("div", {class: card.slides.length > 4 ? "slides many" : "slides"},
      ...card.slides.map(one => slide(one, card, pictures))) : null,
    texts.length ? make("dl", null, ...texts) : null,
    make("div", {class: "said"}, ...first.map(voice)), rest);
}

// ---------------------------------------------------------------- the browser of a run

const asked = (value, wanted) => wanted === "" || value === (wanted === "yes");

function embedded(given) {
  return async (chosen, page) => {
    const kept = given.cards.filter(card =>
      Object.entries(chosen.facts).every(([key, value]) => value === "" || card.facts[key] === value) &&
      (card.said.some(chosen.matches) || !chosen.any));
    return {count: kept.length, cards: kept.slice(page * given.page, (page + 1) * given.page)};
  };
}

function served(given) {
  return async (chosen, page) => {
    const query = new URLSearchParams({run: given.run, page});
    for (const key of ["reader", "right", "flipped"]) if (chosen[key]) query.set(key, chosen[key]);
    for (const [key, value] of Object.entries(chosen.facts)) if (value) query.set(`fact:${key}`, value);
    const answer = await fetch(`cards?${query}`, {credentials: "same-origin"});
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    return answer.json();
  };
}

function browse(part) {
  const given = data(part.dataset.cards);
  const look = given.served ? served(given) : embedded(given);
  const selects = new Map();
  const tools = make("div", {class: "tools", role: "group", "aria-label": "filter cases"});
  const select = (key, label, options) => {
    const made = make("select", null, make("option", {value: ""}, "any"),
      ...options.map(([value, text]) => make("option", {value}, visible(text))));
    selects.set(key, made);
    made.addEventListener("change", () => show(0));
    tools.append(make("label", null, visible(label), made));
  };
  const same = values => values.map(value => [value, value]);
  if (given.readers.length > 1) select("reader", "reader", same(given.readers));
  for (const [fact, values] of Object.entries(given.facets)) {
    if (values.length > 1) select(`fact:${fact}`, fact, same(values));
  }
  if (given.flipped) select("flipped", "flipped", [["yes", "flipped"], ["no", "not flipped"]]);
  if (given.right) select("right", "answer", [["yes", "right"], ["no", "wrong"]]);
  const clear = make("button", {type: "button"}, "Clear");
  clear.addEventListener("click", () => { selects.forEach(one => { one.value = ""; }); show(0); });
  tools.append(clear);

  const status = make("output", {role: "status"});
  const back = make("button", {type: "button"}, "\u2190 Previous");
  const on = make("button", {type: "button"}, "Next \u2192");
  const list = make("div", {class: "list"});
  const keys = make("p", {class: "note"}, "Keys, while the focus is among the cases: ",
    make("kbd", null, "j"), " and ", make("kbd", null, "k"), " go to the next and the previous case, ",
    make("kbd", null, "\u2192"), " and ", make("kbd", null, "\u2190"), " turn the page.");
  const live = make("div", {class: "live", tabindex: "0", role: "region", "aria-label": `cases of run ${given.run}`},
    tools, make("div", {class: "turn"}, back, on, status), keys, list);
  part.append(live);

  let page = 0, last = 0, turn = 0;
  const value = key => selects.get(key)?.value ?? "";
  function chosen() {
    const [reader, right, flipped] = [value("reader"), value("right"), value("flipped")];
    const facts = Object.fromEntries([...selects].filter(([key]) => key.startsWith("fact:"))
      .map(([key, one]) => [key.slice(5), one.value]));
    const matches = one => (reader === "" || one.reader === reader) &&
      asked(one.right, right) && asked(one.flipped, flipped);
    return {reader, right, flipped, facts, matches, any: Boolean(reader || right || flipped)};
  }
  async function show(wanted, focus) {
    const mine = ++turn, filter = chosen();
    let found;
    try {
      found = await look(filter, wanted);
    } catch (error) {
      if (mine === turn) status.textContent = `No cases: ${error.message}.`;
      return;
    }
    if (mine !== turn) return;  // something else was asked for meanwhile
    page = wanted;
    last = Math.max(0, Math.ceil(found.count / given.page) - 1);
    back.disabled = page === 0;
    on.disabled = page >= last;
    status.textContent = found.count
      ? `${page * given.page + 1} to ${page * given.page + found.cards.length} of ${plural(found.count, "case", "cases")}`
      : "No case fits.";
    list.replaceChildren(...found.cards.map(card => drawn(card, given.pictures, filter.matches)));
    if (focus) (list.firstElementChild ?? live).focus();
  }
  const step = (by, focus) => {
    if (page + by >= 0 && page + by <= last) show(page + by, focus);
  };
  back.addEventListener("click", () => step(-1, false));
  on.addEventListener("click", () => step(1, false));
  live.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("select, input, textarea")) return;
    const cases = all(list, ".case"), at = cases.indexOf(event.target.closest(".case"));
    if (event.key === "j") cases[Math.min(at + 1, cases.length - 1)]?.focus();
    else if (event.key === "k") cases[Math.max(at - 1, 0)]?.focus();
    else if (event.key === "ArrowRight") step(1, true);
    else if (event.key === "ArrowLeft") step(-1, true);
    else return;
    event.preventDefault();
  });
  show(0);
}

all(document, ".browser").forEach(browse);

// ---------------------------------------------------------------- places

// Exhibits out of sight are laid out late, so that the page opens quickly; until they are, what
// stands below them has no place of its own yet.
const lay = () => document.documentElement.classList.add("laid");
function arrive() {
  lay();
  const there = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (there) there.scrollIntoView();
}
addEventListener("hashchange", arrive);
if (location.hash) arrive();
else if ("requestIdleCallback" in window) requestIdleCallback(lay, {timeout: 4000});
else setTimeout(lay, 1500);

// ---------------------------------------------------------------- printing

let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = all(document, "details:not([open]):not(.data)").filter(one => !one.closest(".browser"));
  unfolded.forEach(one => { one.open = true; });
});
addEventListener("afterprint", () => { unfolded.forEach(one => { one.open = false; }); });
})();
