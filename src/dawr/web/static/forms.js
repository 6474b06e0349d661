// Forms that are sent without leaving the page. Nothing is shown as done before the server says so, and
// an answer that was lost is asked for again under the same key, so that nothing is done twice.

const TRIES = 4;
const TRY_AGAIN = new Set([429, 502, 503, 504]);
const LONGEST_PAUSE_SECONDS = 3;
const GUARD_MS = 600;
const LONGEST_WAIT_MS = 8000;
const UNSURE_MS = 30000;

/** What the server said no to, in its words. `mayBeDone`: an earlier try was not answered, or not in the end. */
export class Problem extends Error {
  constructor(status, told, mayBeDone = false) {
    super(told.detail || told.title || String(status));
    this.status = status;
    this.told = told;
    this.mayBeDone = mayBeDone;
  }

  /** Whether the same may be asked again later, under the same key. */
  get mayPass() {
    return this.told.retryable ?? TRY_AGAIN.has(this.status);
  }
}

/** Sends a form. Resolves to the answer; rejects with a Problem, or with an Error if the server cannot be reached.
 * What is not wanted any more is not asked for again. */
export async function send(form, { more = {}, isWanted } = {}) {
  const body = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(more)) body.set(name, value);
  return post(form.action, body, { isWanted });
}

/** The same for what is not a form on the page. A key goes along: by it a repeat is recognised. An answer that is a
 * page, to whoever accepts one, is `{ page }`. */
export async function post(address, fields = {}, { accept = "application/json", isWanted = () => true } = {}) {
  const body = new URLSearchParams(fields);
  if (!body.get("idempotency_key")) body.set("idempotency_key", newKey());
  for (let tried = 1; ; tried += 1) {
    try {
      const { answer, told } = await ask(address, { method: "POST", headers: { accept }, body });
      if (answer.ok) return told;
      const problem = new Problem(answer.status, told, tried > 1);
      const pause = Number(answer.headers.get("retry-after")) || 0;
      // Who is to wait longer is told so.
      if (tried >= TRIES || !problem.mayPass || pause > LONGEST_PAUSE_SECONDS) throw problem;
    } catch (trouble) {
      // Whoever waits in silence is asked to do so twice, not four times.
      if (trouble.name === "AbortError") tried += 1;
      if (trouble instanceof Problem || tried >= TRIES) throw trouble;
    }
    await new Promise((done) => setTimeout(done, 300 * 2 ** tried * (0.5 + Math.random() / 2)));
    if (!isWanted()) throw new Error("Nobody waits for the answer any more.");
  }
}

/** An answer and what it says; rejects if there is none within eight seconds. */
export async function ask(address, request) {
  const giveUp = new AbortController();
  const late = setTimeout(() => giveUp.abort(), LONGEST_WAIT_MS);
  try {
    const answer = await fetch(address, { ...request, signal: giveUp.signal });
    return { answer, told: await read(answer) };
  } finally {
    clearTimeout(late);
  }
}

/**
 * Lets the forms below `root` that have `data-live` be sent without leaving the page.
 * `done(form, answer)` and `failed(form, problem)` say what to show; `done` resolves to false if it could not. A second
 * press within 0.6 s, or while the first is under way, is not one; forms that take each other's place have the same
 * `data-guard`. Returns what presses a form without that guard, for keys of their own.
 */
export function enliven(root, { done, failed }) {
  const pressedAt = new Map();
  const underWay = new Map();
  const unsure = new Map();

  root.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-live]")) return;
    event.preventDefault();
    const guard = form.dataset.guard ?? form.getAttribute("action");
    if (Date.now() - (pressedAt.get(guard) ?? -Infinity) < GUARD_MS) return;
    pressedAt.set(guard, Date.now());
    press(form, event.submitter);
  });

  // The form that was pressed may be replaced meanwhile: what stands in its place is under way as well, and asks for
  // the same if it is not known whether that was done. After a while a press means something new.
  document.addEventListener("shown", () => {
    for (const [place, pressed] of underWay) {
      // What was pressed is gone from the page: the page has gone on, with it or without it. It is not asked for
      // again, and a press means something new.
      if (formsAt(place).length === 0) pressed.isPast = true;
      else if (!pressed.isPast) formsAt(place).forEach((form) => markBusy(form, pressed.since));
    }
    for (const [place, { key, at }] of unsure) {
      if (Date.now() - at > UNSURE_MS || formsAt(place).length === 0) unsure.delete(place);
      else formsAt(place).forEach((form) => setKey(form, key));
    }
  });

  function formsAt(place) {
    return [...root.querySelectorAll("form[data-live]")].filter((form) => placeOf(form) === place);
  }

  async function press(form, button) {
    const place = placeOf(form);
    const before = underWay.get(place);
    if ((before && !before.isPast) || form.dataset.busy !== undefined) return;
    const pressed = { since: Date.now(), isPast: false };
    const isLatest = () => underWay.get(place) === pressed;
    const unmark = () => [form, ...formsAt(place)].forEach((one) => markBusy(one));
    const key = keyOf(form)?.value;
    const keep = () => formsAt(place).forEach((one) => setKey(one, key)); // what stands in its place is the same press
    underWay.set(place, pressed);
    markBusy(form, pressed.since);
    try {
      const more = button?.name ? { [button.name]: button.value } : {};
      const answer = await send(form, { more, isWanted: () => isLatest() && !pressed.isPast });
      if (!isLatest()) return;
      unmark();
      unsure.delete(place);
      // What was pressed may stand there until then, and longer if the page cannot be had: pressed again it is the
      // same press, for its key is. The page brings new ones.
      const isShown = await done(form, answer);
      if (!isLatest()) return;
      if (isShown === false) keep();
      underWay.delete(place);
      unmark();
    } catch (trouble) {
      if (!isLatest()) return;
      underWay.delete(place);
      unmark();
      const isSure = trouble instanceof Problem && trouble.status < 500 && !trouble.mayPass;
      if (isSure) setKey(form, newKey());
      else if (pressed.isPast) return;
      else {
        unsure.set(place, { key, at: Date.now() });
        keep();
      }
      failed(form, trouble);
    }
  }

  return press;
}

/** Where a form stands: two may ask for the same, one in place of the big button and one beside it. */
function placeOf(form) {
  return `${form.dataset.guard ?? ""} ${form.getAttribute("action")}`;
}

/** Shows that a form was pressed and when, or with no time that it is over. */
export function markBusy(form, since) {
  if (since) {
    form.dataset.busy = since;
    form.setAttribute("aria-busy", "true");
  } else {
    delete form.dataset.busy;
    form.removeAttribute("aria-busy");
  }
}

function keyOf(form) {
  return form.elements.namedItem("idempotency_key");
}

/** With a new key, something new is meant by the next press. */
function setKey(form, key) {
  const field = keyOf(form);
  if (field && key) field.value = key;
}

// `crypto.randomUUID` is not there on plain HTTP.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What was answered; `page`, if that is one. */
async function read(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch {
    return { page: text };
  }
}
