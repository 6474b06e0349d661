// Whether this screen has letters for a language. Where a font is missing all letters look the same: an empty box.

/** @param {string} letters  Two different ones, with nothing in common. */
export function canDraw(letters) {
  const [one, other] = Array.from(letters, drawn);
  return !one || one !== other;
}

function drawn(letter) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 32;
  const pen = canvas.getContext("2d");
  if (!pen) return "";
  pen.font = `24px ${getComputedStyle(document.body).fontFamily}`;
  pen.fillText(letter, 4, 26);
  return pen.getImageData(0, 0, 32, 32).data.join("");
}
