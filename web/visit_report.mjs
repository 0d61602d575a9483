// Opens reports in Chromium and says, as JSON, what happens there.
//   node visit_report.mjs CHROMIUM FOLDER-OF-SCREENSHOTS|- REPORT.html...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , executablePath, screenshots, ...files] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LOOKS = {
  light: {},
  dark: { colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "dark" },
};
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function open(file, options, said) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  page.on("request", (request) => {
    const asked = request.url();
    if (!/^(blob|data):/.test(asked) && !asked.startsWith(address)) said.requests.push(asked);
  });
  page.on("console", (message) => message.type() === "error" && said.errors.push(message.text()));
  page.on("pageerror", (error) => said.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    said.errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  return page;
}

async function judged(page) {
  const { violations } = await page.evaluate(`${axe}; axe.run()`);
  const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return bad.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

async function look(page) {
  return page.evaluate(() => ({
    title: document.title,
    text: document.body.innerText,
    sentence: document.querySelector("#sentence").textContent,
    figures: [...document.querySelectorAll("#charts figure")].map((one) => one.getAttribute("aria-label")),
    tables: [...document.querySelectorAll("table")].map((one) => [...one.rows].map((row) => [...row.cells].map((cell) => cell.textContent))),
    commands: [...document.querySelectorAll("article > pre")].map((one) => one.textContent),
    changes: [...document.querySelectorAll("article a")].map((one) => one.getAttribute("href")),
    elements: document.querySelectorAll("script, b, img, iframe").length,
    overflow: document.documentElement.scrollWidth - innerWidth,
  }));
}

const found = [];
for (const file of files) {
  const said = { requests: [], errors: [], axe: {}, overflow: {} };
  const stem = file.split("/").at(-2);
  for (const [name, options] of Object.entries(LOOKS)) {
    const page = await open(file, options, said);
    said.axe[name] = await judged(page);
    said.overflow[name] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (screenshots !== "-") await page.screenshot({ path: `${screenshots}/${stem}-${name}.png`, fullPage: true });
    if (name !== "light") continue;
    Object.assign(said, { ...(await look(page)), overflow: said.overflow });
    if (said.figures.length) {
      await page.fill("#zoom-from", "2");
      await page.fill("#zoom-to", "4");
      await page.press("#zoom-to", "Tab");
      said.zoomed = [await page.inputValue("#zoom-from"), await page.inputValue("#zoom-to")];
      await page.click("#unzoom");
    }
    const download = page.waitForEvent("download");
    await page.click("article button");
    said.saved = readFileSync(await (await download).path(), "utf8");
    // A report that links to the page of `tidegate explore` leads to the scenario.
    if (said.changes[0]) {
      const errors = said.errors.length;
      await page.click("article a");
      await page.waitForSelector("#text");
      await page.waitForFunction(() => document.querySelector("#text").value.length > 0);
      said.changed = await page.inputValue("#text");
      said.requests = said.requests.filter((url) => !/tidegate\.html#s=/.test(url));
      said.errors.length = errors;
    }
  }
  const paper = await open(file, { colorScheme: "dark" }, said);
  await paper.emulateMedia({ media: "print", colorScheme: "dark" });
  await paper.evaluate(() => dispatchEvent(new Event("beforeprint")));
  said.paper = await paper.evaluate(() => ({
    ink: getComputedStyle(document.body).color,
    buttons: [...document.querySelectorAll("button")].filter((one) => one.checkVisibility()).length,
    folded: [...document.querySelectorAll("details")].filter((one) => !one.open).length,
  }));
  if (screenshots !== "-") await paper.screenshot({ path: `${screenshots}/${stem}-paper.png`, fullPage: true });
  found.push(said);
}
await browser.close();
console.log(JSON.stringify(found));
