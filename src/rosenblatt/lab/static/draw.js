// Pictures as SVG text, from plain numbers. Nothing here knows the server.

const EDGE = { left: 46, right: 12, top: 12, bottom: 34 }

const text = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
const short = (v) => Number(v.toPrecision(4)).toString()
// A name that may be very long, and all of it when the pointer rests on it.
const brief = (s, most = 32) => [...s].length > most ? `<span title="${text(s)}">${text([...s].slice(0, most - 1).join(""))}…</span>` : text(s)
const cut = (s, most = 32) => [...s].length > most ? `${[...s].slice(0, most - 1).join("")}…` : s

// A linear scale from numbers to the picture and back; `log` makes it logarithmic.
function scale([a, b], [p, q], log = false) {
  const f = log ? Math.log : (v) => v
  const to = (v) => p + ((f(v) - f(a)) / (f(b) - f(a))) * (q - p)
  to.back = (u) => a + ((u - p) / (q - p)) * (b - a)
  return to
}

function ticks(a, b, count = 6) {
  const rough = (b - a) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough)
  const first = Math.ceil(a / step)
  const last = Math.floor(b / step)
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step)
}

function axes(x, y, [x0, x1], [y0, y1], names, [w, h]) {
  const bottom = h - EDGE.bottom
  const across = ticks(x0, x1).map((v) => `
    <line class="gridline" x1="${x(v)}" x2="${x(v)}" y1="${EDGE.top}" y2="${bottom}"/>
    <text class="tick" x="${x(v)}" y="${bottom + 14}" text-anchor="middle">${short(v)}</text>`)
  const up = ticks(y0, y1).filter((v) => y(v) > EDGE.top + 14).map((v) => `
    <line class="gridline" x1="${EDGE.left}" x2="${w - EDGE.right}" y1="${y(v)}" y2="${y(v)}"/>
    <text class="tick" x="${EDGE.left - 5}" y="${y(v) + 4}" text-anchor="end">${short(v)}</text>`)
  return `${across.join("")}${up.join("")}
    <text class="axis" x="${w - EDGE.right}" y="${h - 5}" text-anchor="end">${text(cut(names[0]))}</text>
    ${upName(cut(names[1]))}`
}

// A short name stands upright: a rotated q reads as another letter.
const upName = (name) => name.length <= 3
  ? `<text class="axis" x="11" y="${EDGE.top + 10}">${text(name)}</text>`
  : `<text class="axis" x="11" y="${EDGE.top}" text-anchor="end" transform="rotate(-90 11 ${EDGE.top})">${text(name)}</text>`

const points = (list, x, y) => list.map(([a, b]) => `${x(a)},${y(b)}`).join(" ")

function planeScales(frame, [w, h]) {
  const [x0, x1, y0, y1] = frame
  return {
    x: scale([x0, x1], [EDGE.left, w - EDGE.right]),
    y: scale([y0, y1], [h - EDGE.bottom, EDGE.top]),
  }
}

const mark = (sign, cx, cy, r) => sign > 0
  ? `<circle cx="${cx}" cy="${cy}" r="${r}"/>`
  : `<rect x="${cx - r * 0.9}" y="${cy - r * 0.9}" width="${1.8 * r}" height="${1.8 * r}"/>`

// With several classes each has a number of corners of its own; class 0 is a square, 1 a circle.
const shape = (kind, cx, cy, r) => {
  if (kind < 2) return mark(kind === 1 ? 1 : -1, cx, cy, r)
  const corners = kind + 1, turned = Array.from({ length: corners }, (_, i) => {
    const angle = (2 * Math.PI * i) / corners - Math.PI / 2
    return `${cx + 1.25 * r * Math.cos(angle)},${cy + 1.25 * r * Math.sin(angle)}`
  })
  return `<polygon points="${turned.join(" ")}"/>`
}

// An arrow between two points of the picture, with a short text beside it, away from a third point.
function arrow([x0, y0], [x1, y1], kind, name, [cx, cy] = [x0, y0]) {
  const length = Math.hypot(x1 - x0, y1 - y0)
  if (length < 3) return ""
  const [u, v] = [(x1 - x0) / length, (y1 - y0) / length], head = Math.min(9, length)
  const at = [x1 - head * u, y1 - head * v], wide = head * 0.45
  const mid = [(x0 + x1) / 2, (y0 + y1) / 2], side = (mid[0] - cx) * v - (mid[1] - cy) * u < 0 ? -1 : 1
  const beside = [mid[0] + side * 10 * v, mid[1] - side * 10 * u + 4]
  const anchor = beside[0] < EDGE.left + 45 || side * v > 0.3 ? "start" : side * v < -0.3 ? "end" : "middle"
  return `<g class="arrow ${kind}"><line x1="${x0}" y1="${y0}" x2="${at[0]}" y2="${at[1]}"/>
    <polygon points="${x1},${y1} ${at[0] - wide * v},${at[1] + wide * u} ${at[0] + wide * v},${at[1] - wide * u}"/>
    <text x="${beside[0]}" y="${beside[1]}" text-anchor="${anchor}">${text(name)}</text></g>`
}

// The update as a sum of arrows: w, what is added to it, and the new w; their names stand outside.
function drawUpdate(update, x, y) {
  const corners = [update.arrows.start, update.arrows.old, update.arrows.new].map(([a, b]) => [x(a), y(b)])
  const [start, old, now] = corners, middle = [0, 1].map((axis) => (start[axis] + old[axis] + now[axis]) / 3)
  return arrow(start, old, "old", "w", middle) + arrow(old, now, "added", update.added, middle) + arrow(start, now, "new", "new w", middle)
}

// At the edge, an arrow towards a line that is not in the picture.
function drawBeyond([a, b], x, y, [w, h]) {
  const mid = [(EDGE.left + w - EDGE.right) / 2, (EDGE.top + h - EDGE.bottom) / 2]
  const [u, v] = [x(a) - mid[0], y(b) - mid[1]], room = [(w - EDGE.left - EDGE.right) / 2 - 14, (h - EDGE.top - EDGE.bottom) / 2 - 14]
  const share = Math.min(room[0] / Math.abs(u || 1e-9), room[1] / Math.abs(v || 1e-9))
  const tip = [mid[0] + u * share, mid[1] + v * share], n = Math.hypot(u, v)
  const inside = tip[0] > w - 150 ? "end" : tip[0] < 150 ? "start" : "middle"
  return `<g class="beyond">${arrow([tip[0] - 26 * u / n, tip[1] - 26 * v / n], tip, "edge-arrow", "")}
    <text x="${tip[0] - 30 * u / n}" y="${tip[1] - 34 * v / n + 4}" text-anchor="${inside}">the line is beyond the edge: press fit</text></g>`
}

// The plane: what is under the points, a piece of SVG for each point, and what is over them.
function drawPlane(view, selected, [w, h]) {
  const { x, y } = planeScales(view.frame, [w, h])
  const [x0, x1, y0, y1] = view.frame
  const b = view.boundary || { lines: [], above: [], margins: [], neutral: true }
  const wrong = new Set(view.wrong), seen = new Set(view.looked_at)
  const shares = new Map(view.certificate.rows)
  const r = view.points.length > 150 ? 4 : 6.5
  const area = `x="${EDGE.left}" y="${EDGE.top}" width="${w - EDGE.left - EDGE.right}" ` +
    `height="${h - EDGE.top - EDGE.bottom}"`
  const said = (i) => {
    const [px, py, sign] = view.points[i], label = view.labels ? view.all_classes[view.labels[i]] : view.classes[sign > 0 ? 1 : 0]
    const marks = [wrong.has(i) && "on the wrong side", seen.has(i) && "looked at in this step", shares.has(i) && "part of the contradiction"].filter(Boolean)
    return `${view.names[i] || `point ${i + 1}`}: (${short(px)}, ${short(py)}), ${label}${marks.length ? `; ${marks.join(", ")}` : ""}`
  }
  const dots = view.points.map(([px, py, sign], i) => {
    const cx = x(px), cy = y(py)
    const kinds = [view.labels ? `kind-${view.labels[i]}` : sign > 0 ? "positive" : "negative", wrong.has(i) && "wrong", seen.has(i) && "seen",
      shares.has(i) && "contradicts", selected === i && "selected"].filter(Boolean)
    const share = shares.has(i) && shares.size <= 12
      ? `<text class="part" x="${cx + (cx > w - 80 ? -r - 6 : r + 6)}" y="${cy - r - 2}" text-anchor="${cx > w - 80 ? "end" : "start"}">${text(shares.get(i))}</text>` : ""
    return `<g class="point ${kinds.join(" ")}" data-row="${i}"><title>${text(said(i))}</title>${seen.has(i) ? `<circle class="halo" cx="${cx}" cy="${cy}" r="${r + 9}"/>` : ""}
      ${wrong.has(i) ? `<circle class="ring" cx="${cx}" cy="${cy}" r="${r + 4}"/>` : ""}
      ${shares.has(i) ? `<path class="cross" d="M${cx - r - 6} ${cy - r - 6}l4 4M${cx + r + 6} ${cy - r - 6}l-4 4M${cx - r - 6} ${cy + r + 6}l4 -4M${cx + r + 6} ${cy + r + 6}l-4 -4"/>` : ""}
      ${selected === i ? `<circle class="chosen" cx="${cx}" cy="${cy}" r="${r + 13}"/>` : ""}
      ${view.labels ? shape(view.labels[i], cx, cy, r) : mark(sign, cx, cy, r)}${share}
      <circle class="grip" cx="${cx}" cy="${cy}" r="${Math.max(r + 4, 14)}"/></g>`
  })
  const ghost = view.update ? view.update.before : []
  // The new line starts where the old one was and turns; the page begins the animation.
  const turn = ghost.length && b.lines.length === 1
    ? `<animate attributeName="points" begin="indefinite" dur="0.3s" from="${points(ghost[0], x, y)}" to="${points(b.lines[0], x, y)}"/>` : ""
  const under = `<defs><clipPath id="area"><rect ${area}/></clipPath></defs>
    <rect class="${b.neutral ? "neutral" : "below"}" ${area}/>
    <g clip-path="url(#area)">
      ${b.above.map((p) => `<polygon class="above" points="${points(p, x, y)}"/>`).join("")}</g>
    ${axes(x, y, [x0, x1], [y0, y1], view.features, [w, h])}
    <g clip-path="url(#area)">
      ${b.margins.map((p) => `<polyline class="margin" points="${points(p, x, y)}"/>`).join("")}
      ${(view.last_line || []).map((p) => `<polyline class="last-line" points="${points(p, x, y)}"/>`).join("")}
      ${ghost.map((p) => `<polyline class="ghost" points="${points(p, x, y)}"/>`).join("")}
      ${b.lines.map((p) => `<polyline class="boundary" points="${points(p, x, y)}">${turn}</polyline>`).join("")}
      ${links(view, shares, x, y)}</g>`
  return { under, dots, over: (view.update ? drawUpdate(view.update, x, y) : "") + (b.beyond ? drawBeyond(b.beyond, x, y, [w, h]) : "") }
}

// Put a plane into its picture. Of the points only those that look different are drawn again.
function paint(svg, { under, dots, over }) {
  if (!svg.dots || svg.dots.length !== dots.length) {
    svg.innerHTML = `<g>${under}</g><g clip-path="url(#area)">${dots.join("")}</g><g clip-path="url(#area)">${over}</g>`
  } else {
    svg.children[0].innerHTML = under
    dots.forEach((dot, i) => { if (dot !== svg.dots[i]) svg.children[1].children[i].outerHTML = dot })
    svg.children[2].innerHTML = over
  }
  svg.dots = dots
}

// The updates in each epoch, of one run or of two.
function drawMistakes(runs) {
  const w = 420, h = 130, longest = Math.max(...runs.map((run) => run.length)), most = Math.max(...runs.flat(), 1)
  const x = scale([0.5, Math.max(longest, 4) + 0.5], [EDGE.left, w - EDGE.right]), y = scale([0, most], [h - EDGE.bottom, EDGE.top])
  const lines = runs.map((run, which) => `<polyline class="epochs run-${which}" points="${run.map((n, i) => `${x(i + 1)},${y(n)}`).join(" ")}"/>
    ${longest > 40 ? "" : run.map((n, i) => `<circle class="epochs run-${which}" cx="${x(i + 1)}" cy="${y(n)}" r="3"/>`).join("")}`)
  return `<svg class="chart" viewBox="0 0 ${w} ${h}" role="img" aria-label="mistakes per epoch: ${runs.map((run) => run.slice(-12).join(", ")).join("; beside it ")}">
    ${ticks(0, most, 3).filter(Number.isInteger).map((v) => `<line class="gridline" x1="${EDGE.left}" x2="${w - EDGE.right}" y1="${y(v)}" y2="${y(v)}"/>
      <text class="tick" x="${EDGE.left - 5}" y="${y(v) + 4}" text-anchor="end">${v}</text>`).join("")}
    ${ticks(1, Math.max(longest, 4), 6).filter(Number.isInteger).map((v) => `<text class="tick" x="${x(v)}" y="${h - EDGE.bottom + 14}" text-anchor="middle">${v}</text>`).join("")}
    ${lines.join("")}<text class="axis" x="${w - EDGE.right}" y="${h - 4}" text-anchor="end">epoch</text></svg>`
}

// Join the contradicting points of each class: the segments cross.
function links(view, shares, x, y) {
  if (shares.size < 2 || shares.size > 12) return ""
  return [1, -1].map((sign) => {
    const own = [...shares.keys()].filter((i) => view.points[i] && view.points[i][2] === sign)
    return own.flatMap((i, at) => own.slice(at + 1).map((j) => {
      const [a, b] = [view.points[i], view.points[j]]
      return `<line class="link" x1="${x(a[0])}" y1="${y(a[1])}" x2="${x(b[0])}" y2="${y(b[1])}"/>`
    })).join("")
  }).join("")
}

function drawProof(proof) {
  const w = 420, h = 260
  const last = proof.dots[proof.dots.length - 1][0]
  const log = last < proof.bound / 8
  const reach = Math.max(proof.bound, 1) * (log ? 2.2 : 1.12)
  const k0 = log ? 0.8 : 0
  const top = Math.sqrt(proof.square * reach) * 1.05
  const base = log ? proof.rise * k0 * 0.7 : 0
  const x = scale([k0, reach], [EDGE.left, w - EDGE.right], log)
  const y = scale([base, top], [h - EDGE.bottom, EDGE.top], log)
  const ks = Array.from({ length: 60 }, (_, i) =>
    log ? k0 * (reach / k0) ** (i / 59) : (reach * i) / 59)
  const floor = ks.map((k) => [k, Math.max(proof.rise * k, base)])
  const ceiling = ks.map((k) => [k, Math.sqrt(proof.square * k)])
  const dots = proof.dots.filter(([k]) => !log || k > 0).map(([k, u, n]) => `
    <circle class="length" cx="${x(k)}" cy="${y(n)}" r="3"/>
    <path class="progress" d="M${x(k)} ${y(Math.max(u, base)) - 4}l4 7h-8z"/>`)
  const names = proof.plain ? ["at least kγ", "at most √k·R"] : ["at least", "at most"]
  const marks = log ? [1, 10, 100, 1e3, 1e4, 1e5, 1e6].filter((v) => v >= k0 && v <= reach) : ticks(0, reach, 5)
  return `<svg class="chart" viewBox="0 0 ${w} ${h}" role="img" aria-label="the proof: after ${last}
      updates the run is between its floor and its ceiling, which meet at ${proof.bound}">
    ${marks.map((v) => `<line class="gridline" x1="${x(v)}" x2="${x(v)}" y1="${EDGE.top}" y2="${h - EDGE.bottom}"/>
      <text class="tick" x="${x(v)}" y="${h - EDGE.bottom + 14}" text-anchor="middle">${short(v)}</text>`).join("")}
    ${(log ? [0.01, 0.1, 1, 10, 100, 1e3, 1e4].filter((v) => v >= base && v <= top) : ticks(0, top, 4)).map((v) => `
      <text class="tick" x="${EDGE.left - 5}" y="${y(v) + 4}" text-anchor="end">${short(v)}</text>`).join("")}
    <polygon class="between" points="${points([...floor, ...[...ceiling].reverse()].filter(([k]) => k <= proof.bound), x, y)}"/>
    <polyline class="floor" points="${points(floor, x, y)}"/>
    <polyline class="ceiling" points="${points(ceiling, x, y)}"/>
    <line class="bound" x1="${x(proof.bound)}" x2="${x(proof.bound)}" y1="${EDGE.top}" y2="${h - EDGE.bottom}"/>
    <text class="note" x="${x(proof.bound) - 6}" y="${h - EDGE.bottom - 8}" text-anchor="end">bound ${proof.bound}</text>
    ${dots.join("")}
    <text class="note ceiling-name" x="${EDGE.left + 8}" y="${EDGE.top + 14}">● ‖w‖, ${names[1]}</text>
    <text class="note floor-name" x="${EDGE.left + 8}" y="${EDGE.top + 30}">▲ u·w, ${names[0]}</text>
    <text class="axis" x="${w - EDGE.right}" y="${h - 4}" text-anchor="end">updates k${log ? " (both axes logarithmic)" : ""}</text></svg>`
}

// The potential ‖w - αu‖² falls by at least (ηR)² per update, from any start.
function drawPotential(proof) {
  const w = 420, h = 260
  const start = proof.potential[0][1], end = start / proof.fall
  const x = scale([0, Math.max(end, 1) * 1.1], [EDGE.left + 12, w - EDGE.right])
  const y = scale([0, start * 1.08 || 1], [h - EDGE.bottom, EDGE.top])
  const dots = proof.potential.map(([k, p]) => `<circle class="progress" cx="${x(k)}" cy="${y(p)}" r="3"/>`)
  return `<svg class="chart" viewBox="0 0 ${w} ${h}" role="img" aria-label="the potential: ${short(proof.potential[proof.potential.length - 1][1])}
      after ${proof.potential[proof.potential.length - 1][0]} updates, from ${short(start)}">
    ${ticks(0, Math.max(end, 1) * 1.1, 5).map((v) => `<line class="gridline" x1="${x(v)}" x2="${x(v)}" y1="${EDGE.top}" y2="${h - EDGE.bottom}"/>
      <text class="tick" x="${x(v)}" y="${h - EDGE.bottom + 14}" text-anchor="middle">${short(v)}</text>`).join("")}
    ${ticks(0, start * 1.08 || 1, 4).map((v) => `<text class="tick" x="${EDGE.left + 7}" y="${y(v) + 4}" text-anchor="end">${short(v)}</text>`).join("")}
    <line class="floor" x1="${x(0)}" y1="${y(start)}" x2="${x(end)}" y2="${y(0)}"/>${dots.join("")}
    <text class="note" x="${w - EDGE.right}" y="${h - EDGE.bottom - 40}" text-anchor="end">k₀ = ${short(end)}</text>
    <text class="note floor-name" x="${w - EDGE.right}" y="${EDGE.top + 14}" text-anchor="end">● ‖w − αu‖², at most the dashed line</text>
    <text class="axis" x="${w - EDGE.right}" y="${h - 4}" text-anchor="end">updates k</text></svg>`
}

function drawWeightSpace(space) {
  const size = 320, room = 36, half = space.half, range = [-half, half]
  const x = scale(range, [room, size - 8]), y = scale(range, [size - room, 8])
  const faint = space.edges.length > 20 ? ' style="opacity:0.22"' : ""
  const edges = space.edges.slice(0, 120).map(([a, b, sign]) => {
    const n = Math.hypot(a, b)
    if (!n) return ""
    const d = space.threshold / (n * n)
    const foot = [d * a, d * b], far = 3 * half / n
    return `<line class="edge ${sign > 0 ? "positive" : "negative"}"${faint} x1="${x(foot[0] - far * b)}" y1="${y(foot[1] + far * a)}"
      x2="${x(foot[0] + far * b)}" y2="${y(foot[1] - far * a)}"/>`
  })
  const end = space.path[space.path.length - 1]
  return `<svg class="chart" viewBox="0 0 ${size} ${size}" role="img" aria-label="weight space: the path of
      the weights after ${space.path.length - 1} updates">
    <clipPath id="weights"><rect x="${room}" y="8" width="${size - room - 8}" height="${size - room - 8}"/></clipPath>
    <rect class="frame" x="${room}" y="8" width="${size - room - 8}" height="${size - room - 8}"/>
    <g clip-path="url(#weights)">
      ${space.cone.length > 2 ? `<polygon class="cone" points="${points(space.cone, x, y)}"/>` : ""}
      ${edges.join("")}<polyline class="path" points="${points(space.path, x, y)}"/>
      ${space.ellipse ? `<ellipse class="confidence" cx="${x(end[0])}" cy="${y(end[1])}" rx="${Math.abs(x(space.ellipse[0]) - x(0))}"
        ry="${Math.abs(y(space.ellipse[1]) - y(0))}"/>` : ""}
      <circle class="start" cx="${x(space.path[0][0])}" cy="${y(space.path[0][1])}" r="4"/>
      <circle class="end" cx="${x(end[0])}" cy="${y(end[1])}" r="5"/></g>
    ${ticks(...range, 4).map((v) => `<text class="tick" x="${x(v)}" y="${size - room + 14}" text-anchor="middle">${short(v)}</text>`).join("")}
    ${ticks(...range, 4).map((v) => `<text class="tick" x="${room - 4}" y="${y(v) + 4}" text-anchor="end">${short(v)}</text>`).join("")}
    <text class="axis" x="${size - 8}" y="${size - 4}" text-anchor="end">${text(space.axes[0])}</text>
    <text class="axis" x="10" y="8" text-anchor="end" transform="rotate(-90 10 8)">${text(space.axes[1])}</text></svg>`
}

// The bars have the colours of the classes towards which their weights pull.
function drawWeights(weights, bias, [plus, minus]) {
  const most = Math.max(...weights.map((w) => Math.abs(w.value)), Math.abs(bias ? bias.value : 0), 1e-300)
  const shown = [...weights.entries()].sort((a, b) => Math.abs(b[1].value) - Math.abs(a[1].value))
    .slice(0, 12).sort((a, b) => a[0] - b[0])
  const row = (name, w) => {
    const share = (50 * Math.abs(w.value)) / most
    const side = w.value >= 0 ? `left:50%;width:${share}%` : `right:50%;width:${share}%`
    return `<tr><th scope="row">${brief(name)}</th><td class="bar"><span
      style="${side};background:${w.value >= 0 ? plus : minus}"></span></td><td class="value">${text(w.text)}</td></tr>`
  }
  const rows = shown.map(([, w]) => row(w.name, w))
  const more = weights.length - shown.length
  return `<table class="weights">${rows.join("")}
    ${bias === null ? "" : row("bias b", bias)}</table>
    ${more > 0 ? `<p class="aside">and ${more} smaller weights</p>` : ""}`
}

function drawRows(view) {
  const seen = new Set(view.looked_at), shares = new Map(view.certificate.rows)
  const rows = view.rows.map((row, i) => `
    <tr class="${[seen.has(i) && "seen", row.wrong && "wrong"].filter(Boolean).join(" ")}" data-row="${i}">
      <th scope="row">${brief(row.name)}</th><td class="values"><code>${text(row.values)}</code></td>
      <td><span class="sign ${row.sign > 0 ? "positive" : "negative"}">${row.sign > 0 ? "● +1" : "■ −1"}</span></td>
      <td class="value">${text(row.score)}</td><td>${row.wrong ? "wrong" : "right"}</td>
      <td>${shares.has(i) ? text(shares.get(i)) : ""}</td>
      <td class="buttons"><button class="small" data-flip="${i}" aria-label="flip the label of ${text(cut(row.name))}">flip</button>
        <button class="small" data-delete="${i}" aria-label="delete ${text(cut(row.name))}">×</button></td></tr>`)
  return `<table class="rows"><thead><tr><th>row</th><th class="values">x = [${view.features.slice(0, 6).map((name) => brief(name, 20)).join(", ")}${view.features.length > 6 ? ", …" : ""}]</th>
    <th>label</th><th>score</th><th>now</th><th>share</th><th></th></tr></thead><tbody>${rows.join("")}</tbody></table>`
}
