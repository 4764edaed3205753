import { describe, expect, it } from "vitest";

import type { Table } from "../../api/types";
import { curve, MOST_HOSTS, nodeLayout, OTHER_RANKS, strokePx, UNKNOWN_HOST } from "./layout";

function table(columns: readonly string[], rows: Table["rows"]): Table {
  return { columns: columns.map((key) => ({ key })), rows, row_count: rows.length } as unknown as Table;
}

const COLUMNS = ["node", "worker", "rank", "device", "device_name", "busy_pct"];
const LINK_COLUMNS = ["source_rank", "destination_rank", "transport", "size_bytes", "bandwidth_gb_per_s"];

function devices(hosts: number, perHost: number): Table {
  const rows = Array.from({ length: hosts * perHost }, (_, rank) => [`n${Math.floor(rank / perHost)}`, `w${rank}`, rank, rank % perHost, "GPU", 50]);
  return table(COLUMNS, rows);
}

describe("the map of the nodes", () => {
  it("has a box per host, in rows that fit the width, with its devices inside", () => {
    const { hosts, isCompact, height } = nodeLayout(devices(3, 8), undefined, ["busy_pct"], 560);
    expect(hosts.map(({ name, devices: own }) => [name, own.length])).toEqual([["n0", 8], ["n1", 8], ["n2", 8]]);
    expect(isCompact).toBe(false);
    expect(hosts[1]?.y).toBe(0);
    expect(hosts[2]?.x).toBe(0);
    for (const host of hosts) {
      for (const { x, y } of host.devices) {
        expect(x).toBeGreaterThan(host.x);
        expect(x + 34).toBeLessThanOrEqual(host.x + host.width);
        expect(y + 34).toBeLessThanOrEqual(host.y + host.height);
      }
    }
    expect(height).toBe((hosts[2]?.y ?? 0) + (hosts[2]?.height ?? 0));
  });

  it("draws links by size, to ranks without a recording too", () => {
    const links = table(LINK_COLUMNS, [
      [0, 1, "HCCS", 10, 1],
      [0, 9, "RDMA", 30, null],
    ]);
    const layout = nodeLayout(devices(1, 2), links, ["busy_pct"], 800);
    expect(layout.hosts.map(({ name }) => name)).toEqual(["n0", OTHER_RANKS]);
    expect(layout.links.map(({ to, sizeBytes }) => [to.rank, sizeBytes])).toEqual([[9, 30], [1, 10]]);
    expect(layout.hidden).toBe(0);
  });

  it("is compact and without links for many hosts", () => {
    const links = table(LINK_COLUMNS, [[0, 1, "HCCS", 10, 1]]);
    const layout = nodeLayout(devices(MOST_HOSTS + 1, 8), links, ["busy_pct"], 800);
    expect(layout.isCompact).toBe(true);
    expect(layout.links).toEqual([]);
    expect(layout.hidden).toBe(1);
  });

  it("says where the host is not recorded", () => {
    const layout = nodeLayout(table(COLUMNS, [[null, "w", null, null, null, null]]), undefined, ["busy_pct"], 800);
    expect(layout.hosts.map(({ name }) => name)).toEqual([UNKNOWN_HOST]);
    expect(layout.hosts[0]?.devices[0]?.values).toEqual({ busy_pct: null });
  });

  it("bends the way back to the other side", () => {
    const [a, b] = nodeLayout(devices(1, 2), undefined, [], 800).hosts[0]?.devices ?? [];
    if (a === undefined || b === undefined) throw new Error("no devices");
    expect(curve({ from: a, to: b }, 34)).not.toBe(curve({ from: b, to: a }, 34));
    expect(strokePx(100, 100)).toBe(5);
    expect(strokePx(1, 1e6)).toBe(1);
  });
});
