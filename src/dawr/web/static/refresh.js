// Shows the newest state of a page: fetches it again and replaces its parts, which are the elements with
// `data-part`. Who types or has opened something keeps it, and the focus stays where it was.

const LONGEST_WAIT_MS = 15000;
const BUSY_MS = 2000;
const HELD_MS = 200;
const FILLED_IN = "input:not([type=hidden]), textarea, select";

let under = null;
let next = null;

/** Fetches this page and shows its parts. What is under way may be of before the change that the caller has heard of:
 * then it is done once more after that, for all who asked meanwhile. */
export function refresh(address) {
  if (under) {
    const again = () => {
      next = null;
      return refresh(address);
    };
    next = next || under.catch(() => {}).then(again);
    return next;
  }
  under = fetchAndShow(address ?? location.href).finally(() => (under = null));
  return under;
}

async function fetchAndShow(address) {
  const giveUp = new AbortController();
  const late = setTimeout(() => giveUp.abort(), LONGEST_WAIT_MS);
  try {
    show(await fetched(address, giveUp.signal));
  } finally {
    clearTimeout(late);
  }
}

async function fetched(address, signal) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, cache: "no-store", signal });
  if (new URL(answer.url).pathname !== new URL(address, location.href).pathname) throw new Moved(answer.url);
  if (answer.status >= 500 || answer.status === 429) throw new Error(`The page could not be fetched: ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  // Refused now, in words: whoever may not see this page any more is to read them.
  if (answer.status >= 400 && !fresh.querySelector("[data-part]")) location.reload();
  return fresh;
}

/** Replaces the parts of this page by those of another document. */
export function show(fresh) {
  const focus = focused();
  let isHeld = false;
  for (const old of document.querySelectorAll("[data-part]")) {
    const part = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
    // A finger is down on it: replaced now, it would not be pressed.
    if (old.matches(":active")) {
      isHeld = true;
      continue;
    }
    // What is typed is kept as long as it is still meant for the same: a part may say by `data-as` what it is for.
    if (part && !(isInUse(old) && part.dataset.as === old.dataset.as)) old.replaceWith(document.adoptNode(part));
  }
  document.body.className = fresh.body.className;
  if (fresh.title) document.title = fresh.title;
  focus();
  if (isHeld) setTimeout(() => refresh().catch(() => {}), HELD_MS);
  document.dispatchEvent(new CustomEvent("shown"));
}

/** The page leads elsewhere now: the session has ended, or the link. */
export class Moved extends Error {
  constructor(address) {
    super("The page has moved.");
    this.address = address;
  }
}

function isInUse(part) {
  const typing = document.activeElement?.matches?.(FILLED_IN) && part.contains(document.activeElement);
  return typing || part.querySelector("dialog[open], [data-kept]") !== null || [...part.querySelectorAll("[data-busy]")].some(isBusy);
}

/** What was pressed is kept for a moment, then the news count for more; what was filled in is kept to the end. */
function isBusy(form) {
  return Date.now() - Number(form.dataset.busy) < BUSY_MS || form.querySelector(FILLED_IN) !== null;
}

// By the id, or else by the name of what had it: the element itself may be replaced.
function focused() {
  const had = document.activeElement;
  if (!had || had === document.body) return () => {};
  const found = had.id ? `#${CSS.escape(had.id)}` : had.dataset.key ? `[data-key="${CSS.escape(had.dataset.key)}"]` : null;
  return () => {
    if (!document.contains(had) && found) document.querySelector(found)?.focus({ preventScroll: true });
  };
}
