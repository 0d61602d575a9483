// The live page of the gateway: asks its own server every two seconds and draws what it says.

const EVERY_MS = 2000;
const LENGTH_S = 600;
const DIRECTIONS = ["upload", "download"];
const byId = (id) => document.getElementById(id);

function el(name, attributes = {}, ...children) {
  return dressed(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function dressed(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** To three digits. */
const number = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const percent = (share) => (share > 0 && share < 0.0001 ? "< 0.01" : (100 * share).toFixed(share < 0.1 ? 2 : 1));

/** A round number not below the value. */
function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

/** A path with gaps where nothing was looked at. */
function path(times, values, x, y, gap) {
  let text = "";
  values.forEach((value, place) => {
    const isNew = place === 0 || times[place] - times[place - 1] > gap;
    text += `${isNew ? "M" : "L"}${x(times[place]).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return text;
}

/** Lines over the last ten minutes. */
function figure(title, unit, times, lines, width) {
  const [height, left, bottom, top] = [120, 34, 18, 6];
  const most = roundUp(Math.max(0, ...lines.flatMap(({ values }) => values)) * 1.02);
  const minutes = Math.min(LENGTH_S / 60, Math.max(1, Math.ceil(-(times[0] ?? 0) / 60)));
  const x = (time) => left + (width - left - 4) * (1 + time / (60 * minutes));
  const y = (value) => top + (height - top - bottom) * (1 - Math.min(value, most) / most);
  const steps = times.slice(1).map((time, place) => time - times[place]).sort((a, b) => a - b);
  const gap = 4 * (steps[steps.length >> 1] ?? 2);
  const marks = [[-60 * minutes, `${minutes} min ago`, ""], [0, "now", "end"]];
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    ...[0, most].map((value) => draw("path", { class: "axis", d: `M${left} ${y(value)}H${width - 4}` })),
    draw("text", { class: "end", x: left - 5, y: y(0) }, "0"),
    draw("text", { class: "end", x: left - 5, y: y(most) + 8 }, String(most)),
    ...marks.map(([time, text, at]) => draw("text", { class: at, x: x(time), y: height - 3 }, text)),
    ...lines.map(({ values, kind }) => draw("path", { class: kind, d: path(times, values, x, y, gap) })));
  const last = lines.map(({ name, values }) => (values.length ? `${name} ${number(values.at(-1))}` : `${name} –`)).join(", ");
  return el("figure", { role: "img", "aria-label": `${title}: ${last} ${unit}` },
    el("figcaption", {}, title, el("span", {}, `${last} ${unit}`)), svg);
}

function direction(word, state) {
  const now = state[word];
  const room = byId("ways").clientWidth;
  const width = Math.max(280, Math.round(room > 660 ? room / 2 - 12 : room));
  const title = word === "upload" ? "Uploads" : "Downloads";
  const article = el("article", {}, el("h2", {}, title), el("p", { class: now.good ? "health" : "health bad" }, now.health));
  const isQuiet = now.passed_mbps.every((value) => value === 0);
  if (!now.passed_mbps.length) return article;
  if (isQuiet) {
    article.append(el("p", { class: "hint" }, `No ${word} of a customer in this time.`));
    return article;
  }
  const delay = figure("Delay of the queue", "ms", state.times_s, [{ name: "now", values: now.delays_ms, kind: "line-1" }], width);
  const passed = [{ name: "passes", values: now.passed_mbps, kind: "line-0" }];
  if (now.rates_mbps.some((value) => value > 0)) passed.push({ name: "the link", values: now.rates_mbps, kind: "limit" });
  article.append(figure("Throughput", "Mb/s", state.times_s, passed, width));
  if (now.delays_ms.some((value) => value > 0)) article.append(delay);
  return article;
}

function mode(state) {
  const badge = byId("mode");
  const [text, kind] = state.mode === null ? ["The gateway is off: packets pass as without it.", "bad"]
    : !state.control_loop ? ["The control loop does not run: everything passes.", "bad"]
    : state.mode === "observe" ? ["Observing: no packet is touched.", ""]
    : ["Enforcing: the link is shared by customer.", "enforce"];
  badge.className = kind;
  if (badge.textContent !== text) badge.textContent = text;
}

function who(state) {
  const [table, note] = [byId("who"), byId("who-note")];
  const lost = state.mode === "enforce" ? "lost [%]" : "would lose [%]";
  const shown = state.customers;
  table.hidden = !shown.length;
  const minutes = state.seconds < 90 ? `${Math.round(state.seconds)} s` : `${Math.round(state.seconds / 60)} min`;
  note.textContent = !shown.length
    ? state.active ? "Customers are not shown (shown_customers = 0)." : "No customer has sent or received anything yet."
    : `Means of the last ${minutes}: the ${shown.length} of ${state.active} customers with most bytes. ${state.active_now ?? 0} are active now.`;
  if (!shown.length) return;
  const most = Math.max(...shown.flatMap((one) => DIRECTIONS.map((word) => one[word].rate_bps)));
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "left" }, "customer"),
    ...DIRECTIONS.flatMap((word) => [el("td", { class: "wide" }), el("th", { scope: "col" }, `${word === "upload" ? "up" : "down"} [Mb/s]`), el("th", { scope: "col" }, lost)])));
  const rows = shown.map((one) => el("tr", {},
    el("th", { scope: "row", class: "left" }, el("button", { type: "button", onclick: () => ask(one.customer) }, one.customer)),
    ...DIRECTIONS.flatMap((word) => {
      const got = one[word];
      const bar = el("progress", { max: most, value: got.rate_bps, "aria-hidden": "true" });
      return [el("td", { class: "wide" }, bar), el("td", {}, number(got.rate_bps / 1e6)), el("td", {}, percent(got.lost + got.limited))];
    })));
  const held = document.activeElement?.closest("#who button")?.textContent;
  table.replaceChildren(head, el("tbody", {}, ...rows));
  // Who has reached a row with the keyboard stays there.
  if (held) [...table.querySelectorAll("button")].find((one) => one.textContent === held)?.focus();
}

function show(state) {
  mode(state);
  const isOff = state.mode === null;
  for (const id of ["sentences", "ways"]) byId(id).hidden = isOff;
  byId("where").textContent = isOff ? "" : `customers at ${state.interface}, uplink ${state.uplink}`;
  if (isOff) return;
  const sentences = DIRECTIONS.map((word) => state[word].sentence).filter(Boolean);
  byId("sentences").replaceChildren(...sentences.map((text) => el("p", {}, text)));
  byId("ways").replaceChildren(...DIRECTIONS.map((word) => direction(word, state)));
  who(state);
}

async function ask(name) {
  byId("customer").value = name;
  const place = byId("why");
  try {
    const answer = await fetch(`why?customer=${encodeURIComponent(name)}`);
    if (!answer.ok) throw new Error(await answer.text());
    const reason = await answer.json();
    if (!reason.found) {
      place.replaceChildren(el("p", {}, `${reason.customer} has sent and received nothing in the last ten minutes. Names are those of the table above.`));
      return;
    }
    place.replaceChildren(el("h3", {}, reason.customer), ...DIRECTIONS.map((word) => el("p", {}, reason[word].join(" "))));
  } catch (error) {
    place.replaceChildren(el("p", { class: "error" }, `No answer: ${error.message}`));
  }
}

let heard = null;
let last = null;

async function look() {
  if (document.hidden) return;
  try {
    const answer = await fetch("history");
    if (!answer.ok) throw new Error();
    last = await answer.json();
    heard = new Date();
    show(last);
  } catch {
    const since = heard ? ` since ${heard.toLocaleTimeString()}; below is what was then` : "";
    byId("mode").className = "bad";
    byId("mode").textContent = `The gateway does not answer${since}.`;
  }
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  void ask(byId("customer").value.trim());
});
addEventListener("resize", () => last && show(last));
document.addEventListener("visibilitychange", look);
await look();
setInterval(look, EVERY_MS);
