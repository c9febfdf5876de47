import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { freePorts } from '../proxy/ports.testing.ts';

/** The reason to skip tests with a real server; false where the program is installed. */
export const withoutRedis: string | false =
  spawnSync('redis-server', ['--version']).error === undefined ? false : 'redis-server is not installed';

/** A real `redis-server` on loopback that keeps nothing on disk. */
export class RedisServer {
  readonly port: number;
  private readonly folder: string;
  private readonly args: readonly string[];
  private child: ChildProcess | undefined;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.args = args;
    this.folder = mkdtempSync(join(tmpdir(), 'portcullis-redis-'));
  }

  /**
   * @param args further settings, such as `--maxmemory 2mb`
   * @param tls the port speaks TLS only
   */
  static async start(args: readonly string[] = [], tls = false): Promise<RedisServer> {
    const server = await RedisServer.prepare(args, tls);
    await server.restart();
    return server;
  }

  /** A server that is not running yet, with its port. */
  static async prepare(args: readonly string[] = [], tls = false): Promise<RedisServer> {
    const [port = 0] = await freePorts(1);
    const listen = tls ? ['--port', '0', '--tls-port', String(port)] : ['--port', String(port)];
    return new RedisServer(port, [...listen, ...args]);
  }

  /** Starts it, empty. Resolves when it serves. */
  async restart(): Promise<void> {
    const fixed = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.folder];
    const child = spawn('redis-server', [...this.args, ...fixed], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child = child;
    for await (const line of createInterface(child.stdout))
      if (line.includes('Ready to accept connections')) return void child.stdout.resume();
    throw new Error('redis-server ended at its start');
  }

  /** As a crash does. */
  async kill(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** It stays connected and answers nothing, until `goOn`. */
  stall(): void {
    this.child?.kill('SIGSTOP');
  }

  goOn(): void {
    this.child?.kill('SIGCONT');
  }

  /** Asks the server as its operator does. */
  async as<T>(ask: (redis: Redis) => Promise<T>, db = 0): Promise<T> {
    const redis = new Redis({
      host: '127.0.0.1',
      port: this.port,
      lazyConnect: true,
      db,
    });
    try {
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
