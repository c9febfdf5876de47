/** Shorter values stand in ordinary words by chance. */
const shortest = 6;

/** The line with the values of the caller taken out: a server may write them to its stderr, which goes to the log. */
export const withoutValues = (line: string, values: Readonly<Record<string, string>>): string =>
  Object.entries(values).reduce(
    (text, [name, value]) => (value.length < shortest ? text : text.replaceAll(value, () => `[${name}]`)),
    line,
  );
