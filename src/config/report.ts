import { formatPath, type Path } from './path.ts';
import type { Problem } from './problem.ts';
import type { Tree } from './tree.ts';

/** Notes a problem at a path of the document. */
export type Report = (path: Path, part: 'key' | 'value', message: string, hint?: string) => void;

export function reporter(tree: Tree, file: string, into: Problem[]): Report {
  return (path, part, message, hint) => {
    const problem = { file, ...tree.place(path, part), path: formatPath(path), message };
    into.push(hint === undefined ? problem : { ...problem, hint });
  };
}
