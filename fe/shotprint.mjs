import { chromium } from "@playwright/test";
const b = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox"] });
const p = await (await b.newContext({ viewport: { width: 794, height: 1123 }, offline: true })).newPage();
await p.emulateMedia({ media: "print" });
await p.goto("file://" + process.argv[2]);
await p.screenshot({ path: process.argv[3], fullPage: true });
console.log(await p.evaluate(() => [...document.querySelectorAll("table")].filter((t) => t.scrollWidth > t.parentElement.clientWidth + 2).map((t) => [t.caption?.textContent ?? t.textContent.slice(0, 30), t.scrollWidth, t.parentElement.clientWidth])));
await b.close();
