import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/proxy/ports.testing.ts';
import { until } from '../../src/until.testing.ts';

const { PORTCULLIS_COLLECTOR: named, XDG_CACHE_HOME: caches = join(homedir(), '.cache') } = process.env;
const program = join(named ?? join(caches, 'portcullis', 'collector'), 'collector');

/** The reason to skip tests with a real collector; false where it was built. */
export const withoutCollector: string | false = existsSync(program)
  ? false
  : 'the collector is not built: npm run build:collector';

/** The OpenTelemetry Collector. It sends all that it gets to another one. */
export interface RealCollector extends AsyncDisposable {
  /** Takes OTLP over gRPC. */
  readonly grpc: string;
  /** Takes OTLP over HTTP. */
  readonly http: string;
}

/** @param next the address that gets everything, over OTLP/HTTP */
export async function startRealCollector(next: string): Promise<RealCollector> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-collector-'));
  const [grpc = 0, http = 0] = await freePorts(2);
  const file = join(folder, 'collector.yaml');
  const pipeline = { receivers: ['otlp'], exporters: ['otlp_http'] };
  const settings = {
    receivers: {
      otlp: {
        protocols: { grpc: { endpoint: `127.0.0.1:${grpc}` }, http: { endpoint: `127.0.0.1:${http}` } },
      },
    },
    exporters: { otlp_http: { endpoint: next, compression: 'none', sending_queue: { enabled: false } } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: pipeline, logs: pipeline },
    },
  };
  writeFileSync(file, JSON.stringify(settings));
  const child = spawn(program, ['--config', `file:${file}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const close = once(child, 'close');
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await close;
    rmSync(folder, { recursive: true });
  };
  const state = await until(
    () => `the collector is ready: ${log}`,
    () => (child.exitCode === null ? log.includes('Everything is ready') && 'ready' : 'ended'),
  ).catch(() => 'late');
  if (state !== 'ready') {
    await end();
    throw new Error(`the collector is not ready: ${log}`);
  }
  return {
    grpc: `http://127.0.0.1:${grpc}`,
    http: `http://127.0.0.1:${http}`,
    [Symbol.asyncDispose]: end,
  };
}
