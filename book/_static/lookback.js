// What the page's look cannot do with CSS alone.
(() => {
  "use strict";

  /* What scrolls sideways must be reachable with the keyboard. */
  const SCROLLERS = ".formula, .pst-scrollable-table-container, .cell_output, pre";

  function markScrollers() {
    /** @type {NodeListOf<HTMLElement>} */
    const wide = document.querySelectorAll(SCROLLERS);
    for (const element of wide) {
      if (element.scrollWidth > element.clientWidth + 1) {
        element.tabIndex = 0;
        if (!element.hasAttribute("role") && element.tagName !== "PRE") {
          element.setAttribute("role", "group");
          element.setAttribute("aria-label", "Scrolls sideways");
        }
      } else if (element.tabIndex === 0) {
        element.removeAttribute("tabindex");
      }
    }
  }

  /* A folded cell is named by the words on it, not by "Toggle". */
  for (const summary of document.querySelectorAll("details.hide > summary")) {
    summary.removeAttribute("aria-label");
  }

  /* docutils calls a bibliography a list of a retired kind. */
  for (const entry of document.querySelectorAll(".citation-list, .citation")) {
    entry.removeAttribute("role");
  }

  /* Pictures wait until they come near; on paper all are wanted, and not every
     browser fetches them for it. */
  function fetchPictures() {
    /** @type {NodeListOf<HTMLImageElement>} */
    const late = document.querySelectorAll('img[loading="lazy"]');
    for (const picture of late) picture.loading = "eager";
  }

  /* Solutions print unfolded, and fold again. */
  /** @type {HTMLDetailsElement[]} */
  let folded = [];
  addEventListener("beforeprint", () => {
    fetchPictures();
    folded = [...document.querySelectorAll("details")].filter((details) => !details.open);
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
  });

  /* A word of ?highlight= may stand where Sphinx can draw no box around it. */
  for (const hidden of document.querySelectorAll("svg style, svg title, svg desc")) {
    hidden.classList.add("nohighlight");
  }

  /* Sphinx walks through the page for each word, and boxes each letter of "e". */
  function boundHighlight() {
    const url = new URL(location.href);
    const key = "sphinx_highlight_terms";
    const asked = localStorage.getItem(key) || url.searchParams.get("highlight");
    if (!asked) return;
    const words = asked.split(/\s+/).filter((word) => word.length > 1 && word.length <= 40);
    const few = [...new Set(words)].slice(0, 10).join(" ");
    localStorage.removeItem(key);
    url.searchParams.set("highlight", few);
    history.replaceState({}, "", url);
  }
  boundHighlight();

  /* The service worker keeps the site; the foot says so once that is true, and
     the pictures, which now cost nothing, are there for a print that would not
     wait for them. Not where data is dear, not where the browser forbids it. */
  async function keep() {
    const { protocol } = location;
    /** @type {any} */
    const { connection, serviceWorker: workers } = navigator;
    if (connection?.saveData) return;
    if (!protocol.startsWith("http")) return fetchPictures();
    const before = workers.controller;
    workers.addEventListener("controllerchange", () => {
      if (before) say(".newer");
    });
    await workers.register(`${document.documentElement.dataset.content_root}sw.js`);
    await workers.ready;
    say(".kept");
    fetchPictures();
  }

  /** @param {string} selector */
  function say(selector) {
    /** @type {HTMLElement | null} */
    const line = document.querySelector(selector);
    if (line) line.hidden = false;
  }
  document.querySelector(".newer button")?.addEventListener("click", () => location.reload());

  addEventListener("load", () => keep().catch(() => {}));
  addEventListener("load", markScrollers);
  addEventListener("resize", markScrollers);
})();
