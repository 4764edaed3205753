/** The table of an answer in the form that the tables of pages need. */
import type { Table, View } from "../../api/types";

export const ANSWER = "answer";
const NULL_REASON = "Null: the query gives no value here, or the recording has none.";
/** Keys that the address can name in a filter or an order. */
const PLAIN_KEY = /^[A-Za-z_]\w{0,79}$/;
const MAX_KEY_CHARACTERS = 60;

/** With a reason of nulls, and keys of computed columns, such as `round(avg(x), 2)`, that an address can hold. */
export function answerTable({ tables }: View): Table | null {
  const table = tables[ANSWER];
  if (table === undefined) return null;
  const keys = new Set<string>();
  const reasons: Record<string, string> = {};
  const columns = table.columns.map((column) => {
    const key = distinct(PLAIN_KEY.test(column.key) ? column.key : plainKey(column.key), keys);
    keys.add(key);
    reasons[key] = table.null_reasons[column.key] ?? NULL_REASON;
    // Two columns of one title, as of a table joined with itself, are called by their keys.
    const isAmbiguous = table.columns.some((other) => other !== column && other.title === column.title);
    return { ...column, key, title: isAmbiguous ? column.key : column.title };
  });
  return { ...table, columns, null_reasons: reasons };
}

/** "round(avg(x), 2)" → "round_avg_x_2". */
function plainKey(key: string): string {
  const words = key.match(/\w+/g)?.join("_") ?? "";
  const plain = words.replace(/\W/g, "").slice(0, MAX_KEY_CHARACTERS);
  return /^[A-Za-z_]/.test(plain) ? plain : `column_${plain}`.replace(/_$/, "");
}

function distinct(key: string, taken: ReadonlySet<string>): string {
  let result = key;
  for (let number = 2; taken.has(result); number++) result = `${key}_${number}`;
  return result;
}
