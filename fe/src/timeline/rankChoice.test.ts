import { describe, expect, it } from "vitest";

import { chosenRanks, formatRanks, onePerNode, rankTitle } from "./rankChoice";

const ranked = [0, 1, 2, 8, 9].map((rank) => ({ worker: `w${rank}`, rank, node: rank < 8 ? "n0" : "n1" }));
const unranked = ["a", "b", "c"].map((worker) => ({ worker, rank: null, node: null }));
const names = (workers: readonly { readonly worker: string }[]) => workers.map(({ worker }) => worker);

describe("ranks in the address", () => {
  it.each([
    ["all", ["w0", "w1", "w2", "w8", "w9"], []],
    ["8,0", ["w0", "w8"], []],
    ["1-8", ["w1", "w2", "w8"], []],
    ["0:1, 9", ["w0", "w1", "w9"], []],
    ["3-7,0,x", ["w0"], ["3-7", "x"]],
    ["9-8", [], ["9-8"]],
    ["", [], []],
  ])("%s names workers by their ranks", (text, chosen, unknown) => {
    const result = chosenRanks(text, ranked);
    expect([names(result.chosen), result.unknown]).toEqual([chosen, unknown]);
  });

  it("counts workers where recordings declare no ranks", () => {
    expect(names(chosenRanks("1-2", unranked).chosen)).toEqual(["b", "c"]);
  });

  it("are written as ranges, and read back as the same workers", () => {
    expect(formatRanks(new Set(names(ranked)), ranked)).toBe("all");
    expect(formatRanks(new Set(["w9", "w0", "w1", "w8"]), ranked)).toBe("0-1,8-9");
    expect(formatRanks(new Set(["c"]), unranked)).toBe("2");
    for (let mask = 1; mask < 32; mask++) {
      const set = new Set(names(ranked).filter((_, index) => (mask >> index) % 2 === 1));
      expect(new Set(names(chosenRanks(formatRanks(set, ranked), ranked).chosen))).toEqual(set);
    }
  });
});

it("takes the first rank of every machine", () => {
  expect([...onePerNode(ranked)]).toEqual(["w0", "w8"]);
  expect([...onePerNode(unranked)]).toEqual(["a", "b", "c"]);
});

it("titles a band by its rank, else by its worker", () => {
  expect(ranked.map(rankTitle).slice(0, 2)).toEqual(["rank 0", "rank 1"]);
  expect(unranked.map(rankTitle)[0]).toBe("a");
});
