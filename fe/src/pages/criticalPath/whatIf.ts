/** A change of the critical path, as the address and the server name it: `aten::mm:halve`. */

export const WAYS = ["halve", "remove", "overlap"] as const;
export type Way = (typeof WAYS)[number];

export interface WhatIf {
  readonly name: string;
  readonly way: Way;
}

export const WAY_TITLES: Readonly<Record<Way, string>> = {
  halve: "took half as long",
  remove: "were not there",
  overlap: "ran beside the rest",
};

export function parseWhatIf(text: string | undefined): WhatIf | null {
  const at = text?.lastIndexOf(":") ?? -1;
  if (text === undefined || at <= 0) return null;
  const way = WAYS.find((each) => each === text.slice(at + 1));
  return way === undefined ? null : { name: text.slice(0, at), way };
}

export function formatWhatIf({ name, way }: WhatIf): string {
  return `${name}:${way}`;
}
