// The keys of the review page. Every decision is also a plain form; this only
// sends the same forms with fetch and shows the next candidate, which was
// fetched ahead, at once. A decision stays in the outbox (kept in
// localStorage) until the server said that it is on disk.
"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const box = "assay-review-outbox";
  let outbox = read();
  const waiting = new Map(); // who waits for the reply to an entry
  let sending = false; // a decision is on its way
  let stuck = false; // the server doesn't answer
  let moving = false; // keys wait for the next page
  let ahead = null; // promise of the next page
  let hidden = false; // the diff
  let timer = 0; // of the next try
  let fading = 0; // of what was said
  document.documentElement.classList.add("js");

  function read() {
    try { return JSON.parse(localStorage.getItem(box)) || []; } catch { return []; }
  }
  function keep() {
    try { localStorage.setItem(box, JSON.stringify(outbox.filter((e) => !e.undo))); } catch { /* a full store: memory still holds it */ }
  }

  function say(text) {
    one("#say").textContent = text;
    clearTimeout(fading);
    fading = setTimeout(() => { one("#say").textContent = ""; }, 4000);
  }
  function alarm(text, ...more) {
    const at = one("#alarm");
    at.replaceChildren(text, ...more);
    at.hidden = false;
  }
  function calm() { one("#alarm").hidden = true; }
  function button(text, act) {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.addEventListener("click", act);
    return b;
  }

  async function load(url) {
    const r = await fetch(url, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await r.text(), "text/html");
    if (!r.ok || !page.getElementById("page")) throw new Error(page.querySelector("[role=alert]")?.textContent || r.statusText);
    return { page, url: r.url };
  }
  function show({ page, url }, push = true) {
    one("#page").replaceWith(document.adoptNode(page.getElementById("page")));
    document.title = page.title;
    if (push) history.pushState(null, "", url);
    document.body.classList.toggle("nodiff", hidden);
    scrollTo(0, 0);
    one("h1")?.focus({ preventScroll: true });
    fetchAhead();
  }
  // Only what is on disk decides what comes next: nothing is fetched ahead
  // while a decision is on its way.
  function fetchAhead() {
    const link = one("a[rel=next]");
    ahead = link && !outbox.length ? load(link.href) : null;
    ahead?.catch(() => {});
  }
  async function go(url, push = true) {
    moving = true;
    try { show(await load(url), push); } catch (e) {
      alarm("The page can't be loaded: " + e.message + ". ", button("Try again", () => { calm(); go(url, push); }));
    } finally { moving = false; }
  }
  async function step(selector) {
    const link = one(selector);
    if (!link || moving) return;
    if (selector === "a[rel=next]" && ahead) {
      const coming = ahead;
      moving = true;
      try { show(await coming); return; } catch { /* go tells it */ } finally { moving = false; }
    }
    go(link.href);
  }

  // enqueue sends an entry; what it promises is the server's reply, or null
  // where the server refused.
  function enqueue(entry) {
    outbox.push(entry);
    keep();
    const saved = new Promise((resolve) => waiting.set(entry, resolve));
    send();
    return saved;
  }
  function settle(entry, answer) {
    waiting.get(entry)?.(answer);
    waiting.delete(entry);
  }
  async function decide(decision, reason) {
    const main = one("main[data-id]");
    if (!main || moving) return;
    if (stuck) { send(); return; }
    const { id, digest, title } = main.dataset;
    const coming = ahead;
    ahead = null;
    moving = true;
    const saved = enqueue({ id, digest, title, decision, reason: reason || "", note: one("[data-note]").value });
    const page = coming && await coming.catch(() => null);
    // The last page counts what is left, so it waits for this decision.
    if (page?.page.querySelector("main[data-id]")) { moving = false; show(page); return; }
    const answer = await saved;
    moving = false;
    if (answer) go(answer.next);
  }
  async function undo() {
    if (moving) return;
    if (stuck) { send(); return; }
    moving = true;
    ahead = null;
    const answer = await enqueue({ undo: true, title: "" });
    moving = false;
    if (answer) go(answer.next);
  }

  function body(entry) {
    const form = new URLSearchParams(new FormData(one("#undo")));
    if (!entry.undo) for (const name of ["id", "digest", "decision", "reason", "note"]) form.set(name, entry[name]);
    return form;
  }
  async function post(entry) {
    const r = await fetch(entry.undo ? "/undo" : "/decide", {
      method: "POST", body: body(entry), credentials: "same-origin", headers: { Accept: "application/json" },
    });
    const answer = await r.json().catch(() => ({}));
    return { status: r.status, ok: r.ok, answer };
  }
  function name(entry) { return entry.undo ? "undo" : entry.decision + " of “" + entry.title + "”"; }

  async function send() {
    if (sending || !outbox.length) return;
    sending = true;
    clearTimeout(timer);
    while (outbox.length) {
      const entry = outbox[0];
      const r = await post(entry).catch(() => ({ status: 0, answer: { error: "The server doesn't answer" } }));
      if (!r.ok && (r.status === 0 || r.status === 403 || r.status >= 500)) { sending = false; wait(entry, r); return; }
      outbox.shift();
      keep();
      if (stuck) { stuck = false; calm(); }
      if (!r.ok) { refused(entry, r.answer.error); continue; }
      count(r.answer);
      say(r.answer.said + (entry.title ? " " + entry.title : ""));
      settle(entry, r.answer);
    }
    sending = false;
    if (!moving && !ahead) fetchAhead();
  }
  function wait(entry, r) {
    stuck = true;
    alarm("Not saved yet: " + name(entry) + ". " + (r.answer.error || "The server failed") + ". It is kept here" + (r.status === 403 ? "." : " and tried again."), button("Try now", send));
    if (r.status !== 403) timer = setTimeout(send, 1500);
  }
  function refused(entry, why) {
    // What was to be undone may be what was refused.
    for (const e of outbox) if (e.undo) settle(e, null);
    outbox = outbox.filter((e) => !e.undo);
    keep();
    const more = [];
    if (entry.id) more.push(button("Show it", () => { calm(); go("/candidate?id=" + encodeURIComponent(entry.id)); }));
    more.push(button("Dismiss", calm));
    alarm("Not recorded: " + name(entry) + ". " + (why || ""), ...more);
    settle(entry, null);
  }
  function count(c) {
    for (const at of document.querySelectorAll("[data-count]")) at.textContent = c[at.dataset.count];
    const bar = one("[data-bar]");
    if (bar) { bar.max = c.total || 1; bar.value = c.decided; }
  }

  function reasons(open) {
    const at = one(".reasons");
    if (!at) return;
    at.open = open;
    if (open) at.querySelector("button").focus();
  }
  const keys = {
    a: () => decide("accept"),
    s: () => decide("skip"),
    r: () => reasons(true),
    u: undo,
    d: () => { hidden = !hidden; document.body.classList.toggle("nodiff", hidden); },
    n: () => one("[data-note]")?.focus(),
    l: () => one(".top nav a").click(),
    "/": () => one("[data-search]").focus(),
    "?": () => one("#help").showModal(),
    j: () => step("a[rel=next]"),
    k: () => step("a[rel=prev]"),
    ArrowRight: () => step("a[rel=next]"),
    ArrowLeft: () => step("a[rel=prev]"),
  };
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || one("dialog[open]")) return;
    if (e.target.closest("input, textarea, select")) {
      if (e.key === "Escape") e.target.blur();
      return;
    }
    const menu = one(".reasons[open]");
    if (menu) {
      const choice = menu.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
      if (choice && !e.repeat) { e.preventDefault(); menu.open = false; decide("reject", choice.value); }
      if (e.key === "Escape" || (e.key === "r" && !e.repeat)) { menu.open = false; one("h1").focus(); }
      return;
    }
    const act = Object.hasOwn(keys, e.key) && keys[e.key];
    if (!act) return;
    e.preventDefault();
    // A key held down must not decide on what nobody saw.
    if (!e.repeat) act();
  });
  addEventListener("submit", (e) => {
    if (e.target.id === "undo") { e.preventDefault(); undo(); return; }
    if (e.target.id !== "decide") return;
    e.preventDefault();
    const { name, value } = e.submitter || {};
    if (name === "reason") decide("reject", value); else if (value) decide(value);
  });
  addEventListener("click", (e) => { if (e.target.closest("[data-do=help]")) one("#help").showModal(); });
  addEventListener("popstate", () => go(location.href, false));
  addEventListener("beforeunload", (e) => { if (outbox.length) e.preventDefault(); });

  fetchAhead();
  if (outbox.length) send();
})();
