const title = '## Soak';

/** The section that `npm run bench:soak` wrote into an earlier RESULTS.md, so that a run of the rest keeps it. */
export function keptSoak(results: string): string[] {
  const start = results.indexOf(`${title}\n`);
  if (start < 0) return [];
  const end = results.indexOf('\n## ', start + title.length);
  return [(end < 0 ? results.slice(start) : results.slice(start, end)).trimEnd(), ''];
}

/** RESULTS.md with the section in the place of the one before it, or at the end. */
export function withSoak(results: string, section: readonly string[]): string {
  const [old] = keptSoak(results);
  const rest = old === undefined ? results : results.replace(old, () => '');
  return `${rest.trimEnd()}\n\n${[title, '', ...section].join('\n').trimEnd()}\n`;
}
