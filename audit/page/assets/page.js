(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const hint = document.getElementById("hint");
  const filter = document.getElementById("filter");
  const REACH = 8;
  const TOUCHED = 20;
  const SHOWN = 200;
  const DAY = 86400;
  const charts = [];

  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };

  const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const colour = (place, count) => `hsl(${Math.round((360 * place) / Math.max(count, 1))} 45% 55%)`;
  const iso = (at) => new Date(at * 1000).toISOString();
  const minute = (at) => iso(at).slice(0, 16).replace("T", " ");
  const anchor = (name) => `cluster-${encodeURIComponent(name)}`;

  /* Ticks of 24 hours in UTC; the first one of a day has its date. */
  const ticks = (_chart, splits, _axis, _space, step) => splits.map((at, place) => {
    if (step >= DAY) return iso(at).slice(5, 10);
    const first = place === 0 || Math.floor(splits[place - 1] / DAY) !== Math.floor(at / DAY);
    return first ? `${iso(at).slice(11, 16)}\n${iso(at).slice(5, 10)}` : iso(at).slice(11, 16);
  });

  const words = () => filter.value.trim().toLowerCase().split(/\s+/).filter((word) => word);
  const matches = (cells, wanted) => {
    const text = cells.join(" ").toLowerCase();
    return wanted.every((word) => text.includes(word));
  };

  /* A name that, when chosen, becomes the filter: the page then shows that broker or bundle. */
  const chooser = (name, parent) => {
    const made = element("button", name, parent);
    made.className = "link";
    made.type = "button";
    made.addEventListener("click", () => {
      filter.value = name;
      list();
      document.getElementById("events").scrollIntoView();
    });
  };

  /* Where a mark stands: at the usage of its broker, or at the lower edge. */
  const height = (chart, cluster, mark) => {
    const broker = cluster.brokers.find((one) => one.name === mark[2]);
    if (!broker) return 0;
    const place = chart.valToIdx(mark[0]);
    return broker.used[place] ?? 0;
  };

  const told = ([at, kind, broker, why]) => `${iso(at)} ${kind} ${broker ?? ""}: ${why}`;

  const show = (chart, near, left, top) => {
    hint.hidden = !near.length;
    if (!near.length) return;
    hint.textContent = near.slice(0, 4).map(told).join(" | ");
    hint.style.left = `${Math.max(4, Math.min(left + 12, innerWidth - 340))}px`;
    hint.style.top = `${top + 12}px`;
  };

  const marks = (cluster) => {
    const seen = () => cluster.marks.filter((mark) => matches([cluster.name, ...mark.slice(1, 4)], words()));
    let current = -1;
    const at = (chart, mark) => [
      chart.valToPos(mark[0], "x"), chart.valToPos(height(chart, cluster, mark), "y"),
    ];
    const point = (chart, event, reach) => {
      const near = seen().filter((mark) => {
        const [x, y] = at(chart, mark);
        return Math.abs(x - event.offsetX) < reach && Math.abs(y - event.offsetY) < reach;
      });
      near.sort((one, other) => Number(other[4]) - Number(one[4]));
      show(chart, near, event.clientX, event.clientY);
    };
    const step = (chart, by) => {
      const every = seen().sort((one, other) => one[0] - other[0]);
      if (!every.length) return;
      current = (current + by + every.length) % every.length;
      const [x, y] = at(chart, every[current]);
      const over = chart.over.getBoundingClientRect();
      chart.setCursor({ left: x, top: y });
      show(chart, [every[current]], over.left + x, over.top + y);
    };
    return {
      hooks: {
        draw: [(chart) => {
          const pen = chart.ctx;
          const ratio = devicePixelRatio;
          pen.save();
          for (const wrong of [false, true]) {
            for (const mark of seen().filter((one) => one[4] === wrong)) {
              const x = chart.valToPos(mark[0], "x", true);
              const y = chart.valToPos(height(chart, cluster, mark), "y", true);
              pen.fillStyle = theme(wrong ? "bad" : mark[1] === "split" ? "split" : "mark");
              pen.beginPath();
              if (mark[1] === "split") pen.rect(x - 3 * ratio, y - 3 * ratio, 6 * ratio, 6 * ratio);
              else pen.arc(x, y, (wrong ? 5 : 3) * ratio, 0, 2 * Math.PI);
              pen.fill();
            }
          }
          pen.restore();
        }],
        init: [(chart) => {
          const over = chart.over;
          over.addEventListener("mousemove", (event) => point(chart, event, REACH));
          over.addEventListener("pointerdown", (event) => {
            if (event.pointerType !== "mouse") point(chart, event, TOUCHED);
          });
          over.addEventListener("mouseleave", () => { hint.hidden = true; });
          chart.root.tabIndex = 0;
          chart.root.setAttribute("role", "group");
          chart.root.setAttribute("aria-label",
            `${cluster.name}: usage of ${cluster.brokers.length} brokers; arrow keys go from mark to mark`);
          chart.root.addEventListener("keydown", (event) => {
            if (event.key === "Escape") hint.hidden = true;
            if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
            event.preventDefault();
            step(chart, event.key === "ArrowRight" ? 1 : -1);
          });
          chart.root.addEventListener("blur", () => { hint.hidden = true; });
        }],
      },
    };
  };

  const size = (place) => ({
    width: Math.max(280, place.clientWidth), height: innerWidth < 640 ? 240 : 360,
  });

  const legend = (section) => {
    const key = element("ul", undefined, section);
    key.className = "key";
    for (const [sign, name, what] of [
      ["●", "mark", "unload"], ["■", "split", "split"], ["●", "bad", "in a cycle that breaks a rule"],
    ]) {
      const one = element("li", undefined, key);
      const drawn = element("i", sign, one);
      drawn.style.color = `var(--${name})`;
      drawn.setAttribute("aria-hidden", "true");
      one.append(what);
    }
    element("li", "lines: usage of each broker, average (thick), limit (dashed)", key);
  };

  const chart = (cluster, place) => {
    const percent = (_chart, value) => (value == null ? "" : `${value} %`);
    const axis = { stroke: theme("text"), grid: { stroke: theme("line") }, ticks: { stroke: theme("line") } };
    const series = [
      { label: "UTC", value: (_chart, at) => (at == null ? "" : minute(at)) },
      { label: "average", stroke: theme("text"), width: 2, value: percent },
      { label: "limit", stroke: theme("bad"), width: 2, dash: [8, 4], value: percent },
      ...cluster.brokers.map((one, number) => ({
        label: one.name, stroke: colour(number, cluster.brokers.length), width: 1, value: percent,
      })),
    ];
    const lines = [cluster.times, cluster.average, cluster.limit, ...cluster.brokers.map((one) => one.used)];
    return new uPlot({
      ...size(place), series, plugins: [marks(cluster)],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      scales: { y: { range: [0, 100] } },
      axes: [
        { ...axis, label: "time (UTC, 24 hours)", values: ticks, size: 60 },
        { ...axis, label: "usage, %" },
      ],
      legend: { show: true },
    }, lines, place);
  };

  const draw = (cluster) => {
    const section = element("section", undefined, document.getElementById("clusters"));
    section.id = anchor(cluster.name);
    element("h2", cluster.name, section);
    if (cluster.left_out) element("p", `${cluster.left_out} brokers that used less are left out`, section);
    if (cluster.about) element("p", cluster.about, section);
    legend(section);
    const place = element("div", undefined, section);
    place.className = "chart";
    const drawn = { cluster, place, plot: chart(cluster, place) };
    charts.push(drawn);
    rows("Before and after", ["broker", "busiest resource at first", "at last"], cluster.ends ?? [], section);
    rows("Bundles that returned to a broker", ["bundle", "unloads", "at"], cluster.bundles, section);
  };

  const table = (names, parent) => {
    const scroll = element("div", undefined, parent);
    scroll.className = "scroll";
    const made = element("table", undefined, scroll);
    const head = element("tr", undefined, element("thead", undefined, made));
    for (const name of names) element("th", name, head).scope = "col";
    return element("tbody", undefined, made);
  };

  const rows = (title, names, cells, section) => {
    if (!cells.length) return;
    element("h3", title, section);
    const body = table(names, section);
    for (const row of cells) {
      const line = element("tr", undefined, body);
      row.forEach((cell, place) => {
        const made = element("td", place ? String(cell) : undefined, line);
        if (!place) chooser(String(cell), made);
      });
    }
  };

  /* The clusters of the fleet, those with the most faults first; a drawn one is linked. */
  const fleet = () => {
    const every = data.fleet ?? [];
    if (every.length < 2) return;
    const section = document.getElementById("fleet");
    element("h2", "Fleet", section);
    const by = data.amounts_by ? `, by the arithmetic of ${data.amounts_by}` : "";
    const due = `cycles with too much load${by}`;
    const names = ["cluster", "brokers", "against the rules", "rules", "unloads", due];
    const body = table(names, section);
    const drawn = new Set(data.clusters.map((one) => one.name));
    for (const row of every) {
      const line = element("tr", undefined, body);
      row.forEach((cell, place) => {
        const made = element("td", place ? String(cell) : undefined, line);
        if (place === 2 && cell) made.className = "bad";
        if (place) return;
        if (!drawn.has(cell)) chooser(cell, made);
        else element("a", cell, made).setAttribute("href", `#${anchor(cell)}`);
      });
    }
  };

  /* The name of the case file of a verdict, as the audit writes it. */
  const caseName = ([rule, , cluster, cycle]) => {
    const time = `${cycle.replaceAll("-", "").replaceAll(":", "").replace(" ", "T")}Z`;
    return `${rule}-${cluster.replace(/[^A-Za-z0-9._-]/g, "_")}-${time}`;
  };

  const arithmetic = (row, cell) => {
    if (row[1] !== "undecided" && (data.without_case ?? []).includes(row[0]))
      element("p", "no case: judged by the records of a single event", cell);
    const name = caseName(row);
    const text = (data.cases ?? {})[name];
    if (text === undefined) return;
    const more = element("details", undefined, cell);
    element("summary", "arithmetic", more);
    element("pre", text, more);
    const link = element("a", `${name}.json`, more);
    link.setAttribute("href", `cases/${encodeURIComponent(name)}.json`);
  };

  const list = () => {
    const wanted = words();
    const body = document.querySelector("#verdicts tbody");
    const found = data.verdicts.filter((row) => matches(row, wanted));
    body.replaceChildren();
    for (const row of found) {
      const line = element("tr", undefined, body);
      line.className = row[1].split(" ")[0];
      row.forEach((cell, place) => {
        const made = element("td", cell ?? "", line);
        if (place === 4) arithmetic(row, made);
      });
    }
    document.getElementById("count").textContent = `${found.length} of ${data.verdicts.length}`;
    events(wanted);
    for (const one of charts) one.plot.redraw(false);
  };

  /* What is marked in the charts and matches the filter. */
  const events = (wanted) => {
    const section = document.getElementById("events");
    section.replaceChildren();
    if (!wanted.length) return;
    const every = data.clusters.flatMap((cluster) =>
      cluster.marks.filter((mark) => matches([cluster.name, ...mark.slice(1, 4)], wanted))
        .map((mark) => [cluster.name, ...mark]));
    if (!every.length) return;
    every.sort((one, other) => one[1] - other[1]);
    element("h2", `Unloads and splits: ${filter.value.trim()}`, section);
    const body = table(["cluster", "time (UTC)", "event", "broker", "why"], section);
    for (const [cluster, at, kind, broker, why, wrong] of every.slice(0, SHOWN)) {
      const line = element("tr", undefined, body);
      for (const cell of [cluster, iso(at), kind, broker ?? "", why]) element("td", cell, line);
      if (wrong) line.lastChild.className = "bad";
    }
    if (every.length > SHOWN) element("p", `the first ${SHOWN} of ${every.length}`, section);
  };

  const redraw = () => {
    for (const one of charts) {
      one.plot.destroy();
      one.plot = chart(one.cluster, one.place);
    }
  };

  fleet();
  data.clusters.forEach(draw);
  filter.addEventListener("input", list);
  addEventListener("resize", () => charts.forEach((one) => one.plot.setSize(size(one.place))));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  list();
})();
