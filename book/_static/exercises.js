// @ts-check
// The reader's own ticks beside the exercises, kept in the reader's browser; what
// is ticked, as a list to print; and all that this browser keeps of the book, to a
// file and back.
(() => {
  "use strict";
  const OURS = "lookback:";
  const [MOST, LONGEST] = [5000, 20_000]; // entries of a file, letters of each
  const list = document.querySelector(".exercise-list");
  if (!list) return;
  const lists = [...list.querySelectorAll("ul")];

  /** All that is kept of the book. @returns {Record<string, string>} */
  const kept = () =>
    Object.fromEntries(Object.entries({ ...localStorage }).filter(([key]) => key.startsWith(OURS)));

  const told = document.createElement("p");
  told.setAttribute("role", "status");
  /** @type {HTMLInputElement[]} */
  const boxes = [];

  function count() {
    const done = boxes.filter((box) => box.checked).length;
    told.textContent = `${done} of ${boxes.length} done.`;
    write();
  }

  /** A day as it is printed; "" for a tick of before days were kept.
   * @param {string | null} day such as "2026-11-28", in quotation marks */
  function said(day) {
    const [found] = day?.match(/\d{4}-\d\d-\d\d/) ?? [];
    if (!found) return "";
    const date = new Date(`${found}T12:00`);
    return date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
  }
  function today() {
    const now = new Date();
    const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
    return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  }
  /** @param {keyof HTMLElementTagNameMap} tag @param {...(Node | string)} children */
  function made(tag, ...children) {
    const node = document.createElement(tag);
    node.append(...children);
    return node;
  }

  /** What is ticked, chapter by chapter, where the page has room for it. */
  function write() {
    const room = document.querySelector(".done-list");
    if (!room) return;
    let [all, minutes] = [0, 0];
    const chapters = lists.flatMap((each) => {
      const ticks = [...each.querySelectorAll("input")];
      const done = ticks.filter((box) => box.checked);
      if (!done.length) return [];
      const items = done.map((box) => {
        const text =
          box
            .closest("li")
            ?.textContent?.trim()
            .replace(/,[^,]*$/, "") ?? "";
        minutes += Number(text.match(/(\d+) min$/)?.[1] ?? 0);
        const day = said(localStorage.getItem(keyOf(box.value)));
        return made("li", day ? `${text}, ${day}` : text);
      });
      all += done.length;
      const title = each.previousElementSibling?.querySelector("a")?.textContent ?? "";
      const head = made("p", made("strong", title), `, ${done.length} of ${ticks.length}`);
      return [head, made("ul", ...items)];
    });
    if (!all) {
      room.replaceChildren(
        made(
          "p",
          "Nothing is ticked yet. Tick an exercise above, and it appears here with its date.",
        ),
      );
      return;
    }
    const sum = `${said(today())}: ${all} of ${boxes.length} exercises, about ${minutes} minutes.`;
    const print = button("print", "Print this list", () => {
      document.documentElement.classList.add("print-done");
      self.print();
      document.documentElement.classList.remove("print-done");
    });
    room.replaceChildren(made("p", sum), ...chapters, print);
  }

  /** @param {string} label of an exercise */
  const keyOf = (label) => `${OURS}done:${label}`;
  for (const item of list.querySelectorAll("li")) {
    const link = item.querySelector("a");
    if (!link) continue;
    const box = document.createElement("input");
    box.type = "checkbox";
    box.value = link.hash.slice(1);
    box.ariaLabel = `Done: ${link.textContent}`;
    box.onchange = () => {
      try {
        if (box.checked) localStorage.setItem(keyOf(box.value), JSON.stringify(today()));
        else localStorage.removeItem(keyOf(box.value));
        count();
      } catch {
        told.textContent =
          "This browser keeps nothing for this page: the tick is gone when you leave.";
      }
    };
    boxes.push(box);
    (item.querySelector("p") ?? item).prepend(box, " ");
  }
  function show() {
    for (const box of boxes) box.checked = localStorage.getItem(keyOf(box.value)) !== null;
    count();
  }

  function save() {
    const text = JSON.stringify({ book: document.title, kept: kept() }, null, 1);
    const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    Object.assign(document.createElement("a"), { href, download: "looking-back.json" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
    told.textContent = `Saved ${Object.keys(kept()).length} answers and ticks as looking-back.json.`;
  }

  /** What a file of `save` holds; null for any other.
   * @param {string} text @returns {[string, string][] | null} */
  function read(text) {
    try {
      const { kept } = JSON.parse(text);
      if (!(kept instanceof Object)) return null;
      const entries = Object.entries(kept);
      const fits = entries.every(
        ([key, value]) =>
          key.startsWith(OURS) && typeof value === "string" && key.length + value.length < LONGEST,
      );
      return fits && entries.length <= MOST ? /** @type {[string, string][]} */ (entries) : null;
    } catch {
      return null;
    }
  }
  /** @param {File | undefined} file */
  async function open(file) {
    const entries = file && read(await file.text());
    if (!entries) {
      told.textContent = "This is no file that was saved here. Nothing was changed.";
      return;
    }
    try {
      for (const [key, value] of entries) localStorage.setItem(key, value);
    } catch {
      told.textContent = "This browser keeps nothing for this page, or its room is full.";
      return;
    }
    show();
    told.prepend(`Read ${entries.length} answers and ticks. `);
  }

  const file = document.createElement("input");
  file.type = "file";
  file.accept = ".json";
  file.hidden = true;
  file.onchange = () => open(file.files?.[0]).then(() => (file.value = ""));
  /** @param {string} action @param {string} text @param {() => void} act */
  const button = (action, text, act) => {
    const node = document.createElement("button");
    node.type = "button";
    node.dataset.action = action;
    node.textContent = text;
    node.onclick = act;
    return node;
  };
  const bar = document.createElement("div");
  bar.className = "exercise-bar";
  bar.append(
    told,
    button("save", "Save to a file", save),
    button("open", "Open a file", () => file.click()),
    file,
  );
  list.before(bar);
  show();
})();
