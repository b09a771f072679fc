// The page of the service. All that comes from outside is put in as text, never as HTML.
"use strict";

const at = (id) => document.getElementById(id);
const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 2 : 1)} %`;
const number = (x) => x.toLocaleString("en");
const when = (seconds) => new Date(1000 * seconds).toLocaleString();
let columns = [], classes = [], last = null, drawn = "";

function make(name, attributes = {}, ...children) {
  const inSvg = ["line", "path", "text", "title"].includes(name);
  const node = inSvg ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function say(text, kind = "error") {
  at("message").textContent = text;
  at("message").dataset.kind = kind;
  at("message").hidden = !text;
}

async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  const token = sessionStorage.getItem("token"), headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body });
  at("token").hidden = answer.status !== 401;
  const isJson = (answer.headers.get("Content-Type") || "").includes("json");
  const content = isJson ? await answer.json()
    : path === "/metrics" ? await answer.text() : `${(await answer.blob()).size} bytes`;
  if (!answer.ok) throw new Error(content.error || answer.statusText);
  return content;
}

function words(features) {
  const line = make("p", { class: "words" });
  for (const { feature, contribution } of features) {
    const sign = contribution > 0 ? "+" : "−";
    line.append(make("span", { class: contribution > 0 ? "for" : "against" },
      `${feature} ${sign}${Math.abs(contribution).toFixed(2)}`), " ");
  }
  return line;
}

function curve(history) {
  const svg = at("curve"), points = history.curve, left = innerWidth < 760 ? 76 : 48, right = 630, top = 10, bottom = 215;
  svg.replaceChildren();
  if (!points.length) {
    svg.append(make("text", { x: 320, y: 120, "text-anchor": "middle" }, "no label yet"));
    return;
  }
  const all = points.reduce((sum, p) => sum + p.labels, 0), least = Math.max(20, all / 60);
  let labels = 0, mistakes = 0, before = [0, 0];
  const total = [], late = [];
  points.forEach((p, i) => {
    labels += p.labels;
    mistakes += p.mistakes;
    total.push([labels, mistakes / labels]);
    if (labels - before[0] >= least || i === points.length - 1) {
      late.push([labels, (mistakes - before[1]) / (labels - before[0]), p.position]);
      before = [labels, mistakes];
    }
  });
  const most = Math.min(1, Math.max(0.02, 1.15 * Math.max(...total.slice(total.length >> 3).map((p) => p[1]),
    ...late.map((p) => p[1]))));
  const x = (n) => left + (right - left) * n / labels;
  const y = (e) => bottom - (bottom - top) * Math.min(1, e / most);
  const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((s) => most / s <= 5) || 1;
  for (let e = 0; e <= most; e += step) {
    svg.append(make("line", { class: "grid", x1: left, x2: right, y1: y(e), y2: y(e) }),
      make("text", { x: left - 6, y: y(e) + 4, "text-anchor": "end" }, percent(e).replace(/\.0+ /, " ")));
  }
  const path = (pairs) => pairs.map(([n, e], i) => `${i ? "L" : "M"}${x(n).toFixed(1)} ${y(e).toFixed(1)}`).join("");
  svg.append(make("path", { class: "late", d: path(late) }), make("path", { class: "all", d: path(total) }));
  for (const alarm of history.alarms) {
    const i = points.findIndex((p) => p.position >= alarm.position);
    if (i >= 0) {
      svg.append(make("line", { class: "alarm", x1: x(total[i][0]), x2: x(total[i][0]), y1: top, y2: bottom },
        make("title", {}, when(alarm.time))));
    }
  }
  svg.append(make("text", { x: left, y: 235 }, "0"),
    make("text", { x: right, y: 235, "text-anchor": "end" }, `${number(labels)} labels`));
  const alarm = history.alarms.at(-1);
  at("alarm").textContent = alarm ? `Last alarm: ${when(alarm.time)}, after an error of `
    + `${percent(alarm.error_before)}. Look at the latest mistakes: has the world changed?` : "";
}

function show(history) {
  columns = history.columns;
  classes = history.classes;
  const error = history.error == null ? "" : `, error ${percent(history.error)}`;
  at("counts").textContent = history.learns
    ? `${number(history.labels)} labels counted, ${number(history.mistakes)} mistakes${error}`
    : "this service predicts, and does not learn";
  for (const node of document.querySelectorAll(".learning")) node.hidden = !history.learns;
  if (at("fields").childElementCount !== columns.length) fields();
  at("classes").replaceChildren(...classes.slice(0, 1000).map((name) => make("option", { value: name })));
  const facts = {
    version: history.learns ? `after label ${number(history.version)}` : "of its file",
    classes: classes.length > 8 ? `${classes.length}` : classes.join(", ") || "none yet",
    features: number(history.features),
    rule: history.parameters.rule || "perceptron",
    "unseen features": percent(history.unseen),
  };
  if (history.corrections) facts.corrections = number(history.corrections);
  at("facts").replaceChildren(...Object.entries(facts).flatMap(([name, value]) =>
    [make("dt", {}, name), make("dd", {}, String(value))]));
  if (!history.learns) return;
  curve(history);
  const rows = Object.entries(history.by_class).sort((a, b) => b[1][1] - a[1][1]).slice(0, 30);
  at("by-class").replaceChildren(...rows.map(([name, [labels, mistakes]]) => make("tr", {},
    make("td", {}, name), make("td", { class: "value" }, number(labels)),
    make("td", { class: "value" }, number(mistakes)),
    make("td", { class: "value" }, labels ? percent(mistakes / labels) : ""))));
  at("mistakes").replaceChildren(...history.mistaken.map((m) => make("div", { class: "mistake-row" },
    make("p", {}, make("b", {}, m.label), " taken for ", make("b", {}, m.predicted),
      make("span", { class: "aside" }, ` · ${when(m.time)}`)),
    make("p", {}, m.row ? shortened(m.row) : "(the text is forgotten)"), words(m.explanation))));
  if (!history.mistaken.length) {
    at("mistakes").textContent = history.mistakes ? "None among the last 10,000 labels." : "None so far.";
  }
}

function shortened(row) {
  const text = columns.length === 1 ? row[columns[0]]
    : Object.entries(row).map(([name, value]) => `${name}: ${value}`).join(", ");
  return text.length > 300 ? `${text.slice(0, 300)} …` : text;
}

function fields() {
  at("fields").replaceChildren(...columns.map((name) => make("label", {}, columns.length > 1 ? name : "A text",
    columns.length > 1 ? make("input", { name }) : make("textarea", { name, rows: 4 }))));
}

async function refresh() {
  try {
    const history = await ask("/v1/history");
    const now = JSON.stringify(history);
    if (now !== drawn) show(history);
    if (drawn === "") say("");
    drawn = now;
  } catch (error) {
    drawn = "";
    say(error.message);
  }
}

at("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  const row = Object.fromEntries(new FormData(at("try")));
  try {
    last = await ask("/v1/predict?explain=true&top=3", JSON.stringify(row));
    const kind = "probability" in last ? "probability" : "score";
    const guesses = (last.top || []).map((g) => `${g.label} ${g[kind].toFixed(3)}`).join(", ");
    at("answer").replaceChildren(
      make("p", {}, make("span", { class: "verdict right" },
        [last.labels || last.label].flat().join(", ") || "no label yet")),
      make("p", { class: "aside" }, guesses ? `${kind}: ${guesses}; ${percent(last.unseen)} of its features are new` : ""),
      words(last.explanation || []));
    at("teach").hidden = !last.id;
    say("");
  } catch (error) {
    say(error.message);
  }
});

at("teach").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const taken = await ask("/v1/label", JSON.stringify({ id: last.id, label: at("truth").value }));
    say(`Label ${taken.status}.`, "note");
    await refresh();
  } catch (error) {
    say(error.message);
  }
});

at("token").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token-text").value);
  say("");
  refresh();
});

async function describe() {
  const { paths } = await ask("/openapi.json");
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  at("path").append(...operations.map((o, i) => make("option", { value: i }, `${o.method.toUpperCase()} ${o.path}`)));
  const choose = () => {
    const { path, method, operation } = operations[at("path").value];
    at("summary").textContent = operation.summary;
    at("body").hidden = method === "get";
    const row = Object.fromEntries(columns.map((name) => [name, "good"]));
    const label = { id: "my-1", label: classes[0] || "good", row };
    at("body").value = JSON.stringify(path.endsWith("label") ? label : row);
    at("reply").hidden = true;
  };
  at("path").addEventListener("change", choose);
  at("ask").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { path, method } = operations[at("path").value];
    try {
      const answer = await ask(path, method === "get" ? undefined : at("body").value);
      at("reply").textContent = typeof answer === "string" ? answer : JSON.stringify(answer, null, 1);
    } catch (error) {
      at("reply").textContent = error.message;
    }
    at("reply").hidden = false;
    refresh();
  });
  choose();
}

refresh().then(describe).catch((error) => say(error.message));
setInterval(() => { if (!document.hidden) refresh(); }, 2000);
