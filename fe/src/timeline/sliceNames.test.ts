/** Cases: a page, several pages, codes without a name, many screens at once, an error. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { SliceNames } from "./sliceNames";
import { NO_NAME } from "./tile";

const NAMES = new Map([
  [2, "aten::add"],
  [5, "gemm"],
  [9, "nccl"],
]);
const SHORT = new Map([[5, "gemm f16"]]);
const DEMANGLED = new Map([[5, "void gemm<half>()"]]);
/** Names of one page of the server. */
const PAGE = 2;

let requests: string[];

beforeEach(() => {
  requests = [];
  const answer = (url: string) => {
    const from = new URL(url).searchParams.get("from") ?? "";
    requests.push(from);
    const rest = [...NAMES.keys()].filter((code) => code >= Number(from));
    const codes = rest.slice(0, PAGE);
    return Promise.resolve(new Response(JSON.stringify({ codes, names: codes.map((code) => NAMES.get(code)), short_names: codes.map((code) => SHORT.get(code) ?? null), demangled_names: codes.map((code) => DEMANGLED.get(code) ?? null), next: rest[PAGE] ?? null })));
  };
  vi.stubGlobal("fetch", vi.fn(answer));
});
afterEach(() => vi.unstubAllGlobals());

/** What a screen with these codes is named by, and how often there was news. */
async function named(...codes: number[]): Promise<{ texts: (string | null)[]; shorts: (string | null)[]; demangleds: (string | null)[]; news: number }> {
  const row = Uint32Array.from(codes);
  const texts: (string | null)[] = codes.map(() => null);
  const shorts = codes.map((): string | null => null);
  const demangleds = codes.map((): string | null => null);
  let news = 0;
  const names = new SliceNames({ run: "r" }, () => {
    news += 1;
    names.fill({ names: texts, shortNames: shorts, demangledNames: demangleds }, row);
    names.requestMissing(texts, row);
  });
  names.requestMissing(texts, row);
  names.requestMissing(texts, row);
  await vi.waitFor(() => expect(names.isFetching).toBe(false));
  return { texts, shorts, demangleds, news };
}

it("requests a page of names once", async () => {
  expect(await named(5, 2)).toEqual({ texts: ["gemm", "aten::add"], shorts: ["gemm f16", null], demangleds: ["void gemm<half>()", null], news: 1 });
  expect(requests).toEqual(["2"]);
});

it("requests the next page while a name is missing", async () => {
  expect(await named(9, 2, 2)).toMatchObject({ texts: ["nccl", "aten::add", "aten::add"], news: 2 });
  expect(requests).toEqual(["2", "9"]);
});

it("requests nothing for boxes without a name, and a code without a name only once", async () => {
  expect(await named(NO_NAME)).toMatchObject({ texts: [null], news: 0 });
  expect(await named(3, 4, 5, 77)).toMatchObject({ texts: [null, null, "gemm", null] });
  expect(requests).toEqual(["3"]);
});

it("leaves slices without text where the server refuses", async () => {
  vi.stubGlobal("fetch", vi.fn(() => Promise.resolve(new Response("{}", { status: 500 }))));
  expect(await named(5)).toMatchObject({ texts: [null], news: 0 });
});
