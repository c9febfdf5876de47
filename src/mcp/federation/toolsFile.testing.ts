import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { StdioTarget } from '../../model/index.ts';
import { catalog } from '../harness.testing.ts';

/** A target whose tools stand in a file; its server does not start without the file. */
export function changeable(
  t: TestContext,
  name: string,
  tools: readonly string[],
): { readonly target: StdioTarget; write(tools: readonly string[]): void; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tools-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'tools.json');
  const write = (names: readonly string[]): void => writeFileSync(file, JSON.stringify(names));
  write(tools);
  return { target: catalog({ name, toolsFile: file }), write, remove: () => rmSync(file) };
}
