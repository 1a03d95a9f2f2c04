// @ts-check
// Slides on a wide screen: reveal.js walks them, and what is too wide shrinks.
// On a phone, and without this script, they stay a page to scroll.
(() => {
  "use strict";
  const [WIDTH, HEIGHT, NARROW] = [1280, 720, 600];
  const root = document.documentElement;
  if (innerWidth < NARROW) return;
  const reveal = /** @type {any} */ (globalThis).Reveal;
  const sheet = document.querySelector('link[media="not all"]');
  if (!reveal || !sheet) return;
  sheet.setAttribute("media", "screen");
  root.classList.add("talk");

  /** Make what stands on a slide fit its width and its height.
   * @param {Element | undefined} slide */
  function fit(slide) {
    if (!(slide instanceof HTMLElement) || slide.dataset.fits) return;
    slide.dataset.fits = "yes";
    for (const part of slide.querySelectorAll("div.math, pre, table")) {
      if (!(part instanceof HTMLElement)) continue;
      const room = slide.clientWidth - 140;
      const own = part.querySelector(".katex-html")?.scrollWidth ?? 0;
      const wide = Math.max(part.scrollWidth, own ? own + 60 : 0);
      if (wide > room) part.style.fontSize = `${(100 * room) / wide}%`;
    }
    for (let size = 28; slide.scrollHeight > slide.clientHeight && size > 17; size -= 1)
      slide.style.fontSize = `${size}px`;
  }

  reveal.on("ready", () => fit(reveal.getCurrentSlide()));
  reveal.on("slidechanged", () => fit(reveal.getCurrentSlide()));
  reveal.initialize({
    width: WIDTH,
    height: HEIGHT,
    margin: 0,
    center: false,
    display: "flex",
    hash: true,
    slideNumber: "c/t",
    transition: "none",
    scrollActivationWidth: null,
  });
})();
