// ---- Rows ----------------------------------------------------------------------------------------------------------

const scroller = at("scroller");
const drawn = new Map();
let hitRows = new Set();

function link(value) {
  const made = element("a", "", `%${value.key}`);
  made.href = `#${SIDES[value.side]}-${value.key}`;
  made.title = `${value.op} ${value.shape} ${value.source}`;
  return made;
}

function argumentsOf(value) {
  if (value.op === "constant") return [value.literal];
  if (value.op === "parameter") return [value.name];
  return value.operands.flatMap((operand, place) => (place ? [", ", link(operand)] : [link(operand)]));
}

function half(row, side) {
  const value = row.ends[side];
  if (row.klass === "heading") return element("span", "half region", row.titles[side] ? `↳ ${row.titles[side]}` : "");
  if (!value) return empty(row.ends[1 - side]);
  const key = element("span", "key", value.key);
  if (side === 0 || !row.ends[0]) key.prepend(...(row.inner.length ? [foldButton(row)] : []));
  const expression = element("span", "", element("span", "opcode", value.op), "(", ...argumentsOf(value), ")",
    element("span", "note", value.attributes && value.op !== "parameter" ? ` ${value.attributes}` : ""));
  expression.style.paddingLeft = `${row.depth * 14}px`;
  const source = element("span", "from", basename(value.source));
  source.title = value.source;
  const timed = Object.keys(data.times[side]).length > 0;
  const made = element("span", timed ? "half timed" : "half", key, expression, element("span", "shape", value.shape), source);
  if (timed) made.append(time(value));
  return made;
}

function time(value) {
  const made = element("span", value.leads ? "time" : "time again", value.kernel ? (value.leads ? seconds(data.times[value.side][value.kernel]) : "〃") : "");
  made.title = value.kernel;
  return made;
}

function empty(value) {
  const made = element("span", "half empty", "");
  const elsewhere = value.pairs.find((pair) => pair.ends[1 - value.side].row !== value.row);
  if (elsewhere) made.append(element("span", "", "= ", link(elsewhere.ends[1 - value.side])));
  return made;
}

function foldButton(row) {
  const made = element("button", "fold", row.folded ? "▸" : "▾");
  made.type = "button";
  made.tabIndex = -1;
  made.setAttribute("aria-label", row.folded ? "unfold" : "fold");
  return made;
}

function middle(row) {
  const pair = pairOf(row) || row.ends.find(Boolean)?.pairs[0];
  const mark = element("span", "mark", GLYPHS[row.klass] || "");
  mark.title = words[row.klass] || "";
  const made = element("span", "middle", mark);
  if (pair && pair.ulp !== null && pair.ulp !== undefined) {
    made.append(element("span", pair.ulp === 0 ? "ulp" : "ulp some", String(pair.ulp)));
  } else if (pair && pair.differs.length) {
    made.append(element("span", "ulp", pair.differs[0]));
  }
  made.title = pair ? [pair.matcher, pair.note].filter(Boolean).join(": ") : words[row.klass] || "";
  return made;
}

function rowElement(row) {
  const made = element("div", `row ${row.klass}${hitRows.has(row.index) ? " hit" : ""}${row.index === state.chosen ? " chosen" : ""}`,
    half(row, 0), middle(row), half(row, 1));
  made.style.top = `${placeOf[row.index] * ROW}px`;
  made.dataset.row = row.index;
  made.setAttribute("role", "row");
  made.setAttribute("aria-rowindex", placeOf[row.index] + 1);
  made.setAttribute("aria-label", row.ends.map((end, side) => end ? `${data.labels[side]} ${end.op} ${end.shape}` : "").filter(Boolean).join(", "));
  for (const each of made.children) each.setAttribute("role", "gridcell");
  return made;
}

function draw() {
  const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 15);
  const last = Math.min(shown.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + 15);
  const wanted = new Set(shown.slice(first, last).map((row) => row.index));
  for (const [index, made] of drawn) {
    if (!wanted.has(index)) {
      made.remove();
      drawn.delete(index);
    }
  }
  const added = document.createDocumentFragment();
  for (const index of wanted) {
    if (drawn.has(index)) continue;
    drawn.set(index, rowElement(rows[index]));
    added.append(drawn.get(index));
  }
  at("rows").append(added);
  relate();
}

let waiting = false;
scroller.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); drawMap(); });
}, { passive: true });

// ---- What belongs together -----------------------------------------------------------------------------------------

function relations(row) {
  const ends = row.ends.filter(Boolean);
  const rowsOf = (found) => new Set(found.map((value) => value.row).filter((index) => index !== row.index));
  return { operand: rowsOf(ends.flatMap((end) => end.operands)), user: rowsOf(ends.flatMap((end) => end.users)),
    partner: rowsOf(ends.flatMap((end) => end.pairs.map((pair) => pair.ends[1 - end.side]))) };
}

let hovered = -1;

function relate() {
  const index = hovered >= 0 ? hovered : state.chosen;
  const found = index >= 0 ? relations(rows[index]) : { operand: new Set(), user: new Set(), partner: new Set() };
  for (const [other, made] of drawn) {
    for (const kind of Object.keys(found)) made.classList.toggle(kind, found[kind].has(other));
    made.classList.toggle("chosen", other === state.chosen);
    made.setAttribute("aria-selected", String(other === state.chosen));
  }
}

const rowAt = (event) => Number(event.target.closest(".row")?.dataset.row ?? -1);
scroller.addEventListener("mouseover", (event) => { hovered = rowAt(event); relate(); });
scroller.addEventListener("mouseleave", () => { hovered = -1; relate(); });

scroller.addEventListener("click", (event) => {
  const index = rowAt(event);
  if (index < 0 || event.target.closest("a")) return;
  if (event.target.closest(".fold")) return fold(rows[index]);
  // A value whose partner stands elsewhere leads there: a click on the empty half.
  const away = event.target.closest(".empty") ? rows[index].ends.find(Boolean).pairs[0] : undefined;
  const partner = away?.ends.find((end) => end.row !== index);
  choose(partner ? partner.row : index);
});

function fold(row) {
  row.folded = !row.folded;
  update();
}

function choose(index) {
  for (let outer = rows[index].parent; outer >= 0; outer = rows[outer].parent) rows[outer].folded = false;
  state.chosen = index;
  if (placeOf[index] < 0) clearFilters();
  reveal(index);
  const value = rows[index].ends.find(Boolean);
  if (value) history.replaceState(null, "", `#${SIDES[value.side]}-${value.key}`);
  detail(rows[index]);
  tellPosition();
  draw();
  drawMap();
}

function reveal(index) {
  const top = placeOf[index] * ROW;
  if (top < scroller.scrollTop + ROW || top > scroller.scrollTop + scroller.clientHeight - 3 * ROW) {
    scroller.scrollTop = top - scroller.clientHeight / 3;
  }
}

function clearFilters() {
  Object.assign(state, { matcher: "", rule: "", numerics: false, onlyHits: false });
  state.hidden.clear();
  for (const id of ["matcher", "rule"]) at(id).value = "";
  for (const id of ["numerics", "only-hits"]) at(id).checked = false;
  for (const button of at("classes").children) button.setAttribute("aria-pressed", "true");
  update();
}
