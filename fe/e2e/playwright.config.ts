import { defineConfig } from "@playwright/test";

/** Debian's Chromium; as root it runs only without its sandbox. The flags keep it from calling home. */
export default defineConfig({
  testDir: ".",
  outputDir: "../test-results",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  // Each has servers of its own; a test waits as long as it works, so there are more than cores.
  workers: 4,
  // A machine that stalls is not a fault of ours; what only passes the second time is listed as flaky.
  retries: 1,
  forbidOnly: process.env["CI"] !== undefined,
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    // Nothing moves by itself, so what is to be clicked stands still at once.
    contextOptions: { reducedMotion: "reduce" },
    // Recording one takes a fifth of the time of a test; what fails is run, and recorded, again.
    trace: "on-first-retry",
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      chromiumSandbox: false,
      args: [
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // A page of another machine that frames ours is what a test is about; Chromium would ask first.
        "--disable-features=LocalNetworkAccessChecks",
      ],
    },
  },
});
