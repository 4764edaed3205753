import { defineConfig } from "@playwright/test";

/** Debian's Chromium; as root it runs only without its sandbox. The flags keep it from calling home, and pages on this machine. */
export default defineConfig({
  testDir: ".",
  outputDir: "../test-results",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  globalSetup: "./globalSetup.ts",
  // A test waits too, so there is one more worker than the cores of a small machine.
  workers: 3,
  fullyParallel: true,
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
    // A window costs more than a page in it. Playwright empties the storage between tests, `fixtures.ts` the rest.
    reuseContext: true,
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
        // No request leaves this machine: no other name or address is resolved.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
      ],
    },
  },
});
