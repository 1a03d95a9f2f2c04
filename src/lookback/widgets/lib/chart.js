// @ts-check
// Small charts: columns on an axis, and figures in tiles with their names.
import { element, show } from "./view.js";

/** Columns side by side, whose heights the style sheet is told.
 * @param {string} role @param {number} count */
export function columns(role, count) {
  const each = Array.from({ length: count }, () => element("i"));
  const node = element(
    "div",
    { class: "columns", "data-role": role, "aria-hidden": "true" },
    ...each,
  );
  /** @param {number} i @param {number} value @param {number} share of the full height */
  const set = (i, value, share) => {
    each[i].style.setProperty("--share", String(share));
    each[i].dataset.value = String(value);
  };
  return { node, each, set };
}

/** The words below an axis, spread over its length. @param {Node[]} words */
export const axis = (words) => element("div", { class: "axis", "aria-hidden": "true" }, ...words);

/** Figures in tiles, each with its name; `fill` is given each one's name,
 * value and text.
 * @template {string} Role @param {readonly Role[]} roles */
export function tiles(roles) {
  const shown = roles.map((role) => ({
    role,
    name: element("span"),
    number: element("b", { "data-role": role }),
  }));
  return {
    node: element(
      "div",
      { class: "tiles" },
      ...shown.map(({ name, number }) => element("div", {}, name, " ", number)),
    ),
    /** @param {Record<Role, [name: string, value: number, text: string]>} told */
    fill(told) {
      for (const { role, name, number } of shown) {
        const [text, value, figure] = told[role];
        name.textContent = text;
        show(number, value, figure);
      }
    },
  };
}
