// A chime, made by the browser itself: no file to fetch. A browser lets a page make sounds only after
// somebody has touched it, so the sound is unlocked by a press and is blocked until then.

const Context = window.AudioContext || window.webkitAudioContext;
const ANSWERS_WITHIN_MS = 400;
const TONES = [
  [784, 0],
  [587, 0.35],
];

let context = null;

export const isSupported = Boolean(Context);

/** Whether a chime would not be heard now. */
export function isBlocked() {
  return context?.state !== "running";
}

/** Tries to let the page make sounds, best from within a press. Resolves to whether it may. */
export async function unlock() {
  if (!isSupported) return false;
  context = context || new Context();
  // A browser that does not allow it yet leaves the promise open for ever.
  const late = new Promise((done) => setTimeout(done, ANSWERS_WITHIN_MS));
  if (isBlocked()) await Promise.race([context.resume().catch(() => {}), late]);
  return !isBlocked();
}

/** Two tones, one after the other. Returns whether they can be heard. */
export function chime() {
  if (!context) return false;
  // A phone may have stopped it meanwhile, for a call or when its screen was locked.
  if (isBlocked()) context.resume().catch(() => {});
  for (const [frequency, after] of TONES) tone(frequency, context.currentTime + after);
  return !isBlocked();
}

function tone(frequency, at) {
  const oscillator = context.createOscillator();
  const loudness = context.createGain();
  oscillator.type = "triangle";
  oscillator.frequency.value = frequency;
  loudness.gain.setValueAtTime(0.0001, at);
  loudness.gain.exponentialRampToValueAtTime(0.6, at + 0.02);
  loudness.gain.exponentialRampToValueAtTime(0.0001, at + 1.1);
  oscillator.connect(loudness).connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + 1.2);
}
