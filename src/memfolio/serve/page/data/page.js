// The page works without this: links and forms do. With it, answers are swapped in place, keys work, and news are told.
"use strict";

const main = () => document.getElementById("main");
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const KEEP = { credentials: "same-origin", cache: "no-store" };

// Sign-in: the key is in the fragment, so it is in no log; it is good once.
async function enter() {
  const key = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  const door = $("#door");
  if (!key) {
    door.textContent = "This link has no key, or it was used.";
    return;
  }
  const answer = await fetch("/enter" + location.search, { ...KEEP, method: "POST", body: key });
  if (answer.ok) location.replace(await answer.text());
  else door.textContent = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("door").textContent;
}

// Fetch and swap: a page takes the place of the one that is shown; where it has ended, that is said, and nothing is lost.
const ENDED = "memfolio does not answer: the page was closed. In a terminal: memfolio open";
let asking = null;

async function load(url, options = {}) {
  asking?.abort();
  asking = new AbortController();
  main().setAttribute("aria-busy", "true");
  try {
    return await fetch(url, { ...KEEP, ...options, signal: asking.signal });
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    return null;
  } finally {
    main().removeAttribute("aria-busy");
  }
}

async function swap(url, options, { push = true, focus = true } = {}) {
  const answer = await load(url, options);
  if (answer === undefined) return;
  if (answer === null) return say(ENDED);
  if (!answer.headers.get("content-type")?.startsWith("text/html")) {
    const told = await answer.json().catch(() => null);
    return say(`Nothing was done: ${told?.error?.message ?? answer.status}.`);
  }
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!next.getElementById("main")) {
    if (options?.method === "POST") say(`Nothing was done. ${next.getElementById("door")?.textContent ?? ""} In a terminal: memfolio open`);
    else location.href = url;
    return;
  }
  const was = focusMark();
  const where = new URL(answer.url);
  if (push && answer.url !== location.href) history.pushState(null, "", answer.url);
  const scroll = where.pathname === lastPath ? window.scrollY : 0;
  lastPath = where.pathname;
  document.title = next.title;
  main().replaceWith(document.adoptNode(next.getElementById("main")));
  $("header nav").replaceWith(document.adoptNode($("header nav", next)));
  $("header .who").replaceWith(document.adoptNode($("header .who", next)));
  if (where.hash) $(where.hash)?.scrollIntoView();
  else window.scrollTo(0, scroll);
  announce();
  if (focus) restoreFocus(was);
  fit();
  if (news?.url !== new URL(main().dataset.events, location.href).href) listen();
}

// What a page needs that only a script can do.
function fit() {
  draw();
  for (const button of $$("[data-copy]")) button.hidden = !navigator.clipboard;
}

let lastPath = location.pathname;

function say(text) {
  const line = document.getElementById("outcome");
  if (!line) return;
  line.textContent = text;
  line.scrollIntoView({ block: "nearest" });
}

// A live region tells only what changes in it.
function announce() {
  const line = document.getElementById("outcome");
  if (!line || !line.textContent.trim()) return;
  const parts = [...line.childNodes];
  line.replaceChildren();
  requestAnimationFrame(() => line.replaceChildren(...parts));
}

// Focus returns to the row that somebody was at, or to the one that took its place.
function rows() {
  return $$("[data-list] [data-row]");
}

function focusMark() {
  const row = document.activeElement?.closest?.("[data-row]");
  return { id: row && $("input[type=checkbox]", row)?.value, at: row ? rows().indexOf(row) : -1 };
}

function restoreFocus({ id, at }) {
  const all = rows();
  const same = id && all.find((row) => $("input[type=checkbox]", row)?.value === id);
  const row = same || (at >= 0 && all[Math.min(at, all.length - 1)]);
  (row ? goal(row) : main()).focus({ preventScroll: true });
}

function goal(row) {
  return $("[data-open]", row) || $("a, input:not([type=hidden]), button", row) || row;
}

// One memory beside the list, which stays as it is.
async function openBeside(link) {
  const answer = await load(link.href, { headers: { "x-part": "one" } });
  if (answer === undefined) return;
  if (answer === null) return say(ENDED);
  if (!answer.ok) return swap(link.href);
  const part = new DOMParser().parseFromString(await answer.text(), "text/html");
  const one = document.getElementById("one");
  one.replaceChildren(...[...part.body.childNodes].map((node) => document.adoptNode(node)));
  main().classList.add("has-one");
  for (const row of $$(".row")) {
    const isIt = row.contains(link);
    row.classList.toggle("current", isIt);
    if (isIt) link.setAttribute("aria-current", "true");
    else $("[data-open]", row)?.removeAttribute("aria-current");
  }
  fit();
  one.scrollTop = 0;
  if (getComputedStyle($(".list")).display === "none") {
    window.scrollTo(0, 0);
    one.focus({ preventScroll: true });
  }
  history.pushState(null, "", link.href);
  lastPath = location.pathname;
}

document.addEventListener("click", (event) => {
  const copied = event.target.closest("[data-copy]");
  if (copied) navigator.clipboard.writeText(copied.dataset.copy).then(() => (copied.textContent = "Copied"), () => say("The browser does not allow that."));
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.getAttribute("href"), location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith("/a/") || link.closest("svg")) return;
  if (url.pathname === location.pathname && url.hash && url.search === location.search) return;
  event.preventDefault();
  if (link.matches(".rows [data-open], .one a[data-open]") && document.getElementById("one")) openBeside(link);
  else swap(url.href);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  const action = new URL(form.getAttribute("action") || location.href, location.href);
  if (form.method === "dialog" || !action.pathname.startsWith("/a/")) return;
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form, event.submitter));
  if (form.method === "post") return swap(action.href, { method: "POST", body: data });
  for (const [name, value] of [...data]) if (!value) data.delete(name);
  action.search = data;
  return swap(action.href);
});

window.addEventListener("popstate", () => {
  if (main()) swap(location.href, {}, { push: false, focus: false });
});

// Keys, unless somebody is typing.
function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(document.activeElement?.closest?.("[data-row]"));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  goal(next).focus();
  next.scrollIntoView({ block: "nearest" });
}

function press(selector) {
  const button = $$(selector).find((each) => each.offsetParent);
  button?.click();
  return Boolean(button);
}

// What a letter does to the row that somebody is at, else to the memory that is shown.
function decide(deed) {
  const row = document.activeElement?.closest?.(".row");
  if (row && !row.classList.contains("current")) {
    for (const box of $$(".rows input[type=checkbox]")) box.checked = row.contains(box);
    const form = row.closest("form");
    const data = new URLSearchParams(new FormData(form));
    data.set("deed", deed);
    return swap(form.action, { method: "POST", body: data });
  }
  return press(`.one [name=deed][value=${deed}]`);
}

const KEYS = {
  "/": () => $("[type=search], [name=prompt], .filters input")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  x: () => $("input[type=checkbox]", document.activeElement?.closest?.("[data-row]") || document.createElement("i"))?.click(),
  a: () => press("form:has([data-row]:focus-within) [data-approve]") || press("[data-approve]"),
  c: () => decide("confirm"),
  p: () => decide("pin") || press(".one [value=unpin]"),
  f: () => decide("forget"),
  u: () => $("#outcome a")?.click(),
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]), textarea, select, dialog *");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key) || !main()) return;
  event.preventDefault();
  KEYS[event.key]();
});

// News: numbers only. Nothing moves under a reader; they say when they want to see it. A hidden tab does not listen,
// since browsers have but six connections for all tabs of a site.
let news = null;

function listen() {
  news?.close();
  news = null;
  if (document.hidden) return;
  news = new EventSource(main().dataset.events);
  news.addEventListener("head", (event) => {
    const { head, waiting } = JSON.parse(event.data);
    const count = head - Number(main().dataset.head);
    const line = document.getElementById("news");
    line.hidden = count <= 0;
    line.firstElementChild.textContent = `${count} new: show`;
    const badge = document.getElementById("waiting");
    if (badge && waiting !== null) {
      badge.textContent = waiting;
      badge.hidden = !waiting;
    }
  });
}

// The drawing: the server put everybody on circles; forces find better places, once, before anybody sees it.
function draw() {
  const svg = document.getElementById("graph");
  if (!svg) return;
  if (!window.d3?.forceSimulation) {
    const script = document.createElement("script");
    script.src = "/static/d3-force.js";
    script.addEventListener("load", draw, { once: true });
    document.head.append(script);
    return;
  }
  const anchors = $$(".nodes > a", svg);
  const lines = $$(".edges > line", svg);
  const nodes = anchors.map((a) => {
    const [x, y] = a.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
    return { x, y };
  });
  const links = lines.map((line) => ({ source: Number(line.dataset.a), target: Number(line.dataset.b) }));
  nodes[0].fx = nodes[0].fy = 0;
  const spread = nodes.length > 60 ? 12 : 46;
  d3.forceSimulation(nodes)
    .force("link", d3.forceLink(links).distance(nodes.length > 60 ? 60 : 130))
    .force("charge", d3.forceManyBody().strength(nodes.length > 60 ? -70 : -420).distanceMax(420))
    .force("x", d3.forceX().strength(0.05))
    .force("y", d3.forceY().strength(0.09))
    .force("apart", d3.forceCollide(spread))
    .stop()
    .tick(nodes.length > 120 ? 60 : 160);
  const far = Math.max(0.5, ...nodes.map(({ x, y }) => Math.max(Math.abs(x) / 245, Math.abs(y) / 185)));
  nodes.forEach((node, at) => {
    node.x /= far;
    node.y /= far;
    anchors[at].setAttribute("transform", `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`);
  });
  const labels = $$(".labels > text", svg);
  links.forEach(({ source, target }, at) => {
    labels[at]?.setAttribute("x", ((source.x + target.x) / 2).toFixed(1));
    labels[at]?.setAttribute("y", ((source.y + target.y) / 2).toFixed(1));
    for (const [name, value] of Object.entries({ x1: source.x, y1: source.y, x2: target.x, y2: target.y }))
      lines[at].setAttribute(name, value.toFixed(1));
  });
  svg.dataset.drawn = nodes.length;
}

if (document.body.classList.contains("door")) {
  if (location.pathname === "/enter") enter();
} else if (main()) {
  listen();
  document.addEventListener("visibilitychange", listen);
  window.addEventListener("pagehide", () => news?.close());
  announce();
  fit();
  $("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}
