/**
 * The state of the page as the fragment of its address: everything that decides what is on screen.
 *
 * Standalone, the fragment is that of the page: `#run=a&view=kernels`. Inside TensorBoard the page is a frame: its
 * fragment makes back and forward work, and TensorBoard's fragment holds a copy,
 * `#pytorch_profiler&p.pytorch_profiler.run=a`, the form TensorBoard itself reads and writes for
 * plugins, so that reload and a copied link work too. That copy replaces and never pushes, so that
 * TensorBoard's own routing sees no navigation.
 */
export type Params = Readonly<Record<string, string>>;

/** `#a=1&b=x%20y` → { a: "1", b: "x y" }. */
export function parseFragment(fragment: string): Params {
  return Object.fromEntries(pairs(fragment));
}

export function formatFragment(params: Params): string {
  return Object.entries(params)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encode(value)}`)
    .join("&");
}

/** The part of TensorBoard's fragment that is this plugin's. */
export function parseHostFragment(fragment: string, plugin: string): Params {
  const prefix = `p.${plugin}.`;
  return Object.fromEntries(
    pairs(fragment).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    ),
  );
}

/** TensorBoard's fragment with this plugin's part replaced and everything else as it was. */
export function mergeHostFragment(fragment: string, plugin: string, params: Params): string {
  const prefix = `p.${plugin}.`;
  const others = fragment
    .replace(/^#/, "")
    .split("&")
    .filter((part) => part !== "" && !decode(part.split("=")[0] ?? "").startsWith(prefix));
  const pluginParts = Object.entries(params).map(
    ([key, value]) => `${encodeURIComponent(prefix + key)}=${encodeURIComponent(value)}`,
  );
  return `#${[...others, ...pluginParts].join("&")}`;
}

/** Whether TensorBoard shows this plugin now: its fragment names the active tab without a value. */
export function isActiveTab(fragment: string, plugin: string): boolean {
  return fragment.replace(/^#/, "").split("&")[0] === plugin;
}

function pairs(fragment: string): [string, string][] {
  return fragment
    .replace(/^#/, "")
    .split("&")
    .flatMap((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [] : [[decode(part.slice(0, at)), decode(part.slice(at + 1))] as [string, string]];
    });
}

/** A link truncated in the middle of an escape must not break the page. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Like encodeURIComponent, but leaves characters readable that are legal in a fragment and common in values. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/%(?:3A|2C|2F|3B)/g, decodeURIComponent);
}
