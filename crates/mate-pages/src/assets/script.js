"use strict";
/* Keeps a page live and lets it be moved through by keys. Every page reads, and every form works, without this. */
(() => {
  const main = document.getElementById("main");

  /* Keys: not while somebody types. */
  const typing = (e) => /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.isContentEditable;
  let at = -1;
  const rows = () => [...main.querySelectorAll(".row, .card")].filter((row) => row.querySelector("a.title, a"));
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    at = Math.max(0, Math.min(all.length - 1, at + by));
    all.forEach((row, n) => row.classList.toggle("at", n === at));
    (all[at].querySelector("a.title") || all[at].querySelector("a")).focus();
    all[at].scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e)) return;
    if (e.key === "j") move(1);
    else if (e.key === "k") move(-1);
    else if (e.key === "n") document.querySelector("[data-key=n]")?.click();
    else if (e.key === "/") { e.preventDefault(); document.querySelector("[name=q]")?.focus(); }
    else if (e.key === "?") document.querySelector(".keys")?.scrollIntoView();
  });
  document.getElementById("project")?.addEventListener("change", (e) => e.target.form.requestSubmit());

  /* A form is sent once. */
  document.addEventListener("submit", (e) => {
    if (e.target.dataset.sent) e.preventDefault();
    else if (e.target.method === "post") e.target.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => document.querySelectorAll("[data-sent]").forEach((form) => delete form.dataset.sent));

  if (!("live" in main.dataset)) return;

  /* Takes over what changed, node by node; what is typed, chosen, opened or focused stays. */
  const key = (node) => (node.nodeType === 1 && node.id) || null;
  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
  const held = (node) => node.nodeType === 1 && node.contains(document.activeElement) && document.activeElement !== document.body;
  const morph = (old, now) => {
    if (old.nodeType === 3) { if (old.data !== now.data) old.data = now.data; return; }
    if (old.nodeType !== 1) return;
    const keep = old.nodeName === "DETAILS" ? ["open"] : ["class"].filter(() => old.classList.contains("at"));
    for (const { name, value } of [...now.attributes])
      if (!keep.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes])
      if (!keep.includes(name) && name !== "data-sent" && !now.hasAttribute(name)) old.removeAttribute(name);
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(old.nodeName)) return;
    const keyed = new Map([...old.children].filter(key).map((node) => [node.id, node]));
    let here = old.firstChild;
    for (const next of [...now.childNodes]) {
      let match = key(next) ? keyed.get(next.id) : here && same(here, next) ? here : null;
      if (match && !same(match, next)) match = null;
      if (!match) { old.insertBefore(next, here); continue; }
      if (match === here) here = here.nextSibling;
      else if (held(match)) { while (here && here !== match) { const gone = here; here = here.nextSibling; gone.remove(); } here = match.nextSibling; }
      else old.insertBefore(match, here);
      morph(match, next);
    }
    while (here) { const gone = here; here = here.nextSibling; if (!held(gone)) gone.remove(); }
  };

  const task = main.dataset.live;
  let busy = false, again = false;
  const note = (words) => {
    document.querySelector(".late")?.remove();
    if (!words) return;
    const p = document.createElement("p");
    p.className = "late"; p.setAttribute("role", "status"); p.textContent = words;
    document.body.append(p);
  };
  const refresh = async () => {
    if (busy) { again = true; return; }
    if (!getSelection().isCollapsed && main.contains(getSelection().anchorNode)) return;
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search, { headers: { "X-Part": "main" } });
      if (answer.redirected || answer.status === 401) { location.reload(); return; }
      if (answer.ok) {
        const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
        if (now) { main.dataset.mark = now.dataset.mark; morph(main, now); note(""); }
      }
    } catch { note("Agent Mate does not answer; what runs goes on. Trying again."); }
    busy = false;
    if (again) { again = false; setTimeout(refresh, 250); }
  };

  /* One look each second for all tabs of this browser together: the tab that holds the lock looks, and tells the others. */
  const wanted = new Map([[task, 0]]);
  const marks = new Map();
  const hear = (data) => { if (data.task === task && data.mark !== main.dataset.mark && !document.hidden) refresh(); };
  const channel = "BroadcastChannel" in self ? new BroadcastChannel("agent-mate") : null;
  const look = async () => {
    const now = Date.now();
    wanted.set(task, now);
    for (const [one, seen] of wanted) if (now - seen > 15000) { wanted.delete(one); marks.delete(one); }
    const query = [...wanted.keys()].slice(0, 20).map((one) => "task=" + encodeURIComponent(one)).join("&");
    try {
      const answer = await fetch("/live?" + query);
      if (answer.status === 401) { location.reload(); return; }
      if (!answer.ok) return;
      note("");
      for (const data of await answer.json()) { channel?.postMessage(data); hear(data); }
    } catch { note("Agent Mate does not answer; what runs goes on. Trying again."); }
  };
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  /* A hidden tab is slowed down by the browser: it lets a visible one look. */
  const lead = async () => { while (!document.hidden) { await look(); await pause(1000); } };
  if (channel && navigator.locks) {
    channel.onmessage = (e) => { if ("want" in e.data) wanted.set(e.data.want, Date.now()); else hear(e.data); };
    const tell = () => channel.postMessage({ want: task });
    tell();
    setInterval(tell, 4000);
  }
  let asked = false;
  const begin = async () => {
    if (asked || document.hidden) return;
    asked = true;
    await (channel && navigator.locks ? navigator.locks.request("agent-mate-live", lead) : lead());
    asked = false;
    begin();
  };
  begin();
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { refresh(); begin(); } });
})();
