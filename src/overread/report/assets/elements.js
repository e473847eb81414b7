"use strict";
// What every script of the page makes elements with. Whatever a model or a data set said is set as
// text, never as markup. One name is shared between the scripts: `page`.
const page = (() => {
const all = (where, what) => [...where.querySelectorAll(what)];
const SVG = "http://www.w3.org/2000/svg";

// What changes the direction of text, or has no shape, is named. markup.py has the same.
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

// Who knows places of the page that are drawn on demand: functions of what stands behind # in an
// address, `(id, query) => element, a promise of one, or null` if it is none of theirs.
const places = [];

return {all, SVG, visible, make, said, name, data, plural, places};
})();
