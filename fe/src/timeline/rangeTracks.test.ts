import { describe, expect, it } from "vitest";

import { formatOver, keysOnScreen, MAX_OVER, parseOver, tracksOver, tracksText } from "./rangeTracks";

describe("the tracks that a range was dragged over", () => {
  it("are parsed from the address, for that range only", () => {
    const text = formatOver("10-20", tracksOver(["t0.operators", "t4.work"], "", 41));
    expect(text).toBe("10-20:t0.operators,t4.work");
    expect(parseOver(text ?? "", "10-20")).toEqual(["t0.operators", "t4.work"]);
    expect(parseOver(text ?? "", "10-21")).toBeNull();
    expect(parseOver(text ?? "", undefined)).toBeNull();
  });

  it("are those of the worker of the summary", () => {
    const over = tracksOver(["rank%201/t0.work", "rank%202/t0.work"], "rank%202/", 9);
    expect(formatOver("1-2", over)).toBe("1-2:t0.work");
    expect([...(keysOnScreen(over, "rank%202/") ?? [])]).toEqual(["rank%202/t0.work"]);
    expect(keysOnScreen(null, "rank%202/")).toBeNull();
  });

  it("are all where the drag was over none, over each, or over too many", () => {
    expect(tracksOver(null, "", 9)).toBeNull();
    expect(formatOver("1-2", null)).toBeNull();
    expect(tracksOver(["a", "b"], "", 2)).toBeNull();
    const many = Array.from({ length: MAX_OVER + 1 }, (_, n) => `t${n}.work`);
    expect(tracksOver(many, "", 9999)).toBeNull();
    expect(parseOver(`1-2:${many.join(",")}`, "1-2")).toBeNull();
  });

  it("are not arbitrary text", () => {
    expect(parseOver("1-2:<b>,t0.work&x=1,T9", "1-2")).toBeNull();
    expect(parseOver("1-2:<b>,t0.work", "1-2")).toEqual(["t0.work"]);
  });

  it("are counted", () => {
    expect(tracksText(["a", "b", "c"], 41)).toBe("3 tracks of 41");
    expect(tracksText(["a"], 41)).toBe("1 track of 41");
    expect(tracksText(null, 41)).toBe("all 41 tracks");
  });
});
