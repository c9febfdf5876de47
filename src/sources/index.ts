export { loadFile, loadText, type LoadOptions, type LoadResult } from './file/load.ts';
export { renderProblem, type Problem } from './file/problem.ts';
