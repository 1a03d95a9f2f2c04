// @ts-check
// What the reader has answered: kept in the reader's browser, and nowhere else.

const EVENT = "lookback-progress";
/** @type {Map<string, object | null>} */
const memory = new Map();

/** What this browser remembers under a key; it may hold what is not ours.
 * @param {string} key @returns {Record<string, unknown> | null} */
export function recall(key) {
  try {
    const kept = JSON.parse(localStorage.getItem(`lookback:${key}`) ?? "null");
    if (kept instanceof Object) return kept;
  } catch {
    // Storage is off, or holds what is not ours.
  }
  return /** @type {Record<string, unknown> | null} */ (memory.get(key) ?? null);
}

/** Remembers, and tells all views of the same exercise; null forgets.
 * @param {string} key @param {object | null} answer */
export function remember(key, answer) {
  memory.set(key, answer);
  try {
    if (answer) localStorage.setItem(`lookback:${key}`, JSON.stringify(answer));
    else localStorage.removeItem(`lookback:${key}`);
  } catch {
    // Storage is off or full: this page still remembers, in `memory`.
  }
  globalThis.dispatchEvent?.(new CustomEvent(EVENT, { detail: key }));
}

/** Calls `react` whenever something is remembered under the key; gives back
 * what ends that. @param {string} key @param {() => void} react */
export function follow(key, react) {
  /** @param {Event} event */
  const hear = (event) => {
    if (/** @type {CustomEvent} */ (event).detail === key) react();
  };
  addEventListener(EVENT, hear);
  return () => removeEventListener(EVENT, hear);
}
