// Asks for the chat's lines each second and shows them; sends what is said.

const $ = (id) => document.getElementById(id);
const lines = $("lines"), empty = $("empty"), place = $("place"), problem = $("problem");

let chat = "";
let node = ""; // where Dad lives
let visit = 0; // each opened chat is a new visit: answers for an older one are dropped
const known = new Map(); // id → message, joke or note of this visit: Dad forgets when he moves, the page does not
const shown = new Map(); // id → its list item
const kept = 1000;

const chatURL = (name) => "/chats/" + encodeURIComponent(name);

function open(name) {
  chat = name.trim().replace(/^#+/, "") || "engineering";
  visit++;
  history.replaceState(null, "", "#" + encodeURIComponent(chat));
  document.title = "#" + chat + " · DadBot";
  $("chat").value = chat;
  node = "";
  place.textContent = "Looking for Dad…";
  known.clear();
  shown.clear();
  lines.replaceChildren();
  complain("message", "");
  complain("dad", "");
  poll(visit);
}

const problems = { message: "", dad: "" }; // what is wrong with each, if anything

function complain(about, text) {
  problems[about] = text;
  const all = Object.values(problems).filter(Boolean).join(" ");
  problem.hidden = !all;
  if (problem.textContent !== all) problem.textContent = all;
}

async function poll(mine) {
  if (!document.hidden) await look(mine);
  if (mine === visit) setTimeout(poll, 1000, mine);
}

let trouble = 0;

async function look(mine) {
  try {
    const r = await fetch(chatURL(chat), { signal: AbortSignal.timeout(8000) });
    const body = await r.json();
    if (mine !== visit) return;
    if (!r.ok) throw new Error(body.error);
    complain("dad", "");
    trouble = 0;
    show(body);
  } catch (e) {
    if (mine !== visit) return;
    // One answer may be late while Dad moves to another node.
    if (++trouble > 2) complain("dad", "Dad does not answer: " + e.message + ". Trying again.");
  }
}

function show(body) {
  place.replaceChildren("Dad of ", strong(body.chat), " lives in shard ", strong(body.shard), " on ", strong(body.node));
  if (node && node !== body.node) note("Dad has moved from " + node + " to " + body.node);
  node = body.node;
  for (const m of body.messages) known.set(m.id, m);
  render();
}

function note(text) {
  const at = new Date().toISOString();
  known.set("note " + at, { id: "note " + at, at, note: text });
}

// render changes only what has changed, so that a screen reader says each line once.
function render() {
  const atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 80;
  const messages = [...known.values()].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  for (const m of messages.splice(0, messages.length - kept)) known.delete(m.id);
  for (const [id, li] of shown) {
    if (known.has(id)) continue;
    li.remove();
    shown.delete(id);
  }
  let next = lines.firstElementChild;
  for (const m of messages) {
    if (!shown.has(m.id)) shown.set(m.id, item(m));
    const li = shown.get(m.id);
    li.classList.toggle("sending", !!m.sending);
    if (li === next) next = next.nextElementSibling;
    else lines.insertBefore(li, next);
  }
  empty.hidden = messages.length > 0;
  if (atEnd) lines.scrollTop = lines.scrollHeight;
}

function item(m) {
  const li = document.createElement("li");
  if (m.note) {
    li.className = "note";
    li.textContent = m.note;
    return li;
  }
  const who = document.createElement("div");
  who.className = "who";
  const name = document.createElement("b");
  name.textContent = m.from;
  const when = document.createElement("time");
  when.dateTime = m.at;
  when.textContent = new Date(m.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  who.append(name, when);
  if (m.batch) {
    li.className = "joke";
    who.append(m.batch.length === 1 ? "about one message" : "about " + m.batch.length + " messages", " on " + m.via);
  } else {
    if (m.from === $("from").value.trim()) li.className = "mine";
    if (m.via) who.append("via " + m.via);
  }
  const text = document.createElement("p");
  text.className = "text";
  text.textContent = m.text;
  li.append(who, text);
  return li;
}

function strong(text) {
  const e = document.createElement("strong");
  e.textContent = text;
  return e;
}

// newID works on plain http too, where crypto.randomUUID is not offered.
function newID() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  return "page-" + Array.from(b, (n) => n.toString(16).padStart(2, "0")).join("");
}

const tries = 10; // of one message
const waiting = new Map(); // chat → its messages that are not settled, as a chain: each waits for the one before
const mayWait = 20; // in one chat

// enqueue keeps the order of messages, though one of them is repeated.
function enqueue(to, m) {
  const { count, last } = waiting.get(to) ?? { count: 0, last: Promise.resolve() };
  if (count >= mayWait) return false;
  const turn = last.then(() => send(to, m)).then(() => {
    const w = waiting.get(to);
    if (--w.count === 0) waiting.delete(to);
  });
  waiting.set(to, { count: count + 1, last: turn });
  return true;
}

// send repeats with the same id while there is hope, so that a message is said
// once, also when only the answer was lost. It never throws.
async function send(to, m) {
  let perhaps = false; // whether an answer may have been lost
  for (let left = tries - 1; ; left--) {
    const { ok, again, reason } = await post(to, m);
    if (ok) {
      m.sending = false;
      render();
      complain("message", "");
      return;
    }
    perhaps ||= reason === noAnswer;
    const what = (perhaps ? "Perhaps sent" : "Not sent") + (to === chat ? "" : " to #" + to) + ": " + reason;
    if (!again || left === 0) {
      giveUp(to, m, what + (perhaps ? ". Look before you send it again." : "."));
      return;
    }
    complain("message", perhaps ? what + ". Trying again; it is said only once." : "");
    await new Promise((next) => setTimeout(next, 1000));
  }
}

const noAnswer = "no answer came";

async function post(to, m) {
  try {
    const r = await fetch(chatURL(to) + "/messages", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ id: m.id, from: m.from, text: m.text }),
      signal: AbortSignal.timeout(8000),
    });
    if (r.ok) return { ok: true };
    const { error } = await r.json();
    return { again: r.status >= 500, reason: error };
  } catch {
    return { again: true, reason: noAnswer };
  }
}

function giveUp(to, m, why) {
  known.delete(m.id);
  render();
  complain("message", why);
  if (to === chat) $("text").value ||= m.text;
}

$("room").addEventListener("submit", (e) => {
  e.preventDefault();
  open($("chat").value);
  $("text").focus();
});

$("say").addEventListener("submit", (e) => {
  e.preventDefault();
  const m = { id: newID(), from: $("from").value.trim(), text: $("text").value.trim(), at: new Date().toISOString(), sending: true };
  if (!m.from || !m.text) return;
  if (!enqueue(chat, m)) {
    complain("message", "Wait: " + mayWait + " messages are still to be sent.");
    return;
  }
  remember(m.from);
  $("text").value = "";
  known.set(m.id, m);
  render();
  lines.scrollTop = lines.scrollHeight;
});

// The name is a convenience: a browser that keeps nothing is fine.
function remember(name) {
  try { localStorage.setItem("dadbot.from", name); } catch {}
}

try { $("from").value = localStorage.getItem("dadbot.from") ?? ""; } catch {}
function fromAddress() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

window.addEventListener("hashchange", () => open(fromAddress()));
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(visit); });
open(fromAddress());
