/** `000` … `999`. */
export const threeDigits: readonly string[] = Array.from({ length: 1_000 }, (_, n) =>
  String(n).padStart(3, '0'),
);

let second = Number.NaN;
let prefix = '';

/** RFC 3339 in UTC with milliseconds. The text of the second is kept, since most calls ask for the same one again. */
export const timestamp = (epochMs: number): string => {
  const whole = Math.floor(epochMs / 1_000);
  if (whole !== second) {
    second = whole;
    prefix = new Date(whole * 1_000).toISOString().slice(0, 20);
  }
  return `${prefix}${threeDigits[Math.floor(epochMs) - whole * 1_000] ?? '000'}Z`;
};
