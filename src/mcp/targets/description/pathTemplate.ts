import { DescriptionError } from './descriptionText.ts';

/** Pieces of a template: texts as they go over the wire, and names of parameters between them. */
export type TemplatePiece = { readonly text: string } | { readonly parameter: string };

/** Splits a template at its parameters. */
export const templatePieces = (path: string): readonly TemplatePiece[] =>
  path
    .split(/(\{[^{}]*\})/)
    .filter((piece) => piece !== '')
    .map((piece) => (piece.startsWith('{') ? { parameter: piece.slice(1, -1) } : { text: piece }));

/** A path that is encoded more often than this is no name that anybody means. */
const maxRounds = 5;

/** Does the text have a part that leads out of its folder, for any server? Servers decode paths, some of them twice. */
export function leavesFolder(path: string): boolean {
  let text = path;
  for (let round = 0; round < maxRounds; round++) {
    if (text.split(/[/\\]/).some((part) => /^\.\.?(?:;|$)/.test(part))) return true;
    const once = decodedOnce(text);
    if (once === text) return false;
    text = once;
  }
  return true;
}

/** Decodes the ASCII characters of a text once. */
const decodedOnce = (text: string): string =>
  text.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/**
 * The template as it is used: its fixed parts go over the wire as they are.
 * @throws DescriptionError
 */
export function readTemplate(path: string): { readonly path: string; readonly names: readonly string[] } {
  if (!path.startsWith('/')) throw new DescriptionError('the path does not begin with a slash');
  const pieces = templatePieces(path);
  const names = pieces.flatMap((piece) => ('parameter' in piece ? [piece.parameter] : []));
  if (new Set(names).size !== names.length) throw new DescriptionError('the path names a parameter twice');
  const texts = pieces.map((piece) => ('text' in piece ? fixed(piece.text) : `{${piece.parameter}}`));
  if (leavesFolder(pieces.map((piece) => ('text' in piece ? piece.text : 'x')).join('')))
    throw new DescriptionError('the path has a part . or ..');
  return { path: texts.join(''), names };
}

function fixed(text: string): string {
  if (/[?#{}\\\u0000- \u007f]/.test(text))
    throw new DescriptionError('the path has a character that no path can have');
  if (!text.isWellFormed()) throw new DescriptionError('the path is no valid text');
  return encodeURI(text).replaceAll('%25', '%');
}
