"use strict";
const {columns, rows, file, spellings} = JSON.parse(document.getElementById("data").textContent);
const at = Object.fromEntries(columns.map((name, place) => [name, place]));
const cards = [...document.querySelectorAll("article")];
const labels = cards.map(card => card.querySelector("select"));
const notes = cards.map(card => card.querySelector("textarea"));
const count = document.getElementById("count"), told = document.getElementById("told");
let saved = true;

function show() {
  let done = 0;
  labels.forEach((label, place) => {
    cards[place].classList.toggle("done", label.value !== "");
    done += label.value !== "";
  });
  count.textContent = `${done} of ${labels.length} labelled`;
}
function guarded(text) {
  const plain = text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f]|\p{Cs}/gu, "\ufffd");
  return /^(?:[\s\ufffd]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/.test(plain) ? "'" + plain : plain;
}
function quoted(cells) {
  return cells.map(cell => '"' + cell.replaceAll('"', '""') + '"').join(",") + "\n";
}
function csv() {
  let text = "\ufeff" + quoted(columns);
  rows.forEach((row, place) => {
    const cells = row.slice();
    cells[at.label] = labels[place].value;
    cells[at.note] = guarded(notes[place].value);
    text += quoted(cells);
  });
  return text;
}
function parsed(text) {
  const found = [];
  let row = [], cell = "", open = false;
  text = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  for (let place = 0; place < text.length; place++) {
    const mark = text[place];
    if (open) {
      if (mark !== '"') cell += mark;
      else if (text[place + 1] === '"') { cell += '"'; place++; }
      else open = false;
    } else if (mark === '"') open = true;
    else if (mark === ",") { row.push(cell); cell = ""; }
    else if (mark === "\n") { row.push(cell); found.push(row); row = []; cell = ""; }
    else cell += mark;
  }
  if (cell !== "" || row.length) { row.push(cell); found.push(row); }
  return found;
}
function load(text) {
  const [header = [], ...body] = parsed(text);
  const where = name => header.findIndex(cell => cell.trim() === name);
  const [id, reader, label, note] = ["case", "reader", "label", "note"].map(where);
  if (id < 0 || reader < 0 || label < 0) {
    told.textContent = "That file has no columns case, reader and label: nothing was loaded.";
    return;
  }
  const name = (one, two) => JSON.stringify([one.trim(), two.trim()]);
  const places = new Map(rows.map((row, place) => [name(row[at.case], row[at.reader]), place]));
  const words = new Map([...(labels[0]?.options ?? [])].map(one => [one.value, one.value]));
  spellings.forEach(([said, meant]) => words.set(said, meant));
  let taken = 0, strange = 0, unread = 0;
  for (const row of body) {
    if (!row.some(cell => cell.trim())) continue;
    const place = places.get(name(row[id] ?? "", row[reader] ?? ""));
    if (place === undefined) { strange++; continue; }
    const said = (row[label] ?? "").trim().replace(/^'/, "").toLowerCase().split(/\s+/).join(" ");
    if (words.has(said)) { labels[place].value = words.get(said); taken++; } else unread++;
    if (note >= 0 && row[note]) notes[place].value = row[note];
  }
  told.textContent = `${taken} rows loaded` + (strange ? `, ${strange} not on this page` : "") +
    (unread ? `, ${unread} with a label that is none of the words` : "") + ".";
  show();
}
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], {type: "text/csv;charset=utf-8"}));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  saved = true;
});
document.getElementById("load").addEventListener("change", async event => {
  const file = event.target.files[0];
  if (file) load(await file.text());
  event.target.value = "";
});
document.getElementById("next").addEventListener("click", () => {
  const open = labels.find(label => label.value === "");
  if (open) { open.focus(); open.closest("article").scrollIntoView(); }
});
labels.forEach((label, place) => {
  label.addEventListener("keydown", event => {
    const step = event.key === "Enter" ? (event.shiftKey ? -1 : 1) : 0;
    const other = step ? labels[place + step] : undefined;
    if (!other) return;
    event.preventDefault();
    other.focus();
    cards[place + step].scrollIntoView();
  });
});
document.addEventListener("input", () => { saved = false; show(); });
addEventListener("beforeunload", event => { if (!saved) event.preventDefault(); });
show();
