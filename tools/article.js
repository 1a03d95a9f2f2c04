// @ts-check
// A built page as paper wants it: evaluated in the page, before any script of
// the page's own has run. What is said here of ids holds for the whole book:
// `heads` is a page, `heads--exercise-cut` a place in it.
(/** @type {{name: string, names: string[], ebook: boolean}} */ { name, names, ebook }) => {
  const article = /** @type {HTMLElement} */ (document.querySelector("article > section"));
  /** @param {string} selector @returns {any[]} */
  const all = (selector) => [...article.querySelectorAll(selector)];
  const written = (/** @type {Element} */ one) => new XMLSerializer().serializeToString(one);

  // Code that is folded on the page draws a plot or sets a table: paper shows what
  // it made. Code that is an idea stands open, and is printed.
  for (const one of all("details.above-input")) one.remove();

  // What only a screen can do.
  for (const one of all("script, button, a.headerlink, .toctree-wrapper, summary")) one.remove();
  for (const one of all(".chapter-strip li:has(a)")) one.remove();
  for (const one of all("details")) one.replaceWith(...one.childNodes);
  for (const one of all(ebook ? ".katex-html" : ".katex-mathml")) one.remove();
  for (const one of all("[style*='--narrow']")) one.removeAttribute("style");
  for (const one of all("img")) {
    one.removeAttribute("loading");
    one.setAttribute("src", one.src);
  }
  /** @param {Element} one @param {string} src @param {string | null} alt */
  function picture(one, src, alt) {
    const made = document.createElement("img");
    made.src = src;
    made.alt = alt ?? "";
    one.replaceWith(made);
  }
  all("iframe").forEach((one, i) => {
    picture(one, `bertviz:${name}-${i}`, one.title);
  });
  if (ebook) {
    for (const one of all("[columnspacing='']")) one.removeAttribute("columnspacing");
    for (const one of all("svg.drawing")) {
      const stem = one.classList[1].replace("drawing-", "");
      picture(one, `drawing:${stem}`, one.getAttribute("aria-label"));
    }
  }

  for (const one of [article, ...all("[id]")]) {
    if (!one.closest("svg")) one.id = `${name}--${one.id}`;
  }
  for (const one of all("a[href]")) {
    const drawing = one.closest("svg");
    if (drawing) {
      drawing.setAttribute("role", "img"); // a drawing with links is one picture
      one.replaceWith(...one.childNodes);
      continue;
    }
    const url = new URL(one.href);
    if (url.protocol !== "file:") continue;
    const page = url.pathname.match(/\/book\/([\w-]+)\.html$/)?.[1] ?? "";
    const place = url.hash && `--${decodeURIComponent(url.hash.slice(1))}`;
    if (names.includes(page)) one.setAttribute("href", `#${page}${place}`);
    else one.replaceWith(...one.childNodes);
  }

  // Solutions go to the end of the book, and each exercise says where.
  const solutions = all(".solution").map((one) => {
    one.remove();
    const exercise = one.querySelector(".admonition-title a").getAttribute("href").slice(1);
    const title = article.querySelector(`[id="${exercise}"] > .admonition-title`);
    const link = document.createElement("a");
    link.className = "to-solution";
    link.setAttribute("href", `#${one.id}`);
    link.textContent = "Solution";
    title?.append(" · ", link);
    return written(one);
  });
  return {
    title: article.querySelector("h1")?.textContent ?? "",
    text: written(article),
    sections: all("section > h2").map((one) => [one.parentElement.id, one.textContent]),
    solutions,
  };
};
