// @ts-check
// A table of squares, walked with the arrow keys: one row is the current one,
// and one of its squares represents all of them in the tab order.
import { within } from "./maths.js";
import { keyedStep } from "./view.js";

/** The row and column that an event's target names in its data.
 * @param {Event} event @returns {DOMStringMap} */
export function spot({ target }) {
  const place = /** @type {Element} */ (target).closest("[data-row]");
  return /** @type {HTMLElement | null} */ (place)?.dataset ?? {};
}

/** @param {HTMLTableRowElement[]} rows @param {HTMLTableCellElement[][]} cells
 * @param {(row: number) => void} go */
export function squares(rows, cells, go) {
  let [now, column] = [0, 0];
  let stop = cells[0][0];
  return {
    place: () => ({ row: now, column }),
    /** Goes to the row or square that was clicked; false if there was none.
     * @param {Event} event */
    click(event) {
      const { row, column: j } = spot(event);
      if (row === undefined) return false;
      column = Number(j ?? column);
      go(Number(row));
      return true;
    },
    /** @param {KeyboardEvent} event */
    walk(event) {
      const side = Number(event.key === "ArrowRight") - Number(event.key === "ArrowLeft");
      const to = side ? now : keyedStep(event, now, rows.length - 1);
      if (to === null) return;
      event.preventDefault();
      event.stopPropagation();
      column = within(0, column + side, cells[0].length - 1);
      go(to);
      cells[now][column].focus();
    },
    /** @param {number} step */
    draw(step) {
      rows[now].removeAttribute("aria-selected");
      now = step;
      rows[now].setAttribute("aria-selected", "true");
      stop.tabIndex = -1;
      stop = cells[now][column];
      stop.tabIndex = 0;
    },
  };
}
