import { defineConfig } from "@playwright/test";

/** Debian's Chromium; as root it runs only without its sandbox. The flags keep it from calling home. */
export default defineConfig({
  testDir: ".",
  outputDir: "../test-results",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  // Each has its own servers; a test waits as much as it works, so there are more workers than cores.
  workers: 4,
  // A stalling machine is not a bug; a test that passes only the second time is listed as flaky.
  retries: 1,
  forbidOnly: process.env["CI"] !== undefined,
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    // Nothing is animated, so elements can be clicked at once.
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
        // A test embeds the page in one of another machine; Chromium would prompt first.
        "--disable-features=LocalNetworkAccessChecks",
      ],
    },
  },
});
