"use strict";
// The page of a lake. Everything from the server is set as text, never as markup.
const at = (id) => document.getElementById(id);
function make(name, text, properties = {}) {
  const element = Object.assign(document.createElement(name), properties);
  if (text !== undefined) element.textContent = text;
  return element;
}
const whole = (number) => Number(number).toLocaleString("en");
const time = (text) => String(text).replace("T", " ").slice(0, 16) + " UTC";

// The token comes in the address's fragment, which is sent to no server, and is kept for this origin: unlike a cookie, for this port alone.
let token = "";
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return false;
  token = given;
  try { localStorage.setItem("token", given); } catch { /* a browser that keeps nothing: this tab has it */ }
  history.replaceState(null, "", "/");
  return true;
}
function ownToken() {
  try { return localStorage.getItem("token") ?? token; } catch { return token; }
}
const request = (path, {headers, ...more} = {}) => fetch(path, {...more, headers: {...headers, Authorization: `Bearer ${ownToken()}`}});

// What runs now, and how the last runs ended.
const first = new Map();  // run -> [seconds, cases judged] when this page first saw it
let wait = 2000;

function estimate(run) {
  const now = performance.now() / 1000;
  if (!first.has(run.run_id)) first.set(run.run_id, [now, run.n_judged]);
  const [since, judged] = first.get(run.run_id);
  const rate = (run.n_judged - judged) / (now - since);
  if (!(rate > 0) || run.n_judged >= run.n_to_judge) return "";
  const left = (run.n_to_judge - run.n_judged) / rate;
  return `, ${rate.toPrecision(2)} a second, about ${left < 90 ? `${Math.ceil(left)} s` : `${Math.ceil(left / 60)} min`} left`;
}
function showRun(run) {
  const box = make("div", undefined, {className: "run"});
  const title = make("p");
  title.append(make("b", run.suite), ` since ${time(run.started_at)}, run `, make("code", run.run_id));
  box.append(title);
  if (run.n_to_judge) {
    const bar = make("progress", undefined, {max: run.n_to_judge, value: run.n_judged});
    bar.setAttribute("aria-label", `cases of ${run.suite} judged`);
    box.append(bar, make("p", `${whole(run.n_judged)} of ${whole(run.n_to_judge)} cases judged${run.alive ? estimate(run) : ""}`));
  }
  if (run.lost) box.append(make("p", "It ended without writing its end: run the suite again to go on.", {className: "banner"}));
  else if (!run.alive) box.append(make("p", "It holds no lease: it starts, waits, or was killed."));
  if (run.steps.length) {
    const steps = make("ol", undefined, {className: "steps"});
    for (const {step, seconds, ...facts} of run.steps) {
      const said = Object.entries(facts).filter(([, value]) => value !== 0 && typeof value !== "object").slice(0, 6);
      steps.append(make("li", `${step}${seconds === undefined ? "" : `, ${seconds} s`}${said.length ? ": " : ""}${said.map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "number" ? whole(value) : value}`).join(", ")}`));
    }
    box.append(steps);
  }
  return box;
}
function fillTable(place, heads, rows, caption) {
  const table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  table.append(make("caption", caption));
  for (const [name, isNumber] of heads) head.append(make("th", name, {scope: "col", className: isNumber ? "num" : ""}));
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((cell, column) => {
      const place = row.insertCell();
      place.className = heads[column][1] ? "num" : "";
      place.append(cell);
    });
  }
  const wide = make("div", undefined, {className: "wide", tabIndex: 0});
  wide.setAttribute("role", "region");
  wide.setAttribute("aria-label", caption);
  wide.append(table);
  place.replaceChildren(wide);
}
function showReports(reports, suites, address) {
  const link = (text, ...parts) => make("a", text, {href: address + parts.map(encodeURIComponent).join("/")});
  if (!reports.length) {
    at("pages").replaceChildren(make("p", "No report yet: judgelake run, or judgelake report, makes one."));
    return;
  }
  const of = new Map(suites.map((suite) => [suite.suite, suite]));
  fillTable(at("pages"), [["Suite"], ["Last run"], ["Calls", true], ["USD", true], ["Earlier reports"]], reports.map(({suite, earlier}) => {
    const last = of.get(suite), links = make("span");
    earlier.slice(0, 8).forEach(([run, started], place) => links.append(place ? ", " : "", link(started, suite, "runs", run, "report.html")));
    return [link(suite, suite, "report.html"), last ? `${last.last_outcome}, ${time(last.last_started_at)}` : "–", last ? whole(last.n_calls) : "–", last && last.cost_usd !== null ? last.cost_usd.toFixed(2) : "–", links];
  }), "The last report of each suite; earlier ones as their run left them.");
}
function showLast(runs) {
  fillTable(at("runs"), [["Started"], ["Suite"], ["Outcome"], ["Calls", true], ["Verdicts", true], ["USD", true], ["Seconds", true], ["Run"]], runs.map((run) => [
    time(run.started_at), run.suite, run.outcome, whole(run.n_calls), whole(run.n_verdicts),
    run.cost_usd === null ? "not known" : run.cost_usd.toFixed(2), run.seconds === null ? "–" : whole(run.seconds), make("code", run.run_id),
  ]), "The last ten runs, the newest first.");
}
async function follow() {
  try {
    const answer = await request("/api/lake");
    at("refused").hidden = answer.status !== 401;
    at("lost").hidden = true;
    if (answer.status === 401) throw new Error("no token, or that of another server");
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    at("lake").textContent = found.lake;
    document.title = `${found.under_way.length ? "▶ " : ""}judgelake ${found.lake.split("/").at(-1)}`;
    at("open").replaceChildren(...(found.under_way.length ? found.under_way.map(showRun) : [make("p", "Nothing is running.")]));
    showReports(found.reports, found.suites, found.reports_at);
    showLast(found.runs);
    wait = found.under_way.length ? 2000 : 5000;
  } catch (error) {
    at("lost").hidden = !at("refused").hidden;
    console.warn(`judgelake view: ${error.message}`);
    wait = 5000;
  }
  setTimeout(follow, wait);
}

// Questions in SQL.
const catalog = new Map();
let asking = null;

function choose(name) {
  const line = catalog.get(name);
  if (!line) return;
  at("query").value = line.query;
  at("says").textContent = line.says;
  const inputs = Object.entries(line.options).map(([option, {default: value, says, choices}]) => {
    const label = make("label", `${option} `, {title: says});
    const input = choices.length ? make("select") : make("input", undefined, {placeholder: "any"});
    for (const choice of choices) input.append(make("option", choice, {value: choice, selected: choice === value}));
    if (!choices.length && value !== null) input.value = value;
    input.dataset.option = option;
    label.append(input);
    return label;
  });
  at("options").replaceChildren(...inputs);
  at("options").hidden = !inputs.length;
}
function readQuestion(format = null) {
  const query = at("query").value, options = {};
  for (const input of document.querySelectorAll("[data-option]")) {
    if (new RegExp(`\\$${input.dataset.option}\\b`).test(query)) options[input.dataset.option] = input.value || null;
  }
  return {query, options, format};
}
const isNumber = (type) => /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/.test(type);
function showValue(value, numeric) {
  if (value === null) return make("span", "null", {className: "null"});
  if (numeric && typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
function showRows({columns, types, rows, is_cut: isCut, seconds, notes}) {
  const numeric = types.map(isNumber);
  const cells = rows.map((row) => row.map((value, column) => showValue(value, numeric[column])));
  const shown = `${whole(rows.length)} row${rows.length === 1 ? "" : "s"}${isCut ? ", the first of more" : ""}, ${seconds} s`;
  const place = at("found");
  const inner = make("div");
  fillTable(inner, columns.map((name, column) => [name, numeric[column]]), cells, shown);
  place.replaceChildren(inner.querySelector("table"));
  place.hidden = false;
  at("outcome").textContent = [...notes, shown].join(". ");
  at("files").hidden = false;
}
async function ask(format) {
  asking?.abort();
  const mine = asking = new AbortController();
  const question = readQuestion(format);
  at("stop").hidden = false;
  at("wrong").hidden = true;
  at("outcome").textContent = "…";
  history.replaceState(null, "", "#sql=" + encodeURIComponent(question.query));
  try {
    const answer = await request("/api/sql", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(question), signal: mine.signal});
    if (format && answer.ok) {
      const saved = make("a", "", {href: URL.createObjectURL(await answer.blob()), download: `rows.${format}`});
      saved.click();
      setTimeout(() => URL.revokeObjectURL(saved.href), 10000);
      at("outcome").textContent = `rows.${format} is saved`;
    } else {
      const found = answer.headers.get("Content-Type").startsWith("application/json") ? await answer.json() : {error: await answer.text()};
      if (!answer.ok) throw new Error(found.error);
      showRows(found);
    }
  } catch (error) {
    at("outcome").textContent = error.name === "AbortError" ? "Stopped." : "";
    if (error.name !== "AbortError") {
      at("found").hidden = at("files").hidden = true;
      at("wrong").textContent = error.message;
      at("wrong").hidden = false;
    }
  } finally {
    if (asking === mine) at("stop").hidden = true;
  }
}
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(null);
});
at("stop").addEventListener("click", () => asking?.abort());
at("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    ask(null);
  }
});
at("find").addEventListener("input", (event) => choose(event.target.value));
at("find").addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    ask(null);
  }
});
for (const button of document.querySelectorAll("[data-format]")) button.addEventListener("click", () => ask(button.dataset.format));

async function start() {
  takeToken();
  addEventListener("hashchange", () => takeToken() && location.reload());
  follow();
  const answer = await request("/api/catalog");
  if (!answer.ok) return;
  const lines = await answer.json();
  for (const line of lines) {
    catalog.set(line.name, line);
    at("catalog").append(make("option", `${line.kind}: ${line.says}`, {value: line.name}));
  }
  if (location.hash.startsWith("#sql=")) at("query").value = decodeURIComponent(location.hash.slice(5));
}
start();
