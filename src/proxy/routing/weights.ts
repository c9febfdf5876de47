/** An item with its share of the traffic. */
export interface Weighted<T> {
  readonly weight: number;
  readonly value: T;
}

/** Draws by weight. @returns undefined where nothing has a weight above 0 */
export function byWeight<T>(entries: readonly Weighted<T>[]): (() => T) | undefined {
  const live = entries.filter(({ weight }) => weight > 0);
  const [first] = live;
  if (first === undefined) return undefined;
  if (live.length === 1) return () => first.value;
  const total = live.reduce((sum, { weight }) => sum + weight, 0);
  return () => {
    let ticket = Math.random() * total;
    let index = 0;
    while (index < live.length - 1 && (ticket -= (live[index] as Weighted<T>).weight) >= 0) index++;
    return (live[index] as Weighted<T>).value;
  };
}
