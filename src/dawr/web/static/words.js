// What the page says, from the same file as the server: a text with {facts} in it, or a choice by a fact,
// with a message for each of its values, for each plural category of a number, `none` and `other`.

const LEFT_TO_RIGHT = "\u2066";
const BY_FIRST_LETTER = "\u2068";
const END = "\u2069";
const ISOLATE = /(\u2066[^\u2069]*\u2069)/;
const FACT = /\{(\w+)\}/g;
const ARABIC_ZERO = 0x0660;

const page = document.documentElement;
const plurals = new Intl.PluralRules(page.lang);
const isRightToLeft = page.dir === "rtl";
let words = {};

/** Fetches the page's words; `say` works from then on. */
export async function loadWords() {
  const answer = await fetch(page.dataset.words);
  if (!answer.ok) throw new Error(`The words could not be read: ${answer.status}`);
  words = await answer.json();
}

export function say(name, facts = {}) {
  let message = words[name];
  while (typeof message === "object") message = chosen(message, facts);
  return (message ?? name).split(ISOLATE).map((part, place) => (place % 2 ? typed(part, facts) : read(part, facts))).join("");
}

/** In the digits that the venue has chosen. Labels, PINs and codes stay as they are printed. */
export function digits(text) {
  if (page.dataset.digits !== "arabic" || page.lang !== "ar") return String(text);
  return String(text).replace(/\d/g, (digit) => String.fromCharCode(ARABIC_ZERO + Number(digit)));
}

/** What a person reads: with counts in the venue's digits. */
function read(text, facts) {
  return digits(text).replace(FACT, (_, fact) => told(facts[fact]));
}

/** What stands in an isolate is there to be typed, so it is as it is typed. */
function typed(text, facts) {
  return text.replace(FACT, (_, fact) => facts[fact] ?? "…");
}

function chosen(choice, facts) {
  const fact = facts[choice.by];
  if ((fact === undefined || fact === null) && "none" in choice) return choice.none;
  const value = String(fact);
  if (value in choice && value !== "by" && value !== "none") return choice[value];
  if (typeof fact === "number" && plurals.select(Math.abs(fact)) in choice) return choice[plurals.select(Math.abs(fact))];
  return choice.other;
}

function told(fact) {
  if (fact === undefined || fact === null) return "…";
  if (typeof fact === "number") return digits(fact);
  return isRightToLeft ? `${BY_FIRST_LETTER}${String(fact).replaceAll(LEFT_TO_RIGHT, "")}${END}` : String(fact);
}
