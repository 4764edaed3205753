/**
 * Translates the text in the filter field of a column, in the unit that the column shows, into clauses of the
 * filter grammar, in the base unit of the server, and back.
 *
 *     number column shown in ms:  ">100" → device_self_us>100000      "10..20" → >=10000, <=20000
 *     text column:                "gemm" → name~gemm      "!nccl" → name!~nccl      "=add" → name=add
 *                                 "=~^(conv|mm)" → name=~/^(conv|mm)/      "!=~x" → name!=~/x/
 *     any column:                 "-" → is null           "!-" → is not null
 */
import type { Column } from "../api/types";
import type { Clause, Operator } from "./grammar";
import { parseQuantity, roundNoise } from "./quantity";
import type { Scale } from "./units";

export type Parsed = { readonly clauses: Clause[] } | { readonly problem: string };

const COMPARISON = /^(>=|<=|!=|>|<|=)?\s*(.+)$/;

export function parseColumnFilter(column: Column, scale: Scale, text: string): Parsed {
  const typed = text.trim();
  if (typed === "") return { clauses: [] };
  if (typed === "-" || typed === "–") return { clauses: [clause(column, "=", "-")] };
  if (typed === "!-") return { clauses: [clause(column, "!=", "-")] };
  if (column.type === "boolean") return parseBoolean(column, typed);
  return column.type === "string" ? parseText(column, typed) : parseNumber(column, scale, typed);
}

function clause(column: Column, operator: Operator, value: string): Clause {
  return { key: column.key, operator, value };
}

function parseBoolean(column: Column, typed: string): Parsed {
  if (/^(y|yes|true)$/i.test(typed)) return { clauses: [clause(column, "=", "yes")] };
  if (/^(n|no|false)$/i.test(typed)) return { clauses: [clause(column, "=", "no")] };
  return { problem: "yes or no" };
}

function parseText(column: Column, typed: string): Parsed {
  if (typed.startsWith("!=~")) return { clauses: [clause(column, "!=~", typed.slice(3))] };
  if (typed.startsWith("=~")) return { clauses: [clause(column, "=~", typed.slice(2))] };
  if (typed.startsWith("!=")) return { clauses: [clause(column, "!=", typed.slice(2).trim())] };
  if (typed.startsWith("!") && typed.length > 1) return { clauses: [clause(column, "!~", typed.slice(1).trim())] };
  if (typed.startsWith("=") && typed.length > 1) return { clauses: [clause(column, "=", typed.slice(1).trim())] };
  return { clauses: [clause(column, "~", typed)] };
}

function parseNumber(column: Column, scale: Scale, typed: string): Parsed {
  const range = typed.split("..");
  if (range.length === 2) {
    const low = baseNumber(column, scale, range[0] ?? "");
    const high = baseNumber(column, scale, range[1] ?? "");
    if (low === null || high === null) return { problem: "a range like 10..20" };
    return { clauses: [clause(column, ">=", low), clause(column, "<=", high)] };
  }
  const [, operator = "=", rest = ""] = COMPARISON.exec(typed) ?? [];
  const value = baseNumber(column, scale, rest);
  if (value === null) return { problem: "a number, >100, <=5 or 10..20" };
  return { clauses: [clause(column, operator as Operator, value)] };
}

/** The number in the base unit, as text; null when `typed` is not a number. */
function baseNumber(column: Column, scale: Scale, typed: string): string | null {
  const number = parseQuantity(typed, column.unit, scale);
  return number === null ? null : String(number);
}

/** The text to show for the clauses of one column, the reverse of {@link parseColumnFilter}. */
export function formatColumnFilter(column: Column, scale: Scale, clauses: readonly Clause[]): string {
  // A value that is not a number came from the address and is shown as it is there.
  const shown = (value: string) => (Number.isNaN(Number(value)) ? value : String(roundNoise(Number(value) / scale.divisor)));
  const [first, second] = clauses;
  if (first === undefined) return "";
  if (first.value === "-" && first.operator === "=") return "-";
  if (first.value === "-" && first.operator === "!=") return "!-";
  if (column.type === "boolean") return first.value;
  if (column.type === "string") {
    const prefix = { "~": "", "!~": "!", "=": "=", "!=": "!=", "=~": "=~", "!=~": "!=~" }[first.operator as string] ?? "";
    // The blank keeps "= ~x" from being read as a regular expression.
    return `${prefix}${prefix.endsWith("=") && first.value.startsWith("~") ? " " : ""}${first.value}`;
  }
  if (first.operator === ">=" && second?.operator === "<=") return `${shown(first.value)}..${shown(second.value)}`;
  return (first.operator === "=" ? "" : first.operator) + shown(first.value);
}
