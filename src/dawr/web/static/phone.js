// The visitor's page, kept up to date. Counts are changed where they stand; when anything else changes, the page is
// fetched again. Everything here is an addition: without it the page is right as often as it is loaded.

import { dressAlerts } from "./alert.js";
import { enliven, Problem } from "./forms.js";
import { follow } from "./live.js";
import { Moved, refresh } from "./refresh.js";
import { digits, loadWords, say } from "./words.js";

const GUARD_MS = 600;
const LONGEST_WAIT_MS = 15000;
const FOLLOWED_AFTER_THE_END_MS = 10 * 60 * 1000;
const SPREAD_MS = 5000;
const TOLD_FOR_MS = 5000;
const TOLD_TO = 5; // minutes, as the server tells them
const KEEPS_ITS_PLACE = ["waiting", "paused", "near", "held"];

const news = document.getElementById("news");
let awaySince = 0;
let staleSince = 0;
let wrong = null;
let shownAs = page().dataset.as;
let isInside = false;
let pressedAt = 0;
let turnedAt = 0;
let tries = 0;
let live = null;
const timers = {};

function page() {
  return document.querySelector("main");
}

/** One timer of each name: a new one takes the place of the old. */
function later(name, milliseconds, what) {
  clearTimeout(timers[name]);
  timers[name] = setTimeout(what, milliseconds);
}

// What happens

function happened(name, place) {
  if (name === "stale" || name === "fresh") {
    staleSince = name === "stale" ? Date.now() : 0;
    showAge();
    if (name === "fresh") catchUp();
  } else if (name === "step" || asShown(place) !== page().dataset.shown || (name === "update" && place.state === "called")) {
    // A line that ends does so for everybody in it: not all of them ask at once.
    if (place.state === "expired") later("fetch", Math.random() * SPREAD_MS, catchUp);
    else catchUp();
  } else if (place.state === "waiting") {
    count(place);
  }
}

/** The same as the server makes of it: all that the page shows besides counts. */
function asShown({ queue, label, state, near_turn, paused, desk }) {
  return [queue, label, state, near_turn ? "near" : "", paused ? "paused" : "", desk || ""].join(" ");
}

function count({ label, ahead, wait_minutes }) {
  const main = page();
  setFigure(main.querySelector('[data-figure="ahead"]'), say("people", { count: ahead }));
  if (main.dataset.state !== "paused") {
    const wait = wait_minutes < TOLD_TO ? wait_minutes : Math.round(wait_minutes / TOLD_TO) * TOLD_TO;
    setFigure(main.querySelector('[data-figure="wait"]'), say("minutes", { count: wait }));
    main.querySelector('[data-label="wait"]').textContent = say("about", { count: wait });
  }
  const line = main.querySelector("[data-dots]");
  const dots = ahead <= Number(line.dataset.dots) ? ahead + 1 : 0;
  if (line.childElementCount !== dots) line.replaceChildren(...Array.from({ length: dots }, () => document.createElement("i")));
  document.title = say("title", { state: main.dataset.state, label, count: ahead });
}

function setFigure(figure, text) {
  if (figure.textContent.trim() === text) return;
  const [, number, unit] = /^([0-9٠-٩]+)\s*(.*)$/.exec(text) || [];
  const small = document.createElement(number ? "small" : "span");
  small.textContent = number ? unit : text;
  if (!number) small.className = "words";
  figure.replaceChildren(...(number ? [`${number} `, small] : [small]));
  figure.classList.remove("roll");
  void figure.offsetWidth; // so that it rolls again
  figure.classList.add("roll");
}

/** The page as it is now. Tried until it comes: somebody may be called. */
async function catchUp() {
  clearTimeout(timers.fetch);
  try {
    await refresh();
    tries = 0;
  } catch (trouble) {
    if (trouble instanceof Moved) return location.reload();
    tries += 1;
    later("fetch", Math.min(LONGEST_WAIT_MS, 500 * 2 ** tries) * (0.5 + Math.random() / 2), catchUp);
  }
}

async function lookAgain() {
  await refresh();
  staleSince = 0;
  showAge();
}

function connected(isLive, since) {
  awaySince = isLive ? 0 : since;
  showAge();
}

// What is shown besides what the server says

function dress() {
  const main = page();
  const isNew = main.dataset.as !== shownAs;
  shownAs = main.dataset.as;
  for (const link of main.querySelectorAll("[data-look-again]")) link.hidden = true;
  if (isNew) {
    isInside = false;
    turnedAt = Date.now();
    sayAloud();
  }
  // What the page shows now tells whether a press was done that had no answer.
  if (wrong && (isNew || wrong.isUnanswered) && Date.now() - wrong.at > TOLD_FOR_MS) wrong = null;
  const inside = main.querySelector("[data-inside]");
  if (inside) inside.open = isInside;
  dressAlerts(main);
  showAge();
  showWrong();
  plan(main.dataset);
}

/** For whoever listens to the page instead of looking at it. */
function sayAloud() {
  const told = Array.from(page().querySelectorAll("[data-told]"), (one) => one.innerText);
  news.textContent = told.join(" ").replace(/\s+/g, " ").trim();
}

/** When the page is looked at again by itself, and when it need not be any more. */
function plan({ stream, again, undo }) {
  const milliseconds = Number(again || 0) * 1000 * (0.75 + Math.random() / 2);
  clearTimeout(timers.again);
  clearTimeout(timers.end);
  if (again) later("again", milliseconds, () => document.hidden || catchUp());
  if (undo) later("undo", Number(undo) + 300, catchUp);
  if (!stream) live.stop();
  else if (!again && !undo) later("end", FOLLOWED_AFTER_THE_END_MS, live.stop);
}

/** The number stays: it is still theirs. What may have changed goes quiet, and it says since when. */
function showAge() {
  const main = page();
  const since = awaySince || staleSince;
  const note = main.querySelector("[data-away]");
  main.classList.toggle("old", since > 0);
  for (const now of main.querySelectorAll("[data-now]")) now.hidden = since > 0;
  if (!note) return;
  const place = KEEPS_ITS_PLACE.includes(main.dataset.state) ? "kept" : main.dataset.state;
  const text = since ? say(awaySince ? "away" : "stale", { place, time: clock(since) }) : "";
  if (text && note.hidden) news.textContent = text;
  else if (!text && !note.hidden) sayAloud();
  note.hidden = !since;
  note.querySelector("span").textContent = text;
}

function clock(milliseconds) {
  const zone = { timeZone: page().dataset.zone };
  const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...zone });
  return digits(time.format(milliseconds));
}

function showWrong() {
  for (const place of page().querySelectorAll("[data-wrong]")) {
    const isHere = wrong !== null && place.dataset.wrong === wrong.where;
    place.textContent = isHere ? wrong.text : "";
    place.hidden = !isHere;
  }
  const pin = page().querySelector("#pin");
  if (!pin) return;
  if (wrong && wrong.where === "pin") pin.setAttribute("aria-invalid", "true");
  else pin.removeAttribute("aria-invalid");
}

// What is pressed

async function done() {
  await catchUp();
  // The button that was pressed may be gone, and the focus with it.
  if (document.activeElement === document.body) page().focus({ preventScroll: true });
}

async function failed(form, trouble) {
  const where = form.dataset.live === "pin" && page().querySelector('[data-wrong="pin"]') ? "pin" : "page";
  const isUnanswered = !(trouble instanceof Problem);
  wrong = { where, at: Date.now(), isUnanswered, text: isUnanswered ? say("not-sent") : trouble.message };
  const pin = page().querySelector("#pin");
  if (where === "pin" && pin) {
    pin.value = "";
    pin.focus();
  }
  showWrong();
  if (!isUnanswered) await catchUp();
}

addEventListener(
  "submit",
  () => {
    pressedAt = Date.now();
    wrong = null;
    showWrong();
  },
  true,
);
// When the page has turned, what is under the finger is not what was meant by the second of two taps.
addEventListener(
  "click",
  (event) => {
    if (Date.now() - pressedAt >= GUARD_MS || turnedAt < pressedAt) return;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);
document.addEventListener("toggle", (event) => (isInside = event.target.open), true);
document.addEventListener("shown", dress);

async function begin() {
  try {
    await loadWords();
  } catch {
    later("begin", LONGEST_WAIT_MS / 5, begin);
    return;
  }
  live = follow({ stream: page().dataset.stream, refresh: lookAgain, happened, connected });
  enliven(document, { done, failed });
  dress();
}

begin();
