/** The names of `tests/data/hostile_names.json`, for tests: every export of the pages is tested with all of them. */
import { readFileSync } from "node:fs";

interface Entry {
  readonly text: string;
  readonly times?: number;
}

// Read, not imported: no import takes the halves of surrogate pairs in it.
const { names } = JSON.parse(readFileSync(`${import.meta.dirname}/../../../tests/data/hostile_names.json`, "utf8")) as { names: readonly Entry[] };

export const HOSTILE_NAMES: readonly string[] = names.map(({ text, times = 1 }) => text.repeat(times));
