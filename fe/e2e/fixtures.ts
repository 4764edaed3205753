/** Pages that cannot reach any other machine, and fail the test when they try or when they err. */
import { test as base, expect, type Page } from "@playwright/test";

import { serve, SAMPLES, tensorboard, type Server } from "./servers";

interface Fixtures {
  /** Fails the test on a request to another machine, on an error in a page, or on script from a trace. */
  readonly guarded: Page;
}

interface WorkerFixtures {
  readonly standalone: Server;
  readonly board: Server;
}

const LOOPBACK = /^(https?|wss?):\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?\//;

export const test = base.extend<Fixtures, WorkerFixtures>({
  guarded: async ({ page }, provide) => {
    const foreign: string[] = [];
    const errors: string[] = [];
    await page.context().route(
      (url) => !LOOPBACK.test(url.href) && /^(https?|wss?):/.test(url.href),
      (route) => {
        foreign.push(route.request().url());
        return route.abort("internetdisconnected");
      },
    );
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && /Content.Security.Policy|Refused to/i.test(message.text())) errors.push(message.text());
    });
    page.on("dialog", (dialog) => {
      errors.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await provide(page);
    expect(foreign, "requests to other machines").toEqual([]);
    expect(errors, "errors in the page").toEqual([]);
  },
  standalone: [
    async ({}, provide) => {
      const server = await serve(SAMPLES);
      await provide(server);
      await server.stop();
    },
    { scope: "worker", timeout: 90_000 },
  ],
  board: [
    async ({}, provide) => {
      const server = await tensorboard(SAMPLES);
      await provide(server);
      await server.stop();
    },
    { scope: "worker", timeout: 90_000 },
  ],
});

export { expect };
