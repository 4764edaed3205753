/**
 * Long kernel names carry what tells them apart at both ends; so the middle goes.
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

/**
 * The last parts of a path tell it apart; so the beginning goes.
 *
 *     shortenPath("/Model_0/Layer_3/Linear_25/aten::addmm", 25) → "…/Linear_25/aten::addmm"
 */
export function shortenPath(text: string, length: number): string {
  const points = Array.from(text);
  if (points.length <= length) return text;
  const tail = points.slice(points.length - Math.max(length - 1, 1));
  // A part is whole where that costs less than half of the room.
  const slash = tail.indexOf("/");
  return `…${tail.slice(slash > 0 && slash < tail.length / 2 ? slash : 0).join("")}`;
}

/**
 * Several names shortened so that those that differ still do: where the ends are alike, a piece of the middle
 * stays, from where they begin to differ.
 *
 *     ["kernel<4, AddFunctor<float>>(int)", "kernel<4, MulFunctor<float>>(int)"] to 24
 *     → ["kernel<…AddFunctor…(int)", "kernel<…MulFunctor…(int)"]
 */
export function shortenApart(names: readonly string[], length: number): string[] {
  const short = new Map(names.map((name) => [name, shortenMiddle(name, length)]));
  for (const alike of groups([...short.keys()], (name) => short.get(name) ?? "")) {
    if (alike.length > 1) tellApart(alike, length, short);
  }
  return names.map((name) => short.get(name) ?? name);
}

function groups(names: readonly string[], key: (name: string) => string): string[][] {
  const groups = new Map<string, string[]>();
  for (const name of names) groups.set(key(name), [...(groups.get(key(name)) ?? []), name]);
  return [...groups.values()];
}

/** Those that still look alike differ further on: each round goes there. */
function tellApart(names: readonly string[], length: number, short: Map<string, string>): void {
  const all = names.map((name) => Array.from(name));
  const [first = []] = all;
  const different = first.findIndex((character, place) => all.some((points) => points[place] !== character));
  const from = different < 0 ? first.length : different;
  all.forEach((points, place) => short.set(names[place] ?? "", withMiddle(points, from, length)));
  for (const alike of groups(names, (name) => short.get(name) ?? "")) {
    if (alike.length > 1 && alike.length < names.length) tellApart(alike, length, short);
  }
}

const HEAD_SHARE = 0.3;
const TAIL_SHARE = 0.15;

/** Head, the piece from the beginning of the word that holds place `from`, and tail. */
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
