// Draws the figures and the table of a page. Everything it needs is inside the page; nothing is fetched.
(() => {
  "use strict";
  const root = document.currentScript.closest(".hnb-page");
  const SHOWN_ROWS = 500;
  const PAPER_PX = 680;
  const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");

  async function unpack(selector) {
    const text = root.querySelector(selector).textContent.trim();
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function say(selector, text) {
    for (const place of root.querySelectorAll(selector)) {
      place.replaceChildren(Object.assign(document.createElement("p"), { className: "hnb-note", textContent: text }));
    }
  }

  async function loadPlotly() {
    const script = document.createElement("script");
    script.textContent = await unpack(".hnb-plotly");
    const { define, exports, module } = window;
    window.define = window.exports = window.module = undefined;
    document.head.append(script);
    script.remove();
    Object.assign(window, { define, exports, module });
    return window.Plotly;
  }

  function themed(figure, themes, isDark) {
    const theme = themes[isDark ? "dark" : "light"];
    const layout = { ...figure.layout, template: theme.template };
    const width = Number(root.dataset.width);
    if (width) layout.width = width;
    layout.shapes = (layout.shapes || []).map((s) => ({ ...s, line: { ...s.line, color: theme.grid } }));
    const data = figure.data.map((trace) => {
      const pattern = trace.marker && trace.marker.pattern;
      if (!pattern) return trace;
      return { ...trace, marker: { ...trace.marker, pattern: { ...pattern, fgcolor: theme.hatch } } };
    });
    return { data, layout };
  }

  async function draw(data) {
    const figures = [["timeline", data.timeline], ["usage", data.usage]];
    let plotly;
    try {
      plotly = await loadPlotly();
    } catch (error) {
      say(".hnb-figure", "This browser can't unpack the figures; the steps and the table hold the same.");
      return;
    }
    const config = { responsive: !root.dataset.width, displaylogo: false, scrollZoom: true };
    const paint = () => {
      root.classList.toggle("hnb-dark", wantsDark.matches);
      for (const [name, figure] of figures) {
        const place = root.querySelector(`.hnb-${name}`);
        const made = themed(figure, data.themes, wantsDark.matches);
        place.style.height = `${made.layout.height}px`; // a responsive figure takes the height of its place
        plotly.react(place, made.data, made.layout, config);
      }
    };
    paint();
    wantsDark.addEventListener("change", paint);
    const relayout = (change) => {
      for (const [name] of figures) {
        const place = root.querySelector(`.hnb-${name}`);
        if (place.getClientRects().length) plotly.relayout(place, change(place)); // not in a hidden tab
      }
    };
    const widths = new Map();
    window.addEventListener("beforeprint", () => relayout((place) => {
      widths.set(place, place.layout.width);
      return { width: Math.min(place.clientWidth || PAPER_PX, PAPER_PX) };
    }));
    window.addEventListener("afterprint", () => relayout((place) => {
      const width = widths.get(place);
      return width ? { width } : { autosize: true, width: null };
    }));
  }

  function table(data) {
    const place = root.querySelector(".hnb-table");
    const input = root.querySelector(".hnb-search input");
    const count = root.querySelector(".hnb-search output");
    const isNumber = data.columns.map((name) => data.numbers.includes(name));
    const haystack = data.rows.map((row) => row.join("\u0001").toLowerCase());
    const element = document.createElement("table");
    const head = element.createTHead().insertRow();
    const body = element.createTBody();
    const order = { column: -1, factor: 1 };
    data.columns.forEach((name, i) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.addEventListener("click", () => {
        order.factor = order.column === i ? -order.factor : isNumber[i] ? -1 : 1;
        order.column = i;
        for (const th of head.cells) th.removeAttribute("aria-sort");
        head.cells[i].setAttribute("aria-sort", order.factor > 0 ? "ascending" : "descending");
        show();
      });
      const th = document.createElement("th");
      th.append(button);
      head.append(th);
    });
    function compare(a, b) {
      const x = data.rows[a][order.column], y = data.rows[b][order.column];
      if (x === null || y === null) return (x === null) - (y === null);
      return order.factor * (typeof x === "number" ? x - y : String(x).localeCompare(String(y)));
    }
    function show() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = [];
      haystack.forEach((text, i) => { if (words.every((word) => text.includes(word))) found.push(i); });
      if (order.column >= 0) found.sort(compare);
      body.replaceChildren(...found.slice(0, SHOWN_ROWS).map((i) => {
        const tr = document.createElement("tr");
        if (data.bad.includes(data.rows[i][4])) tr.className = "hnb-bad";
        data.rows[i].forEach((value, k) => {
          const td = tr.insertCell();
          td.textContent = value === null ? "" : isNumber[k] ? value.toLocaleString("en") : value;
          if (isNumber[k]) td.className = "hnb-n";
        });
        return tr;
      }));
      const n = found.length.toLocaleString("en"), all = data.rows.length.toLocaleString("en");
      const cut = found.length > SHOWN_ROWS ? `, the first ${SHOWN_ROWS} shown` : "";
      count.textContent = words.length ? `${n} of ${all} spans${cut}` : `${all} spans${cut}`;
    }
    input.addEventListener("input", show);
    place.replaceChildren(element);
    show();
  }

  root.classList.toggle("hnb-dark", wantsDark.matches);
  unpack(".hnb-data").then((text) => {
    const data = JSON.parse(text);
    table(data.table);
    return draw(data);
  }).catch(() => say(".hnb-figure, .hnb-table", "This browser can't unpack the figures and the table; the steps are below."))
    .finally(() => root.setAttribute("data-ready", ""));
})();
