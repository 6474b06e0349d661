// The line of calls on the screen in the hall: which numbers stand there now, which come next, which were before.
// Nothing here knows the page or the time. The moment comes in, in milliseconds of a clock that only goes on;
// `began` is the moment of a call by that clock, and `at` the server's time of it, by which it is recognised.

export const READABLE_MS = 8000;
export const LIVE_MS = 60000;
const SIZES = [1, 2, 4, 6];
const MOST_AT_ONCE = 6;
const MOST_KEPT = 12;
const MOST_TOLD = 24;
const HEARD_MS = 10 * 60 * 1000;
// A call gets its time a little before others can see it, and the clocks of two servers differ a little.
const UNSURE_MS = 5000;
const HAS_COME = new Set(["serving", "finished"]);
const WAS_CALLED = new Set(["called", "serving", "finished", "missed"]);

/** `coming` waits for a place; `places` is what stands on the screen, null where one is free.
 * What `isPast` there is over, and stays so that beside a call that is being read no place turns empty. */
export const EMPTY = { coming: [], places: [], latest: [], heard: {} };

/** Somebody is called, or called again. Heard of twice it is one call; one that is too old is not played. */
export function called(line, call, now) {
  if (line.heard[call.ticket] >= call.at) return line;
  const heard = { ...line.heard, [call.ticket]: call.at };
  if (now - call.began >= LIVE_MS) return { ...removed(line, call.ticket), heard, latest: latest(line, [call]) };
  const again = (one) => (one?.ticket === call.ticket ? { ...call, shownAt: now } : one);
  if (line.places.some((one) => one?.ticket === call.ticket)) return { ...line, heard, places: line.places.map(again) };
  if (line.coming.some((one) => one.ticket === call.ticket)) return { ...line, heard, coming: line.coming.map(again) };
  return { ...removed(line, call.ticket), heard, coming: [...line.coming, call] };
}

/** What became of somebody who was called. Whoever has come stays readable; any other call is taken away at once. */
export function changed(line, ticket, state) {
  if (state === "called" || HAS_COME.has(state)) {
    const mark = (one) => (one?.ticket === ticket ? { ...one, hasCome: state !== "called" } : one);
    return { ...line, coming: line.coming.map(mark), places: line.places.map(mark) };
  }
  const was = [...line.coming, ...line.places, ...line.latest].find((one) => one?.ticket === ticket);
  if (!was) return line;
  const rest = removed(line, ticket);
  return WAS_CALLED.has(state) ? { ...rest, latest: latest(rest, [was]) } : rest;
}

/** What the server knows: its calls, and its time then. What was called since stays; what it does not know goes. */
export function known(line, { calls, at }, now) {
  const oldest = calls.reduce((least, call) => Math.min(least, call.at), at);
  const isKnown = new Set(calls.map((call) => call.ticket));
  const isNewer = (one) => one.at > at - UNSURE_MS;
  const isTrue = (one) => !one || isKnown.has(one.ticket) || isNewer(one) || (calls.length >= MOST_TOLD && one.at < oldest);
  let next = { ...line, coming: line.coming.filter(isTrue), places: line.places.map((one) => (isTrue(one) ? one : null)) };
  next.heard = Object.fromEntries(Object.entries(line.heard).filter(([, heardAt]) => heardAt > at - HEARD_MS));
  for (const call of [...calls].sort((one, other) => one.at - other.at)) {
    if (next.heard[call.ticket] > call.at) continue;
    if (call.state === "called") next = called(next, call, now);
    next = changed(next, call.ticket, call.state);
  }
  const isShown = new Set([...next.coming, ...next.places].filter(Boolean).map((one) => one.ticket));
  const since = line.latest.filter((one) => isNewer(one) && !isKnown.has(one.ticket));
  const before = calls.filter((call) => !isShown.has(call.ticket) && WAS_CALLED.has(call.state));
  return { ...next, latest: latest({ latest: [] }, [...since, ...before]) };
}

/** The line at this moment: what was read long enough makes room, what comes next takes it, in order. */
export function step(line, now) {
  const late = line.coming.filter((call) => now - call.began >= LIVE_MS);
  const coming = line.coming.filter((call) => now - call.began < LIVE_MS);
  const isPast = (one) => isRead(one, now) && (one.hasCome || now - one.began >= LIVE_MS);
  const isBeingRead = line.places.some((one) => one && !isRead(one, now));
  const before = line.places.map((one) => one && { ...one, isPast: isPast(one) });
  const makesRoom = (one) => one && !isBeingRead && (coming.length > 0 || one.isPast);
  let places = shrunk(before.map((one) => (makesRoom(one) ? null : one)), now);
  while (coming.length) {
    const more = placed(places, { ...coming[0], shownAt: now }, now);
    if (!more) break;
    coming.shift();
    places = more;
  }
  const stays = new Set(places.filter(Boolean).map((one) => one.ticket));
  const over = before.filter((one) => one && !stays.has(one.ticket));
  return { ...line, coming, places, latest: latest(line, [...late, ...over]) };
}

/** Whether somebody is being called now. */
export function isLive(line) {
  return line.coming.length > 0 || line.places.some(Boolean);
}

function isRead(one, now) {
  return now - one.shownAt >= READABLE_MS;
}

// While somebody reads, nothing moves, unless more need room.
function shrunk(places, now) {
  const there = places.filter(Boolean);
  if (there.some((one) => !isRead(one, now))) return places;
  const size = there.length && SIZES.find((one) => one >= there.length);
  return size < places.length ? filled(there, size) : places;
}

// In a free place, or in that of what is over or was read, the oldest first; else there are more places, if there can be.
function placed(places, call, now) {
  const rank = (one) => (!one ? 0 : one.isPast ? 1 : isRead(one, now) ? 2 : 3);
  const age = (index) => places[index]?.shownAt ?? 0;
  const [place] = [...places.keys()]
    .filter((index) => rank(places[index]) < 3)
    .sort((one, other) => rank(places[one]) - rank(places[other]) || age(one) - age(other));
  if (place !== undefined) return places.map((one, index) => (index === place ? call : one));
  if (places.length === MOST_AT_ONCE) return null;
  return filled([...places, call], SIZES.find((size) => size > places.length));
}

function filled(calls, size) {
  return [...calls, ...Array(size - calls.length).fill(null)];
}

function removed(line, ticket) {
  const isOther = (one) => one?.ticket !== ticket;
  return {
    ...line,
    coming: line.coming.filter(isOther),
    places: line.places.map((one) => (isOther(one) ? one : null)),
    latest: line.latest.filter(isOther),
  };
}

function latest(line, calls) {
  const tickets = new Set(calls.map((call) => call.ticket));
  const others = line.latest.filter((one) => !tickets.has(one.ticket));
  return [...calls, ...others].sort((one, other) => other.at - one.at).slice(0, MOST_KEPT);
}
