/** The place that a sample's time belongs to. */
interface Place {
  readonly group: string;
  readonly label: string;
}

export const groups = {
  kernel: 'kernel',
  ours: 'our JavaScript',
  library: 'JavaScript of libraries',
  node: "Node's JavaScript",
  builtins: "V8's builtins and interpreter",
  gc: 'garbage collection',
  compiler: 'compilation of JavaScript',
  workers: "V8's helper threads, collector or compiler",
  native: 'C++ of Node, V8, libuv, OpenSSL and libc',
} as const;

const collector =
  /Scaveng|MarkCompact|Marking|Sweep|Evacuat|GCTracer|Heap::|GlobalHandles|YoungGeneration|MinorGC|Mark.*Visitor|PagedSpace|NewSpace|FreeList|RememberedSet|ArrayBuffer|BackingStore/;
const compiler = /internal::(compiler|maglev|baseline|interpreter)::|Turboshaft|OptimizedCompilation/;

/**
 * @param thread name of the thread
 * @param symbol of the function, as perf prints it
 * @param object file it lies in; `[kernel.kallsyms]` and V8's map among them
 */
export function groupOf(thread: string, symbol: string, object: string): Place {
  if (object.startsWith('[') && object !== '[vdso]') return { group: groups.kernel, label: symbol };
  if (/^(JS|LazyCompile|Script|Function|Eval):/.test(symbol)) return javaScript(symbol);
  if (/^(Builtin:|Builtins_|BytecodeHandler|Stub:|RegExp)/.test(symbol)) {
    return { group: groups.builtins, label: symbol };
  }
  const label = thread.endsWith('MainThread') ? symbol : `${symbol}  (${thread})`;
  if (collector.test(symbol)) return { group: groups.gc, label };
  if (compiler.test(symbol)) return { group: groups.compiler, label };
  return { group: thread.endsWith('V8Worker') ? groups.workers : groups.native, label };
}

/** `JS:*parseHead file:///…/src/http/parse.ts:40:17`; the sign is how it is compiled. */
function javaScript(symbol: string): Place {
  const [, name = '', file = ''] = /^[A-Za-z]+:(?:[*~^+']*)(\S*)\s*(.*)$/.exec(symbol) ?? [];
  return byFile(name, file);
}

/** By the file a function of JavaScript comes from. */
export function byFile(name: string, file: string): Place {
  const function_ = name === '' ? '(anonymous)' : name;
  const short = /(?:^|\/)((?:src|dist|node_modules)\/.+)$/.exec(file)?.[1];
  if (short?.startsWith('node_modules/') === true) {
    return { group: groups.library, label: `${function_}  ${short}` };
  }
  if (short !== undefined) return { group: groups.ours, label: `${function_}  ${short}` };
  return { group: groups.node, label: `${function_}  ${file}` };
}
