// Notifications of new questions, for who switched them on in this browser. They say who asks for which tool, never with what.
"use strict";

(() => {
  const body = document.body;
  const button = document.querySelector("[data-notices]");
  const said = document.getElementById("notices-said");
  // Without these a browser cannot notify, or cannot agree with its other pages on which of them does.
  if (!button || !window.isSecureContext || !("Notification" in window) || !navigator.locks) return;
  const CHOICE = "callgate.notices";
  const REACHED = "callgate.noticed";
  const MANY = 3;
  const read = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* then it lasts as long as the page */ } };
  let chosen = read(CHOICE) === "on";
  // How far the record is of which somebody was told. Of a store that is younger than this browser's memory, all is new.
  let reached = Number(body.dataset.after);
  if (Number(read(REACHED)) > reached) keep(REACHED, String(reached));
  const told = new Set();
  let asking = false;
  let release = null;

  const on = () => chosen && Notification.permission === "granted";
  function show() {
    button.hidden = false;
    button.textContent = on() ? "Stop notifying me" : "Notify me of questions";
  }
  function unsaved() {
    return [...document.querySelectorAll("main textarea, main input")].some((field) => field.value !== field.defaultValue);
  }
  function open(path) {
    window.focus();
    // What somebody is writing here is not lost to a question that comes.
    if (unsaved()) window.open(path);
    else window.location.assign(path);
  }
  function notify(title, text, path, tag) {
    const notice = new Notification(title, { body: text, tag, icon: button.dataset.icon });
    notice.addEventListener("click", () => {
      notice.close();
      open(path);
    });
  }
  async function tell(position) {
    if (!on() || !release) return;
    const after = reached;
    reached = Math.max(reached, Number(position));
    keep(REACHED, String(reached));
    const answer = await fetch(`${button.dataset.asked}?after=${after}`, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const asked = (await answer.json()).asked.filter((each) => !told.has(each.id));
    for (const each of asked) told.add(each.id);
    if (asked.length > MANY) return notify(`${asked.length} calls: a person has to decide`, "Open the console to see them.", "/", "callgate");
    for (const each of asked) notify(each.title, each.text, `/approvals/${encodeURIComponent(each.id)}`, each.id);
  }

  // One page of this browser tells, also while nobody looks at it; when it goes, another takes its place.
  function begin() {
    if (asking || !on()) return;
    asking = true;
    navigator.locks.request(CHOICE, hold).finally(() => {
      asking = false;
      tells(null);
    });
  }
  function hold() {
    if (!on()) return undefined;
    reached = Math.max(reached, Number(read(REACHED)));
    return new Promise((resolve) => tells(resolve));
  }
  function tells(ending) {
    release = ending;
    body.toggleAttribute("data-tells", ending !== null);
    body.dispatchEvent(new CustomEvent("cg-tells"));
  }
  function end() {
    if (release) release();
  }
  async function choose() {
    said.textContent = "";
    if (on()) {
      chosen = false;
      keep(CHOICE, "off");
      end();
      return show();
    }
    if ((await Notification.requestPermission()) !== "granted") {
      said.textContent = "This browser does not let the console notify you; its settings for this page say why.";
      return show();
    }
    chosen = true;
    try {
      notify("Callgate tells you here", "when a call waits for a person.", "/", "callgate");
    } catch {
      chosen = false;
      said.textContent = "This browser shows no notifications of pages.";
      return show();
    }
    keep(CHOICE, "on");
    keep(REACHED, String(reached));
    begin();
    show();
  }

  button.addEventListener("click", choose);
  body.addEventListener("cg-asked", (event) => tell(event.detail));
  // Another page of this browser switched it.
  window.addEventListener("storage", (event) => {
    if (event.key !== CHOICE) return;
    chosen = event.newValue === "on";
    if (on()) begin();
    else end();
    show();
  });
  show();
  begin();
})();
