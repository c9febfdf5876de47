/** server-filesystem and server-memory, which keep what they are told in files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folderMark as folder, type Subject } from '../subject.ts';

const filesystemProgram = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'),
);
const memoryProgram = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'));

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const filesystem: Subject = {
  name: 'server-filesystem over stdio',
  over: 'stdio',
  modern: 'bridged',
  program: (path) => ({ cmd: process.execPath, args: [filesystemProgram, path] }),
  prepare(path) {
    writeFileSync(join(path, 'poem.txt'), 'first line\nsecond line: Grüße, 世界\nthird line\n');
    writeFileSync(join(path, 'pixel.png'), Buffer.from(pixel, 'base64'));
    writeFileSync(join(path, 'bytes.bin'), Buffer.from([0, 1, 2, 253, 254, 255]));
    mkdirSync(join(path, 'below'));
    writeFileSync(join(path, 'below', 'note.md'), '# A note\n');
  },
  // The server then allows this folder in place of the one in its arguments.
  roots: [{ uri: `file://${folder}`, name: 'the folder' }],
  opening: { 'roots/list': 1 },
  calls: [
    { tool: 'list_allowed_directories' },
    { tool: 'read_file', args: { path: `${folder}/poem.txt` } },
    { tool: 'read_text_file', args: { path: `${folder}/poem.txt`, head: 1 } },
    { tool: 'read_text_file', args: { path: `${folder}/missing.txt` } },
    { tool: 'read_text_file', args: { path: '/etc/hostname' } },
    { tool: 'read_text_file', args: { path: 7 } },
    { tool: 'read_media_file', args: { path: `${folder}/pixel.png` } },
    { tool: 'read_media_file', args: { path: `${folder}/bytes.bin` } },
    { tool: 'read_multiple_files', args: { paths: [`${folder}/poem.txt`, `${folder}/missing.txt`] } },
    { tool: 'write_file', args: { path: `${folder}/new.txt`, content: 'new\n' } },
    {
      tool: 'edit_file',
      args: { path: `${folder}/poem.txt`, edits: [{ oldText: 'first', newText: 'FIRST' }], dryRun: true },
    },
    {
      tool: 'edit_file',
      args: { path: `${folder}/poem.txt`, edits: [{ oldText: 'third', newText: 'last' }] },
    },
    { tool: 'create_directory', args: { path: `${folder}/below/further` } },
    { tool: 'list_directory', args: { path: folder } },
    { tool: 'list_directory_with_sizes', args: { path: folder, sortBy: 'size' } },
    { tool: 'directory_tree', args: { path: folder } },
    { tool: 'move_file', args: { source: `${folder}/new.txt`, destination: `${folder}/below/moved.txt` } },
    { tool: 'search_files', args: { path: folder, pattern: '**/*.md' } },
    { tool: 'get_file_info', args: { path: `${folder}/below/note.md` } },
  ],
  prompts: [],
  resources: [],
  completions: [],
  async more(peer) {
    await peer.hearing({ 'roots/list': 1 }, () => peer.notify('notifications/roots/list_changed'));
    await peer.request('tools/call', { name: 'list_allowed_directories' });
  },
};

const ada = { name: 'Ada', entityType: 'person', observations: ['wrote a program'] };
const engine = { name: 'Engine', entityType: 'machine', observations: ['Größe: 世界 🌍'] };
const wroteFor = { from: 'Ada', to: 'Engine', relationType: 'wrote for' };

const memory: Subject = {
  name: 'server-memory over stdio',
  over: 'stdio',
  modern: 'bridged',
  program: (path) => ({
    cmd: process.execPath,
    args: [memoryProgram],
    env: { MEMORY_FILE_PATH: join(path, 'memory.jsonl') },
  }),
  calls: [
    { tool: 'create_entities', args: { entities: [ada, engine] } },
    { tool: 'create_entities', args: { entities: [{ name: 'incomplete' }] } },
    { tool: 'create_relations', args: { relations: [wroteFor] } },
    {
      tool: 'add_observations',
      args: { observations: [{ entityName: 'Ada', contents: ['was a countess'] }] },
    },
    { tool: 'add_observations', args: { observations: [{ entityName: 'nobody', contents: ['x'] }] } },
    { tool: 'read_graph' },
    { tool: 'search_nodes', args: { query: 'countess' } },
    { tool: 'open_nodes', args: { names: ['Ada', 'Engine'] } },
    {
      tool: 'delete_observations',
      args: { deletions: [{ entityName: 'Ada', observations: ['was a countess'] }] },
    },
    { tool: 'delete_relations', args: { relations: [wroteFor] } },
    { tool: 'delete_entities', args: { entityNames: ['Engine'] } },
  ],
  prompts: [],
  resources: [],
  completions: [],
  async more(peer) {
    const uri = 'memory://knowledge-graph';
    const create = { name: 'create_entities', arguments: { entities: [engine] } };
    await peer.request('resources/subscribe', { uri });
    await peer.hearing({ 'notifications/resources/updated': 1 }, () => peer.request('tools/call', create));
    await peer.request('resources/unsubscribe', { uri });
    await peer.request('tools/call', create);
  },
};

export const fileSubjects: readonly Subject[] = [filesystem, memory];
