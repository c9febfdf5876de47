/** A minute and a value. */
export type Point = readonly [number, number];

/**
 * The least value of each half minute that was over at `end`: what is left between two collections. Of one that had only
 * begun there is a single value, which may lie anywhere between two collections.
 */
export function floors(points: readonly Point[], end: number): Point[] {
  const least = new Map<number, Point>();
  for (const point of points) {
    const half = Math.floor(point[0] * 2);
    if (half + 1 > end * 2) continue;
    const known = least.get(half);
    if (known === undefined || point[1] < known[1]) least.set(half, point);
  }
  return [...least.values()];
}

/** Rise of the straight line of least squares from the first to the last point, as a share of its mean. */
export function growth(points: readonly Point[]): number {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 3) return Number.NaN;
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const covariance = points.reduce((sum, [minute, value]) => sum + (minute - x) * (value - y), 0);
  const variance = points.reduce((sum, [minute]) => sum + (minute - x) ** 2, 0);
  return ((covariance / variance) * (last[0] - first[0])) / y;
}
