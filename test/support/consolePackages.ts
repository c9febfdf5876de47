import { readFileSync } from 'node:fs';

/** The packages in a built console, each as `name@version`, by the file of their licences. */
export const consolePackages = (licences: string): string[] =>
  Array.from(
    readFileSync(licences, 'utf8').matchAll(/^## (\S+) - (\S+) \(/gm),
    ([, name = '', version = '']) => `${name}@${version}`,
  );
