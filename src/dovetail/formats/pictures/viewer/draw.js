// Drawing on the canvas: only what is in view, and at most MOST_DRAWN items; further ones are drawn as one.

const MOST_DRAWN = 3000, MOST_BOXES = 1800;
const FONT = 'system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif';
const PILLS = new Set(["Placeholder", "Output", "ReadVariableOp", "AssignVariableOp", "Const"]);

// What is drawn of a picture for a view (x, y: its upper left corner in the picture; scale; width and height in pixels).
function chosen(picture, view) {
  const right = view.x + view.width / view.scale, bottom = view.y + view.height / view.scale;
  const isIn = (x0, y0, x1, y1) => x1 >= view.x && x0 <= right && y1 >= view.y && y0 <= bottom;
  const inView = picture.boxes.filter((b) => isIn(b.X - b.w / 2, b.Y, b.X + b.w / 2, b.Y + b.h));
  const scopes = inView.filter((b) => b.isOpen).slice(0, MOST_BOXES / 2);
  const boxes = thinned(inView.filter((b) => !b.isOpen), MOST_BOXES - scopes.length, view.scale);
  const room = MOST_DRAWN - scopes.length - boxes.length;
  let lines = picture.lines.filter((l) => isIn(...l.box) && (l.box[3] - l.box[1] + l.box[2] - l.box[0]) * view.scale > 3);
  if (lines.length > room) {
    const step = lines.length / room;
    lines = Array.from({ length: room }, (_, k) => lines[Math.floor(k * step)]);
  }
  return { scopes, boxes, lines, count: scopes.length + boxes.length + lines.length };
}

// One box for all that fall into a cell of a grid, if there are too many.
function thinned(boxes, most, scale) {
  let found = boxes;
  for (let cell = 4; found.length > most; cell *= 1.5) {
    const cells = new Map(), size = cell / scale;
    for (const box of boxes) {
      const key = Math.floor(box.X / size) * 1e6 + Math.floor(box.Y / size);
      if (!cells.has(key)) cells.set(key, box);
    }
    found = [...cells.values()];
  }
  return found;
}

function rounded(context, x, y, w, h, radius) {
  context.beginPath();
  context.roundRect(x, y, w, h, Math.min(radius, h / 2, w / 2));
}

function cut(text, width, size = SIZE.character) {
  const most = Math.max(1, Math.floor(width / size));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function draw(context, picture, view, look) {
  const parts = chosen(picture, view), { theme } = look;
  context.setTransform(view.pixels, 0, 0, view.pixels, 0, 0);
  context.fillStyle = theme.back;
  context.fillRect(0, 0, view.width, view.height);
  const factor = view.pixels * view.scale;
  context.setTransform(factor, 0, 0, factor, -view.x * factor, -view.y * factor);
  for (const scope of parts.scopes) drawScope(context, scope, view, look);
  drawLines(context, parts.lines, view, look);
  for (const scope of parts.scopes) drawLabel(context, scope, view, look);
  for (const box of parts.boxes) drawBox(context, box, view, look);
  if (look.selected) drawAbout(context, picture, view, look);
  return parts.count;
}

function drawScope(context, scope, view, { theme, selected }) {
  rounded(context, scope.X - scope.w / 2, scope.Y, scope.w, scope.h, 10);
  context.fillStyle = mixed(theme.back, theme.scope, scope.depth % 2 ? 0.75 : 0.25);
  context.fill();
  context.strokeStyle = scope === selected ? theme.accent : theme.line;
  context.lineWidth = scope === selected ? 2.5 : 1.2;
  context.stroke();
}

// The label of an open scope, above the lines; it keeps a size that can be read while the scope has room for it.
function drawLabel(context, scope, view, { theme, scale }) {
  const label = scope.node ? scope.node.title : scope.label;
  const size = Math.min(Math.max(12, 9.5 / view.scale), 26, (12 * scope.w) / (label.length * SIZE.character + 40));
  if (size * view.scale < 6) return;
  const x = scope.X - scope.w / 2 + 10, y = scope.Y + 15;
  context.font = `600 ${size}px ${FONT}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = mixed(theme.back, theme.scope, scope.depth % 2 ? 0.75 : 0.25);
  const text = `− ${cut(label, scope.w - 40)}`;
  context.strokeText(text, x, y);
  context.fillStyle = (scope.node && scale.strong(scope)) || theme.text;
  context.fillText(text, x, y);
}

function trace(context, points) {
  context.moveTo(...points[0]);
  for (let k = 1; k < points.length; k++) {
    const [x0, y0] = points[k - 1], [x1, y1] = points[k];
    const reach = Math.max(Math.abs(y1 - y0) / 2, y1 < y0 ? 40 : 0);
    if (Math.abs(x1 - x0) < 0.5 && y1 >= y0) context.lineTo(x1, y1);
    else context.bezierCurveTo(x0, y0 + reach, x1, y1 - reach, x1, y1);
  }
}

function arrow(context, [x, y], size) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size * 0.55, y - size);
  context.lineTo(x + size * 0.55, y - size);
  context.closePath();
  context.fill();
}

function drawLines(context, lines, view, { theme, dims, isDim }) {
  context.lineWidth = Math.max(1.1, 0.6 / view.scale);
  context.strokeStyle = context.fillStyle = theme.edge;
  for (const waits of [false, true]) {
    context.setLineDash(waits ? [5, 4] : []);
    context.beginPath();
    for (const line of lines) if (line.onlyWaits === waits) trace(context, line.points);
    context.globalAlpha = dims ? 0.35 : 0.85;
    context.stroke();
  }
  context.setLineDash([]);
  if (view.scale > 0.3) for (const line of lines) arrow(context, line.points[line.points.length - 1], 6.5);
  context.globalAlpha = 1;
  if (view.scale < 0.7) return;
  const told = new Set();
  context.font = `10px ${FONT}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.lineJoin = "round";
  for (const line of lines) {
    if (told.has(line.source) || line.onlyWaits || (dims && isDim(line.source))) continue;
    told.add(line.source);
    const [x, y] = line.points[0], text = lineText(line);
    context.strokeStyle = theme.back;
    context.strokeText(text, x + 6, y + 11);
    context.fillStyle = theme.faint;
    context.fillText(text, x + 6, y + 11);
  }
}

function lineText(line) {
  const { source, output } = line.edges[0];
  return line.source === source ? (PILLS.has(source.node.type) && source.node.subtitle ? "" : source.node.outputs[output] || "") : line.edges.length > 1 ? `${line.edges.length} tensors` : source.node.outputs[output] || "";
}

function drawBox(context, box, view, look) {
  const { theme, scale, selected, isDim, dims, found } = look;
  const x = box.X - box.w / 2, { node } = box, height = box.h * view.scale;
  const fill = scale.fill(box) || (node ? theme.node : mixed(theme.node, theme.scope, 0.6));
  const strong = scale.strong(box) || theme.edge;
  context.globalAlpha = dims && isDim(box) ? 0.3 : 1;
  if (height < 5) {
    context.fillStyle = scale.share ? fill : strong;
    const w = Math.max(box.w, 2 / view.scale);
    context.fillRect(box.X - w / 2, box.Y, w, Math.max(box.h, 1.5 / view.scale));
    context.globalAlpha = 1;
    return;
  }
  if (!node) { // a closed scope looks like a pile
    rounded(context, x + 4, box.Y + 4, box.w, box.h, 8);
    context.fillStyle = theme.scope;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = theme.line;
    context.stroke();
  }
  rounded(context, x, box.Y, box.w, box.h, node && PILLS.has(node.type) ? 99 : node ? 6 : 8);
  context.fillStyle = fill;
  context.fill();
  const isFound = found && found.has(box);
  context.strokeStyle = box === selected || isFound ? theme.accent : strong;
  context.lineWidth = box === selected || isFound ? 2.5 : 1.2;
  context.stroke();
  if (height >= 11) drawTexts(context, box, theme);
  context.globalAlpha = 1;
}

function drawTexts(context, box, theme) {
  const { node } = box, width = box.w - 14, middle = box.Y + box.h / 2;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.text;
  if (!node) {
    context.font = `600 12px ${FONT}`;
    context.fillText(`${cut(box.label, width - 30)}  +${box.size}`, box.X, middle, width);
    return;
  }
  context.font = `${PILLS.has(node.type) ? 400 : 600} 12px ${FONT}`;
  const label = node.inner || box.children.length ? `${node.title}  +` : node.title;
  context.fillText(cut(label, width), box.X, node.subtitle ? middle - 7 : middle + 0.5, width);
  if (!node.subtitle) return;
  context.font = `10px ${FONT}`;
  context.fillStyle = theme.faint;
  context.fillText(cut(node.subtitle, width, 5.6), box.X, middle + 8, width);
}

// The lines of the selected box, above all others.
function drawAbout(context, picture, view, { theme, selected }) {
  context.strokeStyle = context.fillStyle = theme.accent;
  context.lineWidth = Math.max(2, 1.2 / view.scale);
  const about = picture.lines.filter((line) => line.source === selected || line.target === selected).slice(0, 400);
  context.beginPath();
  for (const line of about) trace(context, line.points);
  context.stroke();
  for (const line of about) arrow(context, line.points[line.points.length - 1], 8);
}
