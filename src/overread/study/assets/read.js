"use strict";
// The page that people read on. Server: /state says which displays this session has, /display/ID
// what one shows and what was answered; a PUT to it commits. The next display is shown when the
// answer to this one is known to be kept, and is fetched ahead.
(() => {
const part = name => document.getElementById(name);
const [pictures, form, notice, saved, place, bar, pauser] =
  ["pictures", "form", "notice", "saved", "place", "progress", "pause"].map(part);
let state = null, at = 0, now = null, stage = null, busy = false, paused = false;
let seen = 0, since = 0;  // milliseconds that this display was in front of the reader

function make(tag, given, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) made.setAttribute(name, value);
  made.append(...inside.filter(one => one !== null && one !== undefined));
  return made;
}

// ---------------------------------------------------------------- the server

class Said extends Error { constructor(status, text) { super(text); this.status = status; } }

async function once(path, body) {
  const options = {cache: "no-store", credentials: "same-origin"};
  if (body !== undefined) {
    Object.assign(options, {method: "PUT", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  }
  const reply = await fetch(path, options);
  if (!reply.ok) throw new Said(reply.status, (await reply.text()).trim());
  return reply.json();
}
// What fails for want of a network or a server is tried again until it succeeds: writing the same
// answer twice writes it once.
async function steadily(path, body) {
  for (let wait = 300; ; wait = Math.min(5000, wait * 1.6)) {
    try {
      const found = await once(path, body);
      if (saved.classList.contains("trouble")) told("");
      return found;
    } catch (error) {
      if (error instanceof Said && error.status < 500) throw error;
      told("Not saved yet: the server does not answer. Trying again; leave this page open.", true);
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
  ahead.clear();
  stage?.close();
  stage = null;
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

async function show(index) {
  at = index;
  const id = state.order[at];
  now = await display(id);
  [pictures.hidden, form.hidden, notice.hidden] = [paused, paused, !paused];
  stage?.close();
  stage = viewer.stage(pictures, now.pictures.map((one, number) => ({
    label: now.pictures.length > 1 ? `picture ${number + 1}` : "picture",
    src: one.src, width: one.width, height: one.height, boxes: one.boxes, frames: one.frames,
  })));
  fill();
  const whole = state.order.length;
  place.textContent = `${state.practice ? "Practice" : `Session ${state.session} of ${state.sessions}`}: case ${at + 1} of ${whole}`;
  bar.hidden = pauser.hidden = false;
  [bar.max, bar.value] = [whole, new Set(state.done).size];
  [seen, since] = [0, performance.now()];
  steadily(`/display/${id}/shown`, {}).catch(() => {});
  for (const next of state.order.slice(at + 1, at + 3)) display(next).catch(() => {});
}

// ---------------------------------------------------------------- questions

const KEYS = {yes: "Y", no: "N", "cannot tell": "C"};
function fill() {
  const given = now.draft ?? now.values;  // what was chosen and left by going back
  const texts = now.texts.map(([label, text]) =>
    make("p", {class: "text"}, label ? make("b", null, label) : null, text));
  const asks = now.asks.map(ask => {
    const field = make("fieldset", {"data-ask": ask.name}, make("legend", null, ask.text + (ask.required ? "" : " (may be left out)")));
    if (!ask.answers.length) {
      const input = ask.kind === "number"
        ? make("input", {type: "number", min: 1, max: ask.most, name: ask.name})
        : make("textarea", {rows: 3, name: ask.name, maxlength: 10000});
      input.value = given[ask.name] ?? "";
      input.setAttribute("aria-label", ask.text);
      field.append(input);
      return field;
    }
    const group = make("div", {class: `choices ${ask.kind}`});
    ask.answers.forEach((word, number) => {
      const input = make("input", {type: "radio", name: ask.name, value: word});
      input.checked = given[ask.name] === word;
      const key = KEYS[word] ?? (number < 9 ? String(number + 1) : null);
      group.append(make("label", null, input, word, !key || key === word ? null : make("kbd", null, key)));
    });
    field.append(group);
    return field;
  });
  const note = make("details", {class: "note"}, make("summary", null, "Note (T)"),
    make("textarea", {name: "note", rows: 3, maxlength: 10000, "aria-label": "note"}));
  note.querySelector("textarea").value = given.note ?? "";
  note.open = Boolean(given.note);
  const back = make("button", {type: "button", class: "back"}, "Back (\u232b)");
  back.disabled = at === 0;
  back.addEventListener("click", () => turn(-1));
  const next = make("button", {type: "submit", class: "next"}, "Next (Enter)");
  form.replaceChildren(...texts, ...asks, note, make("div", {class: "go"}, back, next));
  form.scrollTop = form.parentElement.scrollTop = 0;
  // Not a radio button: there the arrows, which move the picture, would choose.
  (form.querySelector("fieldset:first-of-type :is(textarea, input[type=number])") ?? form).focus({preventScroll: true});
}
const written = () => form.querySelector(".note textarea");
function values() {
  const found = {};
  for (const ask of now.asks) found[ask.name] = ask.answers.length
    ? form.querySelector(`input[name="${CSS.escape(ask.name)}"]:checked`)?.value ?? ""
    : form.querySelector(`[name="${CSS.escape(ask.name)}"]`).value.trim();
  const note = written().value.trim();
  if (note || now.values.note) found.note = note;
  return found;
}
const missing = given => now.asks.filter(ask => ask.required && !given[ask.name]);

// Keep what stands in the form, then go on; nothing else happens meanwhile.
async function commit() {
  const given = values(), open = missing(given);
  if (open.length) {
    told(`Still open: ${open.map(ask => ask.text).join(" ")}`, true);
    form.querySelector(`[data-ask="${CSS.escape(open[0].name)}"] :is(input, textarea)`)?.focus();
    return false;
  }
  if (!paused) { seen += performance.now() - since; since = performance.now(); }
  form.inert = true;  // what is changed while this is on its way would be lost
  try {
    const kept = await steadily(`/display/${now.id}`, {values: given, revision: now.revision, visible: seen / 1000});
    [now.revision, now.values] = [kept.revision, {...now.values, ...given}];
    delete now.draft;
  } catch (error) {
    told(error.message, true);
    if (error.status === 409) { ahead.delete(now.id); await show(at); }
    if (error.status === 404) await begin();
    return false;
  } finally { form.inert = false; }
  if (!state.done.includes(now.id)) state.done.push(now.id);
  told(`Case ${at + 1} is saved.`);
  return true;
}
async function turn(by) {
  if (busy || !now || paused) return;
  busy = true;
  try {
    if (by > 0 && !await commit()) return;
    if (by < 0 && at > 0) {
      now.draft = values();
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
  pauser.textContent = paused ? "Go on (P)" : "Pause (P)";
  if (!paused) form.focus({preventScroll: true});
}
pauser.addEventListener("click", () => pause(!paused));
document.addEventListener("visibilitychange", () => {
  if (!now || paused) return;
  if (document.hidden) seen += performance.now() - since;
  else since = performance.now();
});
function choose(word) {
  // The first question that has this answer and is open; else the last that has it.
  const fit = now.asks.filter(ask => ask.answers.includes(word));
  const given = values(), ask = fit.find(one => !given[one.name]) ?? fit.at(-1);
  if (!ask) return false;
  form.querySelector(`input[name="${CSS.escape(ask.name)}"][value="${CSS.escape(word)}"]`).checked = true;
  const next = now.asks[now.asks.indexOf(ask) + 1];
  if (next) form.querySelector(`[data-ask="${CSS.escape(next.name)}"] :is(input[type=number], textarea)`)?.focus();
  return true;
}
function digit(number) {
  const given = values(), fit = now.asks.filter(ask => ask.kind !== "yesno" && ask.answers.length > number);
  const ask = fit.find(one => !given[one.name]) ?? fit.at(-1);
  return ask ? choose(ask.answers[number]) : false;
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
  else if (/^[1-9]$/.test(key) && !event.target.closest(".viewer-stage")) used = digit(Number(key) - 1);
  else used = stage?.key(event) ?? false;
  if (used) event.preventDefault();
});
begin().catch(error => say("This cannot be shown.", error.message));
})();
