// Shows a widget in Chromium as a notebook does, and says, as JSON, what it tells the notebook.
//   node visit_widget.mjs CHROMIUM STATE.json CODE.js
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";

const [, , executablePath, stateFile, code] = process.argv;
const files = { "/": ["text/html", "<!doctype html><title>notebook</title>"], "/widget.js": ["text/javascript", readFileSync(code)] };
const server = createServer(({ url }, answer) => {
  const [kind, body] = files[url] ?? ["text/plain", ""];
  answer.setHeader("Content-Type", kind).end(body);
}).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage();
const errors = [];
page.on("console", (message) => message.type() === "error" && !message.text().includes("404") && errors.push(message.text()));
page.on("pageerror", (error) => errors.push(String(error)));
await page.goto(`http://127.0.0.1:${server.address().port}/`);
const changed = await page.evaluate(async (state) => {
  const { default: widget } = await import("/widget.js");
  return new Promise((done) => {
    const values = {};
    const model = {
      get: (key) => state[key],
      set: (key, value) => (values[key] = value),
      save_changes: () => done(values),
    };
    widget.render({ model, el: document.body });
  });
}, JSON.parse(readFileSync(stateFile, "utf8")));
console.log(JSON.stringify({ changed, errors }));
await browser.close();
server.close();
