/** Which of the arguments that a file has are listed. */
import type { RecordedArgumentPayload } from "../generated/schema";

/** Of a value so much is shown at first. */
export const FIRST_CHARS = 400;

export interface Listed {
  readonly listed: readonly RecordedArgumentPayload[];
  /** How many of the others there are: the panel tells them in words of its own. */
  readonly hidden: number;
}

/** Those that the trace does not know, or all. */
export function listedArguments(recorded: readonly RecordedArgumentPayload[], all: boolean): Listed {
  const listed = all ? recorded : recorded.filter(({ in_model: isKnown }) => !isKnown);
  return { listed, hidden: recorded.length - listed.length };
}
