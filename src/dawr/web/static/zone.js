// Proposes the browser's own time zone where nobody has written one.
const zone = document.querySelector("input[name=zone]");
if (zone && zone.value === "") {
  zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}
