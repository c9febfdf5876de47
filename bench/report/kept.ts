/** Sections that other commands wrote into an earlier RESULTS.md, so that a run of the rest keeps them. */
const soak = '## Soak';
const kubernetes = '## Kubernetes';
const mcp = '## MCP';
const large = '## Large MCP results';
const start = '## Start';
const viewer = '## A viewer of the requests';

/** The section of a title, with it; undefined where there is none. */
function sectionOf(results: string, title: string): string | undefined {
  const begin = results.indexOf(`${title}\n`);
  if (begin < 0) return undefined;
  const end = results.indexOf('\n## ', begin + title.length);
  return (end < 0 ? results.slice(begin) : results.slice(begin, end)).trimEnd();
}

/**
 * The sections that `npm run bench:mcp`, `npm run bench:large`, `npm run bench:soak`, `npm run bench:start`,
 * `npm run bench:viewer` and `npm run scale:kube` have written.
 */
export const keptSections = (results: string): string[] =>
  [mcp, large, soak, kubernetes, start, viewer].flatMap((title) => {
    const section = sectionOf(results, title);
    return section === undefined ? [] : [section, ''];
  });

/** By how many percent resident memory rose in the soak that RESULTS.md tells of; NaN where there was none. */
export function soakRise(results: string): number {
  const section = sectionOf(results, soak) ?? '';
  return Number(/^\| resident memory, MB \|.*\| (-?[\d.]+) % \|$/m.exec(section)?.[1] ?? Number.NaN);
}

const withSection =
  (title: string) =>
  (results: string, section: readonly string[]): string => {
    const old = sectionOf(results, title);
    const rest = old === undefined ? results : results.replace(old, () => '').replaceAll(/\n{3,}/g, '\n\n');
    return `${rest.trimEnd()}\n\n${[title, '', ...section].join('\n').trimEnd()}\n`;
  };

/** RESULTS.md with the section in the place of the one before it, or at the end. */
export const withSoak = withSection(soak);
/** The same, of large results. */
export const withLarge = withSection(large);
/** The same, of the cluster. */
export const withKubernetes = withSection(kubernetes);
/** The same, of starts of the program. */
export const withStart = withSection(start);
/** The same, of a viewer of the requests. */
export const withViewer = withSection(viewer);
/** The same, of MCP. */
export const withMcp = withSection(mcp);
