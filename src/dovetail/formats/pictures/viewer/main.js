// The page: its state, and what the mouse, fingers, keys and controls do.

const graph = readGraph(JSON.parse(document.getElementById("graph").textContent));
const byId = (id) => document.getElementById(id);
const canvas = byId("canvas"), context = canvas.getContext("2d", { alpha: false });
const FIRST_BOXES = 70; // scopes are open at first while no more boxes than these are shown
const SCALES = [0.004, 3];

const view = { x: 0, y: 0, scale: 1, width: 0, height: 0, pixels: 1 };
const look = { theme: null, scale: null, selected: null, dims: false, isDim: () => false, found: null };
const page = { graph, view, look, picture: null, drawn: 0, key: "type", kinds: new Set(), found: [], at: -1 };
const choices = colourChoices(graph);
let isAsked = false;

function ask() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => { isAsked = false; frame(); });
}

function frame() { page.drawn = draw(context, page.picture, view, look); }

// -- scopes and positions ----------------------------------------------------------------------------------------

function openFirst() {
  let shown = graph.root.children.length;
  for (let waiting = [...graph.root.children]; waiting.length;) {
    const item = waiting.shift();
    if (!item.children.length || item.node || shown + item.children.length > FIRST_BOXES) continue;
    item.isOpen = true;
    shown += item.children.length;
    waiting.push(...item.children);
  }
}

function rearrange(anchor) {
  const before = anchor && [anchor.X, anchor.Y];
  page.picture = arrange(graph);
  if (before) { view.x += anchor.X - before[0]; view.y += anchor.Y - before[1]; }
  ask();
}

function toggle(item) {
  if (!item.children.length || !item.parent) return;
  item.isOpen = !item.isOpen;
  if (item.isOpen && item.node) for (const child of item.children) child.isOpen = true; // a loop opens with its body
  rearrange(item);
}

function setAll(isOpen) {
  for (const item of graph.items) if (item.children.length) item.isOpen = isOpen;
  rearrange();
  fit();
}

function reveal(item) {
  const closed = around(item).filter((scope) => !scope.isOpen);
  if (closed.length) { for (const scope of closed) scope.isOpen = true; rearrange(); }
  view.scale = Math.max(view.scale, 0.8);
  view.x = item.X - view.width / view.scale / 2;
  view.y = item.Y + Math.min(item.h, 60) / 2 - (view.height / view.scale) * (isNarrow() ? 0.25 : 0.5); // a sheet may cover the rest
  ask();
}

// -- the view ----------------------------------------------------------------------------------------------------

function resize() {
  const { width, height } = canvas.parentElement.getBoundingClientRect();
  Object.assign(view, { width, height, pixels: Math.min(window.devicePixelRatio || 1, 2) });
  canvas.width = Math.round(width * view.pixels);
  canvas.height = Math.round(height * view.pixels);
  ask();
}

function fit() {
  const { width, height } = page.picture, margin = 24;
  view.scale = Math.min(1.1, Math.max(SCALES[0], Math.min((view.width - margin) / width, (view.height - margin) / height)));
  view.x = -view.width / view.scale / 2;
  view.y = height / 2 - view.height / view.scale / 2;
  ask();
}

// The beginning of the graph, large enough to read.
function start() {
  fit();
  if (view.scale >= 0.8) return;
  view.scale = Math.min(0.9, Math.max(0.6, (view.width - 24) / page.picture.width));
  const first = graph.root.children.find((item) => !item.node || item.node.type === "Placeholder") || graph.root.children[0];
  view.x = (page.picture.width * view.scale > view.width ? first.X : 0) - view.width / view.scale / 2;
  view.y = -14 / view.scale;
}

function zoom(factor, x = view.width / 2, y = view.height / 2) {
  const scale = Math.min(SCALES[1], Math.max(SCALES[0], view.scale * factor));
  view.x += x / view.scale - x / scale;
  view.y += y / view.scale - y / scale;
  view.scale = scale;
  ask();
}

function pan(dx, dy) { view.x += dx / view.scale; view.y += dy / view.scale; ask(); }

// -- selection, search, colours ----------------------------------------------------------------------------------

const typeColour = (type) => (page.key === "type" ? (look.scale.entries.find((entry) => entry.value === type) || {}).colour : look.theme.edge);

function showPanel() {
  const details = page.found.length || byId("search").value && !look.selected
    ? look.selected ? null : foundDetails(byId("search").value, page.found, select) : null;
  const item = look.selected;
  const content = details || (!item ? graphDetails(graph, select, typeColour) : item.node ? nodeDetails(graph, item, select) : scopeDetails(graph, item, select, typeColour));
  byId("panel").replaceChildren(...content);
  byId("panel").scrollTop = 0;
}

function select(item, moves = true) {
  look.selected = item;
  if (item && item.parent && moves) reveal(item);
  if (item) byId("panel").classList.remove("closed");
  else if (isNarrow()) byId("panel").classList.add("closed");
  address(item);
  showPanel();
  ask();
}

// Let the address name the selected item; a frame in a notebook has no address of its own.
function address(item) {
  if (location.protocol === "about:") return;
  history.replaceState(null, "", item && item.parent ? `#op=${encodeURIComponent(fullName(item))}` : location.pathname + location.search);
}

// The operation or scope that the address names: page.html#op=conv_1/Conv2D.
function follow() {
  let name = null;
  try { name = location.hash.startsWith("#op=") ? decodeURIComponent(location.hash.slice(4)) : null; } catch { /* it is no text */ }
  const item = name && graph.items.find((other) => other.parent && fullName(other) === name);
  if (item) select(item);
  return Boolean(item);
}

function search(words) {
  const wanted = words.trim().toLowerCase();
  const has = (text) => text.toLowerCase().includes(wanted);
  const matches = (item) => item.parent && (has(item.label) || has(fullName(item)) || (item.node && (has(item.node.type) || has(item.node.title) || item.node.weights.some(({ name }) => has(name)) || item.node.attributes.some(([key, value]) => has(key) || has(value)))));
  page.found = wanted ? graph.items.filter(matches) : [];
  page.at = -1;
  look.selected = null;
  look.found = wanted ? new Set(page.found.map(standIn)) : null;
  dim();
  if (wanted) byId("panel").classList.remove("closed");
  showPanel();
  ask();
}

function nextFound(step) {
  if (!page.found.length) return;
  page.at = (page.at + step + page.found.length) % page.found.length;
  select(page.found[page.at]);
  look.found = new Set(page.found.map(standIn));
}

function dim() {
  look.dims = Boolean(look.found) || page.kinds.size > 0;
  look.isDim = (item) => (look.found && !look.found.has(item)) || (page.kinds.size > 0 && !page.kinds.has(look.scale.valueOf(item)));
}

function colour(key) {
  if (key !== page.key) page.kinds.clear();
  page.key = key;
  byId("colours").value = key;
  look.theme = themeColours();
  look.scale = makeScale(graph, key, look.theme);
  showLegend();
  showPanel();
  ask();
}

function showLegend() {
  byId("legend").replaceChildren(...legendOf(look.scale, choices.get(page.key), page.kinds, (value) => {
    if (!page.kinds.delete(value)) page.kinds.add(value);
    dim();
    showLegend();
    ask();
  }));
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  colour(page.key);
}

// -- pictures of the view ------------------------------------------------------------------------------------------

function save(content, ending) {
  const link = element("a", { href: URL.createObjectURL(content), download: `${graph.name.replace(/[^\w.-]+/g, "_")}.${ending}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function saveAsImage() { canvas.toBlob((content) => save(content, "png")); }

function svgOfView() {
  const drawing = new Drawing(view.width, view.height);
  draw(drawing, page.picture, { ...view, pixels: 1 }, look);
  return drawing.text();
}

// -- mouse and fingers -------------------------------------------------------------------------------------------

const fingers = new Map();
let moved = 0, lastClick = { item: null, time: 0 };
const place = (event) => { const at = canvas.getBoundingClientRect(); return [event.clientX - at.left, event.clientY - at.top]; };

function hit(x, y) {
  const px = view.x + x / view.scale, py = view.y + y / view.scale;
  for (let k = page.picture.boxes.length - 1; k >= 0; k--) {
    const box = page.picture.boxes[k], height = box.h;
    if (Math.abs(px - box.X) <= box.w / 2 && py >= box.Y && py <= box.Y + height) return box;
  }
  return null;
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  canvas.focus({ preventScroll: true });
  fingers.set(event.pointerId, place(event));
  if (fingers.size === 1) moved = 0;
});

canvas.addEventListener("pointermove", (event) => {
  const [x, y] = place(event), before = fingers.get(event.pointerId);
  if (!before) { canvas.classList.toggle("over", Boolean(hit(x, y))); return; }
  moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
  if (fingers.size === 2) {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    zoom(distance([x, y], other) / distance(before, other), (x + other[0]) / 2, (y + other[1]) / 2);
  }
  if (moved > 3) { canvas.classList.add("moving"); pan((before[0] - x) / fingers.size, (before[1] - y) / fingers.size); }
  fingers.set(event.pointerId, [x, y]);
});

function lift(event) {
  if (!fingers.delete(event.pointerId)) return;
  canvas.classList.remove("moving");
  if (event.type !== "pointerup" || moved > 3) return;
  const item = hit(...place(event)), now = performance.now();
  if (item && item === lastClick.item && now - lastClick.time < 400) toggle(item);
  lastClick = { item, time: now };
  select(item, false);
}
canvas.addEventListener("pointerup", lift);
canvas.addEventListener("pointercancel", lift);

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode ? 16 : 1;
  if (event.shiftKey) pan(event.deltaY * lines, 0);
  else zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), ...place(event));
}, { passive: false });

// -- keys --------------------------------------------------------------------------------------------------------

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// The nearest box in a direction; down and up follow the lines.
function neighbour(item, [dx, dy]) {
  const joined = page.picture.lines.filter((line) => (dy > 0 ? line.source : line.target) === item).map((line) => (dy > 0 ? line.target : line.source));
  const beside = item.parent.children.filter((other) => other !== item && other.layer === item.layer && (other.X - item.X) * dx > 0);
  const few = dy ? joined : beside;
  return few.sort((a, b) => Math.abs(a.X - item.X) - Math.abs(b.X - item.X))[0];
}

const ACTIONS = {
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), f: fit, e: () => setAll(true), c: () => setAll(false),
  t: () => byId("theme").click(), d: () => byId("show-panel").click(), "/": () => byId("search").focus(),
  Enter: () => look.selected && toggle(look.selected), Escape: () => { byId("search").value = ""; search(""); select(null); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId("search")) {
    if (event.key === "Enter") nextFound(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") { ACTIONS.Escape(); canvas.focus(); }
    return;
  }
  if (/^(BUTTON|SELECT|A)$/.test(event.target.tagName) && (event.key === "Enter" || event.key in ARROWS)) return;
  const direction = ARROWS[event.key], action = ACTIONS[event.key];
  if (direction) {
    const next = look.selected && look.selected.parent && neighbour(look.selected, direction);
    if (next) select(next); else pan(60 * direction[0], 60 * direction[1]);
  } else if (action) action();
  else return;
  event.preventDefault();
});

// -- the controls ------------------------------------------------------------------------------------------------

const isNarrow = () => window.innerWidth <= 720;
byId("name").textContent = graph.name;
byId("counts").textContent = `${graph.operations.toLocaleString("en")} operations`;
byId("colours").append(...[...choices].map(([key, name]) => element("option", { value: key }, name)));
byId("colours").addEventListener("change", (event) => colour(event.target.value));
byId("search").addEventListener("input", (event) => search(event.target.value));
byId("open-all").onclick = () => setAll(true);
byId("close-all").onclick = () => setAll(false);
byId("fit").onclick = fit;
byId("zoom-in").onclick = () => zoom(1.25);
byId("zoom-out").onclick = () => zoom(0.8);
byId("save-png").onclick = saveAsImage;
byId("save-svg").onclick = () => save(new Blob([svgOfView()], { type: "image/svg+xml" }), "svg");
byId("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
byId("show-panel").onclick = () => { byId("panel").classList.toggle("closed"); };
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
new ResizeObserver(resize).observe(canvas.parentElement);

if (isNarrow()) byId("panel").classList.add("closed");
document.documentElement.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
page.key = ["difference", "segment"].find((key) => choices.has(key)) || "type";
look.theme = themeColours();
openFirst();
page.picture = arrange(graph);
resize();
colour(choices.has("time") ? "time" : page.key);
start();
follow();
frame();
window.addEventListener("hashchange", follow);
window.page = page;
