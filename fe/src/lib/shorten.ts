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
