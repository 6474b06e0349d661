// Joining: the figures stay new while somebody looks at them, and one press takes one number. The number is taken
// without leaving the page, so that an answer that was lost on the way is asked for again and not taken twice.

import { enliven, newKey, Problem } from "./forms.js";
import { refresh, show } from "./refresh.js";

const USUALLY_MS = 15000;
const SPREAD_MS = 5000;

let timer = 0;

async function look() {
  clearTimeout(timer);
  if (document.visibilityState !== "hidden") {
    try {
      await refresh();
      isOld(false);
    } catch {
      isOld(true);
    }
  }
  timer = setTimeout(look, USUALLY_MS + Math.random() * SPREAD_MS);
}

function isOld(is) {
  document.body.classList.toggle("old", is);
  document.querySelector("[data-old]").hidden = !is;
}

/** Whether the line takes people is part of the figures; what is typed stays in the form all the while. */
function followFigures() {
  const form = document.querySelector("form[data-live]");
  const figures = document.querySelector('[data-part="figures"]');
  if (form && figures) form.hidden = "shut" in figures.dataset;
}

function done(form, answer) {
  form.dataset.busy = ""; // until the next page is there, a press is none
  location.replace(answer.link ?? form.dataset.inLine);
}

function failed(form, trouble) {
  const page = trouble instanceof Problem && trouble.told.page;
  if (page) return showAgain(form, new DOMParser().parseFromString(page, "text/html"));
  tell(trouble instanceof Problem ? trouble.message : form.dataset.away);
}

/** The same page, with what has to be changed said in it. */
function showAgain(form, fresh) {
  const again = fresh.querySelector("form[data-live]");
  if (!again) return location.reload();
  again.dataset.guard = newKey(); // a press on it is another one than that on the form before
  form.replaceWith(document.adoptNode(again));
  show(fresh);
  tell(fresh.querySelector("[data-said]").textContent);
  document.querySelector("[aria-invalid]")?.focus();
}

function tell(sentence) {
  const said = document.querySelector("[data-said]");
  said.querySelector("span").textContent = sentence.trim();
  said.hidden = false;
  said.focus();
}

enliven(document, { done, failed });
document.addEventListener("shown", followFigures);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
addEventListener("online", look);
addEventListener("pageshow", (event) => event.persisted && location.reload());
timer = setTimeout(look, USUALLY_MS + Math.random() * SPREAD_MS);
