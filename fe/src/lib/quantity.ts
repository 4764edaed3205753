/**
 * Parses a typed number with or without a unit.
 *
 *     parseQuantity("1.5", "us", ms) → 1500        parseQuantity("2 s", "us", ms) → 2000000
 */
import type { Unit } from "../api/types";
import { unitAliases, type Scale } from "./units";

const NUMBER = /^([+-]?(?:\d[\d\s\u202f_,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-zµ%/]*)$/i;

/**
 * The number in the base unit; null when the text is not a number.
 *
 * @param scale The scale of a number without a unit.
 */
export function parseQuantity(text: string, unit: Unit | null, scale: Scale): number | null {
  const match = NUMBER.exec(text.trim());
  if (match === null) return null;
  const [, digits = "", suffix = ""] = match;
  const number = Number(digits.replace(/[\s\u202f_,]/g, ""));
  const divisor = suffix === "" ? scale.divisor : unitAliases(unit).get(suffix.toLowerCase());
  return Number.isNaN(number) || divisor === undefined ? null : roundNoise(number * divisor);
}

/** Removes floating-point noise: 0.29 × 100 is 28.999999999999996. */
export function roundNoise(value: number): number {
  return Number(value.toPrecision(15));
}
