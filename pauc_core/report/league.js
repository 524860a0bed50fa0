"use strict";
// The league's filters and its performance profile; `page` lends the helpers of the page's script.
function league({ data, at, seen, layout, settings, axis, swatch }) {
  if (!at("league")) return () => {};
  const chosen = (task) => ["band", "kind", "regime"].every((name) => {
    const wanted = at(`league-${name}`).value;
    return !wanted || wanted === task[name];
  });

  function filter() {
    for (const box of document.querySelectorAll("#league .standing")) {
      let some = false;
      for (const row of box.querySelectorAll("tr.task")) {
        row.hidden = !chosen(row.dataset);
        some = some || !row.hidden;
      }
      box.hidden = !some;
      const rows = [...box.querySelectorAll("tr.task:not([hidden])")];
      [...box.querySelector("tr.won").cells].forEach((cell, i) => {
        if (i < 2 || cell.classList.contains("unranked")) return;
        const ran = rows.map((row) => row.cells[i]).filter((other) => other.textContent);
        cell.textContent = `${ran.filter((other) => other.classList.contains("best")).length} of ${ran.length}`;
      });
    }
    draw();
  }

  const hidden = new Set();
  // Seconds by method of each task and target that is chosen; null is a miss.
  function races() {
    const target = at("profile-target").value, found = [];
    for (const [key, task] of Object.entries(data.league.tasks)) {
      if (!chosen(task)) continue;
      for (const [name, times] of Object.entries(data.league.times[key])) {
        if (name === target || name.startsWith(`${target}-`)) found.push(times);
      }
    }
    return found;
  }

  function profile(runs, methods) {
    const factors = new Map(methods.map((m) => [m, []])), ran = new Map(methods.map((m) => [m, 0]));
    for (const times of runs) {
      const known = methods.filter((m) => m in times);
      const best = Math.min(...known.map((m) => times[m] ?? Infinity));
      for (const m of known) {
        ran.set(m, ran.get(m) + 1);
        if (times[m] !== null) factors.get(m).push(times[m] / best);
      }
    }
    return methods.filter((m) => ran.get(m)).map((m) => ({ method: m, ran: ran.get(m), factors: factors.get(m).sort((a, b) => a - b) }));
  }

  function draw() {
    if (!at("profile-chart")) return;
    const runs = races();
    const there = Object.keys(data.methods).filter((m) => runs.some((times) => m in times));
    at("profile-methods").replaceChildren(...there.map((method) => {
      const label = document.createElement("label"), tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = !hidden.has(method);
      tick.dataset.method = method;
      tick.addEventListener("change", () => { tick.checked ? hidden.delete(method) : hidden.add(method); draw(); });
      label.append(tick, ...swatch(method));
      return label;
    }));
    const curves = profile(runs, there.filter((m) => !hidden.has(m)));
    const end = 1.3 * Math.max(2, ...curves.flatMap((c) => c.factors.slice(-1)));
    const traces = curves.map(({ method, ran, factors }) => {
      const look = data.methods[method], solved = factors.length / ran;
      return { x: [1, ...factors, end], y: [0, ...factors.map((_, i) => (i + 1) / ran), solved], name: look.label, meta: method,
        type: "scatter", mode: "lines", line: { shape: "hv", color: seen(look.colour), dash: look.dash, width: 2 },
        hovertemplate: `<b>${look.label}</b><br>within %{x:.3~g} times the fastest: %{y:.0%} of ${ran} tasks<extra></extra>` };
    });
    const empty = traces.length ? [] : [{ text: "no such task has targets", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }];
    Plotly.react("profile-chart", traces, { ...layout(), annotations: empty,
      xaxis: { ...axis("CPU seconds over those of the fastest", true), range: [0, Math.log10(end)] },
      yaxis: { ...axis("share of tasks solved"), range: [-0.02, 1.03], tickformat: ".0%" } }, settings);
  }

  for (const name of ["league-band", "league-kind", "league-regime"]) at(name).addEventListener("change", filter);
  if (at("profile-target")) at("profile-target").addEventListener("change", draw);
  filter();
  return draw;
}
