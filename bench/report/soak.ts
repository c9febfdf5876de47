const title = '## Soak';

/** The section that `npm run bench:soak` wrote into an earlier RESULTS.md, so that a run of the rest keeps it. */
export function keptSoak(results: string): string[] {
  const start = results.indexOf(`${title}\n`);
  if (start < 0) return [];
  const end = results.indexOf('\n## ', start + title.length);
  return [(end < 0 ? results.slice(start) : results.slice(start, end)).trimEnd(), ''];
}

/** By how many percent resident memory rose in the run that RESULTS.md tells of; NaN where there was none. */
export function soakRise(results: string): number {
  const [section = ''] = keptSoak(results);
  return Number(/^\| resident memory, MB \|.*\| (-?[\d.]+) % \|$/m.exec(section)?.[1] ?? Number.NaN);
}

/** RESULTS.md with the section in the place of the one before it, or at the end. */
export function withSoak(results: string, section: readonly string[]): string {
  const [old] = keptSoak(results);
  const rest = old === undefined ? results : results.replace(old, () => '');
  return `${rest.trimEnd()}\n\n${[title, '', ...section].join('\n').trimEnd()}\n`;
}
