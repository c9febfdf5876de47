/** The clients that are fetched from their registries first. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { testClients } from './clients.testing.ts';
import { mcporter } from './mcporter.ts';
import { mcpRemote } from './mcpRemote.ts';
import { pythonClients } from './python.ts';

const home = mkdtempSync(join(tmpdir(), 'clients-home-'));
after(() => rmSync(home, { recursive: true, force: true }));

testClients([...pythonClients(), mcpRemote(home), mcporter(home)]);
