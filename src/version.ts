import { readFileSync } from 'node:fs';

/** The version of the package that this program is part of. */
export function version(): string {
  const file = new URL('../package.json', import.meta.url);
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const found =
    typeof parsed === 'object' && parsed !== null && 'version' in parsed ? parsed.version : undefined;
  return typeof found === 'string' ? found : 'unknown';
}
