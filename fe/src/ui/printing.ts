/** Tells when the page is about to be printed, and when that is over; returns what stops it. */
export function onPrinting(listener: (printing: boolean) => void): () => void {
  const onBefore = () => listener(true);
  const onAfter = () => listener(false);
  window.addEventListener("beforeprint", onBefore);
  window.addEventListener("afterprint", onAfter);
  return () => {
    window.removeEventListener("beforeprint", onBefore);
    window.removeEventListener("afterprint", onAfter);
  };
}
