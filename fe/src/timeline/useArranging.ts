/** Folding, pinning, moving and filtering of tracks, by mouse and keys alike; all of it is in the address. */
import { useMemo } from "react";

import { announce } from "./announce";
import { listWith, MAX_PINNED, orderWith, togglePin, type Arrangement } from "./arrangement";
import { fold, groupKey, type Folding, type Layout, type Row } from "./layout";
import { navigate } from "../state/urlStore";
import { arrangementPatch, foldingPatch, formatStack } from "./link";
import type { Stack } from "./stack";
import { writeAddress } from "./visit";

export interface Arranging {
  readonly onFold: (key: string, open: boolean) => void;
  /** Opens or closes all at once, or restores the defaults. */
  readonly onFoldAll: (folding: Folding) => void;
  readonly onPin: (key: string) => void;
  /** Moves a row before or after one of its siblings. */
  readonly onMove: (row: Row, target: Row, isAfter: boolean) => void;
  /** Moves a row up or down by one. */
  readonly onStep: (row: Row, direction: 1 | -1) => void;
  readonly onFilter: (text: string) => void;
  /** Workers whose tracks are on screen. */
  readonly openRanks: ReadonlySet<string>;
  /** Opens the tracks of a worker that has a band, or closes them. */
  readonly onRank: (worker: string) => void;
}

export function rowKey(row: Row): string {
  return row.kind === "group" ? groupKey(row.group) : row.track.key;
}

export function rowTitle(row: Row): string {
  return row.kind === "group" ? row.group.title : row.track.title;
}

/** Whether two rows can be moved among each other: pinned tracks, tracks of one group, groups of one parent. */
export function areSiblings(one: Row, other: Row): boolean {
  if (one.kind === "group") return other.kind === "group" && one.group.parent === other.group.parent;
  return other.kind === "track" && (one.pinned ? other.pinned : !other.pinned && one.track.group === other.track.group);
}

export function useArranging(stack: Stack, layout: Layout, folding: Folding, arrangement: Arrangement): Arranging {
  return useMemo(() => {
    const apply = (change: Partial<Arrangement>) => writeAddress(arrangementPatch({ ...arrangement, ...change }));
    const openRanks = new Set(stack.parts.map((each) => each.worker));
    const onMove = (row: Row, target: Row, isAfter: boolean) => {
      if (!areSiblings(row, target)) return;
      const [key, at] = [rowKey(row), rowKey(target)];
      if (row.kind === "track" && row.pinned) apply({ pinned: listWith(arrangement.pinned, key, at, isAfter) });
      else {
        const order = orderWith(arrangement.order, siblingsOf(stack, row), key, at, isAfter);
        if (order === null) { announce("The address cannot hold so long an order. Pin the track instead."); return; }
        apply({ order });
      }
      announce(`${rowTitle(row)} moved ${isAfter ? "below" : "above"} ${rowTitle(target)}.`);
    };
    return {
      onFold: (key, open) => writeAddress(foldingPatch(fold(folding, key, open))),
      onFoldAll: (next) => {
        writeAddress(foldingPatch(next));
        announce(next.base === "all" ? "All tracks are open." : next.base === "none" ? "All tracks are closed." : "Tracks are open as by default.");
      },
      onPin: (key) => {
        const title = stack.tracks.find((track) => track.key === key)?.title ?? "";
        const pinned = togglePin(arrangement.pinned, key);
        if (pinned !== null) apply({ pinned });
        announce(pinned === null ? `${MAX_PINNED} tracks are pinned already.` : pinned.includes(key) ? `${title} is pinned to the top.` : `${title} is no longer pinned.`);
      },
      onMove,
      onStep: (row, direction) => {
        const siblings = layout.rows.filter((each) => areSiblings(row, each));
        const target = siblings[siblings.findIndex((each) => rowKey(each) === rowKey(row)) + direction];
        if (target === undefined) announce(`${rowTitle(row)} is the ${direction === 1 ? "last" : "first"} already.`);
        else onMove(row, target, direction === 1);
      },
      onFilter: (filter) => apply({ filter }),
      openRanks,
      onRank: (worker) => {
        const others = [...openRanks].slice(1);
        if (worker === stack.parts[0].worker) announce(`The tracks of ${worker} are on screen: the page is about it.`);
        else if (openRanks.has(worker)) navigate({ stack: formatStack(others.filter((each) => each !== worker)), on: null, slice: null, over: null });
        else navigate({ stack: formatStack([...others, worker]), on: worker, slice: null, over: null });
      },
    };
  }, [stack, layout, folding, arrangement]);
}

function siblingsOf(stack: Stack, row: Row): readonly string[] {
  if (row.kind === "group") return stack.groups.filter(({ parent }) => parent === row.group.parent).map(groupKey);
  return stack.tracks.filter(({ group }) => group === row.track.group).map(({ key }) => key);
}
