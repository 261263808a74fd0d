// ---- Details -------------------------------------------------------------------------------------------------------

function field(name, differs, ...content) {
  return element("div", differs ? "differs" : "", element("dt", "", name), element("dd", "", ...content));
}

function fieldsOf(value, other) {
  const plain = [["name", value.name], ["frontend's", value.op_name], ["shape", value.shape],
    ["literal", value.literal], ["attributes", value.attributes], ["hints", value.hints],
    ["fused in", strings(value.place).join(" / ")]];
  const keys = { shape: "shape", literal: "literal", attributes: "attributes", hints: "hints" };
  const made = plain.filter(([, text]) => text).map(([name, text]) =>
    field(name, Boolean(other) && name in keys && value[keys[name]] !== other[keys[name]], text));
  made.push(field("operands", false, ...argumentsOf(value)));
  made.push(field("read by", false, ...value.users.slice(0, 24).flatMap((user, place) => (place ? [", ", link(user)] : [link(user)])),
    value.users.length > 24 ? ` and ${value.users.length - 24} more` : value.users.length ? "" : data.results[value.side].includes(value.key) ? "a result" : "nothing"));
  if (value.rules.length) made.push(field("rules", false, ...value.rules.map((rule) => element("div", "", `${rule}: ${data.meanings[rule] || ""}`))));
  if (value.kernel) made.push(field("kernel", false, `${value.kernel}, ${seconds(data.times[value.side][value.kernel])}`));
  return [...made, field("source", false, value.source || "not known"), ...stack(value)];
}

function stack(value) {
  const frames = strings(value.frames);
  if (frames.length < 2) return [];
  return [field("stack", false, element("ol", "stack", ...frames.map((frame) => element("li", "", frame))))];
}

function side(row, number) {
  const value = row.ends[number];
  if (!value) return element("div", "", element("p", "absent", `nothing in ${data.labels[number]} stands here`));
  const title = element("h3", "", element("span", SIDES[number], data.labels[number]), ` %${value.key} ${value.op}`);
  return element("div", "", title, element("dl", "", ...fieldsOf(value, row.ends[1 - number])));
}

function pairFields(pair) {
  return [field("found by", false, pair.matcher),
    ...(pair.ulp === null || pair.ulp === undefined ? [] : [field("distance", pair.ulp !== 0, `${pair.ulp} ULP`)]),
    ...(pair.differs.length ? [field("differs in", true, pair.differs.join(", "))] : []),
    ...(pair.note ? [field("note", false, pair.note)] : [])];
}

function detail(row) {
  const pairs = new Set(row.ends.filter(Boolean).flatMap((end) => end.pairs));
  const said = [...pairs].slice(0, 6).map((pair) => element("dl", "", ...(pairs.size > 1 ? [field("pair", false, link(pair.ends[0]), " ", link(pair.ends[1]))] : []), ...pairFields(pair)));
  const title = element("h3", `status ${row.klass}`, element("span", "mark", GLYPHS[row.klass] || ""), ` ${words[row.klass] || "a region"}`);
  at("details").replaceChildren(...(row.klass === "heading" ? [] : [side(row, 0), element("div", row.klass, title, ...said), side(row, 1)]));
}

// ---- Getting about -------------------------------------------------------------------------------------------------

/** First rows of each run of differences. */
function differences() {
  return shown.filter((row, place) => row.differs && !(place > 0 && shown[place - 1].differs));
}

function goto(step) {
  const places = differences();
  if (!places.length) return;
  const here = state.chosen >= 0 ? placeOf[state.chosen] : -1;
  const next = step > 0 ? places.find((row) => placeOf[row.index] > here) || places[0]
    : [...places].reverse().find((row) => placeOf[row.index] < here) || places[places.length - 1];
  choose(next.index);
}

function tellPosition() {
  const places = differences();
  const here = state.chosen >= 0 ? placeOf[state.chosen] : -1;
  const number = places.filter((row) => placeOf[row.index] <= here).length;
  at("position").textContent = places.length ? `${number} of ${places.length}` : "no difference";
}

function tellHits() {
  const number = hits.findIndex((row) => row.index === state.chosen) + 1;
  at("hits").textContent = state.terms.length ? `${number} of ${hits.length}` : "";
  tellPosition();
}

function gotoHit(step) {
  if (!hits.length) return;
  const here = hits.findIndex((row) => row.index === state.chosen);
  choose(hits[(here + step + hits.length + (here < 0 && step < 0 ? 1 : 0)) % hits.length].index);
  tellHits();
}

function move(step) {
  const here = state.chosen >= 0 ? placeOf[state.chosen] : step > 0 ? -1 : shown.length;
  const next = Math.min(shown.length - 1, Math.max(0, here + step));
  if (shown[next]) choose(shown[next].index);
}

function release() {
  state.chosen = -1;
  detail({ klass: "heading", ends: [] });
  draw();
}

const page = () => Math.max(1, Math.floor(scroller.clientHeight / ROW) - 2);
const KEYS = { n: () => goto(1), p: () => goto(-1), "/": () => at("search").focus(), Escape: release,
  o: () => { if (state.chosen >= 0 && rows[state.chosen].inner.length) fold(rows[state.chosen]); } };
const SCROLLER_KEYS = { ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()), PageUp: () => move(-page()),
  Home: () => move(-rows.length), End: () => move(rows.length) };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
  const act = KEYS[event.key] || (document.activeElement === scroller && SCROLLER_KEYS[event.key]);
  if (!act) return;
  event.preventDefault();
  act();
});
at("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") gotoHit(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") scroller.focus();
});
at("search").addEventListener("input", () => { state.terms = termsOf(at("search").value); update(); });
at("later").addEventListener("click", () => gotoHit(1));
at("earlier").addEventListener("click", () => gotoHit(-1));
at("next").addEventListener("click", () => goto(1));
at("previous").addEventListener("click", () => goto(-1));
for (const [id, folded] of [["fold", true], ["unfold", false]]) {
  at(id).addEventListener("click", () => {
    for (const row of rows) row.folded = folded && row.inner.length > 0 && row.ends.some(Boolean);
    update();
  });
}
for (const [id, name] of [["only-hits", "onlyHits"], ["numerics", "numerics"]]) {
  at(id).addEventListener("change", () => { state[name] = at(id).checked; update(); });
}
for (const name of ["matcher", "rule"]) at(name).addEventListener("change", () => { state[name] = at(name).value; update(); });

/** "#left-12.0.3" names a value, "#left-kernel-NAME" the first value of a kernel. */
function follow(hash) {
  const [, name, key] = /^#(left|right)-(.+)$/.exec(decodeURIComponent(hash)) || [];
  if (!name) return;
  const number = SIDES.indexOf(name);
  const value = byKey[number].get(key) || values[number].find((each) => each.leads && `kernel-${each.kernel}` === key);
  if (!value) return;
  at("viewer").scrollIntoView();
  choose(value.row);
}
window.addEventListener("hashchange", () => follow(location.hash));
document.addEventListener("click", (event) => {
  const clicked = event.target.closest("a");
  if (!clicked || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  follow(clicked.hash);
});

// ---- All rows at a glance ------------------------------------------------------------------------------------------

const map = at("map");

function drawMap() {
  const height = map.clientHeight;
  if (map.height !== height) map.height = height;
  const brush = map.getContext("2d");
  const styles = getComputedStyle(document.documentElement);
  const tints = { rewritten: "--rewritten", changed: "--warn", "only-left": "--left", "only-right": "--right" };
  const colors = Object.fromEntries(Object.entries(tints).map(([klass, name]) => [klass, styles.getPropertyValue(name)]));
  brush.clearRect(0, 0, map.width, height);
  const scale = Math.min(ROW, height / Math.max(1, shown.length));
  shown.forEach((row, place) => {
    if (!colors[row.klass]) return;
    brush.fillStyle = colors[row.klass];
    brush.fillRect(row.klass === "only-right" ? 7 : 1, place * scale, row.klass.startsWith("only-") ? 6 : 12, Math.max(1, scale - 0.5));
  });
  brush.strokeStyle = styles.getPropertyValue("--ink");
  const [top, seen] = [scroller.scrollTop / ROW * scale, scroller.clientHeight / ROW * scale];
  brush.strokeRect(0.5, top + 0.5, 13, Math.max(3, seen - 1));
}

function toPlace(event) {
  const scale = Math.min(ROW, map.clientHeight / Math.max(1, shown.length));
  scroller.scrollTop = event.offsetY / scale * ROW - scroller.clientHeight / 2;
}
map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); toPlace(event); });
map.addEventListener("pointermove", (event) => { if (event.buttons) toPlace(event); });

// ---- Beginning -----------------------------------------------------------------------------------------------------

function classButton(klass) {
  const count = rows.filter((row) => row.klass === klass).length;
  const made = element("button", klass, element("span", "mark", GLYPHS[klass]), element("span", "", words[klass]), element("span", "note", count.toLocaleString("en")));
  made.type = "button";
  made.dataset.class = klass;
  made.setAttribute("aria-pressed", "true");
  made.addEventListener("click", () => {
    if (!state.hidden.delete(klass)) state.hidden.add(klass);
    made.setAttribute("aria-pressed", String(!state.hidden.has(klass)));
    update();
  });
  return made;
}

function options(id, names) {
  for (const name of [...new Set(names)].sort()) at(id).append(new Option(name, name));
}

at("viewer").hidden = false;
at("classes").append(...Object.keys(GLYPHS).map(classButton));
options("matcher", data.pairs.map((pair) => data.strings[pair[2]]));
options("rule", values.flatMap((each) => each.flatMap((value) => value.rules)));
new ResizeObserver(() => { draw(); drawMap(); }).observe(scroller);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
update();
follow(location.hash);
