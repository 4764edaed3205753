/**
 * Text of a trace, safe to display: invisible characters (bidirectional and zero-width controls among them)
 * become marks, so that a name reads as it was recorded. So do halves of surrogate pairs and U+FFFE, which no XML may hold.
 *
 *     visibleText("a\u202eb") → "a⟨U+202E⟩b"
 *
 * For display only: copies, exports and requests have the original text.
 */
const UNSEEN = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu;

export function visibleText(text: string): string {
  return text.replace(UNSEEN, mark);
}

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
