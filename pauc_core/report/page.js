"use strict";
(async () => {
  function unpacked(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  }
  const library = document.createElement("script");
  library.textContent = await unpacked("plotly").text();
  document.head.append(library);
  const data = await unpacked("data").json();
  const at = (id) => document.getElementById(id);
  // Colours come from the style sheet, so that charts follow it from light to dark and to paper.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const dark = () => getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)";
  const small = () => document.documentElement.clientWidth < 600;
  const layout = () => ({
    margin: small() ? { l: 52, r: 10, t: 14, b: 44 } : { l: 70, r: 20, t: 20, b: 50 },
    font: { family: "system-ui, sans-serif", size: small() ? 11 : 13, color: colour("ink") },
    showlegend: false,
    hovermode: "closest",
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
  });
  const settings = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
  const axis = (title, log) => ({ title: { text: title }, type: log ? "log" : "linear", gridcolor: colour("grid"), linecolor: colour("rule"), zeroline: false });
  // A dark line on a dark ground is lightened, its hue kept.
  function seen(hex) {
    const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    const light = (0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]) / 255;
    if (!dark() || light > 0.42) return hex;
    const share = Math.min(0.75, (0.52 - light) / (1 - light));
    return "#" + parts.map((p) => Math.round(p + (255 - p) * share).toString(16).padStart(2, "0")).join("");
  }
  const faint = (hex) => hex + "2e";
  const order = Object.keys(data.methods);
  const methodsOf = (cells, task) => order.filter((m) => `${task}|${m}` in cells);
  const names = (cells) => data.tasks.filter((task) => methodsOf(cells, task).length);

  function fill(select, values, label) {
    for (const value of values) {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = label(value);
      select.append(option);
    }
  }
  const taskLabel = (task) => task.replace("|", ": ");

  // ---- convergence ------------------------------------------------------------------------
  const hidden = new Set();
  const words = { epoch: "epoch", seconds: "CPU seconds", work: "rows put through a model", objective: "objective",
    suboptimality: "objective above the lowest seen", pauc_train: "pAUC, training", pauc_valid: "pAUC, validation", pauc_test: "pAUC, test" };

  function band(x, mean, deviation, look, log) {
    const floor = log ? Math.min(...mean.filter((v) => v > 0)) / 10 : -Infinity;
    const low = mean.map((v, i) => Math.max(v - deviation[i], floor));
    const high = mean.map((v, i) => v + deviation[i]);
    return { x: [...x, ...[...x].reverse()], y: [...high, ...low.reverse()], fill: "toself", fillcolor: faint(seen(look.colour)),
      line: { width: 0 }, hoverinfo: "skip", showlegend: false, type: "scatter", mode: "lines" };
  }

  function line(x, y, deviation, look, method, n, told = x) {
    return { x, y, name: look.label, meta: method, type: "scatter", mode: "lines+markers", customdata: y.map((_, i) => [deviation[i], told[i]]),
      line: { color: seen(look.colour), dash: look.dash, width: 2 }, marker: { symbol: look.symbol, size: 6, color: seen(look.colour) },
      hovertemplate: `<b>${look.label}</b><br>%{customdata[1]:.5~g}<br>%{y:.5~g} ± %{customdata[0]:.2~g}` + (n ? `<br>${n} seeds` : "") + "<extra></extra>" };
  }

  function drawCurves() {
    const task = at("curve-task").value, xName = at("curve-x").value, yName = at("curve-y").value;
    const logx = at("curve-logx").checked, logy = at("curve-logy").checked;
    const traces = [], shown = methodsOf(data.curves, task);
    // A log axis has no 0: the look before the first step stands left of all others.
    const left = Math.min(...shown.flatMap((m) => data.curves[`${task}|${m}`].x[xName] || []).filter((v) => v > 0)) / 2;
    let end = 0, low = Infinity, high = 0;
    for (const method of shown) {
      const cell = data.curves[`${task}|${method}`], look = data.methods[method];
      const measure = cell.y[yName === "suboptimality" ? "objective" : yName];
      const told = cell.x[xName];
      if (!measure || !told || hidden.has(method)) continue;
      const x = logx ? told.map((v) => (v > 0 ? v : left)) : told;
      const floor = yName === "objective" ? data.lowest[task] : 0;
      const mean = measure.mean.map((v) => v + floor);
      if (at("curve-bands").checked && cell.n > 1) traces.push(band(x, mean, measure.deviation, look, logy));
      traces.push(line(x, mean, measure.deviation, look, method, cell.n, told));
      high = Math.max(high, ...mean);
      if (!method.startsWith("agd_sbcd")) continue;
      end = Math.max(end, x[x.length - 1]);
      low = Math.min(low, ...mean.filter((v) => v > 0));
    }
    // Exact methods run for many more epochs and come far lower: the view begins with the range of
    // the paper's method, on a log axis with a decade below it.
    const xaxis = axis(words[xName], logx), yaxis = axis(words[yName], logy);
    if (end && !logx) xaxis.range = [-0.02 * end, 1.03 * end];
    if (logy && low < high) yaxis.range = [Math.log10(low) - 1, Math.log10(high) + 0.1];
    const empty = traces.length ? [] : [{ text: "nothing measured here", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }];
    Plotly.react("curve-chart", traces, { ...layout(), annotations: empty,
      xaxis, yaxis }, settings);
  }

  function swatch(method) {
    const dot = document.createElement("i");
    dot.style.background = seen(data.methods[method].colour);
    return [dot, data.methods[method].label];
  }
  function offerMethods() {
    const box = at("curve-methods");
    box.replaceChildren();
    for (const method of methodsOf(data.curves, at("curve-task").value)) {
      const label = document.createElement("label"), tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = !hidden.has(method);
      tick.dataset.method = method;
      tick.addEventListener("change", () => { tick.checked ? hidden.delete(method) : hidden.add(method); drawCurves(); });
      label.append(tick, ...swatch(method));
      box.append(label);
    }
  }

  fill(at("curve-task"), names(data.curves), taskLabel);
  at("curve-task").addEventListener("change", () => { offerMethods(); drawCurves(); });
  for (const id of ["curve-x", "curve-y", "curve-logx", "curve-logy", "curve-bands"]) at(id).addEventListener("change", drawCurves);
  offerMethods();
  drawCurves();

  // ---- ROC --------------------------------------------------------------------------------
  function drawRoc() {
    const task = at("roc-task").value, traces = [];
    const grid = Array.from({ length: 101 }, (_, i) => i / 100);
    for (const method of methodsOf(data.roc, task)) {
      const cell = data.roc[`${task}|${method}`], look = data.methods[method];
      let sum = 0;
      const tpr = cell.rises.map((rise) => (sum += rise) / 1000), deviation = cell.deviation.map((v) => v / 1000);
      traces.push(band(grid, tpr, deviation, look, false));
      const curve = line(grid, tpr, deviation, look, method);
      traces.push({ ...curve, mode: "lines" });
    }
    at("roc-methods").replaceChildren(...methodsOf(data.roc, task).map((method) => {
      const name = document.createElement("span");
      name.append(...swatch(method));
      return name;
    }));
    const [low, high] = data.bands[task] || [0, 0];
    Plotly.react("roc-chart", traces, { ...layout(), xaxis: { ...axis("false positive rate"), range: [0, 1] },
      yaxis: { ...axis("true positive rate"), range: [0, 1.01] },
      shapes: [{ type: "rect", xref: "x", yref: "paper", x0: low, x1: high, y0: 0, y1: 1, fillcolor: colour("ink"), opacity: 0.07, line: { width: 0 } }] }, settings);
  }
  fill(at("roc-task"), names(data.roc), taskLabel);
  at("roc-task").addEventListener("change", drawRoc);
  drawRoc();

  const drawLeague = league({ data, at, seen, layout, settings, axis, swatch });

  // ---- tuning -----------------------------------------------------------------------------
  const text = (value) => value === null || value === undefined ? "" : typeof value === "number" ? String(+value.toPrecision(6)) : String(value);
  function tableOf(table, heads, rows) {
    table.replaceChildren();
    const head = table.insertRow();
    for (const name of heads) { const th = document.createElement("th"); th.textContent = name; head.append(th); }
    for (const row of rows) { const tr = table.insertRow(); for (const value of row) tr.insertCell().textContent = text(value); }
  }
  function drawTrials() {
    const rows = data.trials[at("trial-cell").value] || [];
    const y = rows.some((r) => r.pauc_valid !== null) ? "pauc_valid" : "last_objective";
    Plotly.react("trial-chart", [{ x: rows.map((r) => r.trial), y: rows.map((r) => r[y]), text: rows.map((r) => r.params), type: "scatter", mode: "markers",
      marker: { size: rows.map((r) => r.chosen ? 14 : 8), color: rows.map((r) => r.chosen ? colour("blue") : colour("rule")), symbol: rows.map((r) => r.chosen ? "star" : "circle") },
      hovertemplate: "%{text}<br>%{y:.5~g}<extra></extra>" }],
      { ...layout(), xaxis: { ...axis("trial"), dtick: Math.ceil(rows.length / 20) || 1 }, yaxis: axis(y === "pauc_valid" ? "pAUC, validation" : "objective") }, settings);
    tableOf(at("trial-table"), ["Trial", "Hyper-parameters", "pAUC, validation", "Objective", "Epochs", "CPU s", "Outcome", "Chosen"],
      rows.map((r) => [r.trial, r.params, r.pauc_valid, r.last_objective, r.epoch, r.seconds, r.outcome, r.chosen ? "chosen" : ""]));
  }
  const cells = Object.keys(data.trials);
  if (cells.length) {
    fill(at("trial-cell"), cells, (key) => key.split("|").join(" / "));
    at("trial-cell").addEventListener("change", drawTrials);
    drawTrials();
  } else {
    at("tuning").querySelectorAll(".controls, .chart, .scroll").forEach((part) => part.remove());
    at("tuning").append("Nothing was tuned at this scale.");
  }

  // ---- provenance -------------------------------------------------------------------------
  function explain(key) {
    const cell = data.runs.cells[key], body = at("provenance-body");
    const [experiment, dataset, method] = key.split("|");
    body.replaceChildren();
    const title = document.createElement("h3");
    title.id = "provenance-title";
    title.textContent = `${experiment} / ${dataset} / ${(data.methods[method] || {}).label || method}`;
    body.append(title);
    if (!cell) { body.append(`A count of the dataset, not of a run; checksum of its arrays: ${data.checksums[dataset] || "unknown"}`); at("provenance").showModal(); return; }
    const seeds = Array.from({ length: cell.n }, (_, i) => ({ ...cell.same,
      ...Object.fromEntries(Object.entries(cell.seeds).map(([name, values]) => [name, values[i]])) }));
    const table = document.createElement("table"), box = document.createElement("div");
    Object.assign(box, { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Runs" });
    box.append(table);
    tableOf(table, ["Seed", "Outcome", "Test pAUC", "95 % interval", "Valid.", "Train", "Objective", "At epoch", "Test at w", "Train, last look", "at epoch", "CPU s", "Peak MB", "Hyper-parameters", "Chosen by", "Code", "Data", "Ranks m, n", "Written in"],
      seeds.map((s) => [s.seed, s.outcome, s.pauc_test, s.test_low === null ? "" : `${text(s.test_low)} to ${text(s.test_high)}`, s.pauc_valid, s.pauc_train, s.objective,
        s.epoch, s.pauc_test_w, s.last_pauc_train, s.last_epoch, s.seconds, s.peak_mb, s.params, s.tuned ? s.chosen_by : "fixed", (s.code_digest || "") + (s.stale ? " †stale" : ""),
        s.data_checksum, `${text(s.m)}, ${text(s.n)}`, s.path]));
    const first = seeds[0];
    const facts = document.createElement("p");
    facts.className = "note";
    facts.textContent = `Data: ${cell.data}; ${text(first.n_train_pos)} positives and ${text(first.n_train_neg)} negatives to train on, ${text(first.n_test)} test rows. ` +
      [...new Set(seeds.map((s) => data.runs.versions[s.versions]))].join(" | ");
    const command = document.createElement("p");
    const code = document.createElement("code");
    code.textContent = `make explain RUN=${experiment}/${dataset}/${method}` + (data.scale === "default" ? "" : ` SCALE=${data.scale}`);
    command.append(code);
    body.append(box, facts, command);
    at("provenance").showModal();
  }
  document.addEventListener("click", (event) => {
    const number = event.target.closest("button.open");
    if (number) explain(number.dataset.key);
  });
  at("provenance-close").addEventListener("click", () => at("provenance").close());

  // ---- what is shown when asked for -------------------------------------------------------
  document.querySelectorAll(".regime").forEach((regime) => regime.addEventListener("toggle", () => {
    const box = regime.querySelector("[data-fill]");
    if (!box.firstChild) box.innerHTML = data.fills[box.dataset.fill];
  }));
  const pictures = [...document.querySelectorAll("[data-picture]")];
  for (const picture of pictures) picture.src = URL.createObjectURL(new Blob([data.pictures[picture.dataset.picture]], { type: "image/svg+xml" }));

  // ---- every number -----------------------------------------------------------------------
  at("comparison-all").addEventListener("toggle", () => {
    const { heads, rows } = data.comparison;
    if (!at("comparison-table").rows.length) tableOf(at("comparison-table"), heads, rows);
  });

  // ---- contents, light and dark, paper ----------------------------------------------------
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const places = [...links.keys()].map(at).filter(Boolean);
  function here() {
    const passed = places.filter((place) => place.getBoundingClientRect().top < 120);
    const current = links.get((passed.at(-1) || places[0]).id);
    if (current.hasAttribute("aria-current")) return;
    links.forEach((a) => a.removeAttribute("aria-current"));
    current.setAttribute("aria-current", "true");
  }
  addEventListener("scroll", () => requestAnimationFrame(here), { passive: true });
  here();
  function redraw() { offerMethods(); drawCurves(); drawRoc(); drawLeague(); if (cells.length) drawTrials(); }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  await Promise.all(pictures.map((picture) => picture.decode()));
  document.documentElement.dataset.ready = "yes";
})();
