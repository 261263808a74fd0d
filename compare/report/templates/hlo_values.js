"use strict";

// A row holds a value of either program, or of both; values and rows are numbered in the order of the page.
const ROW = 21;
const SIDES = ["left", "right"];
const GLYPHS = { unchanged: "=", rewritten: "↻", changed: "≠", "only-left": "◂", "only-right": "▸" };
const FIELDS = ["op", "name", "shape", "attributes", "literal", "op_name", "source", "hints", "klass", "kernel"];
const at = (id) => document.getElementById(id);

const data = JSON.parse(at("data").textContent);
const strings = (list) => data.lists[list].map((each) => data.strings[each]);
const basename = (source) => source.slice(source.lastIndexOf("/") + 1);
const words = { unchanged: "unchanged", rewritten: "rewritten by a rule", changed: "changed",
  "only-left": `only in ${data.labels[0]}`, "only-right": `only in ${data.labels[1]}` };

function element(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children);
  return made;
}

function seconds(value) {
  if (value === undefined) return "";
  const [unit, scale] = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]].find((each) => value >= each[1]) || ["ns", 1e-9];
  return `${(value / scale).toPrecision(3)} ${unit}`;
}

// ---- What the page holds -------------------------------------------------------------------------------------------

function valueOf(packed, side, index) {
  const value = { side, index, key: packed[0], users: [], pairs: [], row: -1 };
  FIELDS.forEach((field, place) => { value[field] = data.strings[packed[1 + place]]; });
  const rest = packed.slice(1 + FIELDS.length);
  Object.assign(value, { frames: rest[0], place: rest[1], rules: strings(rest[2]), numerics: rest[3], operands: rest[4] });
  return value;
}

const values = data.sides.map((side, number) => side.map((packed, index) => valueOf(packed, number, index)));
const byKey = values.map((side) => new Map(side.map((value) => [value.key, value])));
for (const side of values) {
  for (const value of side) {
    value.operands = value.operands.map((key) => byKey[value.side].get(key)).filter(Boolean);
    for (const operand of new Set(value.operands)) operand.users.push(value);
  }
}
for (const [left, right, matcher, ulp, note, differs] of data.pairs) {
  if (left < 0 || right < 0) continue;
  const pair = { ends: [values[0][left], values[1][right]], matcher: data.strings[matcher], ulp,
    note: data.strings[note], differs: strings(differs) };
  for (const end of pair.ends) end.pairs.push(pair);
}

const rows = data.rows.map(([left, right, parent, depth, ...titles], index) => {
  const ends = [values[0][left] || null, values[1][right] || null];
  for (const end of ends) if (end) end.row = index;
  return { index, ends, parent, depth, titles: titles.map((title) => data.strings[title]), inner: [], folded: false };
});
for (const row of rows) if (row.parent >= 0) rows[row.parent].inner.push(row);

function pairOf(row) {
  const [left, right] = row.ends;
  return left && right ? left.pairs.find((pair) => pair.ends[1] === right) : undefined;
}

function classOf(row) {
  const [left, right] = row.ends;
  const value = left || right;
  if (!value) return "heading";
  if (left && right && (left.klass === "rewritten" || right.klass === "rewritten")) return "rewritten";
  return value.klass === "only here" ? `only-${SIDES[value.side]}` : value.klass;
}

const firstOfKernel = [new Set(), new Set()];
for (const row of rows) {
  row.klass = classOf(row);
  row.differs = row.klass === "changed" || row.klass.startsWith("only-");
  for (const end of row.ends) {
    if (!end || !end.kernel) continue;
    end.leads = !firstOfKernel[end.side].has(end.kernel);
    firstOfKernel[end.side].add(end.kernel);
  }
}
// Folded is what holds no difference, and what stands on one side alone; from the last row up, so that inner rows
// come before their outer ones.
for (const row of [...rows].reverse()) {
  const inside = row.inner.some((inner) => inner.uneasy);
  row.uneasy = row.differs || inside;
  row.folded = row.inner.length > 0 && row.ends.some(Boolean) && !(inside && row.ends.every(Boolean));
}

// ---- What of it is shown -------------------------------------------------------------------------------------------

const state = { hidden: new Set(), matcher: "", rule: "", numerics: false, terms: [], onlyHits: false, chosen: -1 };
let shown = [];
let hits = [];
const placeOf = new Int32Array(rows.length);

function textOf(value) {
  if (value.text === undefined) {
    const columns = { op: value.op, name: `${value.name} ${value.op_name} ${value.literal}`, shape: value.shape,
      source: [value.source, ...strings(value.frames)].join(" ") };
    for (const column of Object.keys(columns)) columns[column] = columns[column].toLowerCase();
    value.columns = columns;
    value.text = `%${value.key} ${Object.values(columns).join(" ")}`;
  }
  return value.text;
}

function finds(row, terms) {
  return row.ends.some((value) => value && terms.every(([column, word]) =>
    (column ? (textOf(value), value.columns[column]) : textOf(value)).includes(word)));
}

function termsOf(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, column, rest] = /^(op|name|shape|source):(.*)$/.exec(word) || [null, "", word];
    return [column, rest];
  });
}

function keeps(row) {
  if (row.klass === "heading") return true;
  if (state.hidden.has(row.klass)) return false;
  const ends = row.ends.filter(Boolean);
  if (state.matcher && !ends.some((end) => end.pairs.some((pair) => pair.matcher === state.matcher))) return false;
  if (state.rule && !ends.some((end) => end.rules.includes(state.rule))) return false;
  return !state.numerics || ends.some((end) => end.numerics);
}

const filters = () => state.hidden.size > 0 || state.matcher || state.rule || state.numerics || state.onlyHits;

function update() {
  const filtering = filters();
  const folded = new Set();
  hits = state.terms.length ? rows.filter((row) => finds(row, state.terms)) : [];
  const found = new Set(hits);
  shown = rows.filter((row) => {
    const buried = row.parent >= 0 && folded.has(row.parent);
    if (buried || row.folded) folded.add(row.index);
    // A filter looks into folded regions: what it asks for would stay unseen there.
    return filtering ? row.klass !== "heading" && keeps(row) && (!state.onlyHits || found.has(row)) : !buried;
  });
  if (filtering) hits = hits.filter(keeps);
  placeOf.fill(-1);
  shown.forEach((row, place) => { placeOf[row.index] = place; });
  hitRows = new Set(hits.map((row) => row.index));
  at("rows").style.height = `${shown.length * ROW}px`;
  at("count").textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  tellHits();
  drawn.forEach((made) => made.remove());
  drawn.clear();
  draw();
  drawMap();
}
