import { chromium } from "@playwright/test";
import { gzipSync } from "node:zlib";
const b = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox"] });
for (const [w,h] of [[1440,900],[390,844]]) {
const p = await b.newPage({ viewport: { width: w, height: h } });
let total = 0; const files = [];
p.on("response", async (r) => { if (/\.(js|css|html)$|\/$/.test(new URL(r.url()).pathname)) { const n = gzipSync(await r.body()).length; total += n; files.push([new URL(r.url()).pathname.split("/").pop(), n]); } });
await p.addInitScript(() => { window.__cls = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) window.__cls += e.value; }).observe({ type: "layout-shift", buffered: true }); });
await p.goto("http://127.0.0.1:7314/#run=kineto_resnet50_nw0&view=overview"); await p.waitForTimeout(3000);
console.log(w, total, JSON.stringify(files), "cls", await p.evaluate(() => window.__cls));
await p.close(); }
await b.close();
