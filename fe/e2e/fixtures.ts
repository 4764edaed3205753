/** Pages that cannot reach any other machine, and fail the test when they try or when they err. */
import { test as base, expect, type Page } from "@playwright/test";

import { BOARD_URL, STANDALONE_URL } from "./globalSetup";

interface Fixtures {
  /** Fails the test on a request to another machine, on an error in a page, or on script from a trace. */
  readonly guarded: Page;
}

/** A server that `globalSetup.ts` started. */
interface RunningServer {
  readonly url: string;
}

interface WorkerFixtures {
  /** `torch-tb-profiler serve` of the samples. */
  readonly standalone: RunningServer;
  /** TensorBoard with the samples. */
  readonly board: RunningServer;
}

function running(variable: string): RunningServer {
  const url = process.env[variable];
  if (url === undefined) throw new Error(`${variable} is not set: globalSetup.ts did not run`);
  return { url };
}

const LOOPBACK = /^(https?|wss?):\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?\//;

export const test = base.extend<Fixtures, WorkerFixtures>({
  // What Playwright leaves as it was when the context is used again.
  context: async ({ context }, provide) => {
    await context.clearPermissions();
    await provide(context);
  },
  guarded: async ({ page, context }, provide) => {
    const foreign: string[] = [];
    const errors: string[] = [];
    const check = (url: string) => {
      if (/^(https?|wss?):/.test(url) && !LOOPBACK.test(url)) foreign.push(url);
    };
    // Only listens: a route would turn off the HTTP cache of the browser, which lets no request leave anyway.
    context.on("request", (request) => check(request.url()));
    page.on("websocket", (socket) => check(socket.url()));
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
  standalone: [({}, provide) => provide(running(STANDALONE_URL)), { scope: "worker" }],
  board: [({}, provide) => provide(running(BOARD_URL)), { scope: "worker" }],
});

export { expect };
