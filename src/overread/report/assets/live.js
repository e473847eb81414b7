"use strict";
// A run under way: asked for every second, drawn as text. report/live.py says what is told.
(() => {
const {make, said, name, visible, plural} = page;
const at = id => document.getElementById(id);
const cell = (text, kind) => make("td", kind ? {class: kind} : null, text);
const number = value => value.toLocaleString("en");
function span(seconds) {
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.round(seconds % 60)];
  return h ? `${h} h ${m} min` : m ? `${m} min ${s} s` : `${s} s`;
}
const clock = seconds => seconds ? new Date(1000 * seconds).toLocaleTimeString("en-GB") : "";
const table = (heads, rows, label) => make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label},
  make("table", null, make("thead", null, make("tr", null, ...heads.map(head => make("th", {scope: "col"}, visible(head))))),
    make("tbody", null, ...rows)));
const facts = pairs => make("dl", {class: "facts"}, ...pairs.filter(([, value]) => value !== null)
  .map(([label, value]) => make("div", null, make("dt", null, label), make("dd", null, value))));
const settled = one => one.kept + one.shared + one.answered + one.failed;

const STATES = {
  asking: "Models are being asked.",
  measuring: "All have been asked; numbers and the page are being made.",
  finished: "The run is finished.",
  ended: "The run ended before its end. What was answered is kept; the same command resumes it.",
};

function progress(live) {
  const rows = live.asked.map(one => {
    const bar = make("progress", {max: Math.max(1, one.total), value: settled(one), "aria-label": visible(one.name)});
    return make("tr", null, make("td", {class: "name"}, name(one.name)), make("td", null, bar),
      cell(`${number(settled(one))} of ${number(one.total)}`, "number"), cell(number(one.answered), "number"),
      cell(number(one.kept + one.shared), "number"), cell(number(one.failed), one.failed ? "number failed" : "number"),
      cell(number(one.retried), "number"), cell(number(one.tokens_in + one.tokens_out), "number"),
      cell(one.cost == null ? "\u2013" : one.cost.toFixed(2), "number"), cell(one.waiting ? "waits for another run" : String(one.slots), "number"));
  });
  const every = live.asked.reduce((sum, one) => sum + one.total, 0), done = live.asked.reduce((sum, one) => sum + settled(one), 0);
  return [facts([["done", every ? `${(100 * done / every).toFixed(1)} %` : "\u2013"], ["replies a second", live.rate == null ? "\u2013" : live.rate.toFixed(1)],
    ["time so far", span(live.seconds)], ["time left in this round", live.left == null ? "\u2013" : `about ${span(live.left)}`],
    ["cost so far", live.cost == null ? "no prices given" : live.cost.toFixed(2)]]),
  table(["model", "", "trials", "asked", "kept", "failed", "retried", "tokens", "cost", "at once"], rows, "progress")];
}

function failures(live) {
  const kinds = new Map();
  for (const one of live.asked) {
    for (const [reason, times] of Object.entries(one.reasons ?? {})) {
      const found = kinds.get(reason) ?? {times: 0, who: new Set()};
      found.times += times;
      found.who.add(one.name);
      kinds.set(reason, found);
    }
  }
  if (!kinds.size) return [make("p", {class: "note"}, "None.")];
  const rows = [...kinds].sort((one, two) => two[1].times - one[1].times).map(([reason, found]) => make("tr", null,
    cell(number(found.times), "number failed"), make("td", null, name(reason)), make("td", null, name([...found.who].join(", ")))));
  return [table(["times", "what", "of"], rows, "failures")];
}

function numbers({so_far: found}) {
  const note = found.note ? make("p", {class: "note"}, visible(found.note)) : null;
  if (!found.rows.length) return [note ?? make("p", {class: "note"}, "None yet.")];
  const rows = found.rows.map(row => make("tr", null, ...row.map(text => make("td", null, name(text)))));
  return [make("p", {class: "note"}, `${visible(found.title)}, from ${plural(found.answers, "answer", "answers")} to ${plural(found.cases, "case", "cases")}. `
    + "Intervals are of these alone: who stops when a number looks right has chosen the number."), table(found.columns, rows, "numbers so far"), note];
}

function last({so_far: found}) {
  if (!found.last.length) return [make("p", {class: "note"}, "None to show.")];
  const rows = found.last.map(one => make("tr", null, cell(clock(one.at), "number"), make("td", {class: "name"}, name(one.reader)),
    make("td", null, name(one.case)), make("td", {class: "soft"}, name(Object.entries(one.condition).map(pair => pair.join("=")).join(", "))),
    make("td", null, name(one.outcome)), make("td", null, said("div", one.text, {class: "words"}))));
  return [table(["at", "model", "case", "condition", "outcome", "reply"], rows, "last replies")];
}

function draw(live) {
  const told = [visible(STATES[live.state])];
  if (live.state === "finished") told.push(" ", make("a", {href: "report"}, "Open the finished page"), ".");
  at("state").replaceChildren(...told);
  at("state").className = live.state === "finished" ? "done" : live.state === "ended" ? "failed" : "";
  const parts = {progress, failures, numbers, last};
  for (const [id, make_] of Object.entries(parts)) at(id).replaceChildren(...make_(live).filter(Boolean));
}

let drawn = "";
async function look() {
  let again = true;
  try {
    const answer = await fetch("state", {credentials: "same-origin"});
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const text = await answer.text();
    const live = JSON.parse(text);
    if (text !== drawn && !document.getSelection()?.toString()) draw(live);
    drawn = text;
    again = live.state === "asking" || live.state === "measuring";
  } catch (error) {
    at("state").textContent = `The server does not answer (${error.message}). What is below was last heard.`;
    again = navigator.onLine;
  }
  if (again) setTimeout(look, document.hidden ? 5000 : 1000);
}
look();
})();
