"use strict";
// The cases of a run, which a person looks through. Cards are data (browser.py says which), drawn as
// text and pictures, never as markup.
//
// The contract with the rest of the page. <run> is the name of a run in addresses, as `grounding`
// or, of a second run of one benchmark, `grounding-2`; it stands in `data-run` of the section.
//   #cases-<run>              the section of the run's cases (its id)
//   #cases-<run>?QUERY        the same, filtered: what `cards?` of a server takes, without run and
//                             page: reader=NAME, right=yes|no, flipped=yes|no, fact:NAME=VALUE,
//                             all by encodeURIComponent; what is not named is "any"
//   #case-<run>-<case>        one case, by encodeURIComponent; its article has it as its id, drawn
//                             once the filter is taken away
// The matrix and exhibits link to these; `page.places` below makes them open, also cold. report.js
// comes last, asks every place and scrolls to the element it gets; it unfolds what it is in.
(() => {
const {all, SVG, visible, make, said, name, data, plural, places} = page;

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

function drawn(card, run, pictures, matches) {
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
  return make("article", {class: "case", id: `case-${run}-${card.case}`, tabindex: "-1"},
    make("h4", null, name(card.title),
      card.title.includes(card.case) ? null : make("span", {class: "plain"}, name(card.case))),
    facts.length ? make("p", {class: "facts"}, ...facts) : null,
    card.slides.length ? make("div", {class: card.slides.length > 4 ? "slides many" : "slides"},
      ...card.slides.map(one => slide(one, card, pictures))) : null,
    texts.length ? make("dl", null, ...texts) : null,
    make("div", {class: "said"}, ...first.map(voice)), rest);
}

// ---------------------------------------------------------------- the browser of a run

// A run's cases by the name of the run: `filter(query)` draws those a query names, `find(case)` one.
const browsers = new Map();

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

  let number = 0, last = 0, turn = 0;
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
    number = wanted;
    last = Math.max(0, Math.ceil(found.count / given.page) - 1);
    back.disabled = number === 0;
    on.disabled = number >= last;
    status.textContent = found.count
      ? `${number * given.page + 1} to ${number * given.page + found.cards.length} of ${plural(found.count, "case", "cases")}`
      : "No case fits.";
    list.replaceChildren(...found.cards.map(card => drawn(card, part.dataset.run, given.pictures, filter.matches)));
    if (focus) (list.firstElementChild ?? live).focus();
  }
  const step = (by, focus) => {
    if (number + by >= 0 && number + by <= last) show(number + by, focus);
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

  async function filter(query) {
    for (const [key, one] of selects) one.value = query.get(key) ?? "";
    await show(0);
    return part;
  }
  async function find(sought) {
    selects.forEach(one => { one.value = ""; });
    for (let at = 0; at <= last; at++) {
      await show(at);
      const there = all(list, ".case").find(one => one.id === sought);
      if (there) return there;
    }
    return null;
  }
  browsers.set(part.dataset.run, {filter, find});
}

all(document, ".browser").forEach(browse);

places.push((id, query) => {
  if (id.startsWith("cases-")) return browsers.get(id.slice(6))?.filter(query) ?? null;
  if (!id.startsWith("case-")) return null;
  // A run's name may begin as another's does: the longest that fits.
  const run = [...browsers.keys()].filter(one => id.startsWith(`case-${one}-`))
    .sort((one, two) => two.length - one.length)[0];
  return run === undefined ? null : browsers.get(run).find(id);
});
})();
