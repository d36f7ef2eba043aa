(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const hint = document.getElementById("hint");
  const REACH = 8;

  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };

  const colour = (place, count) => `hsl(${Math.round((360 * place) / Math.max(count, 1))} 45% 60%)`;

  /* Where a mark stands: at the usage of its broker, or at the lower edge. */
  const height = (chart, cluster, mark) => {
    const broker = cluster.brokers.find((one) => one.name === mark[2]);
    if (!broker) return 0;
    const place = chart.valToIdx(mark[0]);
    return broker.used[place] ?? 0;
  };

  const marks = (cluster) => ({
    hooks: {
      draw: [(chart) => {
        const pen = chart.ctx;
        const ratio = devicePixelRatio;
        pen.save();
        for (const wrong of [false, true]) {
          for (const mark of cluster.marks.filter((one) => one[4] === wrong)) {
            const x = chart.valToPos(mark[0], "x", true);
            const y = chart.valToPos(height(chart, cluster, mark), "y", true);
            pen.fillStyle = wrong ? "#c00" : mark[1] === "split" ? "#06c" : "#555";
            pen.beginPath();
            if (mark[1] === "split") pen.rect(x - 3 * ratio, y - 3 * ratio, 6 * ratio, 6 * ratio);
            else pen.arc(x, y, (wrong ? 5 : 3) * ratio, 0, 2 * Math.PI);
            pen.fill();
          }
        }
        pen.restore();
      }],
      init: [(chart) => {
        chart.over.addEventListener("mousemove", (event) => {
          const near = cluster.marks.filter((mark) =>
            Math.abs(chart.valToPos(mark[0], "x") - event.offsetX) < REACH &&
            Math.abs(chart.valToPos(height(chart, cluster, mark), "y") - event.offsetY) < REACH);
          near.sort((one, other) => Number(other[4]) - Number(one[4]));
          hint.hidden = !near.length;
          if (!near.length) return;
          const told = near.slice(0, 4).map(([at, kind, broker, why]) =>
            `${new Date(at * 1000).toISOString()} ${kind} ${broker ?? ""}: ${why}`);
          hint.textContent = told.join(" | ");
          hint.style.left = `${Math.min(event.clientX + 12, innerWidth - 340)}px`;
          hint.style.top = `${event.clientY + 12}px`;
        });
        chart.over.addEventListener("mouseleave", () => { hint.hidden = true; });
      }],
    },
  });

  const draw = (cluster) => {
    const section = element("section", undefined, document.getElementById("clusters"));
    element("h2", cluster.name, section);
    if (cluster.left_out) element("p", `${cluster.left_out} brokers that used less are left out`, section);
    const percent = (_chart, value) => (value == null ? "" : `${value} %`);
    const series = [
      {},
      { label: "average", stroke: "#000", width: 2, value: percent },
      { label: "limit", stroke: "#c00", width: 2, dash: [8, 4], value: percent },
      ...cluster.brokers.map((one, place) => ({
        label: one.name, stroke: colour(place, cluster.brokers.length), width: 1, value: percent,
      })),
    ];
    const lines = [cluster.times, cluster.average, cluster.limit, ...cluster.brokers.map((one) => one.used)];
    const place = element("div", undefined, section);
    place.className = "chart";
    new uPlot({
      width: Math.max(480, section.clientWidth), height: 360, series, plugins: [marks(cluster)],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      scales: { y: { range: [0, 100] } }, axes: [{}, { label: "usage, %" }], legend: { show: true },
    }, lines, place);
    rows("Before and after", ["broker", "usage at first", "usage at last"], cluster.ends ?? [], section);
    rows("Bundles that went to and fro", ["bundle", "unloads", "by"], cluster.bundles, section);
  };

  const rows = (title, names, cells, section) => {
    if (!cells.length) return;
    element("h3", title, section);
    const table = element("table", undefined, section);
    const head = element("tr", undefined, table);
    for (const name of names) element("th", name, head);
    for (const row of cells) {
      const line = element("tr", undefined, table);
      for (const cell of row) element("td", String(cell), line);
    }
  };

  const list = () => {
    const wanted = document.getElementById("filter").value.trim().toLowerCase().split(/\s+/);
    const body = document.querySelector("#verdicts tbody");
    const rows = data.verdicts.filter((row) => {
      const text = row.join(" ").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    body.replaceChildren();
    for (const row of rows) {
      const line = element("tr", undefined, body);
      line.className = row[1].split(" ")[0];
      for (const cell of row) element("td", cell ?? "", line);
    }
    document.getElementById("count").textContent = `${rows.length} of ${data.verdicts.length}`;
  };

  data.clusters.forEach(draw);
  document.getElementById("filter").addEventListener("input", list);
  list();
})();
