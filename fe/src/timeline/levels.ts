/**
 * Modules, user ranges and scopes of operators as tracks by level, as the address has it and the server takes it:
 *
 *     levels=modules:3,ranges:2
 */
export const LEVELLED = ["modules", "ranges", "scopes"] as const;
export type Levelled = (typeof LEVELLED)[number];
export type Depths = Readonly<Record<Levelled, number>>;

/** As many as the server has. */
export const MAX_LEVELS = 8;
const NONE: Depths = { modules: 0, ranges: 0, scopes: 0 };

/** Keys of such tracks begin with it. */
export const LEVELS_PREFIX = "levels.";

export function parseLevels(text: string | undefined): Depths {
  const depths: Record<Levelled, number> = { ...NONE };
  for (const part of (text ?? "").split(",")) {
    const [name, depth] = part.split(":");
    const levelled = LEVELLED.find((each) => each === name);
    if (levelled !== undefined && /^\d$/.test(depth ?? "")) depths[levelled] = Math.min(Number(depth), MAX_LEVELS);
  }
  return depths;
}

/** Null where none is shown. */
export function formatLevels(depths: Depths): string | null {
  return LEVELLED.filter((name) => depths[name] > 0).map((name) => `${name}:${depths[name]}`).join(",") || null;
}
