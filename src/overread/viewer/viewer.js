"use strict";
// Pictures and clips enlarged: zoom, pan, window and level, boxes, frames. No dependencies.
//
// viewer.open({title, pictures, at, opener, words}): a dialog over the page with these pictures,
// beginning at number `at`; closed, the focus goes back to `opener`. A picture is
//   {label, src, full, width, height, boxes, frames, start, marks, said}
//   src     where it is; `full` the same film at its source's resolution, fetched when it is opened
//   width, height   the pixels that boxes are in; those of `src` where they are not given
//   boxes   [[label, x, y, w, h], ...]
//   frames  how many a clip has: `src` is then one sheet of them, `viewer.across(frames)` in a row
//   start   which frame of the film the clip's first is
//   marks   of a clip: [{who, truth, phase, frame, times}, ...], rows of the time line by `who`
//   said    lines beside the picture: [[who, what, kind], ...], kind "yes", "no", "part" or ""
// viewer.clip(picture, more): the same clip as an element of the page, with its time line;
// `more(button)` is called to enlarge it.
// viewer.stage(into, pictures): the same as a part of the page, for pages that take the keys
// themselves and hand on what they do not use: `key(event)` says whether it was one; `close()`.
// viewer.ahead(address): have this picture ready when it is shown.
//
// Every text is set as text. A window is DICOM's linear function (PS3.3 C.11.2.1.2.1) of the eight
// bits of each channel, worked out on a canvas and not by a filter, so that what is shown can be
// told to the digit: level 128, width 256 changes nothing. While it is changed on a large film, what
// is in sight is windowed after it was scaled; a moment later the film itself is, as always.
const viewer = (() => {
const SVG = "http://www.w3.org/2000/svg";
const SHAPES = ["\u25cf", "\u25a0", "\u25b2", "\u25c6"];
const SPEEDS = [2, 5, 10, 25, 50];
const USUAL = {level: 128, width: 256, turned: false};
const LARGE = 1e6, SETTLED = 200;  // pixels of a film; milliseconds after a change of its window

function make(tag, given, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) made.setAttribute(name, value);
  made.append(...inside.filter(part => part !== null && part !== undefined));
  return made;
}
function button(label, sign, key, act) {
  const made = make("button", {type: "button", "aria-label": label, title: key ? `${label} (${key})` : label}, sign);
  if (key) made.setAttribute("aria-keyshortcuts", key);
  made.addEventListener("click", act);
  return made;
}
const within = (value, least, most) => Math.min(most, Math.max(least, value));
const across = frames => Math.ceil(Math.sqrt(frames || 1));

// ---------------------------------------------------------------- pixels

const loading = new Map();  // by address, the last used last
const MOST_KEPT = 24, MOST_PIXELS = 64e6;
function loaded(address) {
  return keep(address, loading.get(address)?.image ?? decoded(address));
}
async function decoded(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return image;
}
// A browser lets go of what it decoded of an <img>, and decodes it again when it is drawn. A bitmap
// stays as it is, and is decoded beside the page's own thread.
async function fetched(address) {
  const reply = await fetch(address, {credentials: "same-origin"});
  if (!reply.ok) throw new Error(`${address}: ${reply.status}`);
  return createImageBitmap(await reply.blob());
}
function keep(address, image) {
  const kept = loading.get(address) ?? {image, pixels: 0};
  loading.delete(address);
  loading.set(address, kept);
  image.then(found => { kept.pixels = found.width * found.height; spare(); },
    () => { if (loading.get(address) === kept) loading.delete(address); });
  return image;
}
function spare() {
  let pixels = 0;
  for (const kept of loading.values()) pixels += kept.pixels;
  for (const [address, kept] of loading) {
    if (loading.size < 2 || loading.size <= MOST_KEPT && pixels <= MOST_PIXELS) return;
    loading.delete(address);
    pixels -= kept.pixels;
  }
}

// What each of the 256 values becomes.
function table({level, width, turned}) {
  const found = new Uint8ClampedArray(256), middle = level - 0.5, rest = width - 1;
  for (let value = 0; value < 256; value++) {
    const shown = value <= middle - rest / 2 ? 0 : value > middle + rest / 2 ? 255
      : ((value - middle) / rest + 0.5) * 255;
    found[value] = turned ? 255 - shown : shown;
  }
  return found;
}

// Every pixel of `from` by that table into `into`, a word of four bytes each: red, green, blue, alpha.
function through(how, from, into) {
  const becomes = table(how);
  for (let at = 0; at < from.length; at++) {
    const four = from[at];
    into[at] = becomes[four & 255] | becomes[four >>> 8 & 255] << 8 | becomes[four >>> 16 & 255] << 16 | four & 0xff000000;
  }
}
const words = pixels => new Uint32Array(pixels.data.buffer);
const isUsual = how => how.level === USUAL.level && how.width === USUAL.width && !how.turned;

// The frames of one sheet, each drawn through a window.
class Film {
  constructor(image, frames) {
    this.image = image;
    this.across = across(frames);
    this.down = Math.ceil((frames || 1) / this.across);
    this.width = Math.floor(image.width / this.across);
    this.height = Math.floor(image.height / this.down);
    this.kept = "";
    this.inSight = null;
  }
  get isLarge() { return this.width * this.height > LARGE; }
  plain(pen, frame, x, y, wide, high) {
    const left = frame % this.across * this.width, top = Math.floor(frame / this.across) * this.height;
    pen.drawImage(this.image, left, top, this.width, this.height, x, y, wide, high);
  }
  draw(pen, frame, how, x, y, wide, high) {
    if (isUsual(how)) return this.plain(pen, frame, x, y, wide, high);
    const key = [frame, how.level, how.width, how.turned].join();
    if (this.kept !== key) {
      this.canvas ??= make("canvas", {width: this.width, height: this.height});
      const own = this.canvas.getContext("2d", {willReadFrequently: true});
      this.plain(own, frame, 0, 0, this.width, this.height);
      const pixels = own.getImageData(0, 0, this.width, this.height);
      through(how, words(pixels), words(pixels));
      own.putImageData(pixels, 0, 0);
      this.kept = key;
    }
    pen.drawImage(this.canvas, x, y, wide, high);
  }
  // The same for as long as the window is being changed: only the screen's pixels, scaled once.
  drawInSight(pen, frame, how, x, y, wide, high) {
    if (isUsual(how)) return this.plain(pen, frame, x, y, wide, high);
    const whole = pen.canvas, left = within(Math.floor(x), 0, whole.width), top = within(Math.floor(y), 0, whole.height);
    const width = within(Math.ceil(x + wide), 0, whole.width) - left, height = within(Math.ceil(y + high), 0, whole.height) - top;
    if (width < 1 || height < 1) return;
    const key = [frame, x, y, wide, high, width, height].join();
    if (this.inSight?.key !== key) {
      const own = make("canvas", {width, height}).getContext("2d", {willReadFrequently: true});
      own.imageSmoothingEnabled = pen.imageSmoothingEnabled;
      own.imageSmoothingQuality = pen.imageSmoothingQuality;
      this.plain(own, frame, x - left, y - top, wide, high);
      this.inSight = {key, from: words(own.getImageData(0, 0, width, height)), shown: new ImageData(width, height)};
    }
    through(how, this.inSight.from, words(this.inSight.shown));
    pen.putImageData(this.inSight.shown, left, top);
  }
}

// ---------------------------------------------------------------- the time line of a clip

// Plays, steps and scrubs; `changed` is called with every frame. Rows: the truth, then who said what.
class Timeline {
  constructor(picture, changed) {
    this.frames = picture.frames;
    this.start = picture.start ?? 0;
    this.changed = changed;
    this.frame = 0;
    this.timer = 0;
    this.playing = button("play", "\u25b6", "Space", () => this.toggle());
    this.playing.classList.add("viewer-play");
    this.scrub = make("input", {type: "range", min: 0, max: this.frames - 1, step: 1, value: 0, "aria-label": "frame"});
    this.scrub.addEventListener("input", () => { this.pause(); this.go(Number(this.scrub.value)); });
    this.told = make("output", {class: "viewer-frame"});
    this.speed = make("select", {"aria-label": "frames a second"},
      ...SPEEDS.map(speed => make("option", {value: speed}, `${speed}/s`)));
    this.speed.value = 10;
    this.speed.addEventListener("change", () => { if (this.timer) { this.pause(); this.toggle(); } });
    const bar = make("div", {class: "viewer-bar"}, this.playing,
      button("previous frame", "\u22121", "", () => this.step(-1)),
      button("next frame", "+1", "", () => this.step(1)), this.scrub, this.told, this.speed);
    this.marks = picture.marks ?? [];
    this.phases = [...new Set(this.marks.map(mark => mark.phase))];
    this.element = make("div", {class: "viewer-time"}, bar, this.rows());
    this.show();
  }
  at(frame) { return `${100 * (frame + 0.5) / this.frames}%`; }
  rows() {
    if (!this.marks.length) return null;
    const true_ones = this.marks.filter(mark => mark.truth);
    const rows = [...new Set(this.marks.map(mark => mark.who))].map(who => {
      const track = make("div", {class: "viewer-track"});
      for (const truth of true_ones) {
        const line = make("i", {class: "viewer-true"});
        line.style.left = this.at(truth.frame);
        track.append(line);
      }
      for (const mark of this.marks.filter(mark => mark.who === who)) {
        const told = `${mark.phase}, frame ${mark.frame}${mark.times > 1 ? `, ${mark.times} times` : ""}`;
        const place = this.phases.indexOf(mark.phase);
        const made = make("button", {type: "button",
          class: `viewer-mark${mark.truth ? " truth" : ""}${place % 2 ? " second" : ""}`,
          tabindex: "-1", title: `${who}: ${told}`, "aria-label": told, "data-frame": mark.frame},
          SHAPES[place % SHAPES.length]);
        made.style.left = this.at(mark.frame);
        if (mark.times > 1 && mark.share) made.style.opacity = 0.45 + 0.55 * mark.share;
        made.addEventListener("click", () => { this.pause(); this.go(mark.frame); });
        track.append(made);
      }
      const needle = make("i", {class: "viewer-needle"});
      track.append(needle);
      return make("div", {class: "viewer-row", role: "listitem"}, make("bdi", {class: "viewer-who"}, who), track);
    });
    const legend = make("p", {class: "viewer-legend"}, ...this.phases.map((phase, at) =>
      make("span", null, `${SHAPES[at % SHAPES.length]} ${phase}`)));
    return make("div", {class: "viewer-rows"}, make("div", {role: "list", "aria-label": "time line"}, ...rows), legend);
  }
  show() {
    this.scrub.value = this.frame;
    this.scrub.setAttribute("aria-valuetext", `frame ${this.frame} of 0 to ${this.frames - 1}`);
    this.told.textContent = `${this.frame} / ${this.frames - 1}`;
    for (const needle of this.element.querySelectorAll(".viewer-needle")) needle.style.left = this.at(this.frame);
  }
  go(frame) {
    this.frame = (frame + this.frames) % this.frames;
    this.show();
    this.changed(this.frame);
  }
  step(by) { this.pause(); this.go(this.frame + by); }
  // The next frame that anybody named.
  leap(by) {
    const named = [...new Set(this.marks.map(mark => mark.frame))].sort((a, b) => by * (a - b));
    if (named.length) { this.pause(); this.go(named.find(frame => by * (frame - this.frame) > 0) ?? named[0]); }
  }
  faster(by) {
    this.speed.selectedIndex = within(this.speed.selectedIndex + by, 0, SPEEDS.length - 1);
    this.speed.dispatchEvent(new Event("change"));
  }
  toggle() {
    if (this.timer) { this.pause(); return; }
    this.timer = setInterval(() => {
      if (this.element.isConnected) this.go(this.frame + 1);
      else this.pause();
    }, 1000 / Number(this.speed.value));
    this.label("pause", "\u275a\u275a");
  }
  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.label("play", "\u25b6");
  }
  label(word, sign) {
    this.playing.textContent = sign;
    this.playing.setAttribute("aria-label", word);
    this.playing.title = `${word} (Space)`;
  }
  // The keys of a clip; says whether it was one.
  key(event) {
    const acts = {" ": () => this.toggle(), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1),
      Home: () => { this.pause(); this.go(0); }, End: () => { this.pause(); this.go(this.frames - 1); },
      m: () => this.leap(1), M: () => this.leap(-1), "<": () => this.faster(-1), ">": () => this.faster(1)};
    if (!(event.key in acts) || event.shiftKey && event.key.startsWith("Arrow")) return false;
    acts[event.key]();
    return true;
  }
}

// A clip as a part of the page.
function clip(picture, more) {
  const canvas = make("canvas", {class: "viewer-still", role: "img", "aria-label": picture.label});
  const enlarge = make("button", {type: "button", class: "viewer-open", "aria-label": `enlarge: ${picture.label}`}, canvas);
  const pen = canvas.getContext("2d");
  let film = null;
  const draw = frame => film?.draw(pen, frame, USUAL, 0, 0, canvas.width, canvas.height);
  const line = new Timeline(picture, draw);
  const part = make("div", {class: "viewer-clip", tabindex: "-1"}, enlarge, line.element);
  enlarge.addEventListener("click", () => { line.pause(); more(enlarge, line.frame); });
  part.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input")) return;
    if (event.key === " " && event.target.closest("button") !== enlarge) return;  // the button's own
    if (line.key(event)) { event.preventDefault(); event.stopPropagation(); }
  });
  // A space let go of would press the button.
  enlarge.addEventListener("keyup", event => { if (event.key === " ") event.preventDefault(); });
  const first = picture.marks?.find(mark => mark.truth)?.frame ?? 0;
  loaded(picture.src).then(image => {
    film = new Film(image, picture.frames);
    [canvas.width, canvas.height] = [film.width, film.height];
    line.go(first);
  }, () => part.classList.add("viewer-lost"));
  part.line = line;
  return part;
}

// ---------------------------------------------------------------- enlarged

const KEYS = [
  ["+ \u2212", "zoom"], ["arrows", "move; in a clip step, with Shift move"], ["f", "fit"], ["1", "one to one"],
  ["w W", "wider, narrower window"], ["l L", "higher, lower level"], ["i", "invert"], ["r", "reset"],
  ["b", "boxes on and off"], ["n p", "next, previous picture"], ["Space", "play and pause"],
  ["m M", "next, previous marked frame"], ["< >", "slower, faster"], ["Esc", "back"],
];

class Dialog {
  constructor({title, pictures, at, opener, frame, into}) {
    this.pictures = pictures;
    this.into = into;
    this.opener = opener;
    this.how = {...USUAL};
    this.boxes = true;
    this.windowing = false;  // whether a drag changes the window
    this.fingers = new Map();
    this.build(title);
    (into ?? document.body).append(this.element);
    if (!into) this.element.showModal();
    this.watch = new ResizeObserver(() => this.resized());
    this.watch.observe(this.stage);
    this.show(at ?? 0, frame);
    if (!into) this.stage.focus();
  }
  close() {
    if (this.into) this.closed();
    else this.element.close();
  }

  build(title) {
    this.canvas = make("canvas", {role: "img"});
    this.over = document.createElementNS(SVG, "svg");
    this.over.setAttribute("aria-hidden", "true");
    this.over.setAttribute("preserveAspectRatio", "none");
    this.stage = make("div", {class: "viewer-stage", tabindex: "0", role: "group", "aria-roledescription": "picture viewer"},
      this.canvas, this.over);
    this.label = make("p", {class: "viewer-label", role: "status"});
    this.back = button("previous picture", "\u2039", "p", () => this.turn(-1));
    this.on = button("next picture", "\u203a", "n", () => this.turn(1));
    const shut = this.into ? null : button("close", "\u2715", "Escape", () => this.close());
    const slider = (label, key, least, most, name) => {
      const input = make("input", {type: "range", min: least, max: most, step: 1, "aria-label": label});
      input.addEventListener("input", () => { this.how[name] = Number(input.value); this.windowed(); });
      return input;
    };
    this.widths = slider("window width", "w", 2, 512, "width");
    this.levels = slider("window level", "l", 0, 255, "level");
    this.windowTold = make("output", {class: "viewer-window"});
    this.zoomTold = make("output", {class: "viewer-zoom"});
    this.boxed = button("boxes", "Boxes", "b", () => this.toggleBoxes());
    this.turned = button("invert", "Invert", "i", () => this.invert());
    this.dragged = button("drag changes the window", "Drag: move", "", () => {
      this.windowing = !this.windowing;
      this.dragged.textContent = this.windowing ? "Drag: window" : "Drag: move";
      this.dragged.setAttribute("aria-pressed", this.windowing);
    });
    this.dragged.setAttribute("aria-pressed", "false");
    const tools = make("div", {class: "viewer-tools", role: "toolbar", "aria-label": "picture"},
      make("span", {class: "viewer-group"}, button("zoom out", "\u2212", "-", () => this.zoom(1 / 1.25)), this.zoomTold,
        button("zoom in", "+", "+", () => this.zoom(1.25)), button("fit", "Fit", "f", () => this.fit()),
        button("one to one", "1:1", "1", () => this.exact())),
      make("label", {class: "viewer-group"}, "W", this.widths),
      make("label", {class: "viewer-group"}, "L", this.levels),
      make("span", {class: "viewer-group"}, this.windowTold, this.turned, this.dragged,
        button("reset", "Reset", "r", () => this.reset()), this.boxed));
    this.clipPart = make("div", {class: "viewer-part"});
    this.said = make("div", {class: "viewer-said"});
    const keys = make("details", {class: "viewer-keys"}, make("summary", null, "Keys"),
      make("dl", null, ...KEYS.flatMap(([key, does]) => [make("dt", null, make("kbd", null, key)), make("dd", null, does)])));
    const head = make("div", {class: "viewer-head"}, this.into ? null : make("h2", null, title), this.back, this.label, this.on, shut);
    if (this.into && this.pictures.length < 2) head.hidden = true;
    this.element = make(this.into ? "section" : "dialog", {class: this.into ? "viewer inline" : "viewer", "aria-label": title}, head,
      make("div", {class: "viewer-body"}, this.stage,
        this.into ? null : make("div", {class: "viewer-side"}, this.said, keys)),
      this.clipPart, tools);
    this.element.addEventListener("close", () => this.closed());
    if (!this.into) this.element.addEventListener("keydown", event => this.key(event));
    this.stage.addEventListener("pointerdown", event => this.down(event));
    this.stage.addEventListener("pointermove", event => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      this.stage.addEventListener(name, event => this.fingers.delete(event.pointerId));
    }
    this.stage.addEventListener("contextmenu", event => event.preventDefault());
    this.stage.addEventListener("dblclick", () => this.fitted ? this.exact() : this.fit());
    this.stage.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(-within(event.deltaY, -100, 100) / 250), event);
    }, {passive: false});
  }

  closed() {
    this.line?.pause();
    clearTimeout(this.settling);
    this.watch.disconnect();
    this.element.remove();
    if (open_one !== this) return;
    open_one = null;
    this.opener?.focus();
  }

  // ------------------------------------------------------------ which picture

  turn(by) {
    const next = this.at + by;
    if (next >= 0 && next < this.pictures.length) this.show(next);
  }

  show(at, frame) {
    this.at = at;
    this.line?.pause();
    this.line = null;
    this.film = null;
    this.fitted = true;
    const picture = this.picture = this.pictures[at];
    this.back.disabled = at === 0;
    this.on.disabled = at === this.pictures.length - 1;
    this.named("");
    this.canvas.setAttribute("aria-label", picture.label);
    this.said.replaceChildren(...(picture.said ?? []).map(([who, what, kind]) => make("p", {class: `viewer-line ${kind}`},
      make("bdi", {class: "viewer-who"}, who), make("span", null, what))));
    this.clipPart.replaceChildren();
    if (picture.frames > 1) {
      this.line = new Timeline(picture, () => this.draw());
      this.clipPart.append(this.line.element);
      this.line.frame = frame ?? 0;
      this.line.show();
    }
    this.boxed.hidden = !picture.boxes?.length;
    this.windowed();
    this.drawBoxes();
    this.take(picture, picture.src, "").then(() => {
      if (picture.full && this.picture === picture) {
        this.named("fetching the film at full size");
        this.take(picture, picture.full, "full size");
      }
    });
  }

  named(state) {
    const size = this.film ? `, ${this.film.width} \u00d7 ${this.film.height}` : "";
    const count = this.pictures.length > 1 ? `${this.at + 1} of ${this.pictures.length}: ` : "";
    this.label.textContent = `${count}${this.picture.label}${size}${state ? ` (${state})` : ""}`;
  }

  async take(picture, address, state) {
    let image;
    try {
      image = await loaded(address);
    } catch {
      if (this.picture !== picture || !this.element.isConnected) return;
      this.named(this.film ? "" : "the picture cannot be shown");
      // Whoever reads by a page that waits for its server waits for its pictures too.
      if (this.into) setTimeout(() => this.picture === picture && this.element.isConnected && this.take(picture, address, state), 2000);
      return;
    }
    if (this.picture !== picture || !this.element.isConnected) return;
    const before = this.film;
    this.film = new Film(image, picture.frames);
    if (before && !this.fitted) {  // the same part of it stays in sight
      const by = this.film.width / before.width;
      this.scale /= by;
      this.x *= by;
      this.y *= by;
    }
    this.named(state);
    this.resized();
  }

  // ------------------------------------------------------------ the view

  // Scale: pixels of the screen for one of the film; x, y: the film's point in the middle.
  resized() {
    const ratio = window.devicePixelRatio || 1;
    const wide = Math.round(this.stage.clientWidth * ratio), high = Math.round(this.stage.clientHeight * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high) [this.canvas.width, this.canvas.height] = [wide, high];
    if (this.fitted) this.fit();
    else this.draw();
  }
  fit() {
    if (!this.film) return;
    this.fitted = true;
    this.scale = Math.min(this.canvas.width / this.film.width, this.canvas.height / this.film.height) || 1;
    [this.x, this.y] = [this.film.width / 2, this.film.height / 2];
    this.draw();
  }
  exact() {
    if (!this.film) return;
    this.fitted = false;
    this.scale = 1;
    [this.x, this.y] = [this.film.width / 2, this.film.height / 2];
    this.draw();
  }
  zoom(by, event) {
    if (!this.film) return;
    const before = this.scale, at = event && this.point(event);
    this.scale = within(before * by, 0.02, 64);
    if (at) {  // what is under the pointer stays there
      this.x += at[0] * (1 / before - 1 / this.scale);
      this.y += at[1] * (1 / before - 1 / this.scale);
    }
    this.fitted = false;
    this.draw();
  }
  pan(right, down) {
    if (!this.film) return;
    this.fitted = false;
    this.x -= right / this.scale;
    this.y -= down / this.scale;
    this.draw();
  }
  // Where a pointer is, in pixels of the screen from the middle.
  point(event) {
    const box = this.stage.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    return [(event.clientX - box.left - box.width / 2) * ratio, (event.clientY - box.top - box.height / 2) * ratio];
  }

  draw(changing = false) {
    if (!this.film) return;
    const {film, canvas, scale} = this, pen = canvas.getContext("2d");
    this.x = within(this.x, 0, film.width);
    this.y = within(this.y, 0, film.height);
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = scale !== 1 && scale < 8;
    pen.imageSmoothingQuality = "high";
    let left = canvas.width / 2 - this.x * scale, top = canvas.height / 2 - this.y * scale;
    if (scale === 1) [left, top] = [Math.round(left), Math.round(top)];  // no pixel between two
    const where = [this.line?.frame ?? 0, this.how, left, top, film.width * scale, film.height * scale];
    if (changing) film.drawInSight(pen, ...where);
    else film.draw(pen, ...where);
    const across_ = (this.picture.width || film.width) / film.width / scale;
    const along = (this.picture.height || film.height) / film.height / scale;
    this.over.setAttribute("viewBox",
      [-left * across_, -top * along, canvas.width * across_, canvas.height * along].join(" "));
    this.zoomTold.textContent = `${Math.round(100 * scale)} %`;
  }

  drawBoxes() {
    const boxes = this.picture.boxes ?? [];
    this.over.replaceChildren(...boxes.flatMap(([label, x, y, width, height]) => ["under", "over"].map(kind => {
      const rect = document.createElementNS(SVG, "rect"), title = document.createElementNS(SVG, "title");
      for (const [key, value] of Object.entries({x, y, width, height, class: kind})) rect.setAttribute(key, value);
      title.textContent = label;
      rect.append(title);
      return rect;
    })));
    this.over.style.display = this.boxes ? "" : "none";
    this.boxed.setAttribute("aria-pressed", this.boxes);
    this.boxed.textContent = `Boxes ${this.boxes ? "on" : "off"}`;
  }
  toggleBoxes() { this.boxes = !this.boxes; this.drawBoxes(); }

  // ------------------------------------------------------------ window and level

  windowed() {
    this.how.width = within(Math.round(this.how.width), 2, 512);
    this.how.level = within(Math.round(this.how.level), 0, 255);
    this.widths.value = this.how.width;
    this.levels.value = this.how.level;
    this.windowTold.textContent = `W ${this.how.width} L ${this.how.level}`;
    this.turned.setAttribute("aria-pressed", this.how.turned);
    clearTimeout(this.settling);
    const large = Boolean(this.film?.isLarge);
    this.draw(large);
    if (large) this.settling = setTimeout(() => this.draw(), SETTLED);
  }
  invert() { this.how.turned = !this.how.turned; this.windowed(); }
  reset() { this.how = {...USUAL}; this.windowed(); this.fit(); }

  // ------------------------------------------------------------ hands

  down(event) {
    this.stage.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, {x: event.clientX, y: event.clientY, right: event.button === 2});
    this.stage.focus();
  }
  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const ratio = window.devicePixelRatio || 1, others = [...this.fingers.values()].filter(one => one !== before);
    const [right, down] = [event.clientX - before.x, event.clientY - before.y];
    this.fingers.set(event.pointerId, {...before, x: event.clientX, y: event.clientY});
    if (others.length) {  // two fingers: their distance is the zoom
      const [one] = others, far = (x, y) => Math.hypot(x - one.x, y - one.y) || 1;
      this.zoom(far(event.clientX, event.clientY) / far(before.x, before.y),
        {clientX: (one.x + event.clientX) / 2, clientY: (one.y + event.clientY) / 2});
      this.pan(right * ratio / 2, down * ratio / 2);
    } else if (before.right || this.windowing) {
      this.how.width += right;
      this.how.level += down;
      this.windowed();
    } else this.pan(right * ratio, down * ratio);
  }

  // Says whether the key meant anything.
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const on = event.target;
    if (on.closest("select") || on.matches("input") && (event.key.startsWith("Arrow") || /^(Home|End|Page)/.test(event.key))) return false;
    if ((event.key === " " || event.key === "Enter") && on.closest("button, summary")) return false;
    if (this.line && this.line.key(event)) {
      event.preventDefault();
      return true;
    }
    const acts = {
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(1 / 1.25),
      f: () => this.fit(), 1: () => this.exact(), r: () => this.reset(), i: () => this.invert(), b: () => this.toggleBoxes(),
      w: () => { this.how.width += 16; this.windowed(); }, W: () => { this.how.width -= 16; this.windowed(); },
      l: () => { this.how.level += 8; this.windowed(); }, L: () => { this.how.level -= 8; this.windowed(); },
      n: () => this.turn(1), p: () => this.turn(-1), PageDown: () => this.turn(1), PageUp: () => this.turn(-1),
      ArrowLeft: () => this.pan(60, 0), ArrowRight: () => this.pan(-60, 0),
      ArrowUp: () => this.pan(0, 60), ArrowDown: () => this.pan(0, -60),
    };
    const act = acts[event.key] ?? (event.key === "B" ? acts.b : null);
    if (!act) return false;
    event.preventDefault();
    act();
    return true;
  }
}

let open_one = null;
function open(given) {
  open_one?.element.close();
  open_one = new Dialog(given);
  return open_one;
}

const stage = (into, pictures) => new Dialog({title: "pictures", pictures, into});
const ahead = address => { keep(address, loading.get(address)?.image ?? fetched(address)); };

return {open, clip, stage, ahead, across};
})();
