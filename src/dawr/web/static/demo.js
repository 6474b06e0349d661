// The demo's three screens. A key, pressed anywhere on the page, is pressed in the console: nobody has to click into it
// first. What has the focus and takes the key itself keeps it.

const FOR_ITSELF = "a, button, input, select, textarea, summary, dialog";
const MOST_LOOKS = 100;
const BETWEEN_LOOKS_MS = 50;

const IN_LINE = ["waiting", "paused", "near", "held", "called"];

const staff = document.querySelector(".tablet iframe");
const handset = document.querySelector(".handset iframe");

function pressed(event) {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  if ((event.key.length > 1 && event.key !== "Enter") || event.target.closest?.(FOR_ITSELF)) return;
  event.preventDefault();
  staff.contentWindow.focus();
  passOn(event.key, event.code);
}

/** A console that is still loading is waited for: the first press of somebody in a hurry is one too. */
function passOn(key, code, looked = 0) {
  const { document: page, KeyboardEvent: Key } = staff.contentWindow;
  if (!("ready" in page.documentElement.dataset)) {
    if (looked < MOST_LOOKS) setTimeout(() => passOn(key, code, looked + 1), BETWEEN_LOOKS_MS);
    return;
  }
  page.body.dispatchEvent(new Key("keydown", { key, code, bubbles: true, cancelable: true }));
}

function listen(frame) {
  frame.contentDocument?.addEventListener("keydown", pressed);
}

/** The guide names the phone's number until its visit goes on. */
function followPhone() {
  const told = document.querySelector("[data-until-over]");
  const phone = handset.contentDocument?.body;
  const look = () => {
    const { state } = phone.querySelector("main")?.dataset ?? {};
    if (state && !IN_LINE.includes(state)) told.textContent = told.dataset.untilOver;
  };
  if (!told || !phone) return;
  look();
  new MutationObserver(look).observe(phone, { childList: true });
}

if (staff) {
  document.addEventListener("keydown", pressed);
  for (const frame of document.querySelectorAll(".handset iframe, .screen iframe")) {
    listen(frame);
    frame.addEventListener("load", () => listen(frame)); // it may go on to another page
  }
  followPhone();
  handset.addEventListener("load", followPhone);
  staff.addEventListener("load", () => {
    if (document.activeElement === document.body) staff.contentWindow.focus();
  });
}
