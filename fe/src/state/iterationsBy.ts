/**
 * What cuts a trace into iterations, as `iterations_by=` says it: its steps (nothing), `auto`, or the calls of
 * a key node, which end where those end (`name:aten::conv2d`) or where they start (`start:aten::conv2d`).
 */
export type Cut =
  | { readonly kind: "steps" }
  | { readonly kind: "auto" }
  | { readonly kind: "name" | "start"; readonly name: string };

export const STEPS: Cut = { kind: "steps" };

/** Null for a text that means nothing: the server says so. */
export function parseCut(text: string | undefined): Cut | null {
  if (text === undefined || text === "steps") return STEPS;
  if (text === "auto") return { kind: "auto" };
  const [, kind, name] = /^(name|start):([^]+)$/.exec(text) ?? [];
  return kind === undefined || name === undefined ? null : { kind: kind as "name" | "start", name };
}

/** For the address; null for the steps, which need no word. */
export function formatCut(cut: Cut): string | null {
  switch (cut.kind) {
    case "steps":
      return null;
    case "auto":
      return "auto";
    default:
      return `${cut.kind}:${cut.name}`;
  }
}

/** "Iterations by aten::conv2d", or null for the steps of the trace. */
export function cutText(text: string | undefined): string | null {
  const cut = parseCut(text);
  if (cut === null) return `Iterations by “${text ?? ""}”`;
  if (cut.kind === "steps") return null;
  if (cut.kind === "auto") return "Iterations found automatically";
  return cut.kind === "name" ? `Iterations by ${cut.name}` : `Iterations from ${cut.name} on`;
}
