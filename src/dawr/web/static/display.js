// The screen in the hall. The page is a snapshot and names its moment; from there on the stream says what happens.
// Calls go through a line, so that each can be read; everything else comes from the page, fetched again.

import { EMPTY, called, changed, isLive, known, step } from "./calls.js";
import { canDraw } from "./glyphs.js";
import { follow } from "./live.js";
import { Moved, refresh } from "./refresh.js";
import { chime, isBlocked, isSupported, unlock } from "./sound.js";
import { digits, loadWords, say } from "./words.js";

const STEP_MS = 200;
const LOOK_EVERY_MS = 60000;
const LOOK_AT_MOST_EVERY_MS = 5000;
const LATEST = 6;
const LAST_CALL_MS = 15 * 60 * 1000;
const BETWEEN_CHIMES_MS = 1300;
const NOTICE_MS = 9000;
const NAME_OF_SIZE = { 1: "one", 2: "two", 4: "four", 6: "six" };
const LONG_LABELS = [4, 6, 7];
const LONG_NAMES = [6, 9, 22];
const FIGURES = /([0-9٠-٩]+)/;
const LETTERS = { ar: "تض", zh: "请前" };

const hall = document.querySelector(".hall");
const calls = hall.querySelector(".calls");
const latest = hall.querySelector(".latest");
const band = hall.querySelector(".band");
const clock = hall.querySelector(".clock");
const hint = hall.querySelector(".hint");

let line = EMPTY;
let news = read();
const version = news.version;
let silentSince = null;
let storeAwaySince = null;
let hasWords = false;
let isLoading = false;
let looking = 0;
let lookedAt = 0;
let lastChime = 0;
let chimes = 0;

// What the page knows

/** The snapshot in the page: its moment, its calls, and what places are called. */
function read() {
  const held = document.querySelector("template[data-part=known]");
  const places = {};
  for (const place of held.content.querySelectorAll("[data-place]")) places[place.dataset.place] = place;
  const { now, shift, event, version } = held.dataset;
  const at = Number(now);
  return { at, heardAt: performance.now(), shift: Number(shift), event, version, places, calls: callsIn(held, at) };
}

function callsIn(held, at) {
  return Array.from(held.content.querySelectorAll("li"), ({ dataset }) => ({
    ticket: dataset.ticket,
    label: dataset.label,
    place: dataset.at,
    state: dataset.state,
    at: Number(dataset.time),
    began: performance.now() - (at - Number(dataset.time)),
  }));
}

/** The server's time. The clock of a TV is often wrong, and is set while it runs. */
function serverTime() {
  return news.at + performance.now() - news.heardAt;
}

function clockTime(ms) {
  return digits(new Date(ms + news.shift * 60000).toISOString().slice(11, 16));
}

/** Fetches the page again. Resolves to the id of the moment that it shows. */
async function look() {
  try {
    await refresh();
  } catch (trouble) {
    if (trouble instanceof Moved) location.reload();
    throw trouble;
  }
  lookedAt = performance.now();
  storeAwaySince = null;
  tellNews();
  return news.event;
}

function lookSoon() {
  if (looking) return;
  const wait = Math.max(200, lookedAt + LOOK_AT_MOST_EVERY_MS - performance.now());
  looking = setTimeout(() => {
    looking = 0;
    lookedAt = performance.now();
    look().catch(() => {});
  }, wait);
}

function learn() {
  news = read();
  line = known(line, news, performance.now());
  rotateNotices(0);
  advance();
}

// What happens

function happened(name, told) {
  if (name === "stale") storeAwaySince = serverTime();
  if (name === "fresh") storeAwaySince = null;
  if (name === "stale" || name === "fresh") return tellNews();
  if (name.startsWith("ticket.")) {
    hearOf(name, told);
    count(told);
  }
  if (name === "reset" || /^(ticket|queue|venue)\./.test(name)) lookSoon();
}

function hearOf(name, told) {
  const now = performance.now();
  const queue = codeOf(told.queue);
  if (!news.places[`queue ${queue}`] || told.unannounced) return;
  const ticket = `${queue} ${told.day} ${told.round} ${told.number}`;
  if (name === "ticket.called" || name === "ticket.recalled") {
    const place = told.desk ? `desk ${codeOf(told.desk)}` : `queue ${queue}`;
    const began = now - Math.max(0, serverTime() - told.at);
    line = called(line, { ticket, label: told.label, place, at: told.at, began }, now);
  }
  line = changed(line, ticket, told.state);
  advance();
}

/** How many wait is said by each event, so it need not wait for the page. */
function count({ queue, day, round, line: { waiting = 0 } = {} }) {
  const place = news.places[`queue ${codeOf(queue)}`];
  if (!hasWords || place?.dataset.line !== `${day} ${round}`) return;
  place.dataset.waiting = waiting;
  const all = Object.values(news.places).reduce((sum, { dataset }) => sum + Number(dataset.waiting || 0), 0);
  const parts = say("waiting", { count: all }).split(FIGURES);
  hall.querySelector("[data-part=waiting]").replaceChildren(...parts.map((part, index) => (index % 2 ? large(part) : part)));
  if (!all) hall.querySelector("[data-part=wait]").replaceChildren();
}

function large(figure) {
  const made = document.createElement("b");
  made.textContent = figure;
  return made;
}

function codeOf(named) {
  return named.slice(named.indexOf(":") + 1);
}

// What is shown

function advance() {
  if (!hall.classList.contains("stale")) {
    line = step(line, performance.now());
    showCalls();
  }
  clock.textContent = clockTime(serverTime());
  ringWhatIsDue();
  if (news.version !== version && !isLive(line)) loadNewVersion();
}

/** Only while the server answers: what a browser shows instead of a page would stay for ever. */
function loadNewVersion() {
  if (isLoading) return;
  isLoading = true;
  look().then(
    () => location.reload(),
    () => setTimeout(() => (isLoading = false), LOOK_AT_MOST_EVERY_MS),
  );
}

function showCalls() {
  const { places } = line;
  const last = line.latest[0];
  const isCalm = !places.some(Boolean);
  const showsLast = isCalm && last && serverTime() - last.at < LAST_CALL_MS;
  const shown = places.map((one, index) => (one ? cell(one.isPast ? "last" : "live", one) : { key: `free ${index}`, kind: "free" }));
  calls.className = `calls ${NAME_OF_SIZE[isCalm ? 1 : places.length]}`;
  fill(calls, isCalm ? [showsLast ? cell("last", last) : { key: "idle", kind: "idle" }] : shown);
  const from = showsLast ? 1 : 0;
  const rows = line.latest.slice(from, from + LATEST).map((one) => cell("row", one));
  while (rows.length < LATEST) rows.push({ key: `blank ${rows.length}`, kind: "blank" });
  fill(latest, rows);
}

function cell(kind, call) {
  return { key: `${kind} ${call.ticket} ${call.shownAt || ""}`, kind, call };
}

/** Changes only what is new: a number that stays where it is does not pulse again. */
function fill(list, cells) {
  const keys = new Set(cells.map(({ key }) => key));
  for (const child of [...list.children]) if (!keys.has(child.key)) child.remove();
  cells.forEach(({ key, kind, call }, index) => {
    if (list.children[index]?.key === key) return;
    const made = make(kind, call);
    made.key = key;
    if (kind === "live") chimes += 1;
    list.insertBefore(made, list.children[index] || null);
  });
}

/** How large a label can be: M and W are wide. The server says the same. */
function sizeOf(label) {
  const width = label.length + 0.6 * (label.match(/[MW]/g) ?? []).length;
  return ["number", ...["long", "longer", "longest"].slice(0, LONG_LABELS.filter((most) => width > most).length)].join(" ");
}

function make(kind, call) {
  const made = document.getElementById(`cell-${kind}`).content.firstElementChild.cloneNode(true);
  if (!call) return made;
  const number = made.querySelector(".number");
  number.textContent = call.label;
  number.className = sizeOf(call.label);
  const place = news.places[call.place] || news.places[`queue ${call.ticket.split(" ")[0]}`];
  const plate = made.querySelector(".plate");
  const name = place ? place.textContent : "";
  plate.classList.add(...["long", "longer", "longest"].slice(0, LONG_NAMES.filter((most) => name.length > most).length));
  plate.querySelector("bdi").textContent = name;
  if (place) plate.querySelector("bdi").lang = place.lang;
  return made;
}

/** News has stopped, or is here again: the strip becomes the band, and the call goes quiet. */
function tellNews() {
  const since = [silentSince, storeAwaySince].filter((moment) => moment !== null);
  hall.classList.toggle("stale", since.length > 0);
  if (since.length) {
    const time = clockTime(Math.min(...since));
    band.querySelector("b").textContent = band.dataset.since.replace("{time}", time);
  }
  band.hidden = since.length === 0;
}

let notice = 0;

/** One notice at a time; that the screen is mute is one of them. */
function rotateNotices(by = 1) {
  const notices = [...hall.querySelectorAll(".notice > span")];
  if (isSupported && isBlocked()) notices.push(hint);
  notice = (notice + by) % (notices.length || 1);
  hint.hidden = true;
  notices.forEach((one, index) => (one.hidden = index !== notice));
  hall.querySelector(".notice").hidden = !hint.hidden;
}

// Sound, and staying awake

function ringWhatIsDue() {
  const now = performance.now();
  if (!chimes || now - lastChime < BETWEEN_CHIMES_MS) return;
  chimes = Math.min(chimes - 1, LATEST);
  lastChime = now;
  // What was not heard is not made up for when the sound comes on.
  if (!isBlocked()) chime();
}

async function allowSound() {
  await unlock();
  rotateNotices(0);
}

function stayAwake() {
  if (document.visibilityState === "visible") navigator.wakeLock?.request("screen").catch(() => {});
}

function sayWhatCannotBeDrawn() {
  const missing = Object.keys(LETTERS).filter((language) => !canDraw(LETTERS[language]));
  for (const language of missing) {
    const unreadable = `.come [lang=${language}]`;
    for (const held of [document, document.getElementById("cell-live").content]) {
      held.querySelectorAll(unreadable).forEach((words) => words.remove());
    }
  }
  hall.querySelector(".no-letters").hidden = !missing.includes(document.documentElement.lang);
}

document.documentElement.dataset.alive = "";
document.addEventListener("shown", learn);
document.addEventListener("visibilitychange", stayAwake);
addEventListener("pointerdown", allowSound);
addEventListener("keydown", allowSound);
sayWhatCannotBeDrawn();
loadWords().then(
  () => (hasWords = true),
  () => {}, // the count is that of the page then
);
allowSound();
stayAwake();
learn();
setInterval(advance, STEP_MS);
setInterval(rotateNotices, NOTICE_MS);
setInterval(lookSoon, LOOK_EVERY_MS);
follow({
  stream: `/v1/events?venue=${encodeURIComponent(hall.dataset.venue)}`,
  since: news.event,
  refresh: look,
  happened,
  connected: (isConnected, since) => {
    silentSince = isConnected ? null : serverTime() - (Date.now() - since);
    tellNews();
  },
});
