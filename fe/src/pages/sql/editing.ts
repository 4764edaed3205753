/** Changes of a text field that its own undo takes back, and where its caret is on the screen. */

/** Replaces a part of the text and puts the caret behind it; fires the event `input`. */
export function replaceText(area: HTMLTextAreaElement, from: number, to: number, text: string): void {
  area.focus();
  area.setSelectionRange(from, to);
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else leaves a step to undo
  const isDone = document.execCommand(text === "" ? "delete" : "insertText", false, text);
  if (isDone || from === to && text === "") return;
  area.setRangeText(text, from, to, "end");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/**
 * The box of a character in the painted copy of the text, whose children are its lines.
 * @returns Null where the line is not painted.
 */
export function characterBox(painted: HTMLElement, text: string, offset: number): DOMRect | null {
  const before = text.slice(0, offset).split("\n");
  const line = painted.children[before.length - 1];
  if (line === undefined) return null;
  let left = before.at(-1)?.length ?? 0;
  const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const node = texts.currentNode as Text;
    if (left < node.length) {
      const range = document.createRange();
      range.setStart(node, left);
      range.setEnd(node, left + 1);
      return range.getBoundingClientRect();
    }
    left -= node.length;
  }
  return line.getBoundingClientRect();
}
