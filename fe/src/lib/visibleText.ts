/**
 * Text of a trace as a page may show it: characters that act without being seen (bidirectional and
 * zero-width controls among them) stand as marks, so that a name reads as it was recorded.
 *
 *     visibleText("a\u202eb") → "a⟨U+202E⟩b"
 *
 * For showing only: what is copied, exported or asked for stays as it is.
 */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu;

export function visibleText(text: string): string {
  return text.replace(UNSEEN, mark);
}

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
