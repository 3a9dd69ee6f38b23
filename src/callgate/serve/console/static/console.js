// What the pages need beyond links and forms: the stream of changes, keys, the menu of a phone. Nothing is decided here.
"use strict";

(() => {
  const body = document.body;
  const said = document.getElementById("said");
  const title = document.title;
  document.documentElement.classList.add("scripted");

  // The stream says which parts changed; those that want to know ask for themselves again.
  const topics = ["approvals", "calls", "outcomes", "tools", "review", "health"];
  let stream = null;
  let before = false;
  // Browsers open few connections to one server: a page nobody looks at lets its own go, and catches up when looked at.
  // The one page that tells of questions keeps it.
  const wanted = () => !document.hidden || body.hasAttribute("data-tells");
  function listen() {
    if (stream || !wanted()) return;
    // The first stream goes on from where the page was made; a later one begins now, and the page is asked for again.
    stream = new EventSource(before ? body.dataset.live : `${body.dataset.live}?after=${body.dataset.after}`);
    stream.addEventListener("open", () => {
      body.setAttribute("data-listening", "");
      if (before) for (const topic of topics) body.dispatchEvent(new CustomEvent(`cg-${topic}`));
      before = true;
    });
    stream.addEventListener("changed", (message) => {
      const news = JSON.parse(message.data);
      for (const [name, number] of Object.entries(news.counts)) show(name, number);
      for (const topic of news.topics) body.dispatchEvent(new CustomEvent(`cg-${topic}`));
      if (!news.asked) return;
      if (said) said.textContent = "A call waits for a person.";
      body.dispatchEvent(new CustomEvent("cg-asked", { detail: message.lastEventId }));
    });
    stream.addEventListener("left", () => window.location.reload());
  }
  function rest() {
    if (stream) stream.close();
    stream = null;
    body.removeAttribute("data-listening");
  }
  function show(name, number) {
    for (const mark of document.querySelectorAll(`[data-count="${name}"]`)) {
      mark.textContent = number > 99 ? "99+" : String(number);
      mark.classList.toggle("none", number === 0);
    }
    if (name === "approvals") document.title = number ? `(${number}) ${title}` : title;
  }
  const settle = () => (wanted() ? listen() : rest());
  document.addEventListener("visibilitychange", settle);
  body.addEventListener("cg-tells", settle);
  window.addEventListener("pagehide", rest);
  listen();

  const menu = document.getElementById("menu");
  const opener = document.querySelector(".menu-button");
  if (menu && opener) {
    opener.addEventListener("click", () => {
      const open = menu.toggleAttribute("data-open");
      opener.setAttribute("aria-expanded", String(open));
    });
  }

  const keys = document.getElementById("keys");
  document.querySelector("[data-keys]")?.addEventListener("click", () => keys.showModal());

  function move(step) {
    const items = [...document.querySelectorAll("[data-item]")];
    if (!items.length) return;
    const at = items.indexOf(document.activeElement);
    items[at < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1)].focus();
  }
  function go(letter) {
    const found = document.querySelector(`[data-key="${letter}"]`);
    if (!found) return false;
    if (found.tagName === "DETAILS") {
      found.open = true;
      found.querySelector("textarea, input:not([type=hidden])").focus();
    } else {
      found.focus();
      found.scrollIntoView({ block: "center" });
    }
    return true;
  }
  const places = { a: "/", c: "/calls", u: "/outcomes", t: "/tools", r: "/review", p: "/policy", o: "/coverage", h: "/health", e: "/evidence" };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (Date.now() - going < 1500 && places[event.key]) {
      going = 0;
      window.location.assign(places[event.key]);
      return;
    }
    if (event.key === "g") going = Date.now();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "?") keys.showModal();
    else if (event.key === "/") {
      const field = document.querySelector("[data-search]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    } else if ("yenr".includes(event.key) && go(event.key)) event.preventDefault();
  });
})();
