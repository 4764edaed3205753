/** Tells of the selected slice what those who see the canvas see: its name, how long, where and when. */
import { useEffect } from "react";

import type { TimelineSlicePayload } from "../generated/schema";
import { formatMoment, formatValue } from "../lib/format";
import { namesOf, shownName, type NameMode } from "../lib/names";
import { visibleText } from "../lib/visibleText";
import { announce } from "./announce";
import { partOf, type Stack } from "./stack";

export function useAnnouncedSlice(stack: Stack, names: NameMode, slice: TimelineSlicePayload | null): void {
  const key = slice === null ? null : partOf(stack, slice.track).prefix + String(slice.id);
  useEffect(() => {
    if (slice !== null) announce(sliceSentence(stack, names, slice));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `key` stands for the slice: it arrives twice, from the screen and from its worker
  }, [key]);
}

export function sliceSentence(stack: Stack, names: NameMode, slice: TimelineSlicePayload): string {
  const { track, lane, start_ns: startNs, dur_ns: durNs } = slice;
  const home = stack.tracks.find(({ key }) => key === track);
  const group = stack.groups.find(({ key }) => key === home?.group)?.title;
  const location = [home?.title, group, home !== undefined && home.lanes > 1 ? `lane ${lane + 1} of ${home.lanes}` : undefined].filter((text) => text !== undefined);
  return `${visibleText(shownName(namesOf(slice), names))}, ${formatValue(durNs / 1000, "us")}, ${visibleText(location.join(", "))}, starts at ${formatMoment(startNs)}.`;
}
