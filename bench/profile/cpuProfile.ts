import { readdirSync, readFileSync } from 'node:fs';
import { byFile, groups } from './groups.ts';
import type { Profile } from './perf.ts';

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
}

/** Reads what `--cpu-prof` wrote; everything that is not JavaScript is one group, the kernel within it. */
export function profileWithNode(directory: string): Profile {
  const counts = new Map<string, Map<string, number>>();
  let total = 0;
  for (const name of readdirSync(directory)) {
    const { nodes, samples } = JSON.parse(readFileSync(`${directory}/${name}`, 'utf8')) as CpuProfile;
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
    for (const id of samples) {
      const { functionName, url } = frames.get(id) ?? { functionName: '', url: '' };
      if (functionName === '(idle)') continue;
      const { group, label } = place(functionName, url);
      const functions = counts.get(group) ?? new Map<string, number>();
      counts.set(group, functions);
      functions.set(label, (functions.get(label) ?? 0) + 1);
      total++;
    }
  }
  return { source: "Node's profiler; it sees nothing of the kernel", total, groups: counts };
}

function place(name: string, url: string) {
  if (name === '(garbage collector)') return { group: groups.gc, label: name };
  if (name === '(program)') return { group: 'kernel, and C++ outside of JavaScript', label: name };
  // Functions without a file are C++ that JavaScript calls, with the kernel's part of it.
  if (url === '') return { group: 'C++ called from JavaScript, with its part of the kernel', label: name };
  return byFile(name, url);
}
