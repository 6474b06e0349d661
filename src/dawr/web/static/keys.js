// Keys for what is pressed four hundred times a day. Each is named by `aria-keyshortcuts` on its button, link or
// field. They are silent where somebody types, and while a dialog is open.

const GUARD_MS = 600;
const TYPED_INTO = "input, textarea, select, [contenteditable]";
const PRESSED_BY = { Enter: "a, button, summary", Space: "button, summary" };
const NAMES = { " ": "Space" };
const NAMED = /^[A-Z]\w+$/; // Enter, Escape, F1
const BY_PLACE = { Slash: ["/", "?"] };

/** `press(form, button)` sends a form; links and fields are gone to. */
export function listenForKeys(press) {
  let last = { key: "", at: 0 };

  addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.closest(TYPED_INTO) || document.querySelector("dialog[open]")) return;
    const key = keyOf(event);
    // Whoever has gone to a button or a link presses that one.
    if (key in PRESSED_BY && event.target.closest(PRESSED_BY[key])) return;
    const found = meantBy(key);
    if (found || isMeant(key)) event.preventDefault(); // Space must not scroll, also where it does nothing now
    if (!found) return;
    // The same key again at once was pressed twice by mistake.
    if (last.key === key && Date.now() - last.at < GUARD_MS) return;
    last = { key, at: Date.now() };
    if (found.form?.matches("[data-live]")) press(found.form, found);
    else if (found.matches(TYPED_INTO)) found.focus();
    else found.click();
  });
}

function isMeant(key) {
  return document.querySelector(`[aria-keyshortcuts~="${CSS.escape(key)}"]`) !== null;
}

function meantBy(key) {
  for (const one of document.querySelectorAll("[aria-keyshortcuts]")) {
    if (one.getAttribute("aria-keyshortcuts").split(" ").includes(key) && !one.disabled && !one.hidden) return one;
  }
  return null;
}

// On an Arabic keyboard the key of R types another letter, and that of B two: then it is known by its place.
function keyOf({ key, code, shiftKey }) {
  if (NAMES[key]) return NAMES[key];
  if (NAMED.test(key)) return key;
  if (/^[!-~]$/.test(key)) return key.toUpperCase();
  const place = /^(?:Key|Digit|Numpad)(\w)$/.exec(code);
  return place ? place[1] : (BY_PLACE[code]?.[shiftKey ? 1 : 0] ?? key);
}
