// @ts-check
// The line above the table of events: a lane for each thread, of which the reader
// can choose one, and a dot for each event, which leads to its row.
(() => {
  "use strict";
  const NS = "http://www.w3.org/2000/svg";
  /** @type {HTMLTableElement | null} */
  const table = document.querySelector("table.timeline");
  if (!table) return;
  // Years, and how far along the line they stand: the crowded ones get more room.
  const [YEARS, PLACES] = [
    [1987, 2012, 2014, 2015, 2018, 2025],
    [0, 0.2, 0.3, 0.52, 0.78, 1],
  ];
  const [WIDTH, LEFT, LANE, TOP] = [720, 115, 22, 8];

  /** @param {number} year with its part @returns {number} */
  function placeOf(year) {
    const i = Math.max(
      1,
      YEARS.findIndex((end) => year <= end),
    );
    const part = (year - YEARS[i - 1]) / (YEARS[i] - YEARS[i - 1]);
    const along = PLACES[i - 1] + part * (PLACES[i] - PLACES[i - 1]);
    return LEFT + along * (WIDTH - LEFT - 10);
  }
  /** @param {string} tag @param {Record<string, string | number>} attributes */
  function draw(tag, attributes) {
    const node = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
    return node;
  }

  const rows = [...table.tBodies[0].rows].map((row) => {
    const date = row.querySelector("[class^=d]")?.className.slice(1) ?? "";
    const [year, month = 7, day = 15] = date.split("-").map(Number);
    const thread = row.querySelector(".thread")?.textContent ?? "";
    return { row, thread, year: year + (month - 1) / 12 + (day - 1) / 365 };
  });
  const threads = [...new Set(rows.map(({ thread }) => thread))];
  let chosen = ""; // all of them

  const height = TOP + threads.length * LANE;
  const line = draw("svg", { viewBox: `0 0 ${WIDTH} ${height + 22}`, "aria-hidden": "true" });
  for (const [i, thread] of threads.entries()) {
    const y = TOP + (i + 0.5) * LANE;
    const name = draw("text", { x: 0, y: y + 4 });
    name.textContent = thread;
    line.append(draw("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y }), name);
  }
  for (const year of [1990, 2000, 2010, ...YEARS.slice(2, 5), 2016, 2021, 2024]) {
    const mark = draw("text", { x: placeOf(year), y: height + 16, "text-anchor": "middle" });
    mark.textContent = String(year);
    line.append(mark);
  }
  const dots = rows.map(({ row, thread, year }) => {
    const dot = draw("circle", {
      cx: placeOf(year),
      cy: TOP + (threads.indexOf(thread) + 0.5) * LANE,
      r: 5,
    });
    const title = draw("title", {});
    title.textContent = `${row.cells[0].innerText}: ${row.cells[1].innerText}`;
    dot.append(title);
    dot.addEventListener("click", () => {
      row.scrollIntoView({ block: "center" });
      for (const other of rows) other.row.classList.toggle("chosen", other.row === row);
    });
    line.append(dot);
    return dot;
  });

  function show() {
    rows.forEach(({ row, thread }, i) => {
      row.hidden = chosen !== "" && chosen !== thread;
      dots[i].classList.toggle("away", row.hidden);
    });
    for (const button of bar.children) {
      const own = /** @type {HTMLElement} */ (button).dataset.thread;
      button.setAttribute("aria-pressed", String(own === chosen));
    }
    told.textContent = `${rows.filter(({ row }) => !row.hidden).length} of ${rows.length} events.`;
  }
  const told = document.createElement("p");
  told.setAttribute("role", "status");
  const bar = document.createElement("div");
  bar.className = "timeline-bar";
  bar.setAttribute("role", "group");
  bar.ariaLabel = "Threads";
  for (const thread of ["", ...threads]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = thread || "all";
    button.dataset.thread = thread;
    button.onclick = () => {
      chosen = thread === chosen ? "" : thread;
      show();
    };
    bar.append(button);
  }
  const frame = document.createElement("div");
  frame.className = "timeline-line";
  frame.tabIndex = 0; // on a phone it is walked through sideways
  frame.role = "region";
  frame.ariaLabel = "Timeline";
  frame.append(line);
  document.querySelector(".timeline-box")?.before(bar, frame, told);
  show();
})();
