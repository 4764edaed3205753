/** Saving from the page. Nothing leaves the browser. */

/** Offers `content` as a file to save. */
export function saveFile(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  saveUrl(name, url);
  // The click has started the download by then; a revoked address would end it in some browsers.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Offers an address (blob, data or same origin) as a file to save. */
export function saveUrl(name: string, url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = safeFileName(name);
  document.body.append(link);
  link.click();
  link.remove();
}

const MAX_CHARACTERS = 120;
const EXTENSION = /\.[a-z0-9]{1,8}$/i;

/** What Windows takes for a device, with any extension. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Of a long name so much of the end stays: that names the recording. */
const END_CHARACTERS = 50;

/**
 * A file name that is safe on every system and in every shell: letters, digits, `.`, `_` and `-` only; truncation is in
 * the middle and keeps the extension.
 */
export function safeFileName(name: string): string {
  const [extension = ""] = EXTENSION.exec(name) ?? [];
  const stem = name
    .slice(0, name.length - extension.length)
    .replace(/[^A-Za-z0-9._-]+/g, "_")
    .replace(/^[_.-]+|[_.]+$/g, "");
  if (DEVICES.test(stem)) return `_${stem}${extension}`;
  const room = MAX_CHARACTERS - extension.length;
  const short = stem.length <= room ? stem : `${stem.slice(0, room - END_CHARACTERS - 1)}-${stem.slice(-END_CHARACTERS)}`;
  return (short || "export") + extension;
}

/** Puts `text` on the clipboard; false when the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The fallback inside a frame without clipboard permission. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  document.body.append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way without permission
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
