import { chromium } from "@playwright/test";
const b = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox"] });
const p = await b.newPage({ viewport: { width: 1440, height: 900 } });
for (const a of ["run=h100_bert_small&view=timeline&notes=1200000%20a%20note&note=1200000","run=h100_bert_small&view=timeline"]) {
await p.goto("about:blank"); await p.goto("http://127.0.0.1:7312/#" + a); await p.waitForTimeout(2500);
console.log(await p.evaluate(() => [...document.querySelectorAll("h1,h2")].map((h) => h.outerHTML.slice(0, 120))));}
await b.close();
