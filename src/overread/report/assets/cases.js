"use strict";
// The cases of a run, which a person looks through: a list to choose from, and one case at a time,
// pictures as columns, models as rows. Cards are data (browser.py says which), drawn as text and
// pictures, never as markup. `viewer` enlarges pictures and plays clips.
//
// The contract with the rest of the page. <run> is the name of a run in addresses, as `grounding`
// or, of a second run of one benchmark, `grounding-2`; it stands in `data-run` of the section.
//   #cases-<run>              the section of the run's cases (its id)
//   #cases-<run>?QUERY        the same, filtered: what `cards?` of a server takes, without run and
//                             page: reader=NAME, right=yes|no, flipped=yes|no, fact:NAME=VALUE,
//                             text=WORDS, all by encodeURIComponent; what is not named is "any"
//   #case-<run>-<case>        one case, by encodeURIComponent; its article has it as its id, drawn
//                             once the filter is taken away
// The matrix and exhibits link to these; `page.places` below makes them open, also cold. report.js
// comes last, asks every place and scrolls to the element it gets; it unfolds what it is in.
(() => {
const {all, SVG, visible, make, said, name, data, plural, places} = page;

// ---------------------------------------------------------------- signs and words

const more = (n, file) =>
  n ? make("p", {class: "note"}, `\u2026 ${plural(n, "more character", "more characters")}, see ${file}`) : null;
const hidden = text => make("span", {class: "unseen"}, text);
const known = value => value === true || value === false;
const kindOf = right => right === true ? "yes" : right === false ? "no" : "";
const signOf = right => right === true ? "\u2713" : right === false ? "\u2715" : "";
const mark = (kind, text) => make("span", {class: `mark ${kind}`}, text);
// A name that may break where its parts do.
const broken = text => make("bdi", null, ...visible(text).split(/(?<=[:\/_-])/).flatMap(part => [part, make("wbr")]));
const percent = share => `${(100 * share).toFixed(1)} %`;

function marksOf(one) {
  const marks = [];
  if (known(one.right)) marks.push(mark(kindOf(one.right), one.right ? "\u2713 right" : "\u2715 wrong"));
  if (one.flipped === true) marks.push(mark("part", "\u21c4 flipped"));
  return marks;
}

const folded = (label, ...inside) => make("details", null, make("summary", null, label), ...inside);
const words = (text, left, file) => [said("p", text, {class: "words"}), more(left ?? 0, file)];

// ---------------------------------------------------------------- pictures

const addressOf = (one, pictures) => typeof one.picture === "number" ? pictures[one.picture] : one.picture;

function marksOnTime(one, card) {
  if (!one.marks) return [];
  const row = (who, truth) => ([phase, frame, times], _, every) => ({who, truth, phase, frame, times,
    share: times / Math.max(...every.map(other => other[2]))});
  return [...one.marks.map(row("truth", true)),
    ...card.said.flatMap(reader => reader.marks
      .filter(([, frame]) => frame >= 0 && frame < one.frames).map(row(visible(reader.reader), false)))];
}

// The answers given to what a slide shows, a line each.
const linesFor = (shown, card) => card.said.flatMap(reader => reader.answers
  .filter(answer => answer.shown === shown).map(answer => [
    visible(answer.asked ? `${reader.reader}, ${answer.asked}` : reader.reader),
    visible([signOf(answer.right), answer.text, known(answer.sure) || answer.sure === undefined ? "" : percent(answer.sure),
      answer.changed ? "\u21c4 changed" : "", answer.note].filter(Boolean).join(" ")),
    answer.changed ? "part" : kindOf(answer.right)]));

// What the viewer takes of a card's pictures, those that are there.
function filmsOf(card, pictures) {
  const labels = new Map(card.conditions);
  return card.slides.map((one, at) => ({at, src: addressOf(one, pictures), full: one.full ?? null,
    label: visible([labels.get(one.shown), one.label].filter((word, place, both) => word && both.indexOf(word) === place).join(": ")),
    width: one.width, height: one.height, frames: one.frames ?? 1, marks: marksOnTime(one, card),
    boxes: one.boxes.map(([label, ...box]) => [visible(label), ...box]),
    said: linesFor(one.shown, card)})).filter(film => film.src);
}

function boxesOver(frame, boxes, width, height) {
  const over = document.createElementNS(SVG, "svg");
  over.setAttribute("viewBox", `0 0 ${width} ${height}`);
  over.setAttribute("preserveAspectRatio", "none");
  over.setAttribute("aria-hidden", "true");
  for (const [label, x, y, w, h] of boxes) {
    for (const kind of ["under", "over"]) {
      const box = document.createElementNS(SVG, "rect"), title = document.createElementNS(SVG, "title");
      for (const [key, value] of Object.entries({x, y, width: w, height: h, class: kind})) box.setAttribute(key, value);
      title.textContent = visible(label);
      box.append(title);
      over.append(box);
    }
  }
  frame.append(over);
}

function slide(one, at, card, films, several) {
  const film = films.find(each => each.at === at);
  const told = one.boxes.length ? `box: ${[...new Set(one.boxes.map(box => box[0]))].join(", ")}` : "";
  const caption = [several ? one.label : "", told].filter(Boolean).join("; ");
  const below = caption || card.slides.some(each => each.boxes.length) ? said("figcaption", caption || "\u00a0") : null;
  if (!film) {
    return make("figure", {class: "slide"}, make("div", {class: "absent"}, "picture not on this page"), below);
  }
  const enlarge = (opener, frame) =>
    viewer.open({title: visible(card.title), pictures: films, at: films.indexOf(film), opener, frame});
  if (film.frames > 1) return make("figure", {class: "slide clip"}, viewer.clip(film, enlarge), below);
  const picture = make("img", {alt: visible(`${card.title}: ${film.label}`), loading: "lazy"});
  const frame = make("button", {type: "button", class: "frame", "aria-label": `enlarge ${film.label}`, title: "enlarge (Enter)"}, picture);
  frame.addEventListener("click", () => enlarge(frame));
  const sized = (width, height) => {
    [picture.width, picture.height] = [width, height];
    if (one.boxes.length && width) boxesOver(frame, one.boxes, width, height);
  };
  if (one.width) sized(one.width, one.height);
  else picture.addEventListener("load", () => sized(picture.naturalWidth, picture.naturalHeight), {once: true});
  picture.src = film.src;
  return make("figure", {class: "slide"}, frame, below);
}

// ---------------------------------------------------------------- the grid: pictures, and answers under them

function scoreOf(score) {
  if (!score.parts) return make("div", {class: "score"}, name(score.judge), ": could not be read");
  const bars = score.parts.map(([part, value, most]) => {
    const bar = make("span", {class: "bar", "aria-hidden": "true"}, make("i"));
    bar.firstChild.style.width = `${100 * value / most}%`;
    return make("li", null, make("span", null, visible(part)), bar, `${value}/${most}`);
  });
  const total = known(score.total) || score.total === undefined ? "no S" : `S ${Number(score.total.toFixed(1))} of ${score.most ?? 100}`;
  return make("div", {class: "score"}, make("p", null, make("b", null, total), " ", name(score.judge)),
    make("ul", null, ...bars));
}

function given(answer, several) {
  const kind = kindOf(answer.right);
  const sure = typeof answer.sure === "number" ? make("span", {class: "sure"}, `${percent(answer.sure)} sure`) : null;
  const reply = !answer.reply ? null : folded("reply", ...words(answer.reply, answer.more, "answers.parquet"));
  return make("div", {class: "given"},
    answer.changed ? make("span", {class: "turned", title: "another answer than to the first picture"}, "\u21c4 flipped") : null,
    several && answer.asked ? make("span", {class: "asked"}, visible(answer.asked)) : null,
    make("span", {class: `word ${kind}`}, kind ? make("span", {"aria-hidden": "true"}, `${signOf(answer.right)} `) : null,
      name(answer.text), kind ? hidden(answer.right ? ", right" : ", wrong") : null),
    sure, answer.note ? make("span", {class: "sure"}, visible(answer.note)) : null,
    ...(answer.scores ?? []).map(scoreOf), reply);
}

function row(one, card) {
  const several = new Set(card.said.flatMap(reader => reader.answers.map(answer => answer.asked ?? ""))).size > 1;
  const head = make("th", {scope: "row"}, broken(one.reader), ...marksOf(one));
  const cells = card.conditions.map(([shown]) => {
    const own = one.answers.filter(answer => answer.shown === shown);
    return make("td", null, ...(own.length ? own.map(answer => given(answer, several))
      : [make("span", {class: "sure"}, "not asked")]));
  });
  const below = [
    ...one.lines.map(([label, text]) => make("p", {class: "line"}, make("span", null, visible(label) + ": "), name(text))),
    one.text ? folded("reply", ...words(one.text, one.more, "answers.parquet")) : null,
  ].filter(Boolean);
  if (below.length && !one.steps.length && !one.gold.length) {
    (cells.at(-1) ?? head).append(...below);
  }
  return make("tr", null, head, ...cells);
}

function grid(card, pictures, matches) {
  const films = filmsOf(card, pictures);
  const columns = card.conditions.map(([shown, label]) => {
    const own = card.slides.map((one, at) => [one, at]).filter(([one]) => one.shown === shown);
    const figures = own.map(([one, at]) => slide(one, at, card, films, own.length > 1));
    const none = card.slides.length ? "no picture" : "picture not on this page";
    return make("th", {scope: "col", ...(card.conditions.length === 1 ? {colspan: 2} : {})}, make("span", {class: "column"}, visible(label)),
      make("div", {class: "films"}, ...(figures.length ? figures : [make("div", {class: "absent"}, none)])));
  });
  const first = card.said.filter(matches), others = card.said.filter(one => !matches(one));
  const body = make("tbody", null, ...first.map(one => row(one, card)));
  const rest = make("tbody", {hidden: ""}, ...others.map(one => row(one, card)));
  const unfold = others.length ? make("button", {type: "button", class: "others"}, "") : null;
  if (unfold) {
    const label = () => { unfold.textContent = `${rest.hidden ? "Show" : "Hide"} ${plural(others.length, "other model", "other models")}`; };
    unfold.addEventListener("click", () => { rest.hidden = !rest.hidden; label(); });
    label();
  }
  const clip = card.slides.some(one => one.frames > 1);
  const table = make("table", {class: `answers${columns.length === 1 ? " single" : ""}${clip ? " clips" : ""}`},
    make("thead", null, make("tr", null,
      columns.length === 1 ? null : make("td", null, hidden("model")), ...columns)), body, rest);
  if (columns.length > 1) table.style.minWidth = `${7 + 8.5 * columns.length}rem`;
  return [make("div", {class: "scroll across", tabindex: "-1"}, table), unfold];
}

// ---------------------------------------------------------------- options and steps

const chips = names => [...names].map(one => make("span", {class: "chip"}, name(one)));

function optionsOf(card) {
  const [first] = card.conditions[0] ?? [""];
  const items = card.options.map(option => {
    const by = new Map();
    for (const one of card.said) {
      for (const answer of one.answers) {
        if (answer.option === option.key) by.set(answer.shown, (by.get(answer.shown) ?? new Set()).add(one.reader));
      }
    }
    const who = card.conditions.filter(([shown]) => by.has(shown)).map(([shown, label]) =>
      make("span", {class: "chose"}, card.conditions.length > 1 && shown !== first ? make("span", {class: "asked"}, visible(label)) : null,
        ...chips(by.get(shown))));
    return make("li", {class: option.right ? "right" : ""},
      make("span", {class: "key"}, visible(option.key)),
      make("span", {class: "option"}, name(option.text), option.right ? mark("yes", "\u2713 right") : null),
      make("span", {class: "choosers"}, ...(who.length ? who : [make("span", {class: "sure"}, "nobody")])));
  });
  return make("ol", {class: "options", "aria-label": "options, and who chose them"}, ...items);
}

function stepOf(step, text) {
  const kind = kindOf(step.right);
  return make("li", null, make("span", {class: "asked"}, visible(step.kind)), said("span", text),
    step.mark ? mark(kind || "open", `${signOf(step.right) || "\u2013"} ${visible(step.mark)}`) : null);
}

function stepsOf(card, matches) {
  if (!card.steps.length && !card.said.some(one => one.steps.length || one.gold.length)) return null;
  const gold = card.steps;
  const judged = card.said.filter(one => one.steps.length || one.gold.length);
  const list = (label, items) => make("div", null, make("h6", null, label), make("ol", null, ...items));
  if (!judged.length) {
    return make("div", {class: "steps"}, list("Gold steps", gold.map(step => stepOf(step, step.text))));
  }
  const parts = judged.map((one, at) => {
    const there = one.gold.filter(step => step.right).length, fits = one.steps.filter(step => step.right).length;
    const counts = [one.gold.length ? `${there} of ${one.gold.length} gold steps there` : "",
      one.steps.length ? `${fits} of its ${one.steps.length} match` : ""].filter(Boolean).join(", ");
    const left = gold.map((step, place) => stepOf({...step, ...one.gold[place]}, step.text));
    const own = one.steps.map(step => stepOf(step, step.text));
    const lines = one.lines.map(([label, text]) =>
      make("p", {class: "line"}, make("span", null, visible(label) + ": "), name(text)));
    const part = make("details", null, make("summary", null, name(one.reader), make("span", {class: "plain"}, counts)),
      make("div", {class: "beside"}, list("Gold steps", left), list("Its steps", own)), ...lines);
    if (at === Math.max(0, judged.findIndex(matches))) part.open = true;
    return part;
  });
  return make("div", {class: "steps"}, make("h5", null, "Steps, gold and given"), ...parts);
}

function drawn(card, run, pictures, matches) {
  const id = `case-${run}-${card.case}`;
  const facts = Object.entries(card.facts).map(([key, value]) =>
    make("span", {class: "pill"}, visible(key) + ": ", name(value)));
  const texts = card.texts.flatMap(([label, text, left]) => [said("dt", label),
    make("dd", null, ...(text.length + left > 1500 ? [folded(plural(text.length + left, "character", "characters"),
      ...words(text, left, "cases.parquet"))] : words(text, left, "cases.parquet")))]);
  // A question that is told in full below is not its own heading.
  const start = card.title.replace(/\u2026$/, "").trim();
  const title = card.texts.some(([, text]) => text.startsWith(start)) ? card.case : card.title;
  const link = make("a", {class: "plain", href: `#${encodeURIComponent(id)}`, title: "the address of this case"}, "# link");
  return make("article", {class: "case", id, tabindex: "-1", "aria-label": visible(card.title)},
    make("h4", null, name(title),
      title.includes(card.case) ? null : make("span", {class: "plain"}, name(card.case)), link),
    facts.length ? make("p", {class: "facts"}, ...facts) : null,
    texts.length ? make("dl", null, ...texts) : null,
    card.options.length ? optionsOf(card) : null,
    ...grid(card, pictures, matches), stepsOf(card, matches));
}

// ---------------------------------------------------------------- the browser of a run

// A run's cases by the name of the run: `filter(query)` draws those a query names, `find(case)` one.
const browsers = new Map();

const asked = (value, wanted) => wanted === "" || value === (wanted === "yes");
const wordsIn = value => typeof value === "string" ? value.toLowerCase()
  : value && typeof value === "object" ? Object.values(value).map(wordsIn).join("\n") : "";

function embedded(given) {
  const texts = new Map();
  const textOf = card => {
    if (!texts.has(card)) texts.set(card, wordsIn(card));
    return texts.get(card);
  };
  const paged = (cards, at) => ({count: cards.length, page: at, cards: cards.slice(at * given.page, (at + 1) * given.page)});
  return {
    async look(chosen, at) {
      const sought = chosen.text.toLowerCase();
      return paged(given.cards.filter(card =>
        Object.entries(chosen.facts).every(([key, value]) => value === "" || card.facts[key] === value) &&
        (card.said.some(chosen.matches) || !chosen.any) && (!sought || textOf(card).includes(sought))), at);
    },
    async with(sought) {
      const at = given.cards.findIndex(card => card.case === sought);
      return at < 0 ? null : paged(given.cards, Math.floor(at / given.page));
    },
  };
}

function served(given) {
  const ask = async query => {
    const answer = await fetch(`cards?${query}`, {credentials: "same-origin"});
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    return answer.json();
  };
  return {
    look(chosen, at) {
      const query = new URLSearchParams({run: given.run, page: at});
      for (const key of ["reader", "right", "flipped", "text"]) if (chosen[key]) query.set(key, chosen[key]);
      for (const [key, value] of Object.entries(chosen.facts)) if (value) query.set(`fact:${key}`, value);
      return ask(query);
    },
    with: sought => ask(new URLSearchParams({run: given.run, case: sought})),
  };
}

function browse(part) {
  const given = data(part.dataset.cards), run = part.dataset.run;
  const source = given.served ? served(given) : embedded(given);
  const fields = new Map();
  const tools = make("div", {class: "tools", role: "group", "aria-label": "filter cases"});
  const select = (key, label, options) => {
    const made = make("select", null, make("option", {value: ""}, "any"),
      ...options.map(([value, text]) => make("option", {value}, visible(text))));
    fields.set(key, made);
    made.addEventListener("change", () => show(0));
    tools.append(make("label", null, visible(label), made));
  };
  const same = values => values.map(value => [value, value]);
  const others = all(document, ".browser").map(one => one.dataset.run);
  if (others.length > 1) {
    const runs = make("select", null, ...others.map(one => make("option", {value: one}, one)));
    runs.value = run;
    runs.addEventListener("change", () => {
      location.hash = `cases-${encodeURIComponent(runs.value)}`;
      runs.value = run;
    });
    tools.append(make("label", null, "benchmark", runs));
  }
  if (given.readers.length > 1) select("reader", "model", same(given.readers));
  if (given.flipped) select("flipped", "flips", [["yes", "flipped"], ["no", "not flipped"]]);
  if (given.right) select("right", "answer", [["yes", "right"], ["no", "wrong"]]);
  for (const [fact, values] of Object.entries(given.facets)) {
    if (values.length > 1) select(`fact:${fact}`, fact, same(values));
  }
  const search = make("input", {type: "search", autocomplete: "off", maxlength: 200});
  fields.set("text", search);
  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => show(0), given.served ? 250 : 60); });
  const clear = make("button", {type: "button"}, "Clear");
  const cleared = () => fields.forEach(one => { one.value = ""; });
  clear.addEventListener("click", () => { cleared(); show(0); });
  tools.append(make("label", null, "text", search), clear);

  const status = make("output", {role: "status"});
  const back = make("button", {type: "button", "aria-label": "previous page of cases"}, "\u2190");
  const on = make("button", {type: "button", "aria-label": "next page of cases"}, "\u2192");
  const list = make("ol", {class: "worklist"});
  const pane = make("div", {class: "pane"});
  const keys = make("p", {class: "note keys"}, make("kbd", null, "j"), " ", make("kbd", null, "k"),
    " next and previous case, ", make("kbd", null, "Enter"), " enlarges");
  const live = make("div", {class: "live", role: "group", "aria-label": `cases of ${run}`}, tools,
    make("div", {class: "looking"},
      make("nav", {class: "choosing", "aria-label": `cases of ${run}`}, make("div", {class: "turn"}, back, status, on), list, keys),
      pane));
  part.append(live);

  let cards = [], at = 0, number = 0, last = 0, turn = 0, matches = () => true;
  const value = key => fields.get(key)?.value ?? "";
  function chosen() {
    const [reader, right, flipped, text] = ["reader", "right", "flipped", "text"].map(value);
    const facts = Object.fromEntries([...fields].filter(([key]) => key.startsWith("fact:"))
      .map(([key, one]) => [key.slice(5), one.value]));
    const fits = one => (reader === "" || one.reader === reader) &&
      asked(one.right, right) && asked(one.flipped, flipped);
    return {reader, right, flipped, text: text.trim(), facts, matches: fits, any: Boolean(reader || right || flipped)};
  }

  function item(card, place) {
    const flips = card.said.filter(one => one.flipped === true).length;
    const wrong = card.said.filter(one => one.right === false).length;
    const signs = [flips ? mark("part", `\u21c4 ${flips}`) : null, wrong ? mark("no", `\u2715 ${wrong}`) : null];
    const told = [flips ? `${flips} flipped` : "", wrong ? `${wrong} wrong` : ""].filter(Boolean).join(", ");
    const choose = make("button", {type: "button", tabindex: "-1", title: told},
      make("span", {class: "title"}, name(card.title)), ...signs,
      card.title.includes(card.case) ? null : make("span", {class: "plain"}, name(card.case)));
    choose.addEventListener("click", () => pick(place, false, true));
    return make("li", null, choose);
  }

  // Draws one case of the page. `named`: the page's address becomes that of the case.
  function pick(place, focus, named) {
    at = place;
    const card = cards[place];
    const buttons = all(list, "button");
    buttons.forEach((one, other) => {
      one.tabIndex = other === place ? 0 : -1;
      if (other === place) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    });
    if (!card) { pane.replaceChildren(); return; }
    const made = drawn(card, run, given.pictures, matches);
    pane.replaceChildren(made);
    const chosenOne = buttons[place];
    if (chosenOne.offsetTop < list.scrollTop || chosenOne.offsetTop + chosenOne.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = chosenOne.offsetTop - list.clientHeight / 2;
    }
    if (named) history.replaceState(null, "", `#${encodeURIComponent(made.id)}`);
    if (focus) made.focus();
  }

  function draw(found, place, focus, named) {
    cards = found.cards;
    number = found.page;
    last = Math.max(0, Math.ceil(found.count / given.page) - 1);
    back.disabled = number === 0;
    on.disabled = number >= last;
    status.textContent = found.count
      ? `${number * given.page + 1} to ${number * given.page + cards.length} of ${plural(found.count, "case", "cases")}`
      : "No case fits.";
    list.start = number * given.page + 1;
    list.replaceChildren(...cards.map(item));
    pick(Math.min(place, Math.max(0, cards.length - 1)), focus, named);
  }
  async function show(wanted, place = 0, focus = false, named = false) {
    const mine = ++turn, filter = chosen();
    let found;
    try {
      found = await source.look(filter, wanted);
    } catch (error) {
      if (mine === turn) status.textContent = `No cases: ${error.message}.`;
      return;
    }
    if (mine !== turn || !found) return;  // something else was asked for meanwhile
    matches = filter.matches;
    draw(found, place, focus, named);
  }
  const step = by => {
    if (at + by >= 0 && at + by < cards.length) pick(at + by, true, true);
    else if (by > 0 && number < last) show(number + 1, 0, true, true);
    else if (by < 0 && number > 0) show(number - 1, given.page - 1, true, true);
  };
  back.addEventListener("click", () => show(number - 1));
  on.addEventListener("click", () => show(number + 1));
  live.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("select, input, textarea")) return;
    const inList = list.contains(event.target);
    if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (inList && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      pick(Math.min(cards.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1))), false, true);
      list.querySelector("[aria-current]")?.focus();
    } else if (event.key === "Enter" && event.target.matches(".case")) {
      all(pane, "button.frame, .viewer-open")[0]?.click();
    } else return;
    event.preventDefault();
  });
  const ready = show(0);

  async function filter(query) {
    for (const [key, one] of fields) one.value = query.get(key) ?? "";
    await show(0);
    return part;
  }
  async function find(sought) {
    await ready;
    cleared();
    const mine = ++turn;
    let found = null;
    try { found = await source.with(sought); } catch { /* told below */ }
    if (mine !== turn) return null;
    if (!found) {
      status.textContent = given.served ? "There is no such case." : "This case is not on this page; overread serve shows it.";
      return part;
    }
    matches = () => true;
    draw(found, found.cards.findIndex(card => card.case === sought), true, false);
    return pane.firstElementChild;
  }
  browsers.set(run, {filter, find});
}

all(document, ".browser").forEach(browse);

places.push((id, query) => {
  if (id.startsWith("cases-")) return browsers.get(id.slice(6))?.filter(query) ?? null;
  if (!id.startsWith("case-")) return null;
  // A run's name may begin as another's does: the longest that fits.
  const run = [...browsers.keys()].filter(one => id.startsWith(`case-${one}-`))
    .sort((one, two) => two.length - one.length)[0];
  return run === undefined ? null : browsers.get(run).find(id.slice(`case-${run}-`.length));
});
})();
