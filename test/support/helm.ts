import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const chartFolder = fileURLToPath(new URL('../../deploy/chart/', import.meta.url));

/** Helm 3, or why there is none. */
export function findHelm(): { readonly helm: string } | { readonly missing: string } {
  const { HELM, PATH = '', PORTCULLIS_TESTBED, XDG_CACHE_HOME } = process.env;
  const bed =
    PORTCULLIS_TESTBED ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'portcullis', 'testbed');
  const places = [HELM, ...PATH.split(delimiter).map((folder) => join(folder, 'helm')), join(bed, 'helm')];
  const helm = places.find((path) => path !== undefined && path !== '' && existsSync(path));
  return helm === undefined
    ? { missing: 'there is no helm in PATH; test/kubernetes/bed/build.sh makes one' }
    : { helm };
}

/** What the chart becomes. @throws with what Helm says against the values */
export async function rendered(helm: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(helm, [
    'template',
    'portcullis',
    chartFolder,
    '--namespace=portcullis-system',
    // Helm asks nobody here which cluster it is for.
    '--kube-version=1.36.0',
    ...args,
  ]);
  return stdout;
}
