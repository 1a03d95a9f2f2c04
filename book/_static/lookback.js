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

  /* Solutions print unfolded, and fold again. */
  /** @type {HTMLDetailsElement[]} */
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details")].filter((details) => !details.open);
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
  });

  addEventListener("load", markScrollers);
  addEventListener("resize", markScrollers);
})();
