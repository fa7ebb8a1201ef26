// Positions: Python gave each item its layer and its place in it; here open scopes make room for what is in them.

const SIZE = { character: 6.9, least: 52, most: 230, margin: 22, line: 26, lines: 40, gap: 24, row: 44, inset: 18, head: 30 };

function boxSize(item) {
  const texts = item.node ? [item.node.title, item.node.subtitle] : [`${item.label}  +${item.size}`];
  const longest = Math.max(...texts.map((text) => text.length));
  const width = Math.min(SIZE.most, Math.max(SIZE.least, longest * SIZE.character + SIZE.margin));
  return [width, texts[1] ? SIZE.lines : item.node ? SIZE.line : 34];
}

// Positions in a row that are nearest to the wanted ones, in order and without overlaps (least squares, by weight).
function spread(row) {
  const blocks = [], offsets = [];
  let offset = 0;
  row.forEach((part, k) => {
    if (k) offset += (row[k - 1].w + part.w) / 2 + SIZE.gap;
    offsets.push(offset);
    let mean = part.center - offset, weight = part.isBend ? 1 : part.w, count = 1;
    while (blocks.length && blocks[blocks.length - 1][0] > mean) {
      const [other, heavy, others] = blocks.pop();
      mean = (mean * weight + other * heavy) / (weight + heavy);
      weight += heavy;
      count += others;
    }
    blocks.push([mean, weight, count]);
  });
  let k = 0;
  for (const [mean, , count] of blocks) for (let i = 0; i < count; i++, k++) row[k].x = mean + offsets[k];
}

function measure(item) {
  if (!item.isOpen) { [item.w, item.h] = boxSize(item); return; }
  let left = Infinity, right = -Infinity, y = SIZE.head;
  item.tops = [];
  item.bottoms = [];
  for (const row of item.rows) {
    item.tops.push(y);
    if (!row.length) { item.bottoms.push(y); continue; }
    let height = 0;
    for (const part of row) {
      if (part.isBend) part.w = 8;
      else { measure(part); height = Math.max(height, part.h); }
    }
    height ||= SIZE.line;
    spread(row);
    for (const part of row) {
      left = Math.min(left, part.x - part.w / 2);
      right = Math.max(right, part.x + part.w / 2);
      if (!part.isBend) part.y = y + (height > 80 ? 0 : (height - part.h) / 2);
    }
    item.bottoms.push(y + height);
    y += height + SIZE.row;
  }
  if (!item.rows.length) [left, right, y] = [0, 0, y + SIZE.row]; // an empty graph
  item.middle = (left + right) / 2;
  item.w = Math.max(right - left + 2 * SIZE.inset, item.label.length * SIZE.character + 60);
  item.h = y - SIZE.row + SIZE.inset;
}

// From positions inside scopes to positions in the picture: x is the middle of a box, y its top.
function settle(scope, shown) {
  const dx = scope.X - scope.middle, dy = scope.Y;
  scope.layerTop = scope.tops.map((y) => y + dy);
  scope.layerBottom = scope.bottoms.map((y) => y + dy);
  for (const bend of scope.bends) bend.X = bend.x + dx;
  for (const child of scope.children) {
    child.X = child.x + dx;
    child.Y = child.y + dy;
    shown.push(child);
    if (child.isOpen) settle(child, shown);
  }
}

function arrange(graph) {
  const { root } = graph, shown = [];
  root.isOpen = true;
  measure(root);
  root.X = 0;
  root.Y = 0;
  settle(root, shown);
  return { boxes: shown, lines: linesOf(graph), width: root.w, height: root.h };
}

// The box that stands for an item: itself, or the outermost closed scope around it.
function standIn(item) {
  let found = item;
  for (let at = item.parent; at; at = at.parent) if (!at.isOpen) found = at;
  return found;
}

function linesOf(graph) {
  const found = new Map(), standIns = graph.items.map(standIn);
  for (const edge of graph.edges) {
    const source = standIns[edge.source.id], target = standIns[edge.target.id];
    if (source === target) continue;
    const key = source.id * graph.items.length + target.id, known = found.get(key);
    if (known) { known.edges.push(edge); continue; }
    found.set(key, { source, target, edges: [edge] });
  }
  const lines = [...found.values()];
  const arriving = new Map();
  for (const line of lines) {
    line.points = pointsOf(line.source, line.target);
    line.onlyWaits = line.edges.every((edge) => edge.output === OUTSIDE);
    if (!arriving.has(line.target)) arriving.set(line.target, []);
    arriving.get(line.target).push(line);
  }
  for (const [target, few] of arriving) {
    few.sort((a, b) => a.points[a.points.length - 2][0] - b.points[b.points.length - 2][0]);
    const step = few.length > 1 ? Math.min(16, (target.w - 24) / (few.length - 1)) : 0;
    few.forEach((line, k) => { line.points[line.points.length - 1][0] += step * (k - (few.length - 1) / 2); });
  }
  for (const line of lines) {
    const xs = line.points.map((p) => p[0]), ys = line.points.map((p) => p[1]);
    line.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }
  return lines;
}

// The points of a line: from the lower side of a box, through bends and borders of scopes, to the upper side of another.
function pointsOf(source, target) {
  const points = [[source.X, source.Y + source.h]], ends = [[target.X, target.Y]];
  const bendsOf = (scope, a, b) => {
    const chain = scope.routes && scope.routes.get(`${a.id},${b.id}`);
    return chain ? chain.flatMap((p) => [[p.X, scope.layerTop[p.layer] - 4], [p.X, scope.layerBottom[p.layer] + 4]]) : [];
  };
  let from = source, to = target;
  const leave = () => {
    const scope = from.parent;
    points.push(...bendsOf(scope, from, scope));
    points.push([points[points.length - 1][0], scope.Y + scope.h]);
    from = scope;
  };
  const enter = () => {
    const scope = to.parent;
    ends.unshift(...bendsOf(scope, scope, to));
    ends.unshift([ends[0][0], scope.Y]);
    to = scope;
  };
  while (from.depth > to.depth) leave();
  while (to.depth > from.depth) enter();
  while (from.parent !== to.parent) { leave(); enter(); }
  return [...points, ...bendsOf(from.parent, from, to), ...ends];
}
