// For a screen whose browser is too old for our modules: it looks again every ten seconds, as one without any
// script does. Plain and old syntax, because that is who reads it. It reloads only what is there to be loaded:
// a page that says that the server is away would stay for ever.
(function () {
  function look() {
    var request = new XMLHttpRequest();
    request.onload = function () {
      if (request.status === 200) location.reload();
    };
    request.open("GET", location.href);
    request.send();
  }
  setInterval(function () {
    if (!document.documentElement.hasAttribute("data-alive")) look();
  }, 10000);
})();
