/**
 * How a trace is split into iterations, `iterations_by=` in the address: by its steps, else a clear key node (no
 * parameter); by its steps alone, so that a recording without any is one (`steps`); by its steps, else the best key
 * node (`auto`); or at the calls of a key node: where these end (`name:aten::conv2d`) or where they start (`start:aten::conv2d`).
 */
export type IterationsBy =
  | { readonly kind: "default" }
  | { readonly kind: "steps" }
  | { readonly kind: "auto" }
  | { readonly kind: "name" | "start"; readonly name: string };

export const DEFAULT: IterationsBy = { kind: "default" };

/** Null for an invalid text: the server reports it. */
export function parseIterationsBy(text: string | undefined): IterationsBy | null {
  if (text === undefined || text === "default") return DEFAULT;
  if (text === "steps" || text === "auto") return { kind: text };
  const [, kind, name] = /^(name|start):([^]+)$/.exec(text) ?? [];
  return kind === undefined || name === undefined ? null : { kind: kind as "name" | "start", name };
}

/** For the address; null for the default. */
export function formatIterationsBy(iterationsBy: IterationsBy): string | null {
  switch (iterationsBy.kind) {
    case "default":
      return null;
    case "steps":
    case "auto":
      return iterationsBy.kind;
    default:
      return `${iterationsBy.kind}:${iterationsBy.name}`;
  }
}

/** "Iterations by aten::conv2d", or null for the default. */
export function iterationsByText(text: string | undefined): string | null {
  const iterationsBy = parseIterationsBy(text);
  if (iterationsBy === null) return `Iterations by “${text ?? ""}”`;
  if (iterationsBy.kind === "default") return null;
  if (iterationsBy.kind === "steps") return "Steps as recorded";
  if (iterationsBy.kind === "auto") return "Iterations detected automatically";
  return iterationsBy.kind === "name" ? `Iterations by ${iterationsBy.name}` : `Iterations starting at ${iterationsBy.name}`;
}
