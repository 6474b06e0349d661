// "Alert me": the page rings, shakes and flashes its title when its visitor is called. A browser allows
// the first two only after a press, so there is a button, and it says what can be heard.

import { chime, isBlocked, isSupported, unlock } from "./sound.js";
import { say } from "./words.js";

const RINGS = 3;
const BETWEEN_RINGS_MS = 3500;
const FLASH_MS = 1000;
const PATTERN = [400, 200, 400];
const KEPT = "dawr-alert";

const canShake = typeof navigator.vibrate === "function";
const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;

let isWanted = kept();
let hasTried = false;
let called = document.querySelector("main").dataset.called || "";
let ringing = 0;
let flashing = 0;
let title = "";

/** Puts the button into a page that was fetched anew, and rings if its visitor was called since. */
export function dressAlerts(main) {
  const slot = main.querySelector("[data-slot]");
  if (slot && !main.querySelector("[data-alert]")) slot.after(button());
  show();
  if ((main.dataset.called || "") !== called) {
    called = main.dataset.called || "";
    stop();
    if (called) ring(RINGS);
  }
  flash();
}

function button() {
  const made = document.createElement("button");
  made.type = "button";
  made.dataset.alert = "";
  made.dataset.key = "alert";
  made.addEventListener("click", press);
  return made;
}

function state() {
  if (!isSupported && !canShake) return "unsupported";
  if (!isWanted) return "off";
  return isSupported && isBlocked() ? "blocked" : "on";
}

function show() {
  const made = document.querySelector("[data-alert]");
  const help = document.querySelector("[data-alert-help]");
  if (!made) return;
  const now = state();
  made.hidden = now === "unsupported";
  made.className = now === "on" ? "button wide" : "button main wide";
  made.setAttribute("aria-pressed", String(now === "on"));
  made.replaceChildren(icon(now === "on" ? "check" : "bell"), say("alert", { state: now }));
  if (!help) return;
  help.hidden = now === "off";
  help.textContent = now === "off" ? "" : say("alert-help", { state: now === "blocked" && hasTried ? "silent" : now });
}

function icon(name) {
  const drawn = document.querySelector("#icon").content.firstElementChild.cloneNode(true);
  const use = drawn.querySelector("use");
  use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${name}`));
  return drawn;
}

async function press() {
  isWanted = state() !== "on";
  keep();
  if (isWanted) {
    await unlock();
    hasTried = true;
    chime();
    shake(PATTERN.slice(0, 1));
  }
  show();
}

function ring(times) {
  if (!isWanted || !times) return;
  chime();
  shake(PATTERN);
  ringing = setTimeout(ring, BETWEEN_RINGS_MS, times - 1);
}

function shake(pattern) {
  if (canShake) navigator.vibrate(pattern);
}

function stop() {
  clearTimeout(ringing);
  clearInterval(flashing);
  flashing = 0;
}

/** The title of a call, and the bare number, in turns: a tab in the background is noticed. */
function flash() {
  if (!called || isStill) return;
  title = document.title;
  if (flashing) return;
  const label = document.querySelector("main").dataset.label;
  flashing = setInterval(() => {
    document.title = document.title === title ? `● ${label}` : title;
  }, FLASH_MS);
}

function kept() {
  try {
    return localStorage.getItem(KEPT) === "on";
  } catch {
    return false;
  }
}

function keep() {
  try {
    if (isWanted) localStorage.setItem(KEPT, "on");
    else localStorage.removeItem(KEPT);
  } catch {
    // It is asked again after a reload, then.
  }
}

// Whoever wanted alerts before a reload has them back with the first touch, wherever that is.
document.addEventListener("pointerup", async (event) => {
  if (isWanted && isSupported && isBlocked() && !event.target.closest("[data-alert]")) {
    await unlock();
    show();
  }
});
