"use strict";
// The search over the rows behind the numbers. All texts are shown as text, never as markup.
(() => {
  const home = document.getElementById("explorer");
  if (!home) return;
  const nonce = document.currentScript.nonce;
  const isInline = home.dataset.inline === "yes";
  const FACETS = ["benchmark", "model", "judge", "criterion", "category", "status", "gap", "tenth", "failure"];
  const TITLES = {gap: "distance from people", status: "how it ended", tenth: "score", failure: "why string matching fails"};
  const GAPS = ["none", "below 0.25", "0.25 to 0.5", "0.5 to 0.75", "0.75 or more", "not compared"];
  const TENTHS = Array.from({length: 10}, (_, k) => `${k / 10} to ${(k + 1) / 10}`);
  const NOTHING = [];
  const SHOWN = 50, VALUES = 12;
  let data = null, filter = new URLSearchParams(), shown = SHOWN, found = [];

  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  };
  const unpack = async (bytes) => {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  // Chunks: base64 inside the page, or scripts beside it that hand over 15 bits a character.
  const fromBase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const fromSigns = (length, text) => {
    const bytes = new Uint8Array(length);
    for (let k = 0, sign = 0, bits = 0, n = 0; k < length; k++) {
      if (n < 8) {
        bits = (bits << 15) | (text.charCodeAt(sign++) - 0x100);
        n += 15;
      }
      n -= 8;
      bytes[k] = bits >> n;
      bits &= (1 << n) - 1;
    }
    return bytes;
  };
  const waiting = new Map(), loaded = new Map();
  globalThis.judgelakeRows = (name, length, text) => waiting.get(name)?.(fromSigns(length, text));
  const read = (name) => {
    if (!loaded.has(name)) {
      const bytes = isInline
        ? Promise.resolve(fromBase64(document.getElementById(`rows-${name}`).textContent))
        : new Promise((resolve, reject) => {
            waiting.set(name, resolve);
            const script = make("script", {src: `rows/${name}.js`, nonce});
            script.onerror = () => reject(new Error(`rows/${name}.js is not beside this page`));
            document.head.append(script);
          });
      loaded.set(name, bytes.then(unpack));
    }
    return loaded.get(name);
  };

  const gapOf = (score, people) => {
    if (score < 0 || people < 0) return 5;
    const gap = Math.abs(score - people);
    return gap === 0 ? 0 : gap < 250 ? 1 : gap < 500 ? 2 : gap < 750 ? 3 : 4;
  };
  async function start() {
    if (data) return data;
    data = await read("index");
    data.gap = GAPS;
    data.tenth = TENTHS;
    const {rows, cases} = data;
    data.n = rows.case.length;
    const ofCase = (place) => rows.case.map((k) => cases[k][place]);
    data.column = {
      benchmark: ofCase(0), model: ofCase(3), other: ofCase(5), category: ofCase(6),
      judge: rows.judge, criterion: rows.criterion, status: rows.status,
      gap: rows.score.map((score, k) => gapOf(score, rows.people[k])),
      failure: rows.case.map((k) => data.failures[k] ?? NOTHING),
      tenth: rows.score.map((score, k) => (score < 0 || cases[rows.case[k]][4] !== null ? -1 : Math.min(9, Math.floor(score / 100)))),
    };
    data.first = new Array(cases.length).fill(-1);
    rows.case.forEach((k, row) => { if (data.first[k] < 0) data.first[k] = row; });
    data.text = cases.map((c) => [c[1], c[2], c[4], c[7], c[8], c[9]].join("\n").toLowerCase());
    return data;
  }

  // Rows that pass, and how many would pass for each value of each facet, the others as they are.
  function search() {
    const wanted = FACETS.map((facet) => {
      const names = filter.getAll(facet);
      return names.length ? new Set(names.map((name) => data[facet].indexOf(name))) : null;
    });
    const words = (filter.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const fits = words.length ? data.text.map((text) => words.every((word) => text.includes(word))) : null;
    const counts = FACETS.map((facet) => new Int32Array(data[facet].length));
    const columns = FACETS.map((facet) => data.column[facet]);
    const {other} = data.column;
    const holds = (set, value) => (Array.isArray(value) ? value.some((one) => set.has(one)) : set.has(value));
    found = [];
    for (let row = 0; row < data.n; row++) {
      if (fits && !fits[data.rows.case[row]]) continue;
      let failed = -1, n = 0;
      for (let f = 0; f < FACETS.length && n < 2; f++) {
        const set = wanted[f];
        if (set && !holds(set, columns[f][row]) && !(f === 1 && set.has(other[row]))) {
          failed = f;
          n++;
        }
      }
      if (n > 1) continue;
      if (n === 0) found.push(row);
      for (let f = 0; f < FACETS.length; f++) {
        if (n === 1 && f !== failed) continue;
        const value = columns[f][row];
        if (Array.isArray(value)) for (const one of value) counts[f][one]++;
        else if (value >= 0) counts[f][value]++;
        if (f === 1 && other[row] >= 0) counts[f][other[row]]++;
      }
    }
    const {score, people} = data.rows;
    const gap = (row) => (score[row] < 0 || people[row] < 0 ? -1 : Math.abs(score[row] - people[row]));
    if (filter.get("sort") !== "order") found.sort((a, b) => gap(b) - gap(a) || a - b);
    return counts;
  }

  const link = (changes) => {
    const next = new URLSearchParams(filter);
    next.delete("row");
    changes(next);
    const text = next.toString();
    return `#rows${text ? `?${text}` : "?"}`;
  };
  const toggle = (facet, value) => link((next) => {
    const values = next.getAll(facet);
    next.delete(facet);
    for (const kept of values.includes(value) ? values.filter((v) => v !== value) : [...values, value]) next.append(facet, kept);
  });

  function drawFacets(counts) {
    const boxes = FACETS.map((facet, f) => {
      const chosen = new Set(filter.getAll(facet));
      const values = data[facet].map((name, k) => [name, counts[f][k]]).filter(([name, n]) => n > 0 || chosen.has(name));
      if (values.length < (facet === "failure" ? 1 : 2) && !chosen.size) return null;
      if (facet !== "gap" && facet !== "tenth") values.sort((a, b) => chosen.has(b[0]) - chosen.has(a[0]) || b[1] - a[1] || a[0].localeCompare(b[0]));
      const items = values.slice(0, VALUES).map(([name, n]) => {
        const anchor = make("a", {href: toggle(facet, name)}, make("bdi", {}, name), " ", make("small", {}, n.toLocaleString("en")));
        if (chosen.has(name)) anchor.setAttribute("aria-current", "true");
        return make("li", {}, anchor);
      });
      if (values.length > VALUES) items.push(make("li", {}, make("small", {}, `and ${values.length - VALUES} more; find them by text`)));
      return make("div", {}, make("h4", {}, TITLES[facet] ?? facet), make("ul", {}, ...items));
    });
    home.querySelector(".facets").replaceChildren(...boxes.filter(Boolean));
  }

  const points = (value) => (value < 0 ? "–" : (value / 10).toFixed(value % 10 ? 1 : 0));
  // A score in points; of a pair, the preferred model, with the share of the win where it is no whole one.
  const modelOf = (c, isB) => (c[isB ? 5 : 3] < 0 ? (isB ? "b" : "a") : data.model[c[isB ? 5 : 3]]);
  const said = (c, value) => {
    if (c[4] === null || value < 0) return points(value);
    if (value === 500) return "tie";
    const share = Math.max(value, 1000 - value);
    return modelOf(c, value > 500) + (share < 1000 ? ` ${points(share)} %` : "");
  };
  function drawRow(row) {
    const c = data.cases[data.rows.case[row]];
    const name = (kind, k) => (k < 0 ? "" : data[kind][k]);
    const models = [c[3], c[5]].filter((k) => k >= 0).map((k) => name("model", k)).join(" · ");
    const status = name("status", data.rows.status[row]);
    const cell = (text, className = "") => make("td", {className}, make("bdi", {}, text));
    const line = make(
      "tr", {tabIndex: 0},
      cell(models, "key"), cell(c[7], "prose"), cell(c[4] === null ? c[8] : `${c[8]} / ${c[9]}`, "prose"),
      cell(`${name("judge", data.rows.judge[row])}`, "key"),
      cell(status === "ok" || status === "inconsistent" ? said(c, data.rows.score[row]) : status, "num"),
      cell(said(c, data.rows.people[row]), "num"),
    );
    line.dataset.row = row;
    return line;
  }

  // A position of the reply: its likeliest tokens, all of them where the reply is a few tokens.
  function drawPosition(position, isWhole) {
    return make("span", {className: "position"}, ...position.slice(0, isWhole ? 6 : 1).map(([token, probability]) => {
      const chip = make("span", {className: "token", title: position.map(([t, p]) => `${JSON.stringify(t)} ${p / 1000}`).join("\n")}, JSON.stringify(token).slice(1, -1), make("small", {}, ` ${(probability / 1000).toFixed(2)}`));
      chip.style.setProperty("--sure", `${probability / 10}%`);
      return chip;
    }));
  }
  const counted = (texts) => {
    const counts = new Map();
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    return [...counts].map(([text, n]) => (n > 1 ? `${text} ×${n}` : text)).join(" · ");
  };
  const block = (title, text) => (text === null || text === undefined || text === "" ? null : make("div", {}, make("h5", {}, title), make("div", {className: "text", dir: "auto"}, text)));
  // The messages of a prompt: its paragraphs, with the texts of the case in the place of their slots.
  function drawPrompt(number, texts) {
    if (number === null) return null;
    const turns = number < 0
      ? [make("p", {}, make("small", {}, data.unkept[-1 - number]))]
      : data.prompts[number].map(([role, images, pieces]) => {
          const text = pieces.map((k) => data.pieces[k]).join("\n\n").replace(/[\ue000-\ue0ff]/g, (slot) => texts.get(slot) || slot);
          return make("div", {className: "turn"}, make("h5", {}, role), make("pre", {dir: "auto", tabIndex: 0}, "[image]\n".repeat(images) + text));
        });
    return make("details", {className: "prompt"}, make("summary", {}, "prompt as it was sent"), ...turns);
  }
  const listTexts = (c, detail) => new Map([
    ["\ue000", detail.prompt ?? c[7]], ["\ue001", detail.answer ?? c[8]], ["\ue002", detail.answer_b ?? c[9]],
    ...[...new Set(detail.references)].sort().map((text, k) => [String.fromCharCode(0xe010 + k), text]),
  ]);
  function drawVerdict(c, verdict, isChosen, texts) {
    const score = verdict.score < 0 ? verdict.status : said(c, verdict.score);
    const isNumber = verdict.rating !== null && !Number.isNaN(Number(verdict.rating));
    const rating = isNumber ? String(Number(Number(verdict.rating).toPrecision(3))) : verdict.rating;
    const isSame = isNumber && Math.abs(1000 * Number(verdict.rating) - verdict.score) < 0.51;
    const head = make("summary", {}, make("b", {}, make("bdi", {}, verdict.judge)), ` ${verdict.criterion}: ${score}`, rating && !isSame ? ` (${rating})` : "", verdict.sample ? ` sample ${verdict.sample}` : "");
    const known = new Map([...texts, ...verdict.replies.map((reply, k) => [String.fromCharCode(0xe0e0 + k), reply.text])]);
    const replies = verdict.replies.map((reply) =>
      make("div", {}, drawPrompt(reply.prompt, known), make("h5", {}, `reply of ${reply.model} (${reply.finish}${reply.usd ? `, ${reply.usd.toPrecision(2)} USD` : ""})`),
        make("pre", {dir: "auto"}, reply.text),
        reply.tokens.length ? make("div", {className: "tokens"}, make("small", {}, "probabilities: "), ...reply.tokens.filter((p) => p.length).map((p) => drawPosition(p, reply.tokens.length < 4))) : null));
    return make("details", {open: isChosen, className: "verdict"}, head, block("why", verdict.rationale), block("reason", verdict.reason), ...replies);
  }
  // What the index says of a verdict, and what its chunk adds.
  const compose = (row, [sample, rating, rationale, reason, replies]) => {
    const score = data.rows.score[row], people = data.rows.people[row];
    return {
      judge: data.judge[data.rows.judge[row]], criterion: data.criterion[data.rows.criterion[row]],
      status: data.status[data.rows.status[row]], score, people, sample, rating, rationale, reason,
      replies: replies.map(([text, model, finish, usd, tokens, prompt]) => ({text, model: data.replier[model], finish: data.finish[finish], usd, tokens, prompt})),
    };
  };
  async function drawCase(row) {
    const k = data.rows.case[row];
    const c = data.cases[k], per = data.per_chunk;
    const chunk = await read(String(Math.floor(k / per)));
    const detail = chunk[k % per];
    const verdicts = detail.verdicts.map((verdict, place) => compose(data.first[k] + place, verdict));
    const texts = listTexts(c, detail);
    const judge = data.judge[data.rows.judge[row]], criterion = data.criterion[data.rows.criterion[row]];
    const isChosen = (v) => v.judge === judge && v.criterion === criterion;
    const image = detail.image
      ? make("a", {href: detail.image}, make("img", {src: detail.image, alt: "the image of this item", loading: "lazy"}))
      : detail.uri ? make("small", {}, `image: ${detail.uri}`) : null;
    const ratings = [...new Set(verdicts.filter((v) => v.people >= 0 && (v.criterion === criterion || v.judge === judge)).map((v) => `${said(c, v.people)} (${v.criterion})`))];
    const answers = [block(c[4] === null ? "answer" : `answer a: ${c[3] < 0 ? c[2] : data.model[c[3]]}`, detail.answer ?? c[8]), c[4] === null ? null : block(`answer b: ${c[5] < 0 ? c[4] : data.model[c[5]]}`, detail.answer_b ?? c[9])];
    return make(
      "div", {className: c[4] === null ? "case" : "case duel"},
      make("div", {}, image, make("p", {}, make("small", {}, `item ${c[1]}, answer ${c[2]}${c[4] === null ? "" : ` and ${c[4]}`}`))),
      make("div", {}, block("question", detail.prompt ?? c[7]), block("references", counted(detail.references)), block("people", ratings.join(", ")), make("div", {className: "pair"}, ...answers.filter(Boolean))),
      make("div", {}, make("h5", {}, "verdicts"), ...[...verdicts].sort((x, y) => isChosen(y) - isChosen(x)).map((v) => drawVerdict(c, v, isChosen(v), texts))),
    );
  }
  async function open(row, line) {
    home.querySelector("tr.opened")?.remove();
    const cell = make("td", {colSpan: 6});
    try {
      cell.append(await drawCase(row));
    } catch (error) {
      cell.append(make("p", {className: "banner"}, `This row cannot be shown: ${error.message}.`));
    }
    line.after(make("tr", {className: "opened"}, cell));
  }
  function drawList() {
    const body = home.querySelector("tbody");
    body.replaceChildren(...found.slice(0, shown).map(drawRow));
    home.querySelector("output").textContent = `${found.length.toLocaleString("en")} of ${data.n.toLocaleString("en")} rows`;
    home.querySelector(".more").hidden = found.length <= shown;
  }
  async function show() {
    if (!location.hash.startsWith("#rows")) return;
    try {
      await start();
    } catch (error) {
      home.querySelector("output").textContent = `The rows cannot be read: ${error.message}.`;
      return;
    }
    filter = new URLSearchParams(location.hash.split("?")[1] ?? "");
    shown = SHOWN;
    home.querySelector("input").value = filter.get("q") ?? "";
    drawFacets(search());
    drawList();
    const row = Number(filter.get("row") ?? -1);
    if (row >= 0 && row < data.n) {
      let line = home.querySelector(`tr[data-row="${row}"]`);
      if (!line) {
        line = drawRow(row);
        home.querySelector("tbody").prepend(line);
      }
      await open(row, line);
    }
  }
  const isHere = () => location.hash.startsWith("#rows");
  addEventListener("hashchange", async () => {
    const before = document.activeElement;
    await show();
    if (isHere() && before !== home.querySelector("input")) document.getElementById("rows").scrollIntoView();
  });
  home.querySelector("input").addEventListener("input", (event) => {
    history.replaceState(null, "", link((next) => (event.target.value ? next.set("q", event.target.value) : next.delete("q"))));
    show();
  });
  home.querySelector(".more").addEventListener("click", () => {
    shown += SHOWN;
    drawList();
  });
  const choose = (line) => {
    const row = line.dataset.row;
    const isOpen = line.nextElementSibling?.classList.contains("opened");
    const next = new URLSearchParams(filter);
    if (isOpen) {
      next.delete("row");
      line.nextElementSibling.remove();
    } else {
      next.set("row", row);
      open(Number(row), line);
    }
    filter = next;
    history.replaceState(null, "", `#rows?${next}`);
  };
  home.querySelector("tbody").addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-row]");
    if (line) choose(line);
  });
  home.querySelector("tbody").addEventListener("keydown", (event) => {
    const line = event.target.closest("tr[data-row]");
    if (!line || line !== event.target) return;
    const lines = [...home.querySelectorAll("tr[data-row]")];
    const step = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1}[event.key];
    if (step) lines[lines.indexOf(line) + step]?.focus();
    else if (event.key === "Enter" || event.key === " ") choose(line);
    else return;
    event.preventDefault();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) && isHere()) {
      home.querySelector("input").focus();
      event.preventDefault();
    } else if (event.key === "Escape") home.querySelector("tr.opened")?.remove();
  });
  home.hidden = false;
  new IntersectionObserver(async (entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting) || isHere()) return;
    observer.disconnect();
    await start();
    drawFacets(search());
    drawList();
  }).observe(home);
  show().then(() => isHere() && document.getElementById("rows").scrollIntoView());
})();
