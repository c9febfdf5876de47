import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditEntries } from '../model/index.ts';
import { messageOf } from '../errorText.ts';
import type { StreamSettings } from '../stream/index.ts';
import { UsageError, type Command, type Flags, type Terminal } from './command.ts';
import { serveUntilStopped } from './serve.ts';

/** The flags that say where models come from; each has a variable of the environment, which it wins over. */
const variables = {
  controller: 'PORTCULLIS_CONTROLLER',
  gateway: 'PORTCULLIS_GATEWAY',
  'token-file': 'PORTCULLIS_TOKEN_FILE',
  'ca-file': 'PORTCULLIS_CA_FILE',
  'server-name': 'PORTCULLIS_SERVER_NAME',
  cache: 'PORTCULLIS_CACHE',
  'cache-key-file': 'PORTCULLIS_CACHE_KEY_FILE',
} as const;

type Name = keyof typeof variables;

const storePath = ['store', 'redis'] as const;

/** Flags that stand for a setting of `config`: its path, and the variable that would otherwise win over it. */
const settings = {
  admin: { path: ['adminAddr'], variable: 'ADMIN_ADDR' },
  stats: { path: ['statsAddr'], variable: 'STATS_ADDR' },
  readiness: { path: ['readinessAddr'], variable: 'READINESS_ADDR' },
  workers: { path: ['workers'], variable: 'WORKER_THREADS' },
  'log-level': { path: ['logging', 'level'], variable: undefined },
  'log-format': { path: ['logging', 'format'], variable: undefined },
  store: { path: [...storePath, 'url'], variable: undefined },
  'store-prefix': { path: [...storePath, 'keyPrefix'], variable: undefined },
} as const satisfies Record<string, { path: readonly string[]; variable: string | undefined }>;

/** The files of a folder of credentials, as a Secret of the cluster holds them → the setting that names each file. */
const storeFiles: Readonly<Record<string, readonly string[]>> = {
  username: [...storePath, 'username', 'file'],
  password: [...storePath, 'password', 'file'],
  'ca.crt': [...storePath, 'tls', 'root'],
  'tls.crt': [...storePath, 'tls', 'cert'],
  'tls.key': [...storePath, 'tls', 'key'],
};

/** The parts of `config` that come as JSON. The controller sends the other parts, or a flag has them. */
const jsonParts: readonly string[] = ['audit', 'tracing', 'logging'];

const auditFiles: Readonly<Record<string, readonly string[]>> = {
  [auditEntries.token]: ['audit', 'sink', 'http', 'token', 'file'],
  [auditEntries.chainKey]: ['audit', 'chain', 'key', 'file'],
};

/** Folders whose files are headers of exports → the setting that has the headers. */
const headerFolders = {
  'tracing-headers': ['tracing', 'headers'],
  'log-headers': ['logging', 'otlp', 'headers'],
} as const satisfies Record<string, readonly string[]>;

export const proxy: Command = {
  summary: 'serve one Gateway of a cluster, configured by the controller',
  usage: '--controller HOST:PORT --gateway NAMESPACE/NAME',
  flags: {
    controller: {
      type: 'string',
      value: 'A,B',
      help: `controllers as host:port, tried in turn (${variables.controller})`,
    },
    gateway: { type: 'string', value: 'NAMESPACE/NAME', help: `Gateway to serve (${variables.gateway})` },
    'token-file': {
      type: 'string',
      value: 'FILE',
      help: `ServiceAccount token for the audience portcullis.dev/controller (${variables['token-file']})`,
    },
    'ca-file': {
      type: 'string',
      value: 'FILE',
      help: `CA certificates (PEM) that verify controllers (${variables['ca-file']})`,
    },
    'server-name': {
      type: 'string',
      value: 'NAME',
      help: `name in the certificates of controllers, if it is not their host (${variables['server-name']})`,
    },
    cache: {
      type: 'string',
      value: 'FOLDER',
      help: `folder that keeps the last configuration for a restart; in memory, or with a key (${variables.cache})`,
    },
    'cache-key-file': {
      type: 'string',
      value: 'FILE',
      help: `file with at least 32 secret bytes that encrypt the cache (${variables['cache-key-file']})`,
    },
    admin: { type: 'string', value: 'ADDRESS', help: 'admin port (127.0.0.1:15000), or off' },
    stats: { type: 'string', value: 'ADDRESS', help: 'metrics port ([::]:15020), or off' },
    readiness: { type: 'string', value: 'ADDRESS', help: 'port for probes ([::]:15021), or off' },
    workers: { type: 'string', value: 'NUMBER', help: 'number of worker processes, or auto (1)' },
    'log-level': { type: 'string', value: 'LEVEL', help: 'debug, info, warn, error' },
    'log-format': { type: 'string', value: 'FORMAT', help: 'text, json' },
    store: {
      type: 'string',
      value: 'URL',
      help: 'Redis or Valkey that the replicas share: redis://host:port, or rediss:// for TLS',
    },
    'store-prefix': { type: 'string', value: 'TEXT', help: 'begins every key in the store (portcullis:)' },
    'store-files': {
      type: 'string',
      value: 'FOLDER',
      help: `credentials for the store, as far as the folder has them: ${Object.keys(storeFiles).join(', ')}`,
    },
    settings: {
      type: 'string',
      value: 'JSON',
      help: `fields of config, without variables in values: ${jsonParts.join(', ')}`,
    },
    'audit-files': {
      type: 'string',
      value: 'FOLDER',
      help: `secrets of the audit stream, as far as the folder has them: ${Object.keys(auditFiles).join(', ')}`,
    },
    'tracing-headers': {
      type: 'string',
      value: 'FOLDER',
      help: 'headers of exported spans: each file is a header, read at start',
    },
    'log-headers': {
      type: 'string',
      value: 'FOLDER',
      help: 'headers of exported log records: each file is a header, read at start',
    },
  },
  positionals: 0,
  async run(flags, _positionals, terminal) {
    const stream = streamOf(flags, terminal);
    const own = ownSettings(flags, terminal);
    return await serveUntilStopped({ source: { stream, settings: own.text }, env: own.env }, terminal);
  },
};

function streamOf(flags: Flags, { env }: Terminal): StreamSettings {
  const text = (name: Name): string | undefined => {
    const value = flags[name];
    const given = typeof value === 'string' ? value : env[variables[name]];
    return given === undefined || given === '' ? undefined : given;
  };
  const needed = (name: Name): string => {
    const value = text(name);
    if (value === undefined) throw new UsageError(`--${name} (or ${variables[name]}) is required`);
    return value;
  };
  const gateway = needed('gateway');
  if (!/^[a-z0-9.-]+\/[a-z0-9._-]+$/.test(gateway))
    throw new UsageError('--gateway: expected namespace/name');
  const [folder, keyFile] = [text('cache'), text('cache-key-file')];
  if (keyFile !== undefined && folder === undefined)
    throw new UsageError('--cache-key-file requires --cache');
  return {
    controllers: needed('controller').split(',').map(controllerUrl),
    gateway,
    tokenFile: needed('token-file'),
    caFile: needed('ca-file'),
    serverName: text('server-name'),
    cache: folder === undefined ? undefined : { folder, keyFile },
  };
}

/** `host:port`, or the URL that it stands for. */
function controllerUrl(text: string): URL {
  const trimmed = text.trim();
  const address = trimmed.includes('://') ? trimmed : `https://${trimmed}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (
    url === undefined ||
    url.protocol !== 'https:' ||
    url.pathname !== '/' ||
    url.search + url.username !== ''
  )
    throw new UsageError(`--controller ${trimmed}: expected host:port`);
  return url;
}

/** The settings of this process, as the text of a configuration: so they are checked as in every other one. */
function ownSettings(flags: Flags, { env }: Terminal): { text: string; env: Terminal['env'] } {
  const config = jsonSettings(flags['settings']);
  const surroundings = { ...env };
  for (const [name, { path, variable }] of Object.entries(settings)) {
    const value = flags[name];
    if (typeof value !== 'string') continue;
    set(config, path, /^\d+$/.test(value) ? Number(value) : value);
    if (variable !== undefined) delete surroundings[variable];
  }
  const folder = flags['store-files'];
  if (typeof folder === 'string') {
    if (typeof flags['store'] !== 'string') throw new UsageError('--store-files requires --store');
    for (const [file, path] of Object.entries(storeFiles))
      if (namesIn('store-files', folder).includes(file)) set(config, path, join(folder, file));
  }
  addAuditFiles(config, flags['audit-files']);
  for (const [flag, path] of Object.entries(headerFolders)) addHeaders(config, flag, flags[flag], path);
  // The label of the zone, as Kubernetes gives it to pods.
  const { ZONE: zone, LOCALITY: locality } = env;
  if (zone !== undefined && zone !== '' && (locality === undefined || locality === ''))
    surroundings['LOCALITY'] = `-/${zone}`;
  return { text: JSON.stringify({ config }), env: surroundings };
}

interface Settings {
  [name: string]: unknown;
}

const isSettings = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function jsonSettings(text: unknown): Settings {
  if (typeof text !== 'string') return {};
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--settings: ${messageOf(error)}`);
  }
  if (!isSettings(settings)) throw new UsageError('--settings: expected a JSON object');
  const other = Object.keys(settings).find((name) => !jsonParts.includes(name));
  if (other !== undefined) throw new UsageError(`--settings: expected ${jsonParts.join(', ')}, got ${other}`);
  return settings;
}

/** The settings at a path, if there are any. */
function settingsAt(settings: Settings, path: readonly string[]): Settings | undefined {
  let found: unknown = settings;
  for (const name of path) found = isSettings(found) ? found[name] : undefined;
  return isSettings(found) ? found : undefined;
}

/** A Secret may have more entries than the stream needs. */
function addAuditFiles(config: Settings, folder: unknown): void {
  if (typeof folder !== 'string') return;
  if (config['audit'] === undefined) throw new UsageError('--audit-files requires audit in --settings');
  const names = namesIn('audit-files', folder);
  for (const [file, path] of Object.entries(auditFiles))
    if (names.includes(file) && settingsAt(config, path.slice(0, -2)) !== undefined)
      set(config, path, join(folder, file));
}

function addHeaders(config: Settings, flag: string, folder: unknown, path: readonly string[]): void {
  if (typeof folder !== 'string') return;
  const owner = path.slice(0, -1);
  if (settingsAt(config, owner) === undefined)
    throw new UsageError(`--${flag} requires ${owner.join('.')} in --settings`);
  for (const name of namesIn(flag, folder)) {
    // A mounted Secret has files of its own for the change of its entries.
    if (name.startsWith('..')) continue;
    set(config, [...path, name], textOf(flag, join(folder, name)).trimEnd());
  }
}

function set(settings: Settings, path: readonly string[], value: string | number): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    settings[name] = value;
    return;
  }
  const below = settings[name];
  const inner: Settings = isSettings(below) ? below : {};
  settings[name] = inner;
  set(inner, rest, value);
}

const textOf = (flag: string, file: string): string =>
  orUsageError(flag, file, () => readFileSync(file, 'utf8'));

const namesIn = (flag: string, folder: string): readonly string[] =>
  orUsageError(flag, folder, () => readdirSync(folder));

function orUsageError<Result>(flag: string, path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`--${flag} ${path}: ${messageOf(error)}`);
  }
}
