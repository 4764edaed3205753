/** A hypothetical change of the critical path, in the format of the address and the server: `aten::mm:halve`. */

export const EFFECTS = ["halve", "remove", "overlap"] as const;
export type Effect = (typeof EFFECTS)[number];

export interface WhatIf {
  readonly name: string;
  readonly effect: Effect;
}

export const EFFECT_TITLES: Readonly<Record<Effect, string>> = {
  halve: "took half as long",
  remove: "cost nothing",
  overlap: "were fully overlapped",
};

export function parseWhatIf(text: string | undefined): WhatIf | null {
  const at = text?.lastIndexOf(":") ?? -1;
  if (text === undefined || at <= 0) return null;
  const effect = EFFECTS.find((each) => each === text.slice(at + 1));
  return effect === undefined ? null : { name: text.slice(0, at), effect };
}

export function formatWhatIf({ name, effect }: WhatIf): string {
  return `${name}:${effect}`;
}

/** The effect of this name, the first one for other texts. */
export function effectOf(text: string): Effect {
  return EFFECTS.find((effect) => effect === text) ?? "halve";
}
