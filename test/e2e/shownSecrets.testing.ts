import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { loadText } from '../../src/config/index.ts';

/** Shorter values are not looked for: ordinary words hold them. */
const shortest = 8;
/** A JSON Web Token, or enough of one to use it. */
const token = /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}/;

/** The secrets of one gateway under test. Its logs, its audit files and its dump must show none of them. */
export class ShownSecrets {
  private readonly values: readonly string[];
  private readonly files: readonly string[];

  /** @param file the configuration, if there is one */
  constructor(file: string | undefined, env: Readonly<Record<string, string | undefined>>) {
    const text = file === undefined ? undefined : readText(file);
    const loaded = text === undefined ? undefined : loadText(text, { file: file ?? '', env });
    this.values = loaded?.ok === true ? loaded.secrets.values.filter(({ length }) => length >= shortest) : [];
    const sink = loaded?.ok === true ? loaded.model.process.fixed.audit?.sink : undefined;
    this.files = sink !== undefined && 'path' in sink ? [sink.path] : [];
  }

  /** @throws AssertionError that names the place, and shows what stands around the secret */
  check(place: string, text: string): void {
    const at = token.exec(text)?.index ?? -1;
    assert.equal(at, -1, `${place} shows a token: ${text.slice(Math.max(0, at - 200), at + 20)}`);
    for (const value of this.values) {
      const from = text.indexOf(value);
      assert.equal(
        from,
        -1,
        `${place} shows a secret of the configuration: ${text.slice(Math.max(0, from - 200), from)}`,
      );
    }
  }

  checkFiles(): void {
    for (const file of this.files) this.check(file, readText(file) ?? '');
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
