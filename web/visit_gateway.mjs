// Opens the live page of a gateway in Chromium and says, as JSON, what is there.
//   node visit_gateway.mjs CHROMIUM FOLDER-OF-SCREENSHOTS|- STEM ADDRESS ROWS
// ROWS is the number of customers to wait for.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [, , executablePath, screenshots, stem, address, rows] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LOOKS = {
  light: {},
  dark: { colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true },
};
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const said = { requests: [], errors: [], axe: {}, overflow: {} };
// Requests fail by intent.
let isCut = false;

async function open(options) {
  // axe is put into the page by this script, which its policy forbids to all others.
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, bypassCSP: true, ...options });
  const page = await context.newPage();
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(address) && !asked.startsWith("data:")) said.requests.push(asked);
  });
  page.on("console", (message) => message.type() === "error" && !isCut && said.errors.push(message.text()));
  page.on("pageerror", (error) => said.errors.push(String(error)));
  await page.goto(address);
  await page.waitForFunction((wanted) => document.querySelectorAll("#who tbody tr").length >= wanted
    && document.querySelectorAll(".health").length === 2, Number(rows), { timeout: 120_000 });
  return page;
}

for (const [name, options] of Object.entries(LOOKS)) {
  const page = await open(options);
  if (Number(rows) > 0) {
    await page.click("#who tbody button");
    await page.waitForSelector("#why h3");
  }
  const { violations } = await page.evaluate(`${axe}; axe.run()`);
  const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  said.axe[name] = bad.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`);
  said.overflow[name] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (screenshots !== "-") await page.screenshot({ path: `${screenshots}/${stem}-${name}.png`, fullPage: true });
  if (name !== "light") continue;
  Object.assign(said, await page.evaluate(() => ({
    mode: document.querySelector("#mode").textContent,
    where: document.querySelector("#where").textContent,
    sentences: [...document.querySelectorAll("#sentences p")].map((one) => one.textContent),
    health: [...document.querySelectorAll(".health")].map((one) => one.textContent),
    figures: [...document.querySelectorAll("figure")].map((one) => one.getAttribute("aria-label")),
    note: document.querySelector("#who-note").textContent,
    rows: [...document.querySelectorAll("#who tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent)),
    why: document.querySelector("#why").textContent,
  })));
  await page.fill("#customer", "nobody <b>");
  await page.click("#ask button");
  await page.waitForFunction(() => document.querySelector("#why").textContent.includes("nobody"));
  said.nobody = await page.textContent("#why");
  isCut = true;
  await page.route("**/history", (route) => route.abort());
  await page.waitForFunction(() => document.querySelector("#mode").textContent.includes("does not answer"), null, { timeout: 60_000 });
  said.lost = await page.textContent("#mode");
  await page.close();
  isCut = false;
}
await browser.close();
console.log(JSON.stringify(said));
