import { defineConfig } from "@playwright/test";

import tests from "./playwright.config";

/** Pictures of the pages for the documentation, taken by the browser that runs the tests. */
export default defineConfig(tests, {
  testMatch: "pictures.ts",
  globalSetup: undefined,
  workers: 1,
  use: { viewport: { width: 1280, height: 800 } },
});
