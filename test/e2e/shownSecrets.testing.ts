import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { loadText } from '../../src/config/index.ts';
import { checkShown, shortestSecret } from '../../src/usedSecrets.testing.ts';

/**
 * The secrets of one gateway under test. Its logs, its records of requests, its audit files and its dump must show none of
 * them, and none that the tests have used.
 */
export class ShownSecrets {
  private readonly values: readonly string[];
  private readonly files: readonly string[];

  /** @param file the configuration, if there is one */
  constructor(file: string | undefined, env: Readonly<Record<string, string | undefined>>) {
    const text = file === undefined ? undefined : readText(file);
    const loaded = text === undefined ? undefined : loadText(text, { file: file ?? '', env });
    this.values =
      loaded?.ok === true ? loaded.secrets.values.filter(({ length }) => length >= shortestSecret) : [];
    const audit = loaded?.ok === true ? loaded.model.process.fixed.audit : undefined;
    const { sink, chain } = audit ?? {};
    this.files = [
      sink !== undefined && 'path' in sink ? sink.path : undefined,
      chain?.checkpointFile,
    ].flatMap((path) => path ?? []);
  }

  /** @throws AssertionError that names the place, and shows what stands around the secret */
  check(place: string, text: string): void {
    checkShown(place, text, this.values);
  }

  /** Checks the audit file, the files that rotation has made of it, and the checkpoints. */
  checkFiles(): void {
    for (const file of this.files.flatMap(withRotated)) this.check(file, readText(file) ?? '');
  }
}

function withRotated(file: string): string[] {
  try {
    const folder = dirname(file);
    const names = readdirSync(folder).filter((name) => name.startsWith(basename(file)));
    return names.map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function readText(file: string): string | undefined {
  try {
    // A device or a pipe has no end.
    return statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}
