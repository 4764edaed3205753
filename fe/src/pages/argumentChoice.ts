/** Which arguments of events the server reads of a trace, for everybody, from now on. */
import { apiUrl, fetchJson } from "../api/client";
import { fetchUncached } from "../api/queryClient";
import { refetchRuns } from "../api/runs";
import type { Opened } from "../api/types";
import type { ArgumentPayload } from "../generated/schema";
import { formatNumber } from "../lib/format";
import { shortenMiddle } from "../lib/shorten";
import { traceQuery, type Target } from "../state/target";

const EXAMPLE_CHARS = 60;
const CATEGORIES = 3;

/** @throws ApiError when a name is malformed or there are too many. */
export async function readArguments(target: Target, names: readonly string[]): Promise<void> {
  await fetchUncached(apiUrl("read_arguments", { ...traceQuery(target), arguments: joinNames(names) }), fetchJson<Opened>);
  await refetchRuns();
}

/** The names as the server splits them again. */
export function joinNames(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(",", "\\,")).join(",");
}

/** Those that match a search, without those that have columns anyway unless `all`; read ones always. */
export function listedArguments(listed: readonly ArgumentPayload[], search: string, all: boolean): readonly ArgumentPayload[] {
  const text = search.trim().toLowerCase();
  return listed.filter(({ name, in_model: isModelled, is_read: isRead }) => name.toLowerCase().includes(text) && (all || isRead || !isModelled));
}

/** How often an argument occurs, in what events, and an example. */
export function describeArgument(argument: ArgumentPayload): string {
  const categories = Object.entries(argument.categories).sort(([, left], [, right]) => right - left);
  const names = categories.slice(0, CATEGORIES).map(([name]) => name || "no category");
  const more = categories.length > CATEGORIES ? " and others" : "";
  const located = names.length > 0 ? ` (${names.join(", ")}${more})` : "";
  const example = argument.example === null ? "" : `, such as ${shortenMiddle(argument.example, EXAMPLE_CHARS)}`;
  return `${formatNumber(argument.count)} ${argument.count === 1 ? "event" : "events"}${located}${example}`;
}
