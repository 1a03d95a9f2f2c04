// @ts-check
// A question of choice: how it is graded, and one option with its reason. For
// quiz.js and placement.js.
import { element } from "./lib/view.js";

/** `unsure` marks an option that says “I do not know”: no verdict on it.
 * @typedef {{text: string, correct: boolean, why: string, unsure?: boolean}} Option */

/** Whether exactly the correct options are chosen, and what to say of it.
 * @param {Option[]} options @param {number[]} chosen */
export function grade(options, chosen) {
  const right = options.filter(({ correct }, i) => correct === chosen.includes(i)).length;
  const hit = options.filter(({ correct }, i) => correct && chosen.includes(i)).length;
  const correct = options.filter((option) => option.correct).length;
  const all = right === options.length;
  const some = correct > 1 ? `: ${hit} of the ${correct} correct answers` : "";
  return { all, hit, correct, words: all ? "Right." : `Not yet${some}.` };
}

/** Text in which `backticks` mark code. @param {string} text */
export const prose = (text) =>
  text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));

/** One option: its box or dot, its text, its verdict and the reason.
 * @param {Option} option @param {boolean} several may be correct */
export function choice(option, several) {
  const input = element("input", {
    type: several ? "checkbox" : "radio",
    name: "choice",
    "data-action": "choose",
  }); // the name's scope is the form
  const verdict = element("span", { class: "verdict" });
  const why = element("p", { class: "why", "data-role": "why", hidden: true });
  const node = element(
    "div",
    { class: "option" },
    element("label", {}, input, element("span", {}, ...prose(option.text))),
    why,
  );
  why.append(verdict, " ", ...prose(option.why));
  return {
    node,
    input,
    /** @param {boolean} checked @param {boolean} chosen @param {boolean} told explained? */
    draw(checked, chosen, told) {
      if (checked) input.checked = chosen;
      input.disabled = checked;
      why.hidden = !told;
      const verdictOf = option.unsure ? "" : option.correct ? "correct" : "wrong";
      node.dataset.verdict = told ? verdictOf : "";
      verdict.textContent = option.unsure
        ? ""
        : (option.correct ? "✓ Correct" : "✗ Not so") + (chosen ? ", and you chose it." : ".");
    },
  };
}
