// @ts-check
// Keeps what Node makes of the sources of a checkout (types removed, code compiled) for the next process. Half of the
// start of a gateway goes into this work. An installed package has no sources here, and gets no files of a cache: Node
// runs what it finds in a cache, so only the owner of the folder may write there.
// Plain JavaScript that any Node since 14 can read.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

// Without permission to write there, or in a Node that has no cache, a process compiles everything itself.
if (existsSync(join(root, 'src'))) module.enableCompileCache?.(join(root, '.cache', 'compile'));
