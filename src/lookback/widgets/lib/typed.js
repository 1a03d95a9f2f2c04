// @ts-check
// The number that a reader means: 0.25, 1/3, −0,5, 50 %, 1e-6, 10^4, √2, ln 2.

const MOST = 80; // characters; what is longer is no number that anyone types

/** @type {Map<string, (x: number) => number>} */
const FUNCTIONS = new Map(
  Object.entries({
    sqrt: Math.sqrt,
    exp: Math.exp,
    ln: Math.log,
    cos: Math.cos,
    sin: Math.sin,
    tanh: Math.tanh,
  }),
);
const CONSTANTS = new Map(Object.entries({ e: Math.E, pi: Math.PI, π: Math.PI }));

// What is typed, and what is meant by it.
/** @type {[RegExp, string][]} */
const SIGNS = [
  [/[\u2010-\u2015\u2212]/g, "-"],
  [/\*\*/g, "^"],
  [/[×·⋅∙]/g, "*"],
  [/[÷∶\u2044\u2215]/g, "/"],
  [/√/g, " sqrt "],
  [/^\s*[=≈~]/, ""],
];
// 2.9; 2.2 and (2, 0) and 2 0: what is meant for several fields.
const ONE = String.raw`[\d.,]*\d`;
const SEVERAL = RegExp(
  String.raw`^\s*[[({]?\s*[-+\u2010-\u2015\u2212]?${ONE}` +
    String.raw`(?:(?:\s*;|,(?=\s))\s*[-+\u2010-\u2015\u2212]?${ONE}|\s+${ONE})+\s*[\])}]?\s*$`,
);
const TOKEN = /\s*((?:\d[\d.,]*|[.,]\d+)(?:e[+-]?\d+(?![\d.,]))?|[a-zπ]+|[-+*/^()%])\s*/y;

/** A text that cannot be read: the error says why. */
class Unread extends Error {}

const unread = () =>
  new Unread(
    "this is no number that can be read; write it like −0.25, 1/3, 10^4, 1e−6, 2*e, √2 or ln 2.",
  );

// 47 185 920: thousands apart, by a space or another mark that is no point.
const APART = /(?<![\d.,])(?:\d{1,3}|\d*[.,]\d{3})(?:[ _'’]\d{3})+(?!\d)/g;

/** ½ as (1/2), 10⁻⁹ as 10^(-9), digits of full width as others, nothing
 * for what has no width, and none of it between thousands.
 * @param {string} text */
const plainly = (text) =>
  text
    .replace(/[\u200B-\u200D\u2060\uFEFF]/g, "")
    .replace(/[¼½¾⅐-⅞]/g, "($&)")
    .replace(/[⁺⁻]?[⁰¹²³⁴-⁹]+/g, "^($&)")
    .normalize("NFKC")
    .replace(APART, (digits) => digits.replace(/[ _'’]/g, ""));

/** The mark between thousands where a literal has one mark, before three
 * digits: 13,800 and 13.800. Where it is another, that mark is a decimal one.
 * @typedef {"," | "." | ""} Thousands */

const EITHER = /^[1-9]\d{0,2}([.,])\d{3}$/;
const BETWEEN =
  /^[1-9]\d{0,2}(?:(,)\d{3}(?:(?:,\d{3})+(?:\.\d+)?|\.\d+)|(\.)\d{3}(?:(?:\.\d{3})+(?:,\d+)?|,\d+))$/;

/** A literal number: a point or a comma before its decimals, or commas or
 * points between thousands where that is the only way to read them.
 * @param {string} text @param {Thousands} [thousands] */
function literal(text, thousands) {
  const [digits, power = "0"] = text.split("e");
  const [, comma, point] = BETWEEN.exec(digits) ?? [];
  const plain = comma
    ? digits.replaceAll(",", "")
    : (point ? digits.replaceAll(".", "") : digits).replace(/^(\d*),(\d+)$/, "$1.$2");
  const mark = EITHER.exec(digits)?.[1];
  const whole = digits.replace(/[.,]/, "");
  if (mark === "," && thousands === undefined) {
    throw new Unread(
      `${digits} can mean ${plain} or ${whole}; write a point, or leave the comma out.`,
    );
  }
  if (!/^(\d+\.?\d*|\.\d+)$/.test(plain)) throw unread();
  return Number(`${mark && mark === thousands ? whole : plain}e${power}`);
}

/** The marks that can stand between thousands in all of these texts together,
 * as their other numbers tell: not the comma if 0,5 is among them, only the
 * comma if 1,234,567 is; each of them if they contradict one another.
 * @param {string[]} texts @returns {Thousands[]} */
export function marksOf(texts) {
  /** @type {Thousands[]} */
  const all = ["", ",", "."];
  const literals = texts.flatMap((text) => plainly(text).match(/[\d.,]*\d/g) ?? []);
  const left = literals.reduce((marks, digits) => {
    const [, comma, point] = BETWEEN.exec(digits) ?? [];
    const decimal = EITHER.test(digits) ? "" : /^\d*([.,])\d+$/.exec(digits)?.[1];
    const sure = comma ?? point;
    return marks.filter((mark) => (sure ? mark === sure : !decimal || mark !== decimal));
  }, all);
  return left.length ? left : all;
}

/** Whether a comma before three digits is in one of these texts; of those that
 * have zeros alone after it, if `zeros`.
 * @param {string[]} texts @param {boolean} [zeros] */
export const hasComma = (texts, zeros) =>
  texts.some((text) =>
    (plainly(text).match(/[\d.,]+/g) ?? []).some(
      (digits) =>
        EITHER.test(digits) && digits.includes(",") && (!zeros || digits.endsWith(",000")),
    ),
  );

const DOT = /^\s*([-+\u2010-\u2015\u2212]?)(\d+)[·⋅∙](\d+)\s*$/;
/** @param {string} one @param {string} other */
const dotted = (one, other) =>
  `${one}·${other} can mean ${one}.${other} or ${one} times ${other}; write a point or *.`;

/** 2·92 with a point, and what is asked about it; null for other texts.
 * @param {string} text */
export function pointed(text) {
  const [, sign, one, other] = DOT.exec(text) ?? [];
  return one ? { text: `${sign}${one}.${other}`, asked: dotted(sign + one, other) } : null;
}

/** The number that a text means; NaN or infinity where it has no other value;
 * null where nothing is typed; a sentence where it cannot be read, or can mean
 * two things and `thousands` does not say which.
 * @param {string} text @param {Thousands} [thousands] @returns {number | string | null} */
export function readNumber(text, thousands) {
  if (text.length > MOST) return `this is too long; a number has ${MOST} characters at most.`;
  const plain = plainly(text);
  if (plain.trim() === "") return null;
  if (SEVERAL.test(plain)) return "these are several numbers; write one in each field.";
  const [, sign, one, other] = DOT.exec(plain) ?? [];
  if (one === "0") return dotted(`${sign}0`, other);
  try {
    return evaluate(tokensOf(plain), thousands);
  } catch (error) {
    if (error instanceof Unread) return error.message;
    throw error;
  }
}

/** @param {string} text */
function tokensOf(text) {
  let plain = text.toLowerCase();
  for (const [sign, means] of SIGNS) plain = plain.replace(sign, means);
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < plain.length) {
    const found = TOKEN.exec(plain);
    if (!found) throw unread();
    tokens.push(found[1] === "x" ? "*" : found[1]);
  }
  return tokens;
}

/** sum = product ± …, product = signed · …, signed = −power, power = part^signed.
 * @param {string[]} tokens @param {Thousands} [thousands] */
function evaluate(tokens, thousands) {
  let at = 0;
  /** @param {string[]} wanted */
  const take = (...wanted) => (wanted.includes(tokens[at]) ? tokens[at++] : null);
  /** @returns {number} */
  const sum = () => {
    let x = product();
    for (let sign = take("+", "-"); sign; sign = take("+", "-")) {
      x = sign === "+" ? x + product() : x - product();
    }
    return x;
  };
  const product = () => {
    let x = signed();
    for (let sign = take("*", "/"); sign; sign = take("*", "/")) {
      x = sign === "*" ? x * signed() : x / signed();
    }
    return x;
  };
  /** @returns {number} */
  const signed = () => (take("-") ? -signed() : take("+") ? signed() : power());
  const power = () => {
    const base = part();
    const x = take("^") ? base ** signed() : base;
    return take("%") ? x / 100 : x;
  };
  const part = () => {
    const token = tokens[at++] ?? "";
    if (token === "(") {
      const x = sum();
      if (!take(")")) throw unread();
      return x;
    }
    const known = FUNCTIONS.get(token);
    if (known) return known(argument(token));
    const constant = CONSTANTS.get(token);
    if (constant) return constant;
    if (!/^[\d.,]/.test(token)) throw unread();
    return literal(token, thousands);
  };
  /** What ln or √ is taken of: without brackets it may not be a fraction's top,
   * since ln 1/13 is written for ln(1/13), too. @param {string} name */
  const argument = (name) => {
    const begin = at;
    const x = signed();
    if (tokens[begin] !== "(" && tokens[at] === "/" && !FUNCTIONS.has(tokens[at + 1])) {
      const f = name === "sqrt" ? "√" : `${name} `;
      const top = tokens.slice(begin, at).join("");
      const below = /^[\d.,]/.test(tokens[at + 1] ?? "") ? tokens[at + 1] : "…";
      throw new Unread(
        `${f}${top}/${below} can mean ${f.trim()}(${top}/${below}) or (${f}${top})/${below}; put brackets.`,
      );
    }
    return x;
  };
  const value = sum();
  if (at < tokens.length) throw unread();
  return value;
}
