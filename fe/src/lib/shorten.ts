/**
 * Shortens a text in the middle, as kernel names differ at both ends.
 *
 *     shortenMiddle("void at::native::elementwise_kernel<128, 4>(int)", 20) → "void at::na…4>(int)"
 */
export function shortenMiddle(text: string, length: number): string {
  const points = Array.from(text);
  if (points.length <= length) return text;
  const head = Math.ceil((length - 1) * 0.62);
  const tail = length - 1 - head;
  return `${points.slice(0, head).join("")}…${tail > 0 ? points.slice(-tail).join("") : ""}`;
}

/** Names of operators have a namespace; autograd nodes end in "Backward". */
export const OPERATOR_NAME = /::|Backward\d*(\(\d+\))?$/;

/**
 * Shortens a path to its last parts and the module or range that contains them, else its first part.
 *
 *     shortenPath("/Model_0/Layer_3/Attention_0/aten::linear/aten::addmm", 36) → "…/Attention_0/aten::linear/aten::addmm"
 */
export function shortenPath(text: string, length: number): string {
  const fits = (shown: string) => Array.from(shown).length <= length;
  if (fits(text)) return text;
  const parts = text.split("/").slice(1);
  const index = Math.max(0, parts.slice(0, -1).findLastIndex((part) => !OPERATOR_NAME.test(part)));
  const head = `${index === 0 ? "" : "…"}/${parts[index] ?? ""}/…/`;
  const candidates = parts.flatMap((_, from) => (from === 0 || from === index + 1 ? [] : [`${from <= index ? "…/" : head}${parts.slice(from).join("/")}`]));
  return candidates.find(fits) ?? shortenMiddle(candidates.at(-1) ?? text, length);
}

/**
 * Shortens several names so that different names stay different: where both ends are equal, a piece of the middle
 * stays, from the first difference on.
 *
 *     ["kernel<4, AddFunctor<float>>(int)", "kernel<4, MulFunctor<float>>(int)"] to 24
 *     → ["kernel<…AddFunctor…(int)", "kernel<…MulFunctor…(int)"]
 */
export function shortenDistinct(names: readonly string[], length: number): string[] {
  const short = new Map(names.map((name) => [name, shortenMiddle(name, length)]));
  for (const group of groups([...short.keys()], (name) => short.get(name) ?? "")) {
    if (group.length > 1) disambiguate(group, length, short);
  }
  return names.map((name) => short.get(name) ?? name);
}

function groups(names: readonly string[], key: (name: string) => string): string[][] {
  const groups = new Map<string, string[]>();
  for (const name of names) groups.set(key(name), [...(groups.get(key(name)) ?? []), name]);
  return [...groups.values()];
}

/** Names that still look equal differ further on: each recursion moves the piece there. */
function disambiguate(names: readonly string[], length: number, short: Map<string, string>): void {
  const all = names.map((name) => Array.from(name));
  const [first = []] = all;
  const different = first.findIndex((character, index) => all.some((points) => points[index] !== character));
  const from = different < 0 ? first.length : different;
  all.forEach((points, index) => short.set(names[index] ?? "", withMiddle(points, from, length)));
  for (const group of groups(names, (name) => short.get(name) ?? "")) {
    if (group.length > 1 && group.length < names.length) disambiguate(group, length, short);
  }
}

const HEAD_SHARE = 0.3;
const TAIL_SHARE = 0.15;

/** Head, the piece from the beginning of the word around index `from`, and tail. */
function withMiddle(points: readonly string[], from: number, length: number): string {
  const head = Math.floor(length * HEAD_SHARE);
  const tail = Math.floor(length * TAIL_SHARE);
  const room = length - head - tail - 2;
  let start = from;
  while (start > head && from - start < room / 2 && /[\p{L}\p{N}_]/u.test(points[start - 1] ?? "")) start--;
  const text = (begin: number, end?: number) => points.slice(begin, end).join("");
  if (points.length - start <= room + tail + 1) return `${text(0, head)}…${text(points.length - room - tail - 1)}`;
  return `${text(0, head)}…${text(start, start + room)}…${text(points.length - tail)}`;
}
