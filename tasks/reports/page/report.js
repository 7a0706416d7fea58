"use strict";
const sortKey = (cell) => (cell.dataset.sort ?? cell.textContent.trim().replace(/^⚠\s*/, ""));
const asNumber = (key) => (/^[-+]?[\d.]+(e[-+]?\d+)?( %)?$/i.test(key) ? parseFloat(key) : NaN);
const compare = (a, b) => {
  const x = asNumber(a), y = asNumber(b);
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, {numeric: true}) : x - y;
};
const isBlank = (key) => key === "" || key === "–";
function sortTable(table, column, head) {
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const keyed = Array.from(body.rows, (row) => [sortKey(row.cells[column]), row]);
  keyed.sort(([a], [b]) => (isBlank(a) || isBlank(b) ? isBlank(a) - isBlank(b) : sign * compare(a, b)));
  body.append(...keyed.map(([, row]) => row));
}
for (const table of document.querySelectorAll("table.sortable")) {
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortTable(table, column, head));
  });
}
for (const input of document.querySelectorAll("input[data-table]")) {
  const rows = Array.from(document.getElementById(input.dataset.table).tBodies[0].rows, (row) => [row, row.textContent.toLowerCase()]);
  const output = input.closest("p").querySelector("output");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    output.textContent = `${shown} of ${rows.length}`;
  });
  input.closest("p").hidden = false;
}

// Files of what is shown: a figure as SVG, a table as CSV. Nothing leaves the page.
function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function addSaver(place, label, act) {
  const line = document.createElement("span");
  const button = document.createElement("button");
  line.className = "save";
  button.type = "button";
  button.textContent = label;
  button.addEventListener("click", act);
  line.append(button);
  place.append(" ", line);
}
// A cell that a spreadsheet would take for a formula gets an apostrophe.
const quoteCell = (cell) => {
  const text = cell.innerText.trim().replace(/\s*\n\s*/g, " ");
  const plain = /^[=+@\t\r]|^-(?![\d.])/.test(text) ? "'" + text : text;
  return '"' + plain.replaceAll('"', '""') + '"';
};
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg");
  addSaver(figure.querySelector("figcaption"), "SVG", () => {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("color", getComputedStyle(svg).color);
    save("figure.svg", "image/svg+xml", new XMLSerializer().serializeToString(copy));
  });
}
for (const table of document.querySelectorAll("details.table > .wide > table")) {
  addSaver(table.caption.firstElementChild, "CSV", () => {
    const rows = Array.from(table.rows).filter((row) => !row.hidden);
    const lines = rows.map((row) => Array.from(row.cells, quoteCell).join(","));
    save(`${table.closest("details").id || "table"}.csv`, "text/csv", lines.join("\r\n") + "\r\n");
  });
}

// A link to a table opens it.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target?.closest("details");
  if (fold) {
    fold.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", openTarget);
openTarget();
