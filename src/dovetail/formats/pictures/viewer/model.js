// The graph: items (nodes and scopes) made of the columns that Python wrote.

const OUTSIDE = -1;
const SUMMED = new Set(["time", "bytes", "calls"]); // a scope's number is the sum; of others it is the largest

function readGraph(data) {
  const text = (number) => data.strings[number];
  const items = data.parent.map((parent, id) => ({
    id, parent: null, label: text(data.label[id]), children: [], depth: 0, node: null, isOpen: false,
    layer: data.layer[id], center: data.center[id], bends: [], facts: Object.create(null), size: 0,
  }));
  items.forEach((item, id) => {
    if (data.parent[id] < 0) return;
    item.parent = items[data.parent[id]];
    item.depth = item.parent.depth + 1;
    item.parent.children.push(item);
  });
  const edges = [], weights = data.values.map(([name, spec, numbers]) => ({ name, spec, numbers, users: [] }));
  data.item.forEach((id, k) => {
    const item = items[id];
    item.node = {
      type: text(data.type[k]), title: text(data.title[k]), subtitle: text(data.subtitle[k]),
      outputs: data.groups[data.outputs[k]].map(text), attributes: pairs(data.groups[data.attributes[k]].map(text)),
      line: data.line[k] < 0 ? null : { place: text(data.lines[data.line[k]][0]), text: text(data.lines[data.line[k]][1]) },
      inputs: pairs(data.inputs[k]), waits: data.waits[k] || [], users: [],
      weights: data.weights[k].map((number) => weights[number]),
    };
    for (const weight of item.node.weights) weight.users.push(item);
  });
  for (const id of data.item) {
    const target = items[id];
    for (const [source, output] of target.node.inputs) {
      edges.push({ source: items[source], output, target });
      items[source].node.users.push(target);
    }
    for (const source of target.node.waits) edges.push({ source: items[source], output: OUTSIDE, target });
  }
  for (const [key, column] of Object.entries(data.facts)) {
    data.item.forEach((id, k) => {
      const value = Array.isArray(column) ? column[k] : column.values[column.of[k]];
      if (value !== null && value !== undefined) items[id].facts[key] = value;
    });
  }
  for (const [a, b, ...xs] of data.bends) addBends(items, a, b, xs);
  for (const item of items) item.rows = item.children.length ? rowsOf(item) : [];
  addUp(items, Object.keys(data.facts));
  return { name: data.name, items, root: items[0], edges, operations: data.operations, documents: data.documents };
}

function pairs(flat) {
  const found = [];
  for (let i = 0; i + 1 < flat.length; i += 2) found.push([flat[i], flat[i + 1]]);
  return found;
}

// The scope in which a piece of an edge runs, from one item to another; one of them may be the scope itself.
function scopeOf(items, a, b) {
  const first = items[a], second = items[b];
  return first.parent === second ? second : second.parent === first ? first : first.parent;
}

function addBends(items, a, b, xs) {
  const scope = scopeOf(items, a, b);
  const first = items[a] === scope ? 0 : items[a].layer + 1;
  const chain = xs.map((center, k) => ({ center, layer: first + k, isBend: true }));
  scope.bends.push(...chain);
  (scope.routes ||= new Map()).set(`${a},${b}`, chain);
}

function rowsOf(scope) {
  const parts = [...scope.children, ...scope.bends];
  const rows = Array.from({ length: 1 + parts.reduce((most, part) => Math.max(most, part.layer), 0) }, () => []);
  for (const part of parts) rows[part.layer].push(part);
  for (const row of rows) row.sort((a, b) => a.center - b.center);
  return rows;
}

// Facts of scopes: sums or largest numbers; a text that all share; the number of operations.
function addUp(items, keys) {
  for (const item of items) item.size = item.node && item.node.type !== "Output" ? 1 : 0;
  for (let id = items.length - 1; id > 0; id--) {
    const { parent, facts, size } = items[id];
    parent.size += size;
    for (const key of keys) {
      const value = facts[key], before = parent.facts[key];
      if (value === undefined) continue;
      if (parent.node) continue; // an operation's own numbers hold all that is in it
      if (before === undefined) parent.facts[key] = value;
      else if (typeof value !== "number" || typeof before !== "number") parent.facts[key] = value === before ? value : "several";
      else if (SUMMED.has(key)) parent.facts[key] = before + value;
      else if (Math.abs(value) > Math.abs(before)) parent.facts[key] = value;
    }
  }
}

function fullName(item) {
  const parts = [];
  for (let at = item; at.parent; at = at.parent) parts.unshift(at.label);
  return parts.join("/") || item.label;
}

function around(item) {
  const found = [];
  for (let at = item.parent; at; at = at.parent) found.push(at);
  return found;
}

// Numbers with units.

function scaled(value, step, units) {
  let number = Math.abs(value), unit = 0;
  while (number >= 0.9995 * step && unit < units.length - 1) { number /= step; unit++; }
  return `${value < 0 ? "−" : ""}${String(Number(number.toPrecision(3)))} ${units[unit]}`;
}

function factText(key, value) {
  if (typeof value !== "number") return String(value);
  if (key === "time") return scaled(value, 1000, ["µs", "ms", "s"]);
  if (key === "bytes") return scaled(value, 1000, ["B", "kB", "MB", "GB", "TB"]);
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(5)));
}
