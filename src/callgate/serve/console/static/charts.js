// Draws what the page of health asks for, in the colours of the sheet. The numbers themselves are on the page as well.
"use strict";

(() => {
  const frame = document.querySelector("[data-figures]");
  if (!frame) return;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plots = [];

  // The whole page is in English, and of hours and days everybody reads these alike.
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  const whole = [1, 2, 5].flatMap((each) => [0, 1, 2, 3, 4, 5, 6].map((zeros) => each * 10 ** zeros)).sort((one, other) => one - other);
  const when = { label: "Time", value: (_, time) => (time === null || time === undefined ? "–" : `${day.format(time * 1000)} ${clock.format(time * 1000)}`) };

  function axes(unit) {
    const common = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px sans-serif" };
    const times = (_plot, marks, _axis, _space, step) => marks.map((time) => (step < 86400 ? clock : day).format(time * 1000));
    return [{ ...common, grid: { show: false }, values: times }, { ...common, size: 56, ...(unit ? {} : { incrs: whole }), values: (_, values) => values.map((each) => (each === null ? "" : `${each}${unit}`)) }];
  }
  function later(plot, low, high) {
    // The last bar needs room to its right.
    const times = plot.data[0];
    return [low, high + (times.length > 1 ? times[1] - times[0] : 0)];
  }
  function size(element) {
    return { width: Math.max(element.clientWidth, 200), height: 210 };
  }
  function draw(element, options, data) {
    element.replaceChildren();
    plots.push([new uPlot({ ...size(element), cursor: { y: false }, ...options }, data, element), element]);
  }
  function stacked(rows) {
    const sums = [];
    for (const row of rows) sums.push(row.map((value, place) => value + (sums.length ? sums[sums.length - 1][place] : 0)));
    return sums;
  }

  function ends(element, figures) {
    const named = [["succeeded", "--good"], ["refused", "--muted"], ["failed", "--bad"], ["unknown", "--warn"], ["waiting", "--accent"]];
    const rows = named.map(([name]) => figures.ends[name]);
    const sums = stacked(rows);
    // The highest is drawn first, so that each lower one covers its own part.
    const order = named.map((_, place) => place).reverse();
    const bars = uPlot.paths.bars({ size: [0.7, 40] });
    const series = order.map((at) => ({
      label: named[at][0], fill: colour(named[at][1]), stroke: colour(named[at][1]), width: 0, paths: bars, points: { show: false },
      value: (_plot, _value, _series, place) => (place === null ? "–" : rows[at][place]),
    }));
    draw(element, { axes: axes(""), series: [when, ...series], scales: { x: { range: later }, y: { range: (_, low, high) => [0, Math.max(high, 1)] } } }, [figures.times, ...order.map((at) => sums[at])]);
  }
  function line(element, figures, row, unit, name) {
    const stroke = colour("--accent");
    const series = [when, { label: name, stroke, width: 2, fill: colour("--accent-soft"), spanGaps: true, points: { show: true, size: 6, fill: stroke }, value: (_, value) => (value === null || value === undefined ? "–" : `${value.toFixed(1)}${unit}`) }];
    draw(element, { axes: axes(unit), series, scales: { x: { range: later }, y: { range: (_, low, high) => [0, Math.max(high || 0, 1)] } } }, [figures.times, row]);
  }
  function tools(element, figures) {
    const names = figures.tools.map((each) => each[0]);
    const places = names.map((_, place) => place);
    const bars = uPlot.paths.bars({ size: [0.6, 60] });
    const [x, y] = axes("");
    x.values = (_, marks) => marks.map((mark) => (Number.isInteger(mark) && names[mark] !== undefined ? String(mark + 1) : ""));
    x.splits = () => places;
    const series = [{ value: (_, place) => names[place] ?? "–", label: "tool" }, { label: "calls", fill: colour("--accent"), stroke: colour("--accent"), width: 0, paths: bars, points: { show: false } }];
    draw(element, { axes: [x, y], series, scales: { x: { time: false, range: [-0.6, Math.max(names.length, 1) - 0.4] }, y: { range: (_, low, high) => [0, Math.max(high, 1)] } } }, [places, figures.tools.map((each) => each[1])]);
  }

  async function load() {
    const answer = await fetch(frame.dataset.figures, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const figures = await answer.json();
    plots.length = 0;
    const at = (name) => frame.querySelector(`[data-chart="${name}"]`);
    ends(at("ends"), figures);
    line(at("waited"), figures, figures.waited, " s", "seconds");
    line(at("took"), figures, figures.took, " ms", "milliseconds");
    tools(at("tools"), figures);
    frame.setAttribute("data-drawn", "");
  }

  let waiting = 0;
  function soon() {
    if (waiting) return;
    waiting = window.setTimeout(() => {
      waiting = 0;
      document.body.dispatchEvent(new CustomEvent("cg-figures"));
      load();
    }, 3000);
  }
  document.body.addEventListener("cg-health", soon);
  window.addEventListener("resize", () => plots.forEach(([plot, element]) => plot.setSize(size(element))));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", load);
  load();
})();
