"use strict";
(() => {
  const number = /^[^\w+.\u2212-]*([+\u2212-]?\d[\d\u202f ]*\.?\d*(?:e[+-]?\d+)?)/i;

  // --- tables that sort, inside each group of rows ---
  const valueOf = (cell) => {
    const text = (cell?.dataset.sort ?? cell?.textContent ?? "").trim();
    const found = number.exec(text);
    const value = found ? parseFloat(found[1].replace(/[\u202f ]/g, "").replace("\u2212", "-")) : NaN;
    return { text, value };
  };
  const isLast = (one) => one.text === "" || one.text === "–";
  const compare = (a, b, numeric, sign) => {
    if (isLast(a.key) !== isLast(b.key)) return isLast(a.key) ? 1 : -1;
    const order = numeric
      ? (Number.isNaN(a.key.value) ? 1 : Number.isNaN(b.key.value) ? -1 : sign * (a.key.value - b.key.value))
      : sign * a.key.text.localeCompare(b.key.text, "en", { numeric: true });
    return order || a.at - b.at;
  };
  const sort = (table, index, header) => {
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
      const keyed = rows.map((row, at) => ({ row, at, key: valueOf(row.cells[index]) }));
      const told = keyed.filter((one) => !isLast(one.key));
      const numeric = told.filter((one) => !Number.isNaN(one.key.value)).length > told.length / 2;
      keyed.sort((a, b) => compare(a, b, numeric, ascending ? 1 : -1));
      body.append(...keyed.map((one) => one.row));
    }
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((header, index) => {
      if (header.tagName !== "TH") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, index, header));
    });
  }

  // --- filters ---
  for (const form of document.querySelectorAll("form.filter")) {
    const rows = [...document.getElementById(form.dataset.filter).tBodies[0].rows];
    const search = form.querySelector("input[type=search]");
    const apply = () => {
      const kinds = new Set([...form.querySelectorAll("input:checked")].map((box) => box.value));
      const words = search.value.trim().toLowerCase();
      for (const row of rows)
        row.hidden = !kinds.has(row.dataset.kind) || !row.textContent.toLowerCase().includes(words);
      form.querySelector(".count").textContent =
        `${rows.filter((row) => !row.hidden).length} of ${rows.length} shown`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  // --- what stands behind a number ---
  const data = JSON.parse(document.getElementById("evidence").textContent);
  const dialog = document.getElementById("behind");
  const title = document.getElementById("behind-title");
  const make = (tag, text, parent, attributes = {}) => {
    const svg = ["svg", "circle", "line", "text"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    if (text !== null && text !== undefined) node.textContent = text;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    parent?.append(node);
    return node;
  };
  const cellOf = (id) => {
    const row = data.cells[id];
    const cell = Object.fromEntries(data.columns.map((name, i) => [name, row[i]]));
    for (const name of data.named) cell[name] = data.texts[cell[name]];
    return cell;
  };
  const told = (value, digits = 4) => (value === null ? "–" : String(Number(Number(value).toPrecision(digits))));
  const grid = (columns, rows, caption, parent) => {
    const box = make("div", null, parent, { class: "scroll", tabindex: "0", role: "group", "aria-label": caption });
    const table = make("table", null, box);
    make("caption", caption, table);
    const head = make("tr", null, make("thead", null, table));
    for (const name of columns) make("th", name, head, { scope: "col" });
    const body = make("tbody", null, table);
    for (const row of rows) {
      const line = make("tr", null, body);
      row.forEach((value, i) =>
        make(i ? "td" : "th", typeof value === "number" ? told(value) : value ?? "–", line, i ? {} : { scope: "row" }));
    }
  };
  const strip = (cell, parent) => {
    const seeds = cell.seeds.map((one) => one[1]).filter((value) => value !== null);
    const every = cell.paper === null ? seeds : [...seeds, cell.paper];
    const low = Math.min(...every), high = Math.max(...every);
    const x = (value) => 20 + (560 * (value - low)) / (high - low || 1);
    const label = `Values of ${seeds.length} seeds from ${told(Math.min(...seeds))} to ${told(Math.max(...seeds))}` +
      (cell.paper === null ? "" : `; the line is the paper's ${told(cell.paper)}`);
    const svg = make("svg", null, parent, { class: "strip", viewBox: "0 0 600 48", role: "img", "aria-label": label });
    make("line", null, svg, { class: "axis", x1: 20, x2: 580, y1: 30, y2: 30 });
    if (cell.paper !== null) make("line", null, svg, { class: "papers", x1: x(cell.paper), x2: x(cell.paper), y1: 6, y2: 30 });
    for (const value of seeds) make("circle", null, svg, { cx: x(value), cy: 18, r: 6 });
    make("text", told(low), svg, { x: 20, y: 44 });
    make("text", told(high), svg, { x: 580, y: 44, "text-anchor": "end" });
  };
  const listed = (tree, indent = "") =>
    Object.entries(tree).map(([name, value]) => {
      const isTree = value !== null && typeof value === "object" && !Array.isArray(value);
      if (isTree) return `${indent}${name}:\n${listed(value, `${indent}  `)}`;
      return `${indent}${name}: ${typeof value === "string" ? value : JSON.stringify(value).replaceAll(",", ", ")}`;
    }).join("\n");
  const show = (id) => {
    const cell = cellOf(id);
    const body = dialog.querySelector(".body");
    body.replaceChildren();
    title.textContent = [cell.table, cell.setting, cell.method, data.metrics[cell.metric] ?? cell.metric].join(" · ");
    const list = make("dl", null, body);
    const fact = (name, value) => { make("dt", name, list); make("dd", value, list); };
    if (cell.mean !== null) {
      fact("mean", told(cell.mean, 6));
      fact("over seeds", `standard deviation ${told(cell.std)}, ${cell.n_seeds} seeds` +
        (cell.ci_low === null ? "" : `, 95 % interval ${told(cell.ci_low)} to ${told(cell.ci_high)}`));
    }
    if (cell.paper !== null) fact("the paper", told(cell.paper));
    if (cell.verdict) fact("verdict", cell.verdict);
    fact("selection rule", cell.selection);
    if (cell.how) fact("chosen", cell.how);
    fact("data", cell.data_source);
    const file = data.files[cell.table];
    if (file) { fact("file", `${file[0]}, line ${cell.line}`); fact("SHA-256", file[1]); }
    make("dt", "more", list);
    make("code", `kerhrm explain ${cell.table} "${cell.setting}" "${cell.method}" ${cell.metric}${cell.own ? "" : ` --rule "${cell.selection}"`} --run ${data.folder}`, make("dd", null, list));
    make("h3", "Values per seed", body);
    if (cell.seeds) { strip(cell, body); grid(["seed", "value"], cell.seeds, "By seed", body); }
    else make("p", "Scores per seed are not kept beside these tables; a run leaves them in results/<preset>/scores.", body, { class: "note" });
    const choices = cell.choices;
    if (choices) { const [columns, ...rows] = JSON.parse(choices); make("h3", "What its rule chose", body); grid(columns, rows, "By seed, what was chosen", body); }
    const options = cell.options;
    if (options) { make("h3", "Options", body); make("pre", listed(JSON.parse(options)), body, { tabindex: "0" }); }
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    title.focus({ preventScroll: true });
  };
  const leave = () => {
    const cell = document.getElementById(dialog.dataset.of ?? "");
    cell?.querySelector("a")?.focus();
  };
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    for (let node = target?.parentElement; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target?.tagName === "DETAILS") target.open = true;
    if (id in data.cells) { dialog.dataset.of = id; target.scrollIntoView({ block: "center" }); show(id); }
    else if (target) { if (dialog.open) dialog.close(); target.scrollIntoView(); }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.cell");
    if (link && location.hash === link.hash) { event.preventDefault(); follow(); }
    if (event.target === dialog) dialog.close();
  });
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", leave);
  window.addEventListener("hashchange", follow);
  if (location.hash) follow();

  // --- where the reader is ---
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "location");
    }
  }, { rootMargin: "0px 0px -80% 0px" });
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
})();
