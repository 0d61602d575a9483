// Builds one HTML file that asks for nothing: script, style and engine stand in it, and its policy allows these alone.
// TIDEGATE_ENTRY is index.html, the page of `tidegate explore`, or report.html, which has no engine.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { defineConfig } from "vite";

const engine = process.env.TIDEGATE_ENGINE ?? "../target/wasm32-unknown-unknown/web/tidegate_web.wasm";
const out = process.env.TIDEGATE_PAGE ?? "../target/page";
const entry = process.env.TIDEGATE_ENTRY ?? "index.html";
const simulates = entry === "index.html";

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** WebAssembly without its custom sections: names of functions, which are not used here. */
function stripped(wasm) {
  const kept = [wasm.subarray(0, 8)];
  for (let at = 8; at < wasm.length; ) {
    let [bytes, shift, body] = [0, 0, at + 1];
    do {
      bytes |= (wasm[body] & 127) << shift;
      shift += 7;
    } while (wasm[body++] > 127);
    if (wasm[at] !== 0) kept.push(wasm.subarray(at, body + bytes));
    at = body + bytes;
  }
  return Buffer.concat(kept);
}

const oneFile = {
  name: "one-file",
  enforce: "post",
  generateBundle(_, bundle) {
    const html = bundle[entry];
    const files = Object.values(bundle).filter((file) => file !== html);
    const script = files.find((file) => file.type === "chunk" && file.isEntry).code.replaceAll("</script", "<\\/script");
    const style = files.find((file) => file.fileName.endsWith(".css")).source;
    // uPlot and the page set styles of elements by script, which the policy lets pass.
    const policy = [
      "default-src 'none'",
      `script-src ${hash(script)}${simulates ? " 'wasm-unsafe-eval'" : ""}`,
      `style-src ${hash(style)}`,
      ...(simulates ? ["worker-src blob:"] : []),
      "img-src data: blob:",
      "base-uri 'none'",
      "form-action 'none'",
    ].join("; ");
    const licence = readFileSync(new URL("node_modules/uplot/LICENSE", import.meta.url), "utf8");
    const packed = simulates ? gzipSync(stripped(readFileSync(engine)), { level: 9 }).toString("base64") : "";
    const wasm = simulates ? `<script type="text/plain" id="engine">${packed}</script>\n` : "";
    html.source = html.source
      .replace(/<script type="module"[^>]*><\/script>/, "")
      .replace(/<link rel="stylesheet"[^>]*>/, "")
      .replace('<meta charset="utf-8">', (meta) => `${meta}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
      .replace("<html", () => `<!--\ntidegate, Apache-2.0. The figures are drawn by uPlot:\n\n${licence}-->\n<html`)
      .replace("</head>", () => `<style>${style}</style>\n</head>`)
      .replace("</body>", () => `${wasm}<script type="module">${script}</script>\n</body>`);
    for (const file of files) delete bundle[file.fileName];
  },
};

export default defineConfig({
  plugins: [oneFile],
  logLevel: "warn",
  build: {
    outDir: out,
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    rollupOptions: { input: entry },
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
  },
});
