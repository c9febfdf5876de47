import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** `open` of Linux sets this flag for descriptors that a started program does not get. */
const closeOnExec = 0o2_000_000;
/** The array of `spawn` needs an entry for each number below a descriptor, so higher ones are closed instead. */
const highest = 1_023;

/**
 * Entries of `stdio` for `spawn`, from descriptor 3 on. Node sets close-on-exec on its own descriptors and on inherited
 * ones up to the first gap above 15. The entries put /dev/null in the place of all others, because they may be secrets of
 * the program that started the gateway. The gateway itself may need them: `-f <(…)` names one.
 */
export const stdioOfInherited: readonly ('ignore' | number)[] = replacements(inheritedDescriptors());

function inheritedDescriptors(): readonly number[] {
  if (process.platform !== 'linux') return [];
  try {
    return readdirSync('/proc/self/fdinfo').map(Number).filter(isInherited);
  } catch {
    // No /proc is mounted.
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  if (descriptor < 3) return false;
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'));
    return flags !== null && (Number.parseInt(flags[1] ?? '0', 8) & closeOnExec) === 0;
  } catch {
    // The descriptor of the listing itself is closed again.
    return false;
  }
}

function replacements(descriptors: readonly number[]): readonly ('ignore' | number)[] {
  const replaced = new Set(descriptors.filter((descriptor) => descriptor <= highest));
  for (const descriptor of descriptors) if (!replaced.has(descriptor)) closeSync(descriptor);
  if (replaced.size === 0) return [];
  const nothing = openSync('/dev/null', 'r+');
  return Array.from({ length: Math.max(...replaced) - 2 }, (_, index) =>
    replaced.has(index + 3) ? nothing : 'ignore',
  );
}
