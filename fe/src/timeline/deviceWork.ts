/** Whether a trace tells of work on a device: without, a device time of 0 µs would claim what nobody measured. */
import type { TimelineTrackPayload } from "../generated/schema";

export const NO_DEVICE_WORK = "The recording holds no device work (CPU-only, or the device was not profiled).";

export function hasDeviceWork(tracks: readonly TimelineTrackPayload[]): boolean {
  return tracks.some(({ kind }) => kind === "merged" || kind === "device_stream");
}
