import { afterEach, describe, expect, it, vi } from "vitest";

import { handOver, PERFETTO_ORIGIN } from "./perfetto";

const TRACE = { buffer: new ArrayBuffer(3), title: "run", fileName: "run.json" };

interface Listener {
  (event: { source: unknown; origin: string; data: unknown }): void;
}

/** A window with listeners, as far as the protocol needs one. */
function stage() {
  const listeners = new Set<Listener>();
  vi.stubGlobal("window", {
    addEventListener: (_: string, listener: Listener) => listeners.add(listener),
    removeEventListener: (_: string, listener: Listener) => listeners.delete(listener),
  });
  return { listeners, send: (source: unknown, origin: string, data: unknown) => listeners.forEach((listener) => listener({ source, origin, data })) };
}

function page(closed = false) {
  return { closed, postMessage: vi.fn() };
}

describe("the hand-over to Perfetto", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("pings until the page answers, then passes it the trace, to its origin only", async () => {
    vi.useFakeTimers();
    const { listeners, send } = stage();
    const perfetto = page();
    const done = handOver(perfetto as unknown as Window, TRACE);
    await vi.advanceTimersByTimeAsync(350);
    expect(perfetto.postMessage.mock.calls).toEqual([
      ["PING", PERFETTO_ORIGIN],
      ["PING", PERFETTO_ORIGIN],
      ["PING", PERFETTO_ORIGIN],
    ]);
    send(perfetto, "https://evil.example", "PONG");
    send({}, PERFETTO_ORIGIN, "PONG");
    send(perfetto, PERFETTO_ORIGIN, "PING");
    expect(listeners.size).toBe(1);
    send(perfetto, PERFETTO_ORIGIN, "PONG");
    expect(await done).toBe("handed");
    expect(perfetto.postMessage).toHaveBeenLastCalledWith({ perfetto: TRACE }, PERFETTO_ORIGIN);
    expect(listeners.size).toBe(0);
  });

  it("gives up on a page that does not answer, and passes it nothing", async () => {
    vi.useFakeTimers();
    const { listeners } = stage();
    const perfetto = page();
    const done = handOver(perfetto as unknown as Window, TRACE, 1000);
    await vi.advanceTimersByTimeAsync(1500);
    expect(await done).toBe("silent");
    expect(perfetto.postMessage).not.toHaveBeenCalledWith({ perfetto: TRACE }, PERFETTO_ORIGIN);
    expect(listeners.size).toBe(0);
  });

  it("notices a page that was closed", async () => {
    vi.useFakeTimers();
    stage();
    const done = handOver(page(true) as unknown as Window, TRACE);
    await vi.advanceTimersByTimeAsync(150);
    expect(await done).toBe("closed");
  });
});
