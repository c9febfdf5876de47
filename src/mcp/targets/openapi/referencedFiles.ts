/** Descriptions in files, whose references may lead to other files in folders that the operator names. */

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { messageOf } from '../../../errorText.ts';
import { maxFileBytes, readRegularText } from '../../../files/index.ts';
import type { OperationChoice } from '../../../model/index.ts';
import { describeLinked, type Description } from '../description/describe.ts';
import { DescriptionError } from '../description/descriptionText.ts';
import { maxDocuments } from '../description/linkedDocuments.ts';

export interface DescribedFiles extends Description {
  /** The files besides the description itself. */
  readonly files: readonly string[];
}

/**
 * Makes tools out of a description in a file, and of the files that it refers to.
 * @param folders the places where these files may be
 * @throws Error with a message for the operator
 */
export function describeFiles(
  file: string,
  folders: readonly string[],
  choice: OperationChoice,
): DescribedFiles {
  const text = readRegularText(file);
  const limit = maxFileBytes();
  let left = limit - Buffer.byteLength(text);
  const roots = folders.map(realFolder);
  const texts = new Map<string, string>();
  const files: string[] = [];
  for (;;) {
    const found = describeLinked(text, choice, { base: pathToFileURL(resolve(file)).href, texts });
    if (!('missing' in found)) return { ...found, files };
    for (const location of found.missing) {
      if (texts.size >= maxDocuments)
        throw new DescriptionError(`refers to more than ${maxDocuments} documents`);
      const path = permittedPath(location, roots);
      const one = readReferenced(path);
      left -= Buffer.byteLength(one);
      if (left < 0) throw new DescriptionError(`and the files that it refers to are over ${limit} bytes`);
      texts.set(location, one);
      files.push(path);
    }
  }
}

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    throw new DescriptionError(`the folder ${folder} of \`references\` cannot be read: ${messageOf(error)}`);
  }
}

function readReferenced(path: string): string {
  try {
    return readRegularText(path);
  } catch (error) {
    throw new DescriptionError(`the referenced file ${path}: ${messageOf(error)}`);
  }
}

/**
 * The file itself, behind all links, which has to stand in one of the folders.
 * @throws DescriptionError
 */
function permittedPath(location: string, roots: readonly string[]): string {
  const refused = (why: string): DescriptionError =>
    new DescriptionError(`the reference to ${location.slice(0, 200)} ${why}`);
  if (!location.startsWith('file:')) throw refused('leads out of the folders of `references`');
  let path: string;
  try {
    path = realpathSync(fileURLToPath(location));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refused(isMissing ? 'leads to no file' : `cannot be followed: ${messageOf(error)}`);
  }
  if (!roots.some((root) => isWithin(root, path))) throw refused('leads out of the folders of `references`');
  return path;
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
