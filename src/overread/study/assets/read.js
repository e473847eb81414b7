"use strict";
// The page that people read on. Server: /state says which displays this session has, /display/ID
// what one shows and what was answered; a PUT to it commits. The next display is shown when the
// answer to this one is known to be kept, and is fetched ahead.
(() => {
const part = name => document.getElementById(name);
const [pictures, form, notice, saved, place, bar, pauser] =
  ["pictures", "form", "notice", "saved", "place", "progress", "pause"].map(part);
let state = null, at = 0, now = null, stages = [], busy = false, paused = false;
let seen = 0, since = 0;  // milliseconds that this display was in front of the reader
let toldShown;  // until the server knows since when: an answer before that would have no time

function make(tag, given, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) made.setAttribute(name, value);
  made.append(...inside.filter(one => one !== null && one !== undefined));
  return made;
}

// ---------------------------------------------------------------- the server

class Said extends Error { constructor(status, text) { super(text); this.status = status; } }

async function once(path, body) {
  // Whose page this is: should somebody open another link in this browser, it is refused from then on.
  const options = {cache: "no-store", credentials: "same-origin", headers: state ? {"Overread-Reader": state.reader} : {}};
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    Object.assign(options, {method: "PUT", body: JSON.stringify(body)});
  }
  const reply = await fetch(path, options);
  if (!reply.ok) throw new Said(reply.status, (await reply.text()).trim());
  return reply.json();
}
// What fails for want of a network or a server is tried again until it succeeds: writing the same
// answer twice writes it once.
const SILENT = "Not saved yet: the server does not answer. Trying again; leave this page open.";
async function steadily(path, body) {
  for (let wait = 300; ; wait = Math.min(5000, wait * 1.6)) {
    try {
      const found = await once(path, body);
      if (saved.textContent === SILENT) told("");  // other troubles are the reader's, and stay
      return found;
    } catch (error) {
      if (error instanceof Said && error.status < 500) throw error;
      told(SILENT, true);
      await new Promise(done => setTimeout(done, wait));
    }
  }
}
function told(text, trouble = false) {
  saved.textContent = text;
  saved.classList.toggle("trouble", trouble);
}

const ahead = new Map();
function display(id) {
  if (!ahead.has(id)) {
    const found = steadily(`/display/${id}`).then(given => {
      for (const one of given.pictures) viewer.ahead(one.src);
      return given;
    });
    found.catch(() => ahead.delete(id));
    ahead.set(id, found);
  }
  return ahead.get(id);
}

// ---------------------------------------------------------------- sessions

async function begin() {
  state = await steadily("/state");
  document.title = `${state.title}: ${state.reader}`;
  ahead.clear();
  cleared();
  if (state.session === null) return say("Everything is read. Thank you.", "You may close this page.");
  if (state.waits) {
    const when = new Date(state.waits).toLocaleString([], {dateStyle: "full", timeStyle: "short"});
    return say(`Session ${state.session} opens on ${when}.`, "Your answers so far are kept. Open the same link then.");
  }
  const done = new Set(state.done);
  at = Math.max(0, state.order.findIndex(id => !done.has(id)));
  if (!done.size) {
    const title = state.practice ? "Practice" : `Session ${state.session} of ${state.sessions}`;
    const words = state.practice
      ? "A few cases to get used to the page; they do not count."
      : `${counted(state.order.length)}. You may stop at any time and go on later with the same link.`;
    return say(title, (state.first && state.welcome ? `${state.welcome}\n\n` : "") + words, () => show(at));
  }
  return show(at);
}

const counted = n => n === 1 ? "1 case" : `${n} cases`;
function say(title, text, go) {
  [pictures.hidden, form.hidden, notice.hidden] = [true, true, false];
  const button = go && make("button", {type: "button", class: "next"}, "Begin (Enter)");
  if (button) button.addEventListener("click", go);
  notice.replaceChildren(make("h2", null, title), make("p", null, text), ...(button ? [button] : []));
  place.textContent = title;
  bar.hidden = pauser.hidden = true;  // nothing runs that could be paused
  now = null;
  button?.focus();
}

function cleared() {
  for (const stage of stages) stage.close();
  stages = [];
}
async function show(index) {
  at = index;
  const id = state.order[at];
  now = await display(id);
  [pictures.hidden, form.hidden, notice.hidden] = [paused, paused, !paused];
  cleared();
  const films = now.pictures.map((one, number) => ({
    label: now.pictures.length > 1 ? `picture ${number + 1}` : "picture",
    src: one.src, width: one.width, height: one.height, boxes: one.boxes, frames: one.frames,
  }));
  // Two are looked at side by side, moved by the same keys; more are turned over like pages.
  if (films.length === 2) stages = films.map(one => viewer.stage(pictures, [one]));
  else if (films.length) stages = [viewer.stage(pictures, films)];
  const words = now.texts.reduce((length, [, text]) => length + text.length, 0);
  part("reading").className = !films.length ? "words" : words > 300 ? "wordy" : "";
  fill();
  const whole = state.order.length;
  place.textContent = `${state.practice ? "Practice" : `Session ${state.session} of ${state.sessions}`}: case ${at + 1} of ${whole}`;
  bar.hidden = pauser.hidden = false;
  [bar.max, bar.value] = [whole, new Set(state.done).size];
  [seen, since] = [0, performance.now()];
  toldShown = steadily(`/display/${id}/shown`, {}).catch(() => {});
  for (const next of state.order.slice(at + 1, at + 3)) display(next).catch(() => {});
}

// ---------------------------------------------------------------- questions

const KEYS = {yes: "Y", no: "N", "cannot tell": "C"};
const field = ask => form.querySelector(`[data-ask="${CSS.escape(ask.name)}"]`);
const typed = ask => ["number", "text", "edit"].includes(ask.kind);
let current = null;  // the question that digits answer

function choices(ask, type, given) {
  const words = ask.answers.length ? ask.answers : ask.options;
  const brief = ask.kind !== "yesno" && words.length > 2 && words.every(word => word.length < 22);
  return make("div", {class: `choices ${ask.kind} ${brief ? "brief" : ""}`}, ...words.map((word, number) => {
    const input = make("input", {type, name: ask.name, value: word});
    input.checked = given.includes(word);
    // Both: whoever keeps one hand on the digits answers with them alone.
    const letter = ask.answers.includes(word) ? KEYS[word] : "", digit = number < 9 ? String(number + 1) : "";
    const key = [letter, digit].filter(Boolean).join(" ");
    return make("label", null, input, make("span", null, word), !key || key === word ? null : make("kbd", null, key));
  }));
}
// What is ranked stands in rows, its ranks in columns; 1 is best.
function ranks(ask, given) {
  const order = given ? given.split(" > ").map(tied => tied.split(" = ")) : [];
  const begun = now.begun?.[ask.name];
  return make("table", {class: "ranks"}, make("tbody", null, ...ask.options.map((word, row) => make("tr", null,
    make("th", {scope: "row"}, word), ...ask.options.map((_, at) => {
      const input = make("input", {type: "radio", name: `${ask.name}/${word}`, value: at + 1, "aria-label": `${word}: rank ${at + 1}`});
      input.checked = begun ? begun[row] === at + 1 : order[at]?.includes(word) ?? false;
      return make("td", null, make("label", null, input, make("span", null, String(at + 1))));
    })))));
}
function writing(ask, given) {
  const input = ask.kind === "number"
    ? make("input", {type: "number", min: 1, max: ask.most, name: ask.name})
    : make("textarea", {rows: ask.kind === "edit" ? Math.min(8, 1 + Math.ceil(ask.given.length / 50)) : 3, name: ask.name, maxlength: 10000});
  input.value = given || ask.given;
  input.setAttribute("aria-label", ask.text);
  return input;
}
function asked(ask, given) {
  const made = make("fieldset", {"data-ask": ask.name, "data-kind": ask.kind},
    make("legend", null, ask.text + (ask.required || ask.kind === "edit" ? "" : " (may be left out)")));
  const of = ask.options.length, least = ask.least, most = ask.most || of;
  if (ask.kind === "several" && least === most) made.append(make("p", {class: "count", "aria-live": "polite"}));
  made.append(typed(ask) ? writing(ask, given) : ask.kind === "ranking" ? ranks(ask, given)
    : ask.kind === "several" ? choices(ask, "checkbox", given.split("\n")) : choices(ask, "radio", [given]));
  return made;
}
function fill() {
  const given = now.draft ?? now.values;  // what was chosen and left by going back
  const texts = now.texts.map(([label, text]) =>
    make("p", {class: "text"}, label ? make("b", null, label) : null, text));
  const asks = now.asks.map(ask => asked(ask, given[ask.name] ?? ""));
  const note = make("details", {class: "note"}, make("summary", null, "Note (T)"),
    make("textarea", {name: "note", rows: 3, maxlength: 10000, "aria-label": "note"}));
  note.querySelector("textarea").value = given.note ?? "";
  note.open = Boolean(given.note);
  const back = make("button", {type: "button", class: "back"}, "Back (\u232b)");
  back.disabled = at === 0;
  back.addEventListener("click", () => turn(-1));
  const next = make("button", {type: "submit", class: "next"}, "Next (Enter)");
  form.replaceChildren(make("div", {class: "shown"}, ...texts),
    make("div", {class: "asked"}, ...asks, note, make("div", {class: "go"}, back, next)));
  form.scrollTop = form.parentElement.scrollTop = 0;
  current = null;
  changed();
  // Not a radio button: there the arrows, which move the picture, would choose.
  (form.querySelector("fieldset:first-of-type :is(textarea, input[type=number])") ?? form).focus({preventScroll: true});
}
const written = () => form.querySelector(".note textarea");
function value(ask) {
  const own = field(ask);
  if (typed(ask)) {
    const said = own.querySelector("textarea, input").value.trim();
    return ask.kind === "edit" && said === ask.given.trim() ? "" : said;
  }
  const chosen = [...own.querySelectorAll("input:checked")];
  if (ask.kind !== "ranking") return chosen.map(one => one.value).join("\n");
  if (chosen.length < ask.options.length) return "";
  return ask.options.map((_, at) => ask.options.filter((_, row) => Number(chosen[row].value) === at + 1))
    .filter(tied => tied.length).map(tied => tied.join(" = ")).join(" > ");
}
function values() {
  const found = {};
  for (const ask of now.asks) found[ask.name] = applies(ask, found) ? value(ask) : "";
  const note = written().value.trim();
  if (note || now.values.note) found.note = note;
  return found;
}
const applies = (ask, given) => !ask.where.length || ask.where.slice(1).includes(given[ask.where[0]]);
const count = (ask, given) => given[ask.name] ? given[ask.name].split("\n").length : 0;
const short = (ask, given) => ask.kind === "several"
  && (count(ask, given) < ask.least || count(ask, given) > (ask.most || ask.options.length));
// The ranks that were given so far, 0 where there is none yet.
const halfway = ask => [...field(ask).querySelectorAll("tr")].map(row => Number(row.querySelector(":checked")?.value ?? 0));
const begun = ask => ask.kind === "ranking" && field(ask).querySelector("input:checked");
const missing = given => now.asks.filter(ask => applies(ask, given)
  && (given[ask.name] ? short(ask, given) : ask.required || begun(ask)));

// After every answer: what is asked now, how many are chosen, and where digits go.
const DIGITS = ["yesno", "choice", "several", "scale", "ranking"];
function changed() {
  const given = values();
  for (const ask of now.asks) {
    const own = field(ask), told = own.querySelector(".count");
    own.hidden = !applies(ask, given);
    if (told) told.textContent = `${count(ask, given)} of ${ask.most} chosen`;
  }
  const fit = now.asks.filter(ask => DIGITS.includes(ask.kind) && applies(ask, given));
  if (!fit.includes(current)) current = fit.find(ask => !given[ask.name]) ?? fit.at(-1) ?? null;
  for (const ask of now.asks) field(ask).classList.toggle("current", ask === current && fit.length > 1);
}
// On to the next question that digits answer and that is still open; back to the first after the last.
function onward(by = 1) {
  const given = values(), fit = now.asks.filter(ask => DIGITS.includes(ask.kind) && applies(ask, given));
  const from = fit.indexOf(current), open = fit.slice(from + 1).find(ask => !given[ask.name]);
  current = by > 0 && open ? open : fit[(from + by + fit.length) % fit.length] ?? null;
  changed();
  if (current) field(current).scrollIntoView({block: "nearest"});
}
form.addEventListener("change", event => {
  const own = event.target.closest("fieldset");
  if (own) current = now.asks.find(ask => field(ask) === own && DIGITS.includes(ask.kind)) ?? current;
  if (now && !form.inert) changed();
});

// Keep what stands in the form, then go on; nothing else happens meanwhile.
async function commit() {
  const given = values(), open = missing(given);
  if (open.length) {
    told(`Still open: ${open[0].text}${open.length > 1 ? ` And ${open.length - 1} more.` : ""}`, true);
    if (DIGITS.includes(open[0].kind)) { current = open[0]; changed(); }
    field(open[0]).scrollIntoView({block: "nearest"});
    if (typed(open[0])) field(open[0]).querySelector("input, textarea").focus();
    return false;
  }
  if (!paused) { seen += performance.now() - since; since = performance.now(); }
  form.inert = true;  // what is changed while this is on its way would be lost
  try {
    await toldShown;
    const kept = await steadily(`/display/${now.id}`, {values: given, revision: now.revision, visible: seen / 1000});
    [now.revision, now.values] = [kept.revision, {...now.values, ...given}];
    delete now.draft;
    delete now.begun;
  } catch (error) {
    if (error.status === 409) { ahead.delete(now.id); await show(at); }
    if (error.status === 404) await begin();
    told(error.status === 404 ? "That case is no longer open: its session was ended elsewhere, in another tab perhaps." : error.message, true);
    return false;
  } finally { form.inert = false; }
  if (!state.done.includes(now.id)) state.done.push(now.id);
  told(`Case ${at + 1} is saved.`);
  return true;
}
async function turn(by) {
  if (busy || !now || paused) return;
  // Nobody answers what he has not been shown.
  if (by > 0 && stages.some(stage => !stage.film)) return told("The picture is not here yet. It is on its way; wait for it.", true);
  busy = true;
  try {
    if (by > 0 && !await commit()) return;
    if (by < 0 && at > 0) {
      now.draft = values();
      now.begun = Object.fromEntries(now.asks.filter(begun).map(ask => [ask.name, halfway(ask)]));
      await show(at - 1);
    }
    else if (by > 0 && at + 1 < state.order.length) await show(at + 1);
    else if (by > 0) await begin();
  } catch (error) {
    told(error.message, true);
    if (error instanceof Said) await begin();
  } finally { busy = false; }
}
form.addEventListener("submit", event => { event.preventDefault(); turn(1); });

// ---------------------------------------------------------------- keys, pause, time in front

function pause(wanted) {
  if (!now || wanted === paused) return;
  paused = wanted;
  if (paused) seen += performance.now() - since;
  else since = performance.now();
  [pictures.hidden, form.hidden] = [paused, paused];
  notice.hidden = !paused;
  notice.replaceChildren(make("h2", null, "Paused"), make("p", null, "Press P to go on."));
  if (paused) told("");
  pauser.textContent = paused ? "Go on (P)" : "Pause (P)";
  if (!paused) form.focus({preventScroll: true});
}
pauser.addEventListener("click", () => pause(!paused));
document.addEventListener("visibilitychange", () => {
  if (!now || paused) return;
  if (document.hidden) seen += performance.now() - since;
  else since = performance.now();
});
// The first question that has this word for an answer and is open; else the last that has it.
function choose(word) {
  const given = values(), fit = now.asks.filter(ask => ask.answers.includes(word) && applies(ask, given));
  const ask = fit.includes(current) ? current : fit.find(one => !given[one.name]) ?? fit.at(-1);
  if (!ask) return false;
  press(ask, word);
  return true;
}
function press(ask, word) {
  const input = [...field(ask).querySelectorAll("input")].find(one => one.value === word);
  input.checked = ask.kind === "several" ? !input.checked : true;
  changed();
  const given = values();
  if (ask.kind === "several" && (!ask.most || count(ask, given) !== ask.most)) return;
  const next = now.asks.slice(now.asks.indexOf(ask) + 1).find(one => applies(one, given));
  if (ask === current) onward();
  if (next && typed(next) && !given[next.name]) field(next).querySelector("textarea, input").focus();
}
// Digits rank what stands first in its question and has no rank yet; a whole ranking begins anew.
function rank(ask, number) {
  const rows = [...field(ask).querySelectorAll("tr")];
  if (number > rows.length) return false;
  if (number && rows.every(row => row.querySelector(":checked"))) unrank(rows);
  if (!number) unrank(rows);
  else rows.find(row => !row.querySelector(":checked")).querySelectorAll("input")[number - 1].checked = true;
  changed();
  if (rows.every(row => row.querySelector(":checked"))) onward();
  return true;
}
function unrank(rows) {
  for (const row of rows) for (const one of row.querySelectorAll("input")) one.checked = false;
}
function digit(number) {
  if (current?.kind === "ranking") return rank(current, number);
  if (current && number > (current.answers.length || current.options.length)) return false;
  if (!current || !number) return false;
  const words = current.answers.length ? current.answers : current.options;
  press(current, words[number - 1]);
  return true;
}
// What is read beside the pictures, by most of what is in sight of it.
function scroll(by) {
  const texts = form.querySelector(".shown"), own = getComputedStyle(texts).overflowY === "auto" ? texts : form;
  own.scrollBy({top: by * own.clientHeight * .7});
}
document.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && !event.repeat && now) { turn(1); event.preventDefault(); }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase(), typing = event.target.closest("textarea, input[type=number]");
  if (key === "p" && !typing) { pause(!paused); event.preventDefault(); return; }
  if (!now || paused) return;
  if (typing) {
    if (key === "escape") { form.focus(); event.preventDefault(); }
    if (key === "enter" && event.target.type === "number" && !event.repeat) { turn(1); event.preventDefault(); }
    return;
  }
  // A button that was reached by keys is pressed by them; one that was clicked keeps the focus, and
  // Enter is the next case all the same.
  if ((key === "enter" || key === " ") && event.target.matches(":is(button, summary):focus-visible")) return;
  if (busy || event.repeat && (key === "enter" || key === "backspace")) { event.preventDefault(); return; }
  const words = {y: "yes", n: "no", c: "cannot tell"};
  let used = true;
  if (key === "enter") turn(1);
  else if (key === "backspace") turn(-1);
  else if (key === "t") { const note = form.querySelector(".note"); note.open = true; written().focus(); }
  else if (key in words) used = choose(words[key]);
  else if (key === "s") onward(event.shiftKey ? -1 : 1);
  else if (key === "j" || key === "k") scroll(key === "j" ? 1 : -1);
  else if (/^[0-9]$/.test(key) && digit(Number(key))) used = true;
  else used = stages.map(stage => stage.key(event)).some(Boolean);
  if (used) event.preventDefault();
});
begin().catch(error => say("This cannot be shown.", error.message));
})();
