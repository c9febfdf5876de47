/** The time of day of a moment, with milliseconds, in the zone of the reader. */
export const clock = (time: number): string => {
  const date = new Date(time);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
};

/** How long ago a moment was: `12 s ago`, `3 min ago`, `5 h ago`, `2 d ago`. */
export const ago = (iso: string, now = Date.now()): string => {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1_000));
  if (seconds < 100) return `${seconds} s ago`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
};

/** A duration in milliseconds, in three digits or so. */
export const shortMs = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
