/**
 * Another recording below the one the page is about, each with its own zero; both zeros are one moment on screen:
 *
 *     below=run:worker:span     the other recording
 *     zeros=5,first              the zero of this one and of the other: the start of a step, or the first event
 */
import type { Query } from "../api/client";
import type { TimelineStepsAnswer, TimelineTracksAnswer } from "../generated/schema";
import type { StackedWorker } from "./stack";

export interface Recording {
  readonly run: string;
  readonly worker: string;
  readonly span: string;
}

/** The text of the step whose start is the zero; null for the first event. */
export type Zero = string | null;

const STEP = /^\d{1,12}$/;

export function parseRecording(text: string | undefined): Recording | null {
  const parts = (text ?? "").split(":");
  if (parts.length !== 3) return null;
  try {
    const [run = "", worker = "", span = ""] = parts.map(decodeURIComponent);
    return run === "" ? null : { run, worker, span };
  } catch {
    return null; // no recording has such a name
  }
}

export function formatRecording({ run, worker, span }: Recording): string {
  return [run, worker, span].map(encodeURIComponent).join(":");
}

/** Of this recording and the other. */
export function parseZeros(text: string | undefined): readonly [Zero, Zero] {
  const zero = (each: string | undefined) => (each !== undefined && STEP.test(each) ? each : null);
  const [own, other] = (text ?? "").split(",");
  return [zero(own), zero(other)];
}

/** Null where both are the first event. */
export function formatZeros(zeros: readonly [Zero, Zero]): string | null {
  return zeros.every((zero) => zero === null) ? null : zeros.map((zero) => zero ?? "first").join(",");
}

/** The start of a step in its recording's own time; 0 for the first event; undefined where the step is missing. */
export function zeroNs(zero: Zero, steps: TimelineStepsAnswer | null): number | undefined {
  return zero === null ? 0 : steps?.ranges[0]?.start_ns;
}

export function zeroText(zero: Zero): string {
  return zero === null ? "first event" : `start of step ${zero}`;
}

/** What a recording is called next to another one. */
export function recordingTitle({ run, worker }: Pick<Recording, "run" | "worker">): string {
  return [run, worker].filter((name) => name !== "").join(" · ");
}

/** The other recording as a part of the stack. */
export function stackedRecording(recording: Recording, query: Query, tracks: TimelineTracksAnswer, zeros: readonly [Zero, Zero], zerosNs: readonly [number, number]): StackedWorker {
  return {
    worker: recordingTitle(recording),
    query,
    tracks,
    offsetNs: zerosNs[0] - zerosNs[1],
    collectives: 0,
    zero: `Another recording: its ${zeroText(zeros[1])} is drawn at the ${zeroText(zeros[0])} of the first one.`,
  };
}
