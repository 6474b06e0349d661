// A page that follows what happens. It never gives up, and says when its news is old.
//
// The stream is read with fetch and not with EventSource, which stays closed for ever after a 502 and
// hides the heartbeats by which a page knows that it is still connected. Where streams do not pass
// (some proxies hold them back) the page asks for a snapshot every few seconds instead.

const SILENCE_MS = 20000;
const LONGEST_WAIT_MS = 15000;
const POLL_MS = 5000;
const FAILURES_BEFORE_POLLING = 3;

/**
 * @param {object} page
 * @param {string} page.stream  Address of the stream.
 * @param {() => Promise<string|void>} page.refresh  Fetches a snapshot and shows it; rejects if it cannot. If it
 *   resolves to the id of the moment that it shows, the stream goes on from there.
 * @param {(name: string, data: object) => void} page.happened  Called for each event of the stream.
 * @param {(isLive: boolean, since: number) => void} page.connected  Called when news stops or begins again, with the time of the last news.
 * @param {string} [page.since]  The id of the moment that the page shows already.
 */
export function follow({ stream, refresh, happened, connected, since = "" }) {
  let lastId = since;
  let lastNews = Date.now();
  let isLive = true;
  let failures = 0;
  let heldBack = 0;
  let reading = null;
  let timer = 0;
  let isOver = false;

  function news() {
    lastNews = Date.now();
    if (!isLive) {
      isLive = true;
      connected(true, lastNews);
    }
  }

  function noNews() {
    if (isLive && Date.now() - lastNews >= SILENCE_MS) {
      isLive = false;
      connected(false, lastNews);
    }
  }

  async function connect() {
    clearTimeout(timer);
    if (isOver) return;
    reading?.abort();
    const mine = (reading = new AbortController());
    const watch = setTimeout(() => mine.abort(), SILENCE_MS);
    try {
      const separator = stream.includes("?") ? "&" : "?";
      const address = lastId ? `${stream}${separator}last_event_id=${encodeURIComponent(lastId)}` : stream;
      const answer = await fetch(address, { headers: { accept: "text/event-stream" }, signal: mine.signal });
      clearTimeout(watch);
      if (!answer.ok || !answer.body) throw new Refused(answer);
      await read(answer.body.getReader(), mine);
      if (mine === reading) again(0);
    } catch (trouble) {
      clearTimeout(watch);
      if (mine !== reading) return;
      heldBack += 1;
      again(trouble.waitMs || 0, true);
    }
  }

  async function read(reader, mine) {
    const decoder = new TextDecoder();
    let text = "";
    let watch = setTimeout(() => mine.abort(), SILENCE_MS);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || mine !== reading) return;
        clearTimeout(watch);
        watch = setTimeout(() => mine.abort(), SILENCE_MS);
        failures = heldBack = 0;
        news();
        text += decoder.decode(value, { stream: true });
        const frames = text.split("\n\n");
        text = frames.pop();
        frames.forEach(tell);
      }
    } finally {
      clearTimeout(watch);
    }
  }

  function tell(frame) {
    let name = "message";
    let data = "";
    for (const line of frame.split("\n")) {
      const at = line.indexOf(":");
      const field = line.slice(0, at);
      const value = line.slice(at + 1).replace(/^ /, "");
      if (field === "id") lastId = value;
      if (field === "event") name = value;
      if (field === "data") data += (data ? "\n" : "") + value;
    }
    if (data) happened(name, JSON.parse(data));
  }

  // A little later each time, and not all pages of a hall at once.
  function again(atLeastMs, hasFailed = false) {
    failures = hasFailed ? failures + 1 : 0;
    noNews();
    const usual = Math.min(LONGEST_WAIT_MS, 500 * 2 ** failures);
    clearTimeout(timer);
    if (isOver) return;
    timer = setTimeout(comeBack, Math.max(atLeastMs, usual * (0.5 + Math.random() / 2)));
  }

  async function comeBack() {
    try {
      lastId = (await refresh()) || lastId;
      if (isOver) return;
      news();
    } catch {
      heldBack = 0;
      again(0, true);
      return;
    }
    // The snapshot came and the stream did not, again and again: something in between holds it back.
    if (heldBack >= FAILURES_BEFORE_POLLING && heldBack % 10) {
      heldBack += 1;
      timer = setTimeout(comeBack, POLL_MS * (0.75 + Math.random() / 2));
      return;
    }
    connect();
  }

  function lookNow() {
    if (document.visibilityState !== "hidden" && !isOver) {
      reading?.abort();
      reading = null;
      clearTimeout(timer);
      comeBack();
    }
  }

  /** There is nothing to follow any more. */
  function stop() {
    isOver = true;
    clearTimeout(timer);
    clearInterval(watching);
    reading?.abort();
    reading = null;
  }

  document.addEventListener("visibilitychange", lookNow);
  addEventListener("pageshow", (event) => event.persisted && lookNow());
  addEventListener("online", lookNow);
  const watching = setInterval(noNews, 1000);
  connect();
  return { lookNow, stop };
}

class Refused extends Error {
  constructor(answer) {
    super(`The stream was refused: ${answer.status}`);
    this.waitMs = Math.min(60, Number(answer.headers.get("retry-after")) || 0) * 1000;
  }
}
