// Pages that are shown in a dialog: links and forms with `data-sheet` open in it, and `data-close` closes it. Without
// script they are pages of their own.

import { ask, markBusy, post, Problem } from "./forms.js";

/**
 * @param {HTMLDialogElement} dialog
 * @param {object} page
 * @param {(sheet: HTMLElement) => void} page.shown  Called when there is something else in the dialog.
 * @param {(trouble: Error) => void} page.failed  Called when a page cannot be had.
 * @param {() => void} page.signedOut  Called when it leads to signing in.
 */
export function sheets(dialog, { shown, failed, signedOut }) {
  let opener = "";
  let shownFrom = "";

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-sheet], [data-close]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.matches("[data-close]") && !dialog.open) return;
    event.preventDefault();
    if (link.matches("[data-close]")) dialog.close();
    else if (link.ariaDisabled !== "true") open(link);
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-sheet]")) return;
    event.preventDefault();
    sendTo(event.target);
  });

  // The one who opened it may have been replaced meanwhile.
  dialog.addEventListener("close", () => {
    dialog.replaceChildren();
    if (opener && (!document.activeElement || document.activeElement === document.body)) {
      document.querySelector(`[data-key="${CSS.escape(opener)}"]`)?.focus({ preventScroll: true });
    }
  });

  async function open(link) {
    if (!dialog.open) opener = document.activeElement === link ? link.dataset.key : "";
    try {
      await showFrom(link.href);
    } catch (trouble) {
      failed(trouble);
    }
  }

  async function showFrom(address) {
    const { answer, told } = await ask(address, { headers: { accept: "text/html" }, cache: "no-store" });
    if (new URL(answer.url).pathname !== new URL(address).pathname) return signedOut();
    shownFrom = address;
    show(told.page);
  }

  /** What is in the dialog, as it stands now. */
  async function again() {
    if (dialog.open && shownFrom) await showFrom(shownFrom);
  }

  async function sendTo(form) {
    if (form.dataset.busy !== undefined) return;
    markBusy(form, Date.now());
    try {
      const { page } = await post(form.action, new FormData(form), { accept: "text/html" });
      shownFrom = "";
      show(page);
    } catch (trouble) {
      if (trouble instanceof Problem && trouble.told.page) show(trouble.told.page);
      else failed(trouble);
    } finally {
      markBusy(form);
    }
  }

  function show(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const main = fresh.querySelector("main.sheet, main .message");
    if (!main) return signedOut();
    dialog.replaceChildren(...main.childNodes);
    if (!main.matches(".sheet")) dialog.append(closing());
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    focusIn(dialog);
    shown(dialog);
  }

  // Where nothing is asked for first, on what it is about: the first button there may be anything.
  function focusIn(sheet) {
    const first = sheet.querySelector("[autofocus]") ?? sheet.querySelector("h1");
    if (first.matches("h1")) first.tabIndex = -1;
    first.focus();
  }

  // A page in words has no way back of its own.
  function closing() {
    const form = document.createElement("form");
    form.method = "dialog";
    form.append(document.querySelector("#keys form button").cloneNode(true));
    return form;
  }

  return { again };
}
