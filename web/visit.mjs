// Opens a page in Chromium and says, as JSON, what happens there.
//   node visit.mjs CHROMIUM PAGE.html [FOLDER OF SCREENSHOTS]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , executablePath, file, screenshots] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const address = pathToFileURL(file).href;
const PATIENCE = { timeout: 240_000 };
const said = { requests: [], errors: [], axe: {} };

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(address)) said.requests.push(request.url());
  });
  page.on("console", (message) => message.type() === "error" && said.errors.push(message.text()));
  page.on("pageerror", (error) => said.errors.push(String(error)));
  await page.goto(url);
  return page;
}

/** The digests of the first seeds of the variants, once all runs have ended. */
async function digests(page, but = "") {
  const found = await page.waitForFunction(
    (other) => {
      const { digest } = document.querySelector("#right").dataset;
      return digest && digest !== other && digest;
    },
    but,
    PATIENCE,
  );
  return found.jsonValue();
}

/** What axe finds serious or critical. */
async function judged(page) {
  const { violations } = await page.evaluate(`${axe}; axe.run()`);
  const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return bad.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

async function shot(page, name) {
  if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
}

const page = await open(address);
const began = Date.now();
await page.waitForSelector("#bars svg", PATIENCE);
said.first_answer_ms = Date.now() - began;
said.digests = await digests(page);
said.text = await page.inputValue("#text");
said.sentence = await page.textContent("#sentence");
said.command = await page.textContent("#command");
said.axe.light = await judged(page);
await shot(page, "light");

// Every situation of the gallery has an answer.
said.gallery = {};
for (const button of await page.$$("#gallery button")) {
  const title = await button.$eval("strong", (element) => element.textContent);
  const clicked = Date.now();
  await button.click();
  await page.waitForFunction(() => "shown" in document.querySelector("#right").dataset, undefined, PATIENCE);
  const problems = await page.$$eval("#problems .error", (all) => all.map((one) => one.textContent));
  said.gallery[title] = { ms: Date.now() - clicked, sentence: await page.textContent("#sentence"), problems };
  await shot(page, title.replaceAll(" ", "-"));
}
await page.click("#gallery button");
await digests(page);

// A slider and the text are one state.
await page.fill("#set-bottleneck\\.rate", "2 Mb/s");
await page.press("#set-bottleneck\\.rate", "Tab");
said.digests_edited = await digests(page, said.digests);
said.text_edited = await page.inputValue("#text");

// A link brings the same state back, and its results.
said.link = page.url();
const again = await open(said.link);
said.digests_linked = await digests(again);
said.text_linked = await again.inputValue("#text");

// An error has its place, and leads there.
await page.fill("#text", said.text.replace(/^rate = .*$/m, 'rate = "10 M"'));
await page.waitForSelector("#problems button");
said.problem = await page.textContent("#problems li");
await page.click("#problems button");
said.selected = await page.evaluate(() => {
  const text = document.querySelector("#text");
  return text.value.slice(text.selectionStart, text.selectionEnd);
});
said.axe.error = await judged(page);
await shot(page, "error");

// What may stand at the cursor is offered, and taken with the keyboard.
said.completion = {};
for (const begun of ["[bott", "[bottleneck]\naq", '[bottleneck]\naqm = { kind = "co', '[bottleneck]\naqm = { kind = "pie", tar', "[users.a]\ntcp.ec", "# aq"]) {
  await page.fill("#text", begun);
  await page.press("#text", "Control+End");
  await page.press("#text", "Control+Space");
  const offers = await page.$$eval("#completions:not([hidden]) code", (all) => all.map((one) => one.textContent));
  if (offers.length) said.axe.completion ??= await judged(page);
  if (offers.length > 3) await shot(page, "completion");
  if (offers.length) await page.press("#text", "Enter");
  said.completion[begun] = { offers, text: await page.inputValue("#text") };
}

// What is too large for a page is a command.
await page.fill("#text", said.text.replace(/^rate = .*$/m, 'rate = "100 Gb/s"').replace(/^warm_up = .*$/m, 'warm_up = "100 s"'));
await page.waitForFunction(() => document.querySelector("#sentence").textContent.includes("million"));
said.large = await page.textContent("#sentence");

const phone = await open(address, { viewport: { width: 390, height: 844 }, colorScheme: "dark", reducedMotion: "reduce" });
await digests(phone);
said.axe.phone = await judged(phone);
said.phone_overflow = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await shot(phone, "phone");
if (screenshots) {
  const dark = await open(address, { colorScheme: "dark" });
  await digests(dark);
  await shot(dark, "dark");
}
await browser.close();
console.log(JSON.stringify(said));
