// A drawing: a context like a canvas's, which writes SVG.

class Drawing {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: "", matrix: "", dash: "", globalAlpha: 1, lineWidth: 1, font: "", textAlign: "left", textBaseline: "alphabetic" });
  }
  setTransform(a, b, c, d, e, f) { this.matrix = [a, b, c, d, e, f].every((x, k) => x === [1, 0, 0, 1, 0, 0][k]) ? "" : ` transform="matrix(${[a, b, c, d, e, f].map(short).join(" ")})"`; }
  setLineDash(dash) { this.dash = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""; }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }
  bezierCurveTo(...at) { this.path += `C${at.map(short).join(" ")}`; }
  closePath() { this.path += "Z"; }
  roundRect(x, y, w, h, r) {
    const arc = (toX, toY) => `A${short(r)} ${short(r)} 0 0 1 ${short(toX)} ${short(toY)}`;
    this.path += `M${short(x + r)} ${short(y)}H${short(x + w - r)}${arc(x + w, y + r)}V${short(y + h - r)}${arc(x + w - r, y + h)}H${short(x + r)}${arc(x, y + h - r)}V${short(y + r)}${arc(x + r, y)}Z`;
  }
  fillRect(x, y, w, h) { this.add(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="${this.fillStyle}"`, "/>"); }
  fill() { this.add(`<path d="${this.path}" fill="${this.fillStyle}"`, "/>"); }
  stroke() { this.add(`<path d="${this.path}" fill="none" ${this.pen()}`, "/>"); }
  fillText(text, x, y) { this.write(text, x, y, `fill="${this.fillStyle}"`); }
  strokeText(text, x, y) { this.write(text, x, y, `fill="none" stroke-linejoin="round" ${this.pen()}`); }
  pen() { return `stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}"${this.dash}`; }
  write(text, x, y, paint) {
    const [, weight, size] = /^(?:(\d+) )?([\d.]+)px/.exec(this.font), family = FONT.replaceAll('"', "'");
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign], rise = this.textBaseline === "middle" ? 0.35 * size : 0;
    this.add(`<text x="${short(x)}" y="${short(y + rise)}" font-family="${family}" font-size="${size}" font-weight="${weight || 400}" text-anchor="${anchor}" ${paint}`, `>${escaped(text)}</text>`);
  }
  add(start, end) { this.parts.push(`${start}${this.matrix}${this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : ""}${end}`); }
  text() { return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">\n${this.parts.join("\n")}\n</svg>\n`; }
}

const short = (number) => String(Number(number.toFixed(2)));
const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
