import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findOperatorSecret } from '../../src/admin/index.ts';
import { launcher } from '../../src/launcher.testing.ts';
import { checkRefusals } from './namedRefusals.testing.ts';
import './sentSecrets.testing.ts';
import { ShownSecrets } from './shownSecrets.testing.ts';
import { markedProcesses, markName, type ProcessView } from './processes.testing.ts';
import { until } from '../../src/until.testing.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface GatewayOptions {
  /** Added to the environment of the gateway. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program to run, in place of `bin/portcullis` itself. */
  readonly program?: string;
  /** Flags in place of `-f FILE`. */
  readonly args?: readonly string[];
  /** The number of files and sockets that it may have open. */
  readonly openFiles?: number;
  /** A descriptor that the parent of the gateway leaves open for it, by its number. */
  readonly leftOpen?: Readonly<Record<number, number>>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A gateway that runs as a user runs it: `node bin/portcullis -f FILE`. */
export interface GatewayProcess extends AsyncDisposable {
  readonly pid: number;
  readonly file: string;
  /** The ports of the binds, in the order of the configuration. */
  readonly ports: readonly number[];
  /** `http://127.0.0.1:PORT` of the first bind. */
  readonly url: string;
  readonly admin: string;
  readonly stats: string;
  readonly readiness: string;
  readonly ended: Promise<Exit>;
  /** Its standard error so far: its log. */
  log(): string;
  /** Its standard output so far: its access log. */
  accessLog(): string;
  /** The first line of its access log with the text, which may come later than the answer. */
  lineWith(text: string): Promise<string>;
  /** Resolves when its log has what matches; the log may come later than an answer. */
  logged(pattern: RegExp): Promise<void>;
  /** Replaces the configuration file the way editors do: a new file is renamed over the old one. */
  rewrite(yaml: string): void;
  signal(name: NodeJS.Signals): void;
  /** Its children and theirs, the gateway itself not among them. */
  children(): ProcessView[];
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** The value of one series; undefined where it does not exist. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number | undefined>;
  configDump(): Promise<ConfigDump>;
  /** Changes something over the admin port, as the operator's user. */
  change(path: string): Promise<Response>;
  /** Resolves when every key set was fetched. */
  keysReady(): Promise<void>;
  /** The line of the JSON access log that has this request id, once it is written. */
  accessLine(requestId: string): Promise<Record<string, unknown>>;
  /**
   * Ends it by SIGTERM where it still runs.
   * @throws AssertionError when it does not end with exit code 0, leaves a process behind, or has shown a secret
   */
  stop(): Promise<void>;
}

export interface ConfigDump {
  readonly binds: readonly { readonly key: string; readonly port: number; readonly connections: number }[];
  readonly config: {
    readonly synchronized: boolean;
    readonly problems: readonly string[];
    readonly warnings: readonly string[];
  };
  readonly keySets: readonly {
    readonly source: string;
    readonly keys: number;
    readonly state: string;
    readonly problem?: string;
  }[];
  readonly brokenRoutes: readonly { readonly route: string; readonly problem: string }[];
  readonly mcp: unknown;
  readonly model: unknown;
}

/** Starts one on free ports and returns when its readiness probe answers 200. */
export async function startGateway(yaml: string, options: GatewayOptions = {}): Promise<GatewayProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-e2e-'));
  const file = join(directory, 'config.yaml');
  writeFileSync(file, yaml);
  const mark = randomUUID();
  const command = [process.execPath, options.program ?? launcher, ...(options.args ?? ['-f', file])];
  const limit = options.openFiles === undefined ? '' : `ulimit -n ${options.openFiles} && `;
  const child = spawn('/bin/sh', ['-c', `${limit}exec "$@"`, 'sh', ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', ...stdioAbove(2, options.leftOpen)],
    env: {
      ...process.env,
      // Files under test keep the addresses they are written with; these win over them.
      ADMIN_ADDR: '127.0.0.1:0',
      STATS_ADDR: '127.0.0.1:0',
      READINESS_ADDR: '127.0.0.1:0',
      ...options.env,
      [markName]: mark,
    },
  });
  const at = options.args?.indexOf('-f') ?? -1;
  const read = options.args === undefined ? file : at < 0 ? undefined : options.args[at + 1];
  const secrets = new ShownSecrets(read, { ...process.env, ...options.env });
  const gateway = new Running(child, directory, file, mark, secrets);
  try {
    await gateway.becomeReady();
  } catch (error) {
    await gateway.kill();
    throw error;
  }
  return gateway;
}

function stdioAbove(
  last: number,
  open: Readonly<Record<number, number>> = {},
): readonly ('ignore' | number)[] {
  const highest = Math.max(last, ...Object.keys(open).map(Number));
  return Array.from({ length: highest - last }, (_, index) => open[index + last + 1] ?? 'ignore');
}

class Running implements GatewayProcess {
  readonly pid: number;
  readonly file: string;
  readonly ended: Promise<Exit>;
  private readonly exited: Promise<Exit>;
  ports: readonly number[] = [];
  admin = '';
  stats = '';
  readiness = '';
  private readonly child: ChildProcess;
  private readonly directory: string;
  private readonly mark: string;
  private readonly secrets: ShownSecrets;
  private readonly written = { out: '', err: '' };
  private version = 0;

  constructor(child: ChildProcess, directory: string, file: string, mark: string, secrets: ShownSecrets) {
    this.secrets = secrets;
    this.child = child;
    this.directory = directory;
    this.file = file;
    this.mark = mark;
    this.pid = child.pid ?? 0;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.written.out += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.written.err += text));
    const exitOn = async (event: 'close' | 'exit'): Promise<Exit> => {
      const [code, signal] = (await once(child, event)) as [number | null, NodeJS.Signals | null];
      return { code, signal };
    };
    // `close`, not `exit`: then everything it wrote has been read.
    this.ended = exitOn('close');
    this.exited = exitOn('exit');
  }

  get url(): string {
    return `http://127.0.0.1:${this.ports[0] ?? 0}`;
  }

  async becomeReady(): Promise<void> {
    const ready = await until(
      () => `the gateway to be ready:\n${this.written.err}`,
      () => {
        if (this.child.exitCode !== null || this.child.signalCode !== null)
          return { admin: undefined, stats: undefined, readiness: undefined };
        const address = (name: string) =>
          new RegExp(`\\b${name}"?[=:]"?((?:http|unix|off)[^\\s",]*)`).exec(this.written.err)?.[1];
        const [admin, stats, readiness] = ['admin', 'stats', 'readiness'].map(address);
        return readiness === undefined ? undefined : { admin, stats, readiness };
      },
    );
    const { admin, stats, readiness } = ready;
    if (admin === undefined || stats === undefined || readiness === undefined)
      throw new Error(`the gateway ended before it was ready:\n${this.written.err}`);
    Object.assign(this, { admin, stats, readiness });
    if (readiness.startsWith('http'))
      await until('readiness', async () => (await fetch(`${readiness}/healthz/ready`)).ok);
    if (!admin.startsWith('http')) return;
    const { binds } = await this.configDump();
    this.ports = binds.map(({ port }) => port);
  }

  log(): string {
    return this.written.err;
  }

  accessLog(): string {
    return this.written.out;
  }

  lineWith(text: string): Promise<string> {
    return until(`a line of the access log with ${text}`, () =>
      this.written.out
        .split('\n')
        .slice(0, -1)
        .find((line) => line.includes(text)),
    );
  }

  async logged(pattern: RegExp): Promise<void> {
    await until(
      () => `the log to match ${String(pattern)}: ${this.log()}`,
      () => pattern.test(this.log()),
    );
  }

  rewrite(yaml: string): void {
    const next = `${this.file}.${++this.version}`;
    writeFileSync(next, yaml);
    renameSync(next, this.file);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  children(): ProcessView[] {
    return markedProcesses(this.mark).filter(({ pid }) => pid !== this.pid);
  }

  async metrics(): Promise<string> {
    return await (await fetch(`${this.stats}/metrics`)).text();
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    for (const line of (await this.metrics()).split('\n')) {
      const [, series, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (series === name && wanted.every((label) => inside.includes(label))) return Number(value);
    }
    return undefined;
  }

  async configDump(): Promise<ConfigDump> {
    return (await (await fetch(`${this.admin}/config_dump`)).json()) as ConfigDump;
  }

  async change(path: string): Promise<Response> {
    const { hostname: host, port } = new URL(this.admin);
    const found = findOperatorSecret({ host, port: Number(port) });
    assert.ok(found !== undefined, 'the gateway stored no secret');
    const headers = { authorization: `Bearer ${found.secret}` };
    return await fetch(`${this.admin}${path}`, { method: 'POST', headers });
  }

  async keysReady(): Promise<void> {
    await until('the key sets', async () =>
      (await this.configDump()).keySets.every(({ state }) => state === 'ready'),
    );
  }

  async accessLine(requestId: string): Promise<Record<string, unknown>> {
    const line = await until(`an access log line of ${requestId}`, () =>
      this.written.out.split('\n').find((one) => one.includes(`"requestId":"${requestId}"`)),
    );
    return JSON.parse(line) as Record<string, unknown>;
  }

  async stop(): Promise<void> {
    const dump = await this.lastDump();
    const records = await this.lastRecords();
    try {
      this.signal('SIGTERM');
      const exit = await this.exited;
      // A process that is left behind may hold its output open.
      await Promise.race([this.ended, delay(5_000, undefined, { ref: false })]);
      assert.deepEqual(exit, { code: 0, signal: null }, this.written.err);
      assert.deepEqual(markedProcesses(this.mark), [], 'a process is left');
      this.secrets.check('/config_dump', dump);
      this.secrets.check('/api/v1/requests', await records());
      this.secrets.check('the log', this.written.err);
      this.secrets.check('the access log', this.written.out);
      this.secrets.checkFiles();
      checkRefusals(this.written.out);
    } finally {
      await this.kill();
    }
  }

  /** The dump before the end; empty where nobody answers. */
  private async lastDump(): Promise<string> {
    if (!this.admin.startsWith('http')) return '';
    try {
      const signal = AbortSignal.timeout(2_000);
      return await (await fetch(`${this.admin}/config_dump`, { signal })).text();
    } catch {
      return '';
    }
  }

  /**
   * Opens the stream of records of requests. It begins with the records that the gateway keeps, and the gateway ends it
   * when it shuts down.
   * @returns reads the stream; its text is empty where nobody answers
   */
  private async lastRecords(): Promise<() => Promise<string>> {
    const none = (): Promise<string> => Promise.resolve('');
    if (!this.admin.startsWith('http')) return none;
    try {
      // The gateway may have a folder of its own for its secret.
      const file = /operator secret\b.*?\bfile"?[=:]"?([^\s"]+)/.exec(this.written.err)?.[1];
      if (file === undefined) return none;
      const secret = readFileSync(file, 'utf8').trim();
      const { ok, body } = await fetch(`${this.admin}/api/v1/requests`, {
        headers: { authorization: `Bearer ${secret}` },
        signal: AbortSignal.timeout(20_000),
      });
      if (body === null) return none;
      const text = textUntilEnd(body);
      return ok ? () => text : none;
    } catch {
      return none;
    }
  }

  /** The end of a test that failed: whatever is left goes. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    // Also what has taken its place, and writes where it wrote.
    this.killMarked();
    await this.ended;
    this.killMarked();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private killMarked(): void {
    for (const { pid } of markedProcesses(this.mark)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.stop();
    else await this.kill();
  }
}

/** Characters of a stream that are read. */
const mostRead = 16_777_216;

/** The text of a stream, also of one that breaks off. */
async function textUntilEnd(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of body)
      if (text.length < mostRead) text += decoder.decode(chunk, { stream: true });
  } catch {
    // The gateway has ended, or the time is up.
  }
  return text;
}
