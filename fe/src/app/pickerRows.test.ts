import { describe, expect, it } from "vitest";

import type { Run, Span } from "../api/types";
import { dateText, pickerRows } from "./pickerRows";

const span = (name: string, more: Partial<Span> = {}): Span =>
  ({ name, file: `${name}.json`, path: `folder/${name}.json`, recorded_s: null, modified_s: null, size_bytes: 1024, state: "queued", progress: 0, error: null, ...more }) as Span;
const at = (modified_s: number) => ({ modified_s });

const RUNS: Run[] = [
  { name: "broken", workers: [{ name: "w", spans: [span("1", { state: "failed", error: { code: "c", message: "The file is cut off.", hint: "" }, ...at(9) })] }] },
  { name: "eight", workers: [0, 1, 2].map((rank) => ({ name: `rank${rank}`, spans: [span(`s${rank}`, at(5))] })) },
  { name: "one", workers: [{ name: "w", spans: [span("only", { state: "ready", ...at(7) })] }] },
];
const NOTHING = { search: "", open: new Set<string>() };
const titles = (search: string, open: string[] = []) => pickerRows(RUNS, { search, open: new Set(open) }).map(({ title }) => title);

describe("the lines of the picker", () => {
  it("are sorted by newest readable first, with date, size, file and state", () => {
    const rows = pickerRows(RUNS, NOTHING);
    expect(rows.map(({ title }) => title)).toEqual(["one", "eight", "broken"]);
    expect(rows[0]?.details).toBe(`${dateText(7)} · 1.00 KiB · only.json · read`);
    expect(rows[1]?.details).toBe(`${dateText(5)} · 3.00 KiB · 3 files · not read yet`);
    expect(rows.map(({ isOpen }) => isOpen)).toEqual([null, false, null]);
  });

  it("name the recorders of the files of a run, each once", () => {
    const labelled = (label: string | null) => span(label ?? "none", { format_label: label });
    const mixed: Run[] = [{ name: "mixed", workers: [{ name: "w", spans: ["Paddle", "PyTorch", null, "Paddle"].map(labelled) }] }];
    expect(pickerRows(mixed, NOTHING)[0]?.details).toBe("Paddle, PyTorch · 4.00 KiB · 4 files · not read yet");
  });

  it("show why a file is broken", () => {
    expect(pickerRows(RUNS, NOTHING)[2]?.problem).toBe("The file is cut off.");
    const half: Run[] = [{ name: "half", workers: [{ name: "w", spans: [span("1", { state: "failed" }), span("2", { state: "ready" })] }] }];
    expect(pickerRows(half, NOTHING)[0]?.problem).toBe("1 of 2 files cannot be read");
  });

  it("have the files of a run below it when it is open", () => {
    expect(titles("", ["eight"])).toEqual(["one", "eight", "rank0", "rank1", "rank2", "broken"]);
    const [, run, , second] = pickerRows(RUNS, { search: "", open: new Set(["eight"]) });
    expect([run?.isOpen, second?.level, second?.position, second?.count, second?.worker]).toEqual([true, 2, 2, 3, "rank1"]);
  });

  it("begin with all workers together where a view shows them", () => {
    const rows = pickerRows(RUNS, { search: "", open: new Set(["eight"]), together: "eight" });
    expect(rows.map(({ title }) => title)).toEqual(["one", "eight", "All 3 workers", "rank0", "rank1", "rank2", "broken"]);
    expect([rows[2]?.count, rows[3]?.position]).toEqual([4, 2]);
  });

  it("are those that contain every word, in any order", () => {
    expect(titles("EIGHT")).toEqual(["eight"]);
    expect(titles("rank1")).toEqual(["eight", "rank1"]);
    expect(titles("eight s2")).toEqual(["eight", "rank2"]);
    expect(titles("nowhere")).toEqual([]);
  });

  it("distinguish spans of one worker, and mark invisible characters in a name", () => {
    const runs: Run[] = [{ name: "a\u202eb", workers: [{ name: "w", spans: [span("1"), span("2")] }] }];
    const rows = pickerRows(runs, { search: "", open: new Set(["a\u202eb"]) });
    expect(rows.map(({ title }) => title)).toEqual(["a⟨U+202E⟩b", "w ▸ Span 1", "w ▸ Span 2"]);
  });

  it("are fast for a thousand ranks", () => {
    const many: Run[] = [{ name: "many", workers: Array.from({ length: 1000 }, (_, rank) => ({ name: `rank${rank}`, spans: [span("1")] })) }];
    expect(pickerRows(many, { search: "rank999", open: new Set() })).toHaveLength(2);
    expect(pickerRows(many, { search: "", open: new Set(["many"]) })).toHaveLength(1001);
  });
});
