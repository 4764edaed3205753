/** The smallest of 1, 2 and 5 times a power of ten that is at least `least`: the distance of axis ticks. */
export function roundStep(least: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((each) => each * magnitude >= least * 0.999_999) ?? 10) * magnitude;
}
