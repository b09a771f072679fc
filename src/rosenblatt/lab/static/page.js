// The page: draws the view that the server sends, and sends the user's actions as requests.

const CONTROLS = [
  ["rule", "rule", "select", ["perceptron", "pa", "pa1", "pa2", "arow"]],
  ["C", "aggressiveness C", "number", { min: 0.001, step: 0.1 }],
  ["r", "r of AROW", "number", { min: 0.001, step: 0.1 }],
  ["update", "update", "select", ["online", "batch"]],
  ["order", "order", "select", ["in order", "shuffled", "random"]],
  ["mistake", "mistake rule", "select", ["margin", "sign"]],
  ["threshold", "threshold δ", "number", { min: 0, step: 0.5 }],
  ["eta", "learning rate η", "number", { min: 0.001, step: 0.1 }],
  ["bias", "bias", "checkbox"],
  ["padding", "padding constant c", "number", { min: 0.001, step: 0.5 }],
  ["keep", "weights shown", "select", ["last", "average", "best"]],
  ["lift", "lift", "select", ["none", "products", "polynomial", "rbf", "knots", "pairs"]],
  ["degree", "degree", "number", { min: 2, max: 4, step: 1 }],
  ["gamma", "gamma", "number", { min: 0.001, step: 0.5 }],
  ["max_epochs", "max. epochs", "number", { min: 1, max: 1000, step: 1 }],
  ["seed", "seed", "number", { min: 0, step: 1 }],
  ["start", "start w, b", "text", { placeholder: "0, 0, 0", inputmode: "text" }],
]
// What the settings mean, as formulas; shown when the pointer or the focus is on a setting.
const FORMULAS = {
  rule: "perceptron: w ← w + η·y·x. pa: w ← w + τ·y·x, τ = max(0, 1 − y·s)/‖x‖². arow: a variance for each weight",
  C: "pa1: τ = min(C, l/‖x‖²). pa2: τ = l/(‖x‖² + 1/(2C)), with l = max(0, 1 − y·s)",
  r: "β = 1/(v + r), v = x·Σx: a larger r makes smaller steps",
  update: "online: w ← w + η·y·x for one row. batch: w ← w + η·Σ y·x over all mistaken rows",
  order: "which row I_t is looked at: in order, a new permutation per epoch, or drawn at random",
  mistake: "margin: a mistake is y·s ≤ δ. sign: a mistake is sign(s) ≠ y, with sign(0) = −1",
  threshold: "δ: update when y·(w·x + b) ≤ δ",
  eta: "η in w ← w + η·y·x; from zero it only scales the weights",
  bias: "s = w·x + b; without it the line goes through the origin",
  padding: "c: the row becomes (x, c), and b ← b + η·y·c²",
  keep: "last: w after step t. average: (w₁ + … + w_t)/t. best: the w with the fewest errors so far",
  lift: "φ(x): the run learns from φ(x) instead of x",
  degree: "all products of up to this many features",
  gamma: "exp(−γ‖x − c‖²) around some of the points c",
  max_epochs: "the run ends after this many passes over the rows",
  seed: "of the random orders",
  start: "w₀ and b₀: weights first, then the bias. At most k₀ = ‖w₀ − αu‖²/R² updates",
}
const KINDS = ["var(--negative)", "var(--positive)", "var(--good)", "#e69f00", "var(--accent)", "#56b4e9", "#b8a900", "var(--ink)"]
const SPEEDS = [0.5, 1, 2, 5, 10, 20, 50, 200, 1000]
const EXPORTS = [["gif", "Animation, GIF"], ["csv", "Data, CSV"], ["certificate", "Certificate, JSON"]]
const ADDING = "click to add a point, drag over free space to spray points"
// What a click does: with several classes there is one button for each.
const modes = (view) => [...(view.labels ? view.all_classes.map((name, k) => [`class ${k}`, `add ${name}`, ADDING])
  : [["+1", "● add +1", ADDING], ["-1", "■ add −1", ADDING]]),
  ["flip", "flip", "click a point to flip its label"], ["delete", "delete", "click a point to delete it"]]
const BRUSH = 26 // pixels between the points of a brush
const SEEN = "rosenblatt-lab-seen" // set once the first hint was closed

const control = ([name, label, kind, more]) => {
  const id = `setting-${name}`
  const field = kind === "select"
    ? `<select id="${id}" name="${name}">${more.map((o) => `<option>${o}</option>`).join("")}</select>`
    : `<input id="${id}" name="${name}" type="${kind}" ${Object.entries(more || {}).map(([k, v]) => `${k}="${v}"`).join(" ")}>`
  return `<div class="setting" data-setting="${name}" title="${text(FORMULAS[name])}"><label for="${id}">${label}</label>${field}
    <small class="formula">${text(FORMULAS[name])}</small></div>`
}

const options = (label, kind, names) => `<optgroup label="${label}">${names.map((e) => `<option value="${kind}${text(e)}">${text(e)}</option>`).join("")}</optgroup>`

const PAGE = ({ examples, scenes, clouds, variants = [] }) => `
  <header><h1>Perceptron lab</h1>
    <div class="tools">
      <label class="example-box"><span>example</span> <select class="example" aria-label="example"><option value="">your points</option>
        ${options("examples", "", examples)}${options("clouds of points", "cloud ", clouds)}${options("scenes of the course", "scene ", scenes)}</select></label>
      <label class="noise" hidden>noise <input type="range" min="0" max="1" step="0.05" value="0.2" aria-label="noise of the cloud"></label>
      <button class="again" title="draw the cloud anew" hidden>draw again</button>
      <label class="target-box" hidden>class +1 <select class="target" aria-label="class that counts as +1"></select></label>
      <button class="undo" title="take back the last change (Ctrl-Z)">undo</button>
      <button class="more" aria-expanded="false" aria-controls="lab-more">more</button>
      <div class="rest" id="lab-more">
      <label class="button">load CSV<input class="file" type="file" accept=".csv,text/csv,text/plain"></label>
      <button class="clear" title="delete all points; undo brings them back">clear</button>
      <label class="export-box">export <select class="export" aria-label="export"><option value="">choose…</option>
        ${EXPORTS.map(([k, n]) => `<option value="${k}">${n}</option>`).join("")}</select></label>
      <button class="share">copy link</button>
      <button class="theme" aria-label="light or dark">◐</button>
      <button class="help" aria-label="help">?</button>
    </div></div></header>
  <div class="message-place"><p class="message" role="status" aria-live="polite" hidden></p></div>
  <div class="hint card" hidden><p>Click into the plane to add points, drag them, and press <b>step</b>: one row at a time, with its arithmetic.</p>
    <p><b>Next mistake</b> (m) skips the rows that are right. The picture keeps its step while you change points and settings.</p>
    <p><b>Two runs</b> puts a second rule, order or start beside the first. <b>?</b> lists the keys.</p>
    <button class="close-hint">got it</button></div>
  <p class="task" hidden></p>
  <label class="variants"${variants.length > 1 ? "" : " hidden"}>try <select class="variant">${variants.map((v, k) => `<option value="${k}">${text(v)}</option>`).join("")}</select></label>
  <div class="columns">
    <div class="main">
    <section class="card picture" aria-label="the points">
      <div class="bar-above"><div class="modes-box"><div class="modes" role="radiogroup" aria-label="what a click does"></div>
        <button class="fit" title="show all points and the line">fit</button></div>
        <div class="counts" aria-label="progress"></div></div>
      <div class="stage"></div>
      <p class="legend">ring: wrong side · halo: looked at · arrows: w + x = new w · dotted: line before · corners: contradiction</p>
      <div class="transport" role="toolbar" aria-label="the run">
        <button class="restart" title="to the start (Home)">|◀<span> start</span></button>
        <button class="back" title="one step back (←)">◀<span> back</span></button>
        <button class="step primary" title="one step (→)">step ▶</button>
        <button class="to-mistake" title="to the next mistake (m)"><span>next </span>mistake</button>
        <button class="to-epoch" title="to the end of the epoch (e)"><span>end of </span>epoch</button>
        <button class="play primary" title="play or pause (space)">play</button>
        <button class="finish" title="to the end (End)"><span>end </span>▶|</button>
        <label class="switch" title="every change runs to the end at once (l)"><input class="live" type="checkbox"> live</label>
        <label class="switch" title="a second run beside the first, on the same points"><input class="compare" type="checkbox"> two runs</label>
        <label class="speed">speed <input type="range" min="0" max="${SPEEDS.length - 1}" value="2"
          aria-label="steps per second"><output></output></label></div>
    </section>
    <section class="card settings" aria-label="settings"><h2>Settings</h2>
      <div class="which" role="radiogroup" aria-label="whose settings" hidden><button role="radio" data-which="0">left run</button>
        <button role="radio" data-which="1">right run</button></div>
      <form>${CONTROLS.map(control).join("")}</form></section>
    </div>
    <div class="side">
      <section class="card now"><h2>This step</h2><div class="step-text"></div></section>
      <section class="card known"><h2>So far</h2><div class="known-text"></div></section>
      <section class="card epochs-card"><h2>Mistakes per epoch</h2><div></div></section>
      <section class="card certificate"><h2>Is it separable?</h2><p></p></section>
      <section class="card space"><h2>Weight space</h2><div></div></section>
      <section class="card proof"><h2>Why it must end</h2>
        <label class="proof-kind">show <select class="proof-view" aria-label="what the chart shows"><option value="curves">progress and length</option>
        <option value="potential">potential ‖w − αu‖²</option></select></label><div></div></section>
    </div>
  </div>
  <dialog class="help-box"><h2>How to use the lab</h2>
    <p>Click into the plane to add a point, drag over free space to spray points, drag a point to move it. Step through the run, or play it.</p>
    <dl><dt>→ ←</dt><dd>one step forward, one step back</dd><dt>space</dt><dd>play or pause</dd>
      <dt>m e</dt><dd>to the next mistake, to the end of the epoch</dd><dt>l</dt><dd>live: every change runs to the end</dd>
      <dt>Home End</dt><dd>to the start, to the end</dd><dt>Ctrl-Z</dt><dd>undo the last change</dd></dl>
    <p>With the plane in focus (Tab):</p>
    <dl><dt>+ −</dt><dd>add a point of that label in the middle</dd><dt>] [</dt><dd>select the next or previous point</dd>
      <dt>arrows</dt><dd>move the selected point; with Shift, further</dd><dt>f</dt><dd>flip its label</dd>
      <dt>Delete</dt><dd>delete it</dd><dt>Esc</dt><dd>clear the selection</dd></dl>
    <p>A ring marks a point on the wrong side, a halo the point looked at, corners the points that contradict each other.</p>
    <button class="close primary">close</button></dialog>`

export function render({ model }) {
  const root = document.createElement("div")
  root.className = "lab-page"
  root.setAttribute("aria-busy", false)
  root.innerHTML = PAGE(model)
  // In the pages of the course: in a frame, or as a recording, in which nothing can be changed.
  root.dataset.recorded = Boolean(model.variants)
  root.dataset.framed = Boolean(model.variants) || window.parent !== window
  for (const note of document.querySelectorAll(".rosenblatt-lab-without-kernel")) note.remove()
  const $ = (selector) => root.querySelector(selector)
  let view = JSON.parse(model.shown)
  let mode = "+1", selected = null, playing = false, pending = 0, drag = null, speed = 2
  let timer = null, silence = null, settle = null, fading = null, selectNew = false
  let scene = ""
  let stroke = 0, cloud = 1, which = 0, turned = null
  let size = [640, 480]

  // One request at a time goes to the server; the others queue. Of a drag two are on their way, so
  // that the server computes a picture while the page draws the one before.
  const line = []
  const send = (request) => {
    if (request.live && line.length && line[line.length - 1].live) line.pop()
    line.push(request)
    next()
  }
  const next = () => {
    while (line.length && pending < (line[0].live ? 2 : 1)) {
      const request = line.shift()
      pending += 1
      root.setAttribute("aria-busy", true)
      if (request.do === "export") say("Working on it…")
      clearTimeout(silence)
      silence = setTimeout(request.do === "export" ? unanswered : probe, request.do === "export" ? 60000 : 2000)
      model.send_msg(request)
    }
  }
  const unanswered = () => pending && say(`The lab does not respond. ${model.in_page ? "Is the program still running?" : "It needs a running kernel: run its cell again."}`, "error")
  // Without an answer, ask whether the program is there at all. If it has stopped, wait until it is
  // started again: the address of the page holds points, settings and step.
  const probe = async () => {
    if (!model.in_page) { silence = setTimeout(unanswered, 6000); return }
    try {
      await fetch(location.pathname, { cache: "no-store" })
      if (pending) silence = setTimeout(unanswered, 6000)
    } catch {
      say("The program has stopped. Start rosenblatt lab again: this page will continue where it was.", "error")
      const again = setInterval(async () => {
        try { await fetch(location.pathname, { cache: "no-store" }) } catch { return }
        clearInterval(again)
        location.reload()
      }, 1500)
    }
  }
  const answered = (count) => {
    pending = Math.max(0, pending - count)
    if (line.length) next()
    if (pending) return
    clearTimeout(silence)
    root.setAttribute("aria-busy", false)
    if (playing) timer = setTimeout(tick, 1000 / Math.min(speed, 20))
  }
  const tick = () => {
    if (!playing || pending) return
    if (view.ended) { pause(); return }
    send({ do: "step", count: Math.max(1, Math.round(speed / 20)) })
  }
  const play = () => { playing = true; draw(); tick() }
  const pause = () => { playing = false; clearTimeout(timer); draw() }
  const act = (request) => { if (playing) pause(); send(request) }
  const say = (words, kind) => {
    const box = $(".message")
    box.textContent = words || ""
    box.hidden = !words
    box.dataset.kind = kind || "note"
    clearTimeout(fading)
    if (words && kind !== "error") fading = setTimeout(() => say(""), 5000)
  }

  function draw() {
    const stage = $(".stage")
    if (view.planar) {
      const sides = view.beside ? 2 : 1
      if (stage.querySelectorAll("svg").length !== sides) {
        stage.innerHTML = `<figure><figcaption hidden></figcaption><svg class="plane" tabindex="0" role="application"></svg></figure>
          ${sides > 1 ? `<figure><figcaption></figcaption><svg class="second" role="img"></svg></figure>` : ""}`
        stage.dataset.sides = sides
        fitSize()
      }
      const [svg, second] = stage.querySelectorAll("svg"), captions = stage.querySelectorAll("figcaption")
      // Of several classes, the region of the chosen one has its colour and the others have none.
      const colour = `color-mix(in srgb, ${KINDS[view.target]} 20%, var(--surface))`
      for (const picture of stage.querySelectorAll("svg")) {
        picture.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`)
        for (const [name, value] of [["--positive-soft", colour], ["--negative-soft", "var(--ground)"]]) {
          if (view.labels) picture.style.setProperty(name, value)
          else picture.style.removeProperty(name)
        }
      }
      paint(svg, drawPlane(view, selected, size))
      svg.setAttribute("aria-label", describe())
      captions[0].hidden = !view.beside
      if (view.beside) {
        paint(second, drawPlane({ ...view, ...view.beside, update: null, last_line: [] }, null, size))
        second.setAttribute("aria-label", `the second run, ${view.beside.titles[1]}: ${view.beside.wrong_count} on the wrong side`)
        const tell = (run, title) => `<b>${text(title)}</b><br>updates ${run.updates} · errors ${run.wrong_count}${run.stop ? ` · ${text(run.stop.split(":")[0])}` : ""}`
        captions[0].innerHTML = tell(view, view.beside.titles[0])
        captions[1].innerHTML = tell(view.beside, view.beside.titles[1])
      }
      // Once per step: not again when the page is drawn for another reason.
      const step = `${view.position} ${view.updates}`
      if (step !== turned && !drag && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
        for (const animation of svg.querySelectorAll("animate")) animation.beginElement()
      }
      turned = step
      follow()
    } else stage.innerHTML = drawRows(view)
    root.dataset.planar = view.planar
    root.dataset.reply = view.reply
    // A table is lower than a picture: put the chart below it.
    const home = $(view.planar ? ".side" : ".main")
    if ($(".proof").parentElement !== home) home.append($(".proof"))
    const buttons = modes(view), classes = buttons.map(([, name]) => name).join("|")
    if (!buttons.some(([name]) => name === mode)) mode = buttons[0][0]
    if ($(".modes").dataset.for !== classes) {
      $(".modes").innerHTML = buttons.map(([m, n, t], k) => `<button role="radio" data-mode="${m}" title="${t}">${
        view.labels && m.startsWith("class") ? `<svg class="key kind-${k}" viewBox="-9 -9 18 18">${shape(k, 0, 0, 6)}</svg>` : ""}${brief(n)}</button>`).join("")
      $(".modes").dataset.for = classes
    }
    choose(".modes", "mode", mode)
    if (!view.beside) which = 0
    $(".which").hidden = !view.beside
    choose(".which", "which", String(which))
    $(".live").checked = view.live
    $(".compare").checked = Boolean(view.beside)
    const cloudy = view.loaded.startsWith("cloud ")
    $(".noise").hidden = $(".again").hidden = !cloudy
    $(".legend").hidden = $(".fit").hidden = !view.planar
    $(".counts").innerHTML = `epoch <b>${view.epoch}</b> · step <b>${view.position}</b> · updates <b>${view.updates}</b> · errors <b>${view.wrong_count}</b>`
    $(".play").textContent = playing ? "pause" : "play"
    $(".play").setAttribute("aria-pressed", playing)
    $(".step-text").setAttribute("aria-live", playing ? "off" : "polite")
    $(".back").disabled = $(".restart").disabled = view.position === 0
    for (const name of ["step", "finish", "play", "to-mistake", "to-epoch"]) $(`.${name}`).disabled = view.ended
    $(".undo").disabled = !view.can_undo
    $(".example").value = view.loaded
    $(".task").hidden = !view.task
    $(".task").textContent = view.solved ? `✓ Solved. ${view.task}` : view.task
    $(".task").dataset.solved = Boolean(view.solved)
    if (view.solved && !model.variants && window.parent !== window) {
      window.parent.postMessage({ rosenblattSolved: view.loaded.slice(6) || scene }, location.origin)
    }
    const several = view.all_classes.length > 0
    $(".target-box").hidden = !several
    if (several) {
      $(".target").innerHTML = view.all_classes.map((name, i) => `<option value="${i}">${text(cut(name))}</option>`).join("")
      $(".target").value = view.target
    }
    $(".speed output").textContent = `${speed}/s`
    drawText()
    if (model.variants) return // a recording has no settings
    for (const [name, , kind] of CONTROLS) {
      const field = $(`#setting-${name}`)
      if (field === root.getRootNode().activeElement) continue
      if (kind === "checkbox") field.checked = shownSettings()[name]
      else field.value = kind === "text" ? shownSettings()[name].join(", ") : shownSettings()[name]
    }
    const s = shownSettings()
    const other = s.rule !== "perceptron", batch = s.update === "batch" && !other
    const unused = { start: s.rule !== "perceptron", order: batch, seed: s.order === "in order" || batch, padding: !s.bias,
      degree: s.lift !== "polynomial", gamma: s.lift !== "rbf", threshold: s.mistake === "sign" || other,
      update: other, mistake: other, eta: other, C: s.rule !== "pa1" && s.rule !== "pa2", r: s.rule !== "arow" }
    for (const [name, off] of Object.entries(unused)) $(`[data-setting="${name}"]`).hidden = off
  }

  const shownSettings = () => (which && view.beside ? view.beside.settings : view.settings)
  // Of a group of radio buttons only the chosen one is a stop of the Tab key.
  const choose = (group, name, value) => {
    for (const button of $(group).querySelectorAll("button")) {
      const chosen = button.dataset[name] === value
      button.setAttribute("aria-checked", chosen)
      button.tabIndex = chosen ? 0 : -1
    }
  }

  function drawText() {
    const s = view.step
    $(".step-text").innerHTML = `<p class="row-title">${text(s.title)}</p>
      ${s.lines.map((line) => `<p class="sum">${text(line)}</p>`).join("")}
      ${s.verdict ? `<p><span class="verdict ${s.mistake ? "mistake" : "right"}">${{ mistake: "✗ a mistake", update: "✗ an update", right: "✓ right" }[s.verdict]}</span></p>` : ""}`
    const bound = view.proof.bound
    const margin = view.margin && `<dt>largest margin γ</dt><dd class="interval">${view.margin.known ? (view.margin.low === view.margin.high ? view.margin.low : `between ${view.margin.low} and ${view.margin.high}`) : `at most ${view.margin.high}`}</dd>`
    $(".known-text").innerHTML = `${drawWeights(view.weights, view.bias, view.labels ? [KINDS[view.target], "var(--quiet)"] : ["var(--positive)", "var(--negative)"])}
      <dl><dt>updates</dt><dd class="mistakes">${view.updates}${bound === undefined ? "" : ` of at most ${bound}`}
        ${bound ? `<meter min="0" max="${bound}" value="${view.updates}"></meter>` : ""}</dd>
      ${margin || ""}<dt>ended</dt><dd class="stop">${view.stop ? text(view.stop) : "not yet"}</dd></dl>`
    const c = $(".certificate")
    c.dataset.verdict = view.certificate.verdict
    c.querySelector("p").textContent = view.certificate.text
    // The two curves are about a start at zero; the potential is about any.
    const potential = !view.proof.why_not && ($(".proof-view").value === "potential" || !view.proof.from_zero)
    $(".proof-kind").hidden = Boolean(view.proof.why_not) || !view.proof.from_zero
    $(".proof h2").textContent = view.proof.why_not ? "Must it end?" : "Why it must end"
    $(".epochs-card div").innerHTML = drawMistakes(view.beside ? [view.mistakes, view.beside.mistakes] : [view.mistakes])
    $(".epochs-card h2").textContent = (view.settings.rule || "perceptron") === "perceptron" && !view.beside ? "Mistakes per epoch" : "Updates per epoch"
    $(".epochs-card").hidden = !view.mistakes.length
    $(".proof div").innerHTML = view.proof.why_not ? `<p class="aside">${text(view.proof.why_not)}</p>`
      : potential ? drawPotential(view.proof) : drawProof(view.proof)
    $(".space").hidden = !view.weight_space
    $(".space div").innerHTML = view.weight_space ? drawWeightSpace(view.weight_space) : ""
  }

  const describe = () => {
    const at = selected === null ? "" : `; selected: point ${selected + 1} at ${view.points[selected].slice(0, 2).map(short).join(", ")}, label ${view.points[selected][2]}`
    return `${view.points.length} points, ${view.wrong_count} on the wrong side${at}`
  }

  // The plane: click to add, drag to move.
  const inPicture = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform($(".plane").getScreenCTM().inverse())
  const where = (event) => {
    const { x, y } = planeScales(view.frame, size), p = inPicture(event)
    return place([x.back(p.x), y.back(p.y)])
  }
  // Of points whose grips overlap, the one nearest to the pointer.
  const nearest = (event) => {
    if (!event.target.closest(".point")) return null
    const { x, y } = planeScales(view.frame, size), p = inPicture(event)
    const far = view.points.map(([a, b]) => Math.hypot(x(a) - p.x, y(b) - p.y))
    return far.indexOf(Math.min(...far))
  }
  // Points snap to a fine grid, which keeps numbers and links short.
  const place = ([a, b]) => {
    const [x0, x1, y0, y1] = view.frame
    const tidy = (v, lo, hi) => {
      const grain = 10 ** Math.floor(Math.log10((hi - lo) / 200))
      return Number((Math.round(Math.min(Math.max(v, lo), hi) / grain) * grain).toPrecision(10))
    }
    return [tidy(a, x0, x1), tidy(b, y0, y1)]
  }
  const stage = $(".stage")
  stage.addEventListener("pointerdown", (event) => {
    if (!view.planar || event.button) return
    if (playing) pause()
    if (event.target.closest(".second")) return
    const row = nearest(event)
    drag = { row, from: [event.clientX, event.clientY], moved: false, sprayed: null }
    if (row !== null) { $(".plane").setPointerCapture(event.pointerId); event.preventDefault(); $(".plane").focus({ preventScroll: true }) }
  })
  stage.addEventListener("pointermove", (event) => {
    if (!drag) return
    if (drag.row === null) return spray(event)
    if (!drag.moved && Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) < 4) return
    drag.moved = true
    drag.to = where(event)
    send({ do: "move", row: drag.row, to: drag.to, live: true })
    follow()
  })
  // The dragged point is where the pointer is, also while the picture is that of a moment ago.
  function follow() {
    if (!drag || !drag.moved) return
    const { x, y } = planeScales(view.frame, size), [a, b] = view.points[drag.row]
    $(`.plane .point[data-row="${drag.row}"]`).setAttribute("transform", `translate(${x(drag.to[0]) - x(a)} ${y(drag.to[1]) - y(b)})`)
  }
  // What a click adds with the present mode; null if it adds nothing.
  const added = (shift) => mode === "+1" || mode === "-1" ? { sign: (mode === "-1") === shift ? 1 : -1 }
    : mode.startsWith("class ") ? { sign: 1, label: Number(mode.slice(6)) } : null
  // A brush: points around the way of the pointer over free space.
  function spray(event) {
    const last = drag.sprayed || drag.from
    if (!added(false) || !event.target.closest(".plane") || event.pointerType === "touch") return
    if (Math.hypot(event.clientX - last[0], event.clientY - last[1]) < BRUSH) return
    if (!drag.sprayed) stroke += 1
    drag.sprayed = [event.clientX, event.clientY]
    const blur = () => (Math.random() - 0.5) * BRUSH
    const at = where({ clientX: event.clientX + blur(), clientY: event.clientY + blur() })
    send({ do: "add", at, stroke, ...added(event.shiftKey) })
  }
  stage.addEventListener("pointerup", (event) => {
    if (!drag) return
    const { row, moved, from, sprayed } = drag
    drag = null
    if (sprayed) return draw()
    if (moved) return send({ do: "move", row, to: where(event) })
    if (row === null) {
      if (!event.target.closest(".plane") || Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 8) return
      if (added(false)) send({ do: "add", at: where(event), ...added(event.shiftKey) })
    } else if (mode === "flip") send({ do: "flip", row })
    else if (mode === "delete") { selected = null; send({ do: "delete", row }) }
    else { selected = selected === row ? null : row; draw() }
  })
  stage.addEventListener("pointercancel", () => { drag = null })
  stage.addEventListener("click", (event) => {
    const { flip, delete: gone } = event.target.dataset
    if (flip !== undefined) act({ do: "flip", row: Number(flip) })
    if (gone !== undefined) act({ do: "delete", row: Number(gone) })
  })

  function planeKey(event) {
    const n = view.points.length
    const [x0, x1, y0, y1] = view.frame
    if (event.key === "+" || event.key === "=" || event.key === "-") selectNew = true
    if (event.key === "+" || event.key === "=") act({ do: "add", at: place([(x0 + x1) / 2, (y0 + y1) / 2]), sign: 1 })
    else if (event.key === "-") act({ do: "add", at: place([(x0 + x1) / 2, (y0 + y1) / 2]), sign: -1 })
    else if (event.key === "]" && n) selected = selected === null ? 0 : (selected + 1) % n
    else if (event.key === "[" && n) selected = selected === null ? n - 1 : (selected + n - 1) % n
    else if (event.key === "Escape") selected = null
    else if (selected !== null && selected < n) {
      const by = event.shiftKey ? 0.1 : 0.02
      const shift = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] }[event.key]
      if (shift) {
        const [px, py] = view.points[selected]
        act({ do: "move", row: selected, to: place([px + shift[0] * (x1 - x0), py + shift[1] * (y1 - y0)]) })
      } else if (event.key === "f") act({ do: "flip", row: selected })
      else if (event.key === "Delete" || event.key === "Backspace") { act({ do: "delete", row: selected }); selected = null }
      else return false
    } else return false
    draw()
    return true
  }
  // On its own page the lab listens everywhere, so that keys work before anything was clicked; in a
  // notebook only where it has the focus.
  const listener = model.in_page ? document : root
  const onKey = (event) => {
    if (!root.isConnected) return listener.removeEventListener("keydown", onKey)
    const [target] = event.composedPath()
    if (!(target instanceof Element) || target.closest("input, select, textarea, dialog")) return
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !event.shiftKey) {
      event.preventDefault()
      event.stopPropagation()
      if (view.can_undo) act({ do: "undo" })
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const inPlane = target.closest(".plane")
    // Keys handled here must not reach the notebook, which has its own shortcuts.
    const taken = () => { event.preventDefault(); event.stopPropagation() }
    if (inPlane && planeKey(event)) return taken()
    if (target.closest("[role=radiogroup]") && /^Arrow/.test(event.key)) {
      const group = [...target.closest("[role=radiogroup]").querySelectorAll("button")]
      const next = group[(group.indexOf(target) + (/Right|Down/.test(event.key) ? 1 : group.length - 1)) % group.length]
      next.click()
      next.focus()
      return taken()
    }
    const keys = { m: () => act({ do: "mistake" }), e: () => act({ do: "epoch" }), l: () => act({ do: "live", on: !view.live }), ArrowRight: () => act({ do: "step" }), ArrowLeft: () => act({ do: "back" }), Home: () => act({ do: "restart" }),
      End: () => act({ do: "finish" }), " ": () => (playing ? pause() : play()) }
    if (event.key === " " && target.closest("button")) return
    if (keys[event.key]) { keys[event.key](); taken() }
  }
  listener.addEventListener("keydown", onKey)

  // Buttons, menus and fields.
  for (const name of ["step", "back", "restart", "finish", "to-mistake", "to-epoch", "clear", "undo", "fit"]) $(`.${name}`).addEventListener("click", () => { if (name === "clear") selected = null; act({ do: name.replace("to-", "") }) })
  $(".play").addEventListener("click", () => (playing ? pause() : play()))
  $(".modes").addEventListener("click", (event) => { const button = event.target.closest("button"); if (button) { mode = button.dataset.mode; draw() } })
  $(".which").addEventListener("click", (event) => { if (event.target.dataset.which) { which = Number(event.target.dataset.which); draw() } })
  $(".variant").addEventListener("change", (event) => act({ do: "variant", index: Number(event.target.value) }))
  $(".live").addEventListener("change", (event) => act({ do: "live", on: event.target.checked }))
  $(".compare").addEventListener("change", (event) => { which = event.target.checked ? 1 : 0; act({ do: "compare", on: event.target.checked }) })
  const scatter = (name) => act({ do: "cloud", name, noise: Number($(".noise input").value), seed: cloud })
  $(".noise input").addEventListener("input", () => { if (!pending) scatter(view.loaded.slice(6)) })
  $(".noise input").addEventListener("change", () => scatter(view.loaded.slice(6)))
  $(".again").addEventListener("click", () => { cloud += 1; scatter(view.loaded.slice(6)) })
  $(".close-hint").addEventListener("click", () => {
    $(".hint").hidden = true
    try { localStorage.setItem(SEEN, "1") } catch { /* it is shown again next time */ }
  })
  if (model.in_page) { try { $(".hint").hidden = Boolean(localStorage.getItem(SEEN)) } catch { /* without storage there is no hint */ } }
  $(".speed input").addEventListener("input", (event) => { speed = SPEEDS[event.target.value]; draw() })
  $(".example").addEventListener("change", (event) => {
    const name = event.target.value
    selected = null
    event.target.blur()
    if (!name) return draw()
    if (name.startsWith("cloud ")) scatter(name.slice(6))
    else act(name.startsWith("scene ") ? { do: "scene", name: name.slice(6) } : { do: "example", name })
  })
  $(".target").addEventListener("change", (event) => { event.target.blur(); act({ do: "choose", target: Number(event.target.value) }) })
  $(".proof-view").addEventListener("change", (event) => { event.target.blur(); draw() })
  $(".settings form").addEventListener("submit", (event) => event.preventDefault())
  $(".settings form").addEventListener("change", (event) => {
    const { name, type, checked, value } = event.target
    let given = type === "checkbox" ? checked : type === "number" ? (value === "" ? null : Number(value)) : value
    if (name === "start") given = value.split(/[\s,;]+/).filter(Boolean).map((part) => (Number.isFinite(Number(part)) ? Number(part) : part))
    event.target.blur()
    act({ do: "configure", changes: { [name]: given }, beside: which === 1 })
  })
  $(".file").addEventListener("change", async (event) => {
    const [file] = event.target.files
    event.target.value = ""
    if (!file) return
    if (file.size > model.upload_limit) return say(`${file.name} is larger than ${model.upload_limit / 1e6} MB, the limit of the lab.`, "error")
    selected = null
    let content
    try { content = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()) } catch {
      return say(`${file.name} is not UTF-8. Save it as UTF-8 (in a spreadsheet: "CSV UTF-8") and load it again. Or is this a binary file?`, "error")
    }
    if (/[\0-\x08\x0e-\x1f]/.test(content)) return say(`${file.name} holds control characters: is this a binary file?`, "error")
    act({ do: "csv", text: content, name: file.name })
  })
  $(".export").addEventListener("change", (event) => {
    const kind = event.target.value
    event.target.value = ""
    if (kind) act({ do: "export", kind })
  })
  $(".share").addEventListener("click", async () => {
    const url = `${location.href.split("#")[0]}${address()}`
    history.replaceState(null, "", address())
    try { await navigator.clipboard.writeText(url); say("The link is copied.") } catch { say("The link is in the address bar.") }
  })
  $(".more").addEventListener("click", () => {
    $(".more").setAttribute("aria-expanded", $(".more").getAttribute("aria-expanded") === "false")
  })
  $(".help").addEventListener("click", () => $(".help-box").showModal())
  $(".close").addEventListener("click", () => $(".help-box").close())
  $(".theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches
    root.dataset.theme = document.documentElement.dataset.labTheme = dark ? "light" : "dark"
  })

  // The session, and the part of the plane that is shown: a reload changes neither.
  const address = () => `#s=${view.link}${view.frame ? `&frame=${view.frame.map((v) => Number(v.toPrecision(6))).join(",")}` : ""}`
  const save = (name, blob) => {
    const link = document.createElement("a")
    link.href = URL.createObjectURL(blob)
    link.download = name
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10000)
    say(`Saved ${name}.`)
  }
  model.on("shown", () => {
    const last = view.reply
    view = JSON.parse(model.shown)
    if (selectNew && !view.message) selected = view.points.length - 1
    selectNew = false
    if (selected !== null && selected >= view.points.length) selected = null
    if (view.ended && playing) pause()
    if (view.message) say(view.message, "error")
    else if ($(".message").dataset.kind === "error") say("")
    draw()
    answered(view.reply - last || 1)
    if (model.in_page) {
      // Browsers limit how often the address may change.
      clearTimeout(settle)
      settle = setTimeout(() => history.replaceState(null, "", address()), 400)
    }
  })
  model.on("msg:custom", (event) => {
    const sent = event.data || event
    const bytes = Uint8Array.from(atob(sent.base64), (c) => c.charCodeAt(0))
    save(sent.name, new Blob([bytes], { type: sent.type }))
  })
  const restore = () => {
    selected = null
    const [link, frame] = location.hash.slice(3).split("&frame=")
    if (location.hash.startsWith("#s=")) act({ do: "restore", link, frame: frame ? frame.split(",").map(Number) : null })
    if (location.hash.startsWith("#scene=")) scene = decodeURIComponent(location.hash.slice(7))
    if (location.hash.startsWith("#scene=")) act({ do: "scene", name: decodeURIComponent(location.hash.slice(7)) })
  }
  if (model.in_page) { addEventListener("hashchange", restore); restore() }
  else $(".share").hidden = true
  // One unit per pixel, so that text keeps its size. Two pictures share the width if there is room.
  let room = size[0]
  const fitSize = () => {
    const aside = stage.dataset.sides === "2" && room > 640
    stage.dataset.aside = aside
    const width = Math.max(aside ? Math.floor((room - 12) / 2) : room, 240)
    size = [width, Math.round(Math.min(width * (aside ? 0.95 : 0.78), 620))]
  }
  new ResizeObserver(([entry]) => {
    const width = Math.round(Math.max(entry.contentRect.width, 260))
    if (width === room) return
    room = width
    fitSize()
    draw()
  }).observe(stage)
  draw()
  return root
}
