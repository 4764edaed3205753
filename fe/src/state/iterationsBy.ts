/**
 * How a trace is split into iterations, `iterations_by=` in the address: by its steps (no parameter), `auto`, or at
 * the calls of a key node: where these end (`name:aten::conv2d`) or where they start (`start:aten::conv2d`).
 */
export type IterationsBy =
  | { readonly kind: "steps" }
  | { readonly kind: "auto" }
  | { readonly kind: "name" | "start"; readonly name: string };

export const STEPS: IterationsBy = { kind: "steps" };

/** Null for an invalid text: the server reports it. */
export function parseIterationsBy(text: string | undefined): IterationsBy | null {
  if (text === undefined || text === "steps") return STEPS;
  if (text === "auto") return { kind: "auto" };
  const [, kind, name] = /^(name|start):([^]+)$/.exec(text) ?? [];
  return kind === undefined || name === undefined ? null : { kind: kind as "name" | "start", name };
}

/** For the address; null for the steps, which are the default. */
export function formatIterationsBy(iterationsBy: IterationsBy): string | null {
  switch (iterationsBy.kind) {
    case "steps":
      return null;
    case "auto":
      return "auto";
    default:
      return `${iterationsBy.kind}:${iterationsBy.name}`;
  }
}

/** "Iterations by aten::conv2d", or null for the steps of the trace. */
export function iterationsByText(text: string | undefined): string | null {
  const iterationsBy = parseIterationsBy(text);
  if (iterationsBy === null) return `Iterations by “${text ?? ""}”`;
  if (iterationsBy.kind === "steps") return null;
  if (iterationsBy.kind === "auto") return "Iterations detected automatically";
  return iterationsBy.kind === "name" ? `Iterations by ${iterationsBy.name}` : `Iterations starting at ${iterationsBy.name}`;
}
