/** Longest time a timer of Node can wait (2³¹ − 1 ms, about 24 days and 20 hours): a longer timer would fire at once. */
export const maxDurationMs = 2_147_483_647;

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const whole = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;
const part = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g;

/**
 * Reads a length of time such as `10s`, `1m30s`, `500ms` or `1.5h`; a bare `0` is zero.
 *
 * @returns whole milliseconds (a part of one counts as one, so that only zero is zero), or undefined where the text
 *   is not a duration or is longer than `maxDurationMs`.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (text.length > 64 || !whole.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(part))
    total += Number(amount) * (units[unit ?? ''] ?? Number.NaN);
  // Rounded to the nanosecond first: 1.1 s must not become 1101 ms by a floating-point remainder.
  const ms = Math.ceil(Math.round(total * 1e6) / 1e6);
  return ms <= maxDurationMs ? ms : undefined;
}

/** Writes milliseconds the way `parseDuration` reads them: `90000` becomes `1m30s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = Math.floor((ms % 60_000) / 1_000);
  const rest = ms % 1_000;
  return [
    hours > 0 ? `${hours}h` : '',
    minutes > 0 ? `${minutes}m` : '',
    seconds > 0 ? `${seconds}s` : '',
    rest > 0 ? `${rest}ms` : '',
  ].join('');
}
