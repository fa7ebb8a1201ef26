// The side panel and the legend, as elements; texts of the graph are only ever set as text.

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "style") Object.assign(made.style, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function itemLink(item, note, select) {
  return element("a", { className: "item", tabIndex: 0, onclick: () => select(item), onkeydown: (e) => e.key === "Enter" && select(item) }, fullName(item), note ? element("span", {}, note) : null);
}

function section(title, ...children) {
  return children.length ? [element("h3", {}, title), ...children] : [];
}

function links(title, pairs, select, most = 40) {
  const shown = pairs.slice(0, most).map(([item, note]) => itemLink(item, note, select));
  if (pairs.length > most) shown.push(element("p", { className: "faint" }, `and ${pairs.length - most} more`));
  return section(title, ...shown);
}

function rowsTable(rows) {
  return rows.length ? [element("div", { className: "rows" }, ...rows.flatMap(([key, value]) => [element("span", {}, key), element("span", {}, value)]))] : [];
}

function factRows(item) {
  return Object.entries(item.facts).map(([key, value]) => [key === "bytes" ? "memory" : key, factText(key, value)]);
}

// A weight: its name, dtype and shape, a histogram, and its first numbers.
function weightDetails(item, weight, select) {
  const { name, spec, numbers, users } = weight, found = [element("p", {}, element("b", {}, name), element("span", { className: "faint" }, ` ${spec}`))];
  if (numbers && numbers.counts) {
    const most = Math.max(...numbers.counts);
    found.push(element("div", { className: "histogram", role: "img", ariaLabel: `Histogram of ${name}` }, ...numbers.counts.map((count) => element("i", { title: count.toLocaleString("en"), style: { height: `${count ? Math.max(2, (100 * count) / most) : 0}%` } }))));
    found.push(element("div", { className: "ends" }, ...["least", "mean", "largest"].map((key) => element("span", { title: key }, String(Number(numbers[key].toPrecision(4)))))));
  }
  if (numbers && numbers.odd) found.push(element("p", { className: "faint" }, `${numbers.odd.toLocaleString("en")} numbers are not finite`));
  if (numbers) found.push(element("pre", {}, numbers.first));
  const others = users.filter((user) => user !== item).slice(0, 6).map((user) => itemLink(user, user.node.type, select));
  return others.length ? [...found, element("span", { className: "faint" }, "also taken by"), ...others] : found;
}

// The operation of the same name in the graph beside this one.
function counterpart(graph, item) {
  if (!item.facts.difference) return null;
  const sides = graph.root.children.map((side) => side.label), name = fullName(item);
  const [mine, other] = name.startsWith(`${sides[0]}/`) ? sides : [...sides].reverse();
  return graph.items.find((known) => known.node && fullName(known) === other + name.slice(mine.length));
}

function nodeDetails(graph, item, select) {
  const { node } = item, { items } = graph;
  const specs = node.inputs.map(([id, output]) => [items[id], items[id].node.outputs[output] || ""]);
  const users = [...new Set(node.users)].map((user) => [user, user.node.type]);
  return [
    element("h2", {}, fullName(item)),
    element("p", {}, node.type === "Output" ? "a result of the graph" : node.type, element("span", { className: "faint" }, graph.documents[node.type] ? `: ${graph.documents[node.type]}` : "")),
    ...(node.line ? section("User's line", element("code", {}, node.line.place), ...(node.line.text ? [element("pre", {}, node.line.text)] : [])) : []),
    ...section("Results", ...node.outputs.map((spec) => element("code", { style: { display: "block" } }, spec))),
    ...section("Weights", ...node.weights.flatMap((weight) => weightDetails(item, weight, select))),
    ...section("Attributes", ...rowsTable(node.attributes)),
    ...section("Place and numbers", ...rowsTable(factRows(item))),
    ...links("Inputs", specs, select),
    ...links("Waits for", node.waits.map((id) => [items[id], ""]), select),
    ...links("Taken by", users, select),
    ...links("In the other graph", [counterpart(graph, item)].filter(Boolean).map((other) => [other, other.facts.difference]), select),
    ...links("Holds", item.children.map((child) => [child, `${child.size} operations`]), select),
  ];
}

function typeBars(item, graph, scale) {
  const counts = new Map();
  const count = (at) => {
    if (at.node && at.node.type !== "Output") counts.set(at.node.type, (counts.get(at.node.type) || 0) + 1);
    at.children.forEach(count);
  };
  count(item);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]), most = sorted.length ? sorted[0][1] : 1;
  return section("Operations by type", ...sorted.slice(0, 14).map(([type, n]) => element("div", { className: "bar" }, element("b", { title: type }, type), element("i", { style: { width: `${Math.max(2, (100 * n) / most)}%`, background: scale(type) } }), element("span", { className: "faint" }, n.toLocaleString("en")))));
}

function scopeDetails(graph, item, select, scale) {
  const entering = [], leaving = [];
  const isInside = (at) => { for (let up = at; up; up = up.parent) if (up === item) return true; return false; };
  for (const edge of graph.edges) {
    if (edge.output === OUTSIDE) continue;
    const source = isInside(edge.source), target = isInside(edge.target);
    if (!source && target) entering.push(edge);
    if (source && !target) leaving.push(edge);
  }
  const unique = (edges) => [...new Map(edges.map((e) => [`${e.source.id}:${e.output}`, [e.source, e.source.node.outputs[e.output] || ""]])).values()];
  return [
    element("h2", {}, item.parent ? fullName(item) : graph.name),
    element("p", { className: "faint" }, `${item.parent ? "scope" : "graph"} of ${item.size.toLocaleString("en")} operations`),
    ...section("Sums and places", ...rowsTable(factRows(item))),
    ...typeBars(item, graph, scale),
    ...links("Takes", unique(entering), select),
    ...links("Gives", unique(leaving), select),
  ];
}

const KEYS = [["arrows", "move; from a selected box, go to the next one"], ["+ −", "zoom"], ["Enter", "open or close the selected scope"], ["/", "search"], ["f", "show all"], ["e  c", "open, close all scopes"], ["Esc", "select nothing"]];

function graphDetails(graph, select, scale) {
  const nodes = graph.root.children.filter((item) => item.node);
  return [
    ...scopeDetails(graph, graph.root, select, scale),
    ...links("Inputs", nodes.filter((item) => item.node.type === "Placeholder").map((item) => [item, item.node.outputs[0]]), select, 12),
    ...links("Results", nodes.filter((item) => item.node.type === "Output").map((item) => [item, item.node.subtitle]), select, 12),
    ...section("Mouse and keys", element("p", {}, "Drag to move, turn the wheel to zoom, click for details, double-click a scope to open or close it."), element("div", { className: "rows" }, ...KEYS.flatMap(([key, text]) => [element("kbd", {}, key), element("span", {}, text)]))),
  ];
}

function foundDetails(words, found, select) {
  return [element("h2", {}, `“${words}”`), element("p", { className: "faint" }, `${found.length.toLocaleString("en")} found; Enter goes to the next one`), ...links("", found.map((item) => [item, item.node ? item.node.type : `scope of ${item.size}`]), select, 200)];
}

function legendOf(scale, name, off, toggle) {
  if (scale.ramp) return [element("div", {}, name), element("div", { className: "ramp", style: { background: `linear-gradient(90deg, ${scale.ramp.join(", ")})` } }), element("div", { className: "ends" }, element("span", {}, scale.ends[0]), element("span", {}, scale.ends[1]))];
  return scale.entries.slice(0, 12).map(({ value, count, colour }) => element("button", { className: off.size && !off.has(value) ? "off" : "", title: "Show these alone", onclick: () => toggle(value) }, element("i", { style: { background: colour } }), element("b", {}, String(value)), element("em", {}, count.toLocaleString("en"))));
}
