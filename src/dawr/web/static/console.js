// The console, kept up to date and worked by keys. Nothing is shown as done before the server says so: a press is sent,
// and then the page's parts are fetched again. Without script the same forms and links do the same.

import { enliven, post, Problem } from "./forms.js";
import { listenForKeys } from "./keys.js";
import { follow } from "./live.js";
import { Moved, refresh } from "./refresh.js";
import { sheets } from "./sheet.js";
import { chime, unlock } from "./sound.js";
import { digits, loadWords, say } from "./words.js";

const BETWEEN_LOOKS_MS = 200;
const LOOK_EVERY_MS = 30000;
const TYPING_MS = 200;
const PIN_SHOWN_MS = 15000;
const REFUSAL_SHOWN_MS = 30000;
const SOUND = "dawr-console-sound";

const main = document.querySelector("main.console");
const queues = new Set(main.dataset.queues.trim().split(" "));
const signedOut = document.getElementById("signed-out");
const undone = signedOut.querySelector("[data-undone]");
const find = main.querySelector("input[name=find]");
const away = main.querySelector("[data-away]");
const liveSign = document.querySelector("[data-live-sign]");

let turn = null;
let offset = 0;
let waiting = Number(count().dataset.waiting);
let looksAgain = 0;
let lookedAt = 0;
let typing = 0;
let refusal = 0;
let row = null;
let isAway = false;

// What is shown

function count() {
  return main.querySelector("[data-waiting]");
}

/** Whatever happened meanwhile is fetched with it: at most five times a second. */
function lookSoon() {
  if (looksAgain) return;
  const wait = Math.max(0, lookedAt + BETWEEN_LOOKS_MS - Date.now());
  looksAgain = setTimeout(() => {
    looksAgain = 0;
    look().catch(() => {});
  }, wait);
}

async function look() {
  lookedAt = Date.now();
  try {
    await refresh();
    if (isAway) connected(true);
  } catch (trouble) {
    if (!(trouble instanceof Moved)) throw trouble;
    askToSignIn();
  }
}

function shown() {
  const seen = main.querySelector("[data-now]");
  if (seen !== turn) {
    turn = seen;
    offset = Number(turn.dataset.now) - Date.now();
    const said = document.querySelector("[data-said]");
    if (said.textContent !== turn.dataset.told) said.textContent = turn.dataset.told;
  }
  const now = Number(count().dataset.waiting);
  if (waiting === 0 && now > 0 && hasSound()) chime();
  waiting = now;
  if (row && document.activeElement === document.body) find.focus();
  dressSound(document);
  disable();
  tick();
}

function tick() {
  const now = Date.now() + offset;
  for (const one of main.querySelectorAll("[data-since]")) {
    one.textContent = say(one.dataset.say, { time: elapsed(now - Number(one.dataset.since)) });
  }
  for (const bar of main.querySelectorAll("[data-from]")) bar.value = now - Number(bar.dataset.from);
  for (const over of main.querySelectorAll("[data-until]")) over.hidden = now < Number(over.dataset.until);
}

function elapsed(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return digits(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`);
}

// What happens

function happened(name, change) {
  if (name === "stale" || name === "fresh") return connected(name === "fresh", Date.now());
  const concerns = !change.queue || queues.has(change.queue) || change.desk === main.dataset.desk;
  const isOthersDesk = name.startsWith("desk.") && change.desk !== main.dataset.desk;
  if (concerns && !isOthersDesk) lookSoon();
}

function connected(isLive, since) {
  isAway = !isLive;
  if (isAway) {
    const clock = { timeZone: main.dataset.zone, hour: "2-digit", minute: "2-digit" };
    const time = new Date(since).toLocaleTimeString("en-GB", clock);
    away.querySelector("span").textContent = say("no-news", { time: digits(time) });
  }
  away.hidden = isLive;
  liveSign.hidden = isAway;
  disable();
}

/** While nobody answers nothing can be pressed. */
function disable() {
  document.body.classList.toggle("old", isAway);
  for (const button of document.querySelectorAll(".bar form button, main form button")) {
    button.disabled = isAway || "off" in button.dataset;
  }
  for (const link of document.querySelectorAll("a[data-sheet]")) link.ariaDisabled = isAway ? "true" : null;
}

// What is pressed

/** Until the page shows what was done, the same press again would mean something else. */
async function done(form) {
  tell(form, "");
  if (form.closest("#sheet")) sheet.close();
  try {
    await look();
  } catch {
    lookSoon();
    return false;
  }
}

async function failed(form, trouble) {
  lookSoon();
  if (trouble instanceof Problem && trouble.status === 401) return askToSignIn(!trouble.mayBeDone);
  // Somebody was quicker, or what was chosen before was done: the dialog shows what is possible now.
  const isSentBefore = trouble.told?.code === "idempotency-key-reused";
  const isOld = isSentBefore || trouble.told?.code === "ticket-in-wrong-state";
  if (form?.closest("#sheet") && isOld) await opened.again().catch(() => {});
  if (isSentBefore) tell(form, say("sent-before"));
  else tell(form, trouble instanceof Problem ? trouble.message : say("unanswered"));
}

/** In its place: in the dialog, if that is open. What is said of the console is old after a while. */
function tell(form, words) {
  const dialog = form?.closest("dialog") ?? document.querySelector("dialog[open]");
  const ofConsole = main.querySelector("[data-alert]");
  const place = dialog?.querySelector("[data-alert]") ?? ofConsole;
  place.hidden = words === "";
  place.querySelector("span").textContent = words;
  if (place !== ofConsole) return;
  clearTimeout(refusal);
  refusal = setTimeout(() => (place.hidden = true), REFUSAL_SHOWN_MS);
}

const sheet = document.getElementById("sheet");
const opened = sheets(sheet, { shown: dressSound, failed: (trouble) => failed(null, trouble), signedOut: () => askToSignIn() });
const press = enliven(document, { done, failed });
listenForKeys(press);

// A button that was clicked does not keep the focus: the next Space is meant for the big one.
main.addEventListener("click", (event) => {
  if (event.detail > 0 && event.target.closest("button, a")) document.activeElement?.blur();
});

document.addEventListener("click", (event) => {
  const opens = event.target.closest("[data-open]");
  if (opens) document.getElementById(opens.dataset.open).showModal();
  if (event.target.closest("[data-sound]")) toggleSound();
  if (event.target.closest("[data-read]")) tell(null, "");
});

main.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-pin]")) return;
  event.preventDefault();
  try {
    const { pin } = await post(form.dataset.pin);
    // The form that was pressed may be replaced meanwhile.
    const place = main.querySelector(`[data-pin="${CSS.escape(form.dataset.pin)}"] [data-pin-shown]`);
    if (place) showPin(place, pin);
    tell(form, "");
  } catch (trouble) {
    failed(form, trouble);
  }
});

function showPin(place, pin) {
  const hidden = [...place.childNodes];
  place.textContent = pin;
  place.dataset.kept = "";
  setTimeout(() => {
    if (place.textContent === pin) place.replaceChildren(...hidden);
    delete place.dataset.kept;
  }, PIN_SHOWN_MS);
}

// Search

// The focus stays in the field until what was found is there: on a row of the old list it would be lost with it, and
// the next Enter would be that of the big button.
find.form.addEventListener("submit", async (event) => {
  event.preventDefault();
  lookFor(find.value);
  await look().catch(() => {});
  if (document.activeElement === find) main.querySelector(".rows a")?.focus();
});
main.addEventListener("focusin", (event) => (row = event.target.closest(".rows")));
main.addEventListener("pointerdown", () => (row = null));
find.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => lookFor(find.value), TYPING_MS);
});
find.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  find.value = "";
  lookFor("");
  find.blur();
});

function lookFor(text) {
  clearTimeout(typing);
  const address = new URL(location.href);
  if (text.trim()) address.searchParams.set("find", text);
  else address.searchParams.delete("find");
  if (address.href === location.href) return;
  history.replaceState(null, "", address);
  lookSoon();
}

// Sound, as this person wants it at this machine

function hasSound() {
  return localStorage.getItem(SOUND) !== "off";
}

function toggleSound() {
  localStorage.setItem(SOUND, hasSound() ? "off" : "on");
  dressSound(document);
  if (hasSound()) unlock().then(chime);
}

function dressSound(root) {
  for (const button of root.querySelectorAll("[data-sound]")) {
    button.hidden = false;
    button.setAttribute("aria-pressed", String(hasSound()));
  }
  for (const told of root.querySelectorAll("[data-with-sound]")) told.hidden = !hasSound();
}

// A session that has ended

/** Whether something was pressed that was not done is said only if that is sure. */
function askToSignIn(isUndone = false) {
  sheet.close();
  if (isUndone) undone.hidden = false;
  if (!signedOut.open) signedOut.showModal();
}

signedOut.addEventListener("close", () => (undone.hidden = true));

signedOut.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const password = form.elements.namedItem("password");
  try {
    await post(form.action, new FormData(form));
    password.value = "";
    tell(form, "");
    signedOut.close();
    lookSoon();
  } catch (trouble) {
    password.value = "";
    tell(form, trouble instanceof Problem ? trouble.message : say("unanswered"));
    password.focus();
  }
});

async function start() {
  await loadWords();
  for (const one of document.querySelectorAll("[data-open]")) one.hidden = false;
  liveSign.hidden = false;
  for (const gesture of ["pointerdown", "keydown"]) addEventListener(gesture, () => unlock(), { once: true });
  document.addEventListener("shown", shown);
  shown();
  setInterval(tick, 1000);
  setInterval(() => document.visibilityState === "hidden" || lookSoon(), LOOK_EVERY_MS);
  document.documentElement.dataset.ready = ""; // keys are heard from now on
  follow({ stream: main.dataset.stream, refresh: look, happened, connected });
}

start();
