/** A test sees nothing that another one left in the browser, although both use one context. */
import { expect, test } from "./fixtures";

// One after the other in one worker.
test.describe.configure({ mode: "default" });

for (const turn of ["first", "second"]) {
  test(`storage, permissions, routes and scripts are as in a new browser (${turn} test)`, async ({ guarded: page, standalone }) => {
    await page.goto(standalone.url);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    const left = await page.evaluate(async () => ({
      stored: [localStorage.length, sessionStorage.length, document.cookie.length],
      clipboard: (await navigator.permissions.query({ name: "clipboard-read" as PermissionName })).state,
      script: "left" in window,
      theme: matchMedia("(prefers-color-scheme: dark)").matches,
      width: innerWidth,
    }));
    expect(left).toEqual({ stored: [0, 0, 0], clipboard: expect.not.stringMatching("granted"), script: false, theme: false, width: 1280 });
    await page.context().grantPermissions(["clipboard-read"]);
    await page.addInitScript(() => Object.assign(window, { left: true }));
    await page.route("**/*", (route) => route.abort());
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 800, height: 600 });
    await page.evaluate(() => {
      localStorage.setItem("torch-tb-profiler.theme", "dark");
      sessionStorage.setItem("left", "1");
      document.cookie = "left=1";
    });
  });
}
