// Colours: of the page's theme, of kinds of values, and of numbers.

const PALETTE = ["#3b82f6", "#e8590c", "#8b5cf6", "#e64980", "#0ea5a4", "#d4a106", "#74b816", "#b0529e", "#5c7cfa", "#a0622d", "#12b5cb", "#c2410c", "#6d5bd0", "#4d7c0f"];
const FIXED = new Map([["Placeholder", "#2f9e44"], ["Output", "#2f9e44"], ["Const", "#8d96a3"], ["ReadVariableOp", "#c98a00"], ["AssignVariableOp", "#c98a00"], ["VarHandleOp", "#c98a00"], ["the same", "#8d96a3"], ["changed", "#e8590c"], ["only here", "#3b82f6"]]);
const OTHER = "#8d96a3";

function themeColours() {
  const style = getComputedStyle(document.documentElement), found = {};
  for (const key of ["back", "surface", "text", "faint", "line", "edge", "accent", "scope", "node", "hot", "mix"]) {
    found[key] = style.getPropertyValue(`--${key}`).trim();
  }
  found.mix = Number(found.mix);
  return found;
}

function rgb(hex) { return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); }

function mixed(from, to, share) {
  const a = rgb(from), b = rgb(to);
  return `#${a.map((x, i) => Math.round(x + (b[i] - x) * share).toString(16).padStart(2, "0")).join("")}`;
}

// The choices of colours that a graph offers: key → its name.
function colourChoices(graph) {
  const keys = new Set(graph.items.flatMap((item) => (item.node ? Object.keys(item.facts) : [])));
  const order = ["difference", "engine", "device", "segment", "part", "time", "bytes"];
  const found = ["type", ...order.filter((key) => keys.has(key)), ...[...keys].filter((key) => !order.includes(key)).sort()];
  return new Map(found.map((key) => [key, key === "bytes" ? "memory" : key]));
}

// A scale: the colour of an item, and the entries of the legend.
function makeScale(graph, key, theme) {
  const valueOf = key === "type" ? (item) => (item.node ? item.node.type : undefined) : (item) => item.facts[key];
  const nodes = graph.items.filter((item) => item.node && valueOf(item) !== undefined);
  const isNumber = nodes.length > 0 && nodes.every((item) => typeof valueOf(item) === "number") && key !== "part" && key !== "segment";
  return isNumber ? numberScale(nodes, key, valueOf, theme) : kindScale(nodes, valueOf, theme);
}

function kindScale(nodes, valueOf, theme) {
  const counts = new Map();
  for (const item of nodes) counts.set(valueOf(item), (counts.get(valueOf(item)) || 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]), colours = new Map();
  let next = 0;
  for (const [value] of sorted) colours.set(value, FIXED.get(value) || PALETTE[next++] || OTHER);
  const strong = (item) => colours.get(valueOf(item));
  return { valueOf, strong, fill: (item) => strong(item) && mixed(theme.node, strong(item), theme.mix), entries: sorted.map(([value, count]) => ({ value, count, colour: colours.get(value) })) };
}

function numberScale(nodes, key, valueOf, theme) {
  let least = Infinity, most = -Infinity;
  for (const item of nodes) { least = Math.min(least, valueOf(item)); most = Math.max(most, valueOf(item)); }
  if (least > 0) least = 0;
  const shade = (share) => mixed(theme.node, theme.hot, 0.06 + 0.84 * share);
  const share = (item) => (most === least ? 0 : Math.min(1, Math.max(0, (valueOf(item) - least) / (most - least))));
  const fill = (item) => (valueOf(item) === undefined ? undefined : shade(share(item)));
  return { valueOf, strong: (item) => (valueOf(item) === undefined ? undefined : mixed(theme.edge, theme.hot, share(item))), fill, share, ramp: [shade(0), shade(0.5), shade(1)], ends: [factText(key, least), factText(key, most)], entries: [] };
}
