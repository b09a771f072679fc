// Scenes in the pages of the course: in a frame where the lab is served beside the pages, else as
// recordings of their runs.

const SERVED = location.pathname.startsWith("/rosenblatt-course/")
const FOLDER = document.currentScript.src.replace(/[^/]*$/, "")
const boxesOf = (name) => document.querySelectorAll(`.rosenblatt-scene[data-scene="${name}"]`)

// What the page of the lab needs, played from a recording instead of sent by a server.
class Recording {
  constructor({ variants }, solved) {
    Object.assign(this, { recorded: variants, solved, variant: 0, at: 0, examples: [], scenes: [], clouds: [] })
    this.variants = variants.map((variant) => variant.name)
    this.show()
  }
  on(event, answer) { if (event === "shown") this.answer = answer }
  show(message = null) {
    const { first, steps } = this.recorded[this.variant]
    const view = { ...first, ...steps[this.at], settings: {}, can_undo: false, live: false, beside: null, message }
    this.shown = JSON.stringify(view)
    if (view.solved) this.solved()
  }
  next(isThere) {
    const { first, steps } = this.recorded[this.variant], state = (k) => ({ ...first, ...steps[k] })
    for (let k = this.at + 1; k < steps.length; k += 1) if (isThere(state(k), state(k - 1), steps[k + 1] && state(k + 1))) return k
    return steps.length - 1
  }
  send_msg(request) {
    const last = this.recorded[this.variant].steps.length - 1
    let message = null
    if (request.do === "step") this.at = Math.min(last, this.at + (request.count || 1))
    else if (request.do === "back") this.at = Math.max(0, this.at - 1)
    else if (request.do === "restart") this.at = 0
    else if (request.do === "finish") this.at = last
    else if (request.do === "mistake") this.at = this.next((now, before) => now.updates > before.updates)
    else if (request.do === "epoch") this.at = this.next((now, before, after) => !after || after.epoch !== now.epoch)
    else if (request.do === "variant") { this.variant = request.index; this.at = 0 }
    else message = "This is a recording. In the lab itself (rosenblatt course, or rosenblatt lab) you can move the points."
    this.show(message)
    queueMicrotask(() => this.answer())
  }
}

const tick = (name) => {
  for (const box of boxesOf(name)) {
    box.classList.add("solved")
    box.querySelector(".done-mark").hidden = false
  }
  try { localStorage.setItem(`rosenblatt-solved-${name}`, "1") } catch { /* the tick lasts as long as the page */ }
}

window.rosenblattScene = (recording) => {
  for (const box of boxesOf(recording.name)) {
    if (box.shadowHost) continue
    box.shadowHost = box.appendChild(document.createElement("div"))
    const shadow = box.shadowHost.attachShadow({ mode: "open" })
    shadow.innerHTML = `<style>${STYLE}</style>`
    const page = render({ model: new Recording(recording, () => tick(recording.name)) })
    page.dataset.compact = "open" in box.dataset
    shadow.append(page)
  }
}

const begin = (box) => {
  const name = box.dataset.scene
  box.querySelector("button").remove()
  if (!SERVED) {
    const script = document.createElement("script")
    script.src = `${FOLDER}${name}.js`
    return document.head.append(script)
  }
  const frame = document.createElement("iframe")
  frame.src = `/lab#scene=${name}`
  frame.title = `the lab: ${name}`
  box.append(frame)
}

const prepare = () => {
  for (const box of document.querySelectorAll(".rosenblatt-scene")) {
    box.querySelector("button").addEventListener("click", () => begin(box))
    if ("open" in box.dataset) begin(box)
    try { if (localStorage.getItem(`rosenblatt-solved-${box.dataset.scene}`)) tick(box.dataset.scene) } catch { /* no ticks are kept */ }
  }
  addEventListener("message", (event) => {
    if (event.origin === location.origin && event.data && typeof event.data.rosenblattSolved === "string") tick(event.data.rosenblattSolved)
  })
  const sheet = document.createElement("style")
  sheet.textContent = `.rosenblatt-scene { border: 1px solid #8886; border-left: 5px solid #0072b2; border-radius: 6px; padding: .5rem .9rem; margin: 1rem 0; }
    .rosenblatt-scene.solved { border-left-color: #00795a; } .rosenblatt-scene .done-mark { color: #00795a; }
    .rosenblatt-scene iframe { width: 100%; height: 900px; border: 0; border-radius: 6px; } .rosenblatt-scene p { margin: .2rem 0 .5rem; }
    .rosenblatt-scene button { font: inherit; padding: .2rem .8rem; cursor: pointer; }`
  document.head.append(sheet)
}
if (document.readyState === "loading") addEventListener("DOMContentLoaded", prepare)
else prepare()
